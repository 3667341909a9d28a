package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
