package agents_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocsShowTheExample: docs/environments.md quotes the example as it stands.
func TestDocsShowTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/environments.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_own_test.go")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```go\n")
	if len(parts) < 5 {
		t.Fatalf("the page has %d blocks of Go, want some", len(parts)-1)
	}
	for _, p := range parts[1:] {
		block, _, _ := strings.Cut(p, "```")
		if !strings.Contains(string(source), block) {
			t.Errorf("example_own_test.go does not have\n%s", block)
		}
	}
}
