package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The pages quote this package, and examples/choices, as they stand: every block of Go in them is in one of the files.
func TestDocsQuoteTheExample(t *testing.T) {
	if _, err := os.Stat("../../docs"); err != nil {
		t.Skip("the pages are in Stoker's repository")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../choices/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, others...)
	var source strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	for page, least := range map[string]int{"environments.md": 9, "extending.md": 5} {
		text, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```go\n")[1:]
		if len(blocks) < least {
			t.Errorf("docs/%s has %d blocks of Go, want at least %d", page, len(blocks), least)
		}
		for _, b := range blocks {
			block, _, _ := strings.Cut(b, "```")
			if !strings.Contains(source.String(), block) {
				t.Errorf("docs/%s: no file here has\n%s", page, block)
			}
		}
		for _, row := range lines.FindAllStringSubmatch(string(text), -1) {
			b, err := os.ReadFile(row[1])
			if n := strconv.Itoa(strings.Count(string(b), "\n")); err != nil || n != row[2] {
				t.Errorf("docs/%s: %s has %s lines, want %s (%v)", page, row[1], row[2], n, err)
			}
		}
	}
}

// lines are the rows of a table that say how long a file is.
var lines = regexp.MustCompile(`\| \[(.+)\]\(.*\) \| (\d+) \|`)
