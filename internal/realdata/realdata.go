// Package realdata finds the folder of real data that some tests read. The data is not in the repository.
package realdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder that STOKER_DATA names. A relative name is resolved from the checkout's root, since go test
// runs each package in its own folder. Where STOKER_DATA is not set, Dir skips the test.
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
			t.Fatalf("STOKER_DATA is %q, but no folder above the test's has a go.mod to resolve it from: "+
				"use an absolute path", dir)
		}
		root = parent
	}
}
