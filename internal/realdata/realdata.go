// Package realdata finds the real data that some tests read, which is not in the repository.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder that STOKER_DATA names; a relative name counts from the checkout's root, since go test runs
// each package in its own folder. Where it is not set the test is skipped, saying so.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("STOKER_DATA")
	if dir == "" {
		t.Skip("STOKER_DATA is not set: it names the folder with the published traces and measurements")
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, dir)
		}
		parent := filepath.Dir(root)
		if parent == root {
			t.Fatalf("STOKER_DATA is %q, but there is no go.mod above the test's folder from which it would count", dir)
		}
		root = parent
	}
}
