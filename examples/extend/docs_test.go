package extend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages quote this package as it stands: every block of Go in them is in one of its files.
func TestDocsQuoteTheExample(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	for page, least := range map[string]int{"environments.md": 4, "extending.md": 5} {
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
	}
}
