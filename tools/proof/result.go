package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files of a proof's folder under docs/results, beside what its row keeps.
const (
	ResultFile = "result.json"     // where and when it was measured, a [Result]
	ShortFile  = "falls-short.txt" // a [Sentence] a line, written by hand
)

// Result records where and when a kept result was measured.
type Result struct {
	Revision string `json:"revision"`
	Date     string `json:"date"`    // year-month-day
	Machine  string `json:"machine"` // processor and cores
	Arch     string `json:"arch"`    // GOARCH
	Kernels  string `json:"kernels"` // family of kernels: x86-fma (AVX-512 and AVX2 give the same bits) or go
	// Digests of the short runs at that revision, by name. A short run without files has none: it only has to pass.
	Digests map[string]string `json:"digests,omitempty"`
}

// ReadResult reads the result kept in a folder; the error is [fs.ErrNotExist] where none is.
func ReadResult(dir string) (Result, error) {
	var r Result
	b, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(dir, ResultFile), err)
	}
	return r, nil
}

// Write writes the result into a folder.
func (r Result) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ResultFile), append(b, '\n'), 0o644)
}

// ReadClaims reads a file of claims; for a missing file it returns none.
func ReadClaims(path string) (rows []Row, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for n := 1; lines.Scan(); n++ {
		var r Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, r)
	}
	return rows, lines.Err()
}

// Sentence describes in plain words how claims fall short of their bounds.
type Sentence struct {
	Part string // substring of the text of every claim that it describes
	Text string
}

// ReadSentences reads a folder's sentences. Each is a line: the part of the claims' text, " => ", and the sentence.
func ReadSentences(dir string) (all []Sentence, err error) {
	path := filepath.Join(dir, ShortFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		part, text, ok := strings.Cut(line, " => ")
		if !ok || part == "" || text == "" {
			return nil, fmt.Errorf("%s:%d: %q, want a part of the claim, \" => \" and a sentence", path, n+1, line)
		}
		all = append(all, Sentence{part, text})
	}
	return all, nil
}

// ErrSentence is the error where a claim falls short without a sentence, or a sentence matches no claim that does.
var ErrSentence = errors.New("sentences and claims that fall short do not match")

// Match pairs sentences with the claims that fall short: each such claim needs one sentence, and each sentence a claim.
// The error is [ErrSentence].
func Match(rows []Row, all []Sentence) (text []string, err error) {
	used := make([]int, len(all))
	for _, r := range rows {
		if r.Holds {
			continue
		}
		found := false
		for i, s := range all {
			if strings.Contains(r.Claim, s.Part) {
				used[i]++
				found = true
			}
		}
		if !found {
			err = errors.Join(err, fmt.Errorf("%w: %s needs a line about: %s", ErrSentence, ShortFile, r.Claim))
		}
	}
	for i, s := range all {
		if used[i] == 0 {
			err = errors.Join(err, fmt.Errorf("%w: no claim falls short to which the line of %s about %q belongs",
				ErrSentence, ShortFile, s.Part))
		}
		text = append(text, s.Text)
	}
	return text, err
}

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
