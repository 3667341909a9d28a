package libtorch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
)

func identified(t *testing.T) (*machine, Torch) {
	t.Helper()
	m := newMachine(t)
	site := plainDir(t)
	torchAt(t, site)
	torch := must.Get(inspect(m.system, FromPip, site))(t)
	must.Do(t, torch.identify(m.system))
	return m, torch
}

func TestIdentityFollowsTheBytes(t *testing.T) {
	_, torch := identified(t)
	if torch.BLAS != "mkl" || len(torch.Files) != 3 || len(torch.Hash) != 64 {
		t.Fatalf("identity: %+v", torch)
	}
	path := filepath.Join(torch.Lib, "libtorch_cpu.so")
	if err := torch.unchanged(); err != nil {
		t.Error(err)
	}
	// A copy that kept the bytes but not the time is the same libtorch.
	other := time.Unix(1_000_000_000, 0)
	must.Do(t, os.Chtimes(path, other, other))
	if err := torch.unchanged(); err != nil {
		t.Errorf("touched only: %v", err)
	}
	must.Do(t, os.WriteFile(path, []byte("another release"), 0o644))
	wantError(t, torch.unchanged(), "libtorch_cpu.so", "another file")
	must.Do(t, os.Remove(path))
	wantError(t, torch.unchanged(), "libtorch_cpu.so is gone")
	wantError(t, Torch{Lib: "/x"}.unchanged(), "names no files")
}

func TestBLASMarksAcrossWrites(t *testing.T) {
	for _, c := range []struct {
		mark string
		get  func(blasMarks) bool
	}{
		{"Math Kernel Library", func(m blasMarks) bool { return m.mkl }},
		{"OpenBLAS", func(m blasMarks) bool { return m.openblas }},
	} {
		text := "some bytes before " + c.mark + " and some after"
		for cut := range len(text) {
			var m blasMarks
			for _, part := range []string{text[:cut], text[cut:]} {
				if n, err := m.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
			if !c.get(m) {
				t.Errorf("%s not seen, cut at %d", c.mark, cut)
			}
		}
	}
	var m blasMarks
	if _, err := m.Write([]byte("nothing here")); err != nil || m.mkl || m.openblas {
		t.Error("marks where there are none")
	}
}

func TestBLASBehindAlternatives(t *testing.T) {
	for real, want := range map[string]string{
		"openblas-pthread/libblas.so.3": "openblas", "blas/libblas.so.3.11.0": "reference",
		"libmkl_rt.so": "mkl", "blis-pthread/libblas.so.3": "blis",
	} {
		m := newMachine(t)
		dir := filepath.Join(m.sysroot, "usr/lib/x86_64-linux-gnu")
		writeAll(t, dir, map[string]string{real: "x"})
		must.Do(t, os.Symlink(filepath.Join(dir, real), filepath.Join(dir, "libblas.so.3")))
		if got := blasBehind(m.system, "libblas.so.3"); got != want {
			t.Errorf("%s: %s, want %s", real, got, want)
		}
	}
	if got := blasBehind(newMachine(t).system, "libblas.so.3"); got != "unknown" {
		t.Errorf("no BLAS at all: %s", got)
	}
	lib := library{needed: []string{"libmkl_intel_lp64.so.2"}}
	if got := blasOf(newMachine(t).system, lib, blasMarks{}); got != "mkl" {
		t.Errorf("linked to MKL: %s", got)
	}
	if got := blasOf(newMachine(t).system, library{}, blasMarks{openblas: true}); got != "openblas" {
		t.Errorf("OpenBLAS inside: %s", got)
	}
}
