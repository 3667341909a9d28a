package proof

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Folder names the environment variable that holds the folder where rows are kept; without it they are only logged.
const Folder = "STOKER_PROOF"

// Row is one claim as it was measured.
type Row struct {
	// Topic groups rows in the table: environments, simulator, numerics, agents, resume, statistics, ways in, speed.
	Topic string `json:"topic"`
	// Claim is a sentence, for example "CartPole-v1: one step from each of 100,000 states agrees with Gymnasium".
	Claim string `json:"claim"`
	// Bound is what must hold, with its unit: "1e-12".
	Bound string `json:"bound"`
	// Measured is what was seen, with its unit and interval: "0 (equal bits)".
	Measured string `json:"measured"`
	// Holds is whether it does.
	Holds bool `json:"holds"`
	// Command shows it again, from the repository's root.
	Command string `json:"command"`
}

// Claim logs a row, keeps it where [Folder] says, and fails the test where the bound does not hold. An empty Command
// becomes the test's own.
func Claim(tb testing.TB, r Row) {
	tb.Helper()
	if r.Command == "" {
		r.Command = command(tb)
	}
	report := tb.Logf
	if !r.Holds {
		report = tb.Errorf
	}
	report("%s: %s (bound: %s)", r.Claim, r.Measured, r.Bound)
	if dir := os.Getenv(Folder); dir != "" {
		if err := keep(filepath.Join(dir, "claims.jsonl"), r); err != nil {
			tb.Errorf("proof: %v", err)
		}
	}
}

// keep appends one line in one write, so that tests in several processes can share the file.
func keep(path string, r Row) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func command(tb testing.TB) string {
	name, _, _ := strings.Cut(tb.Name(), "/")
	c := fmt.Sprintf("go test %s -run '^%s$'", folder(), name)
	if l := flag.Lookup("long"); l != nil && l.Value.String() == "true" {
		c += " -long -timeout 0"
	}
	return c
}

// folder is the test's package relative to the repository's root: go test runs a test in its package's folder.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "./..."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, _ := filepath.Rel(root, dir)
			return "./" + filepath.ToSlash(rel)
		}
	}
	return "./..."
}
