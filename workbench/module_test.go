package workbench_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The program of examples/extend, a module of its own, builds with this checkout, and its tests pass: they run every
// command with its rows. Nothing is fetched.
func TestModuleOfOnesOwn(t *testing.T) {
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	dir := filepath.FromSlash("../examples/extend")
	readAll(t, dir)
	for _, args := range [][]string{{"test", "-vet=off", "./..."}} {
		c := exec.Command(gocmd, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly", "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("go %v in examples/extend: %v\n%s\nAfter a change of go.mod: cp go.sum examples/extend && "+
				"cd examples/extend && go mod tidy", args, err, out)
		}
	}
}

// readAll opens every file of a folder, so that a cached result of this test depends on them.
func readAll(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
	must.Do(t, err)
}
