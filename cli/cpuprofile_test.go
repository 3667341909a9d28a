package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/shell"
)

// --cpuprofile writes what pprof reads, a gzip stream, and prints the phases' shares.
func TestCPUProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.prof")
	code, out, errs := stoker("train", config(t, brief), "--runs", t.TempDir(), "--cpuprofile", path)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "phases", out, "act ", "update ", "log ", "evaluate ", "other ")
	contains(t, "where it is", errs, "go tool pprof -top "+shell.Quote(path))
	if b, err := os.ReadFile(path); err != nil || len(b) < 2 || b[0] != 0x1f || b[1] != 0x8b {
		t.Errorf("%d bytes that are no profile: %v", len(b), err)
	}
	if code, _, errs := stoker("train", config(t, brief), "--runs", t.TempDir(), "--cpuprofile",
		filepath.Join(path, "x")); code != exitUsage {
		t.Errorf("a path that can't be written: exit %d: %s", code, errs)
	}
}
