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

// Folder is the name of the environment variable with the folder for a proof's files. Without it nothing is written.
const Folder = "STOKER_PROOF"

// Files that tests write in the folder: a JSON object per [Row], and the lines of [Log].
const (
	ClaimsFile  = "claims.jsonl"
	FiguresFile = "figures.txt"
)

// Row is one claim and what was measured for it.
type Row struct {
	// Topic is the claim's subject: environments, simulator, numerics, agents, resume, statistics, ways in, speed.
	Topic string `json:"topic"`
	// Claim is a sentence, for example "CartPole-v1: one step from each of 100,000 states agrees with Gymnasium".
	Claim string `json:"claim"`
	// Bound is what must hold, with its unit: "1e-12".
	Bound string `json:"bound"`
	// Measured is what was seen, with its unit and interval: "0 (equal bits)".
	Measured string `json:"measured"`
	// Holds is whether the measurement is within the bound.
	Holds bool `json:"holds"`
	// Command repeats the measurement, from the repository's root.
	Command string `json:"command"`
}

// Claim logs a row. Without [Folder] set, in an ordinary test, a bound that does not hold fails the test. In a proof,
// with [Folder] set, it writes every row, also one whose bound does not hold: the measurement is the result. An empty
// Command becomes the command of the test.
func Claim(tb testing.TB, r Row) {
	tb.Helper()
	if r.Command == "" {
		r.Command = command(tb)
	}
	text := fmt.Sprintf("%s: %s (bound: %s)", r.Claim, r.Measured, r.Bound)
	dir := os.Getenv(Folder)
	switch {
	case r.Holds:
		tb.Log(text)
	case dir == "":
		tb.Error(text)
	default:
		tb.Log("falls short: " + text)
	}
	if dir == "" {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		err = write(filepath.Join(dir, ClaimsFile), line)
	}
	if err != nil {
		tb.Errorf("proof: %v", err)
	}
}

// Log logs a line of figures, and in a proof also writes it. Digests of short runs cover these lines, so they must hold
// no times.
func Log(tb testing.TB, format string, args ...any) {
	tb.Helper()
	text := fmt.Sprintf(format, args...)
	tb.Log(text)
	if dir := os.Getenv(Folder); dir != "" {
		if err := write(filepath.Join(dir, FiguresFile), []byte(text)); err != nil {
			tb.Errorf("proof: %v", err)
		}
	}
}

// write appends one line in one write, so that tests in several processes can share the file.
func write(path string, line []byte) error {
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
