package libtorch

import (
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// fittedHere puts a fitted copy into a cache and returns its options.
func fittedHere(t *testing.T) (*machine, Options, Fitted) {
	t.Helper()
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	r := must.Get(Ensure(t.Context(), o, nil))(t)
	t.Setenv("PATH", plainDir(t)) // no stoker-torch of the developer's own
	return m, o, r
}

func TestStatusGoesThroughItsStates(t *testing.T) {
	t.Setenv("PATH", plainDir(t))
	m := newMachine(t)
	rep := Status(t.Context(), m.options())
	if rep.State != Absent || rep.Next != "make cuda" || rep.Torch != nil {
		t.Errorf("nothing here: %+v", rep)
	}
	o := m.options()
	o.Folder = torchAt(t, plainDir(t))
	rep = Status(t.Context(), o)
	if rep.State != Present || rep.Torch.Release != "2.11.0" {
		t.Errorf("a folder is here: %+v", rep)
	}

	_, o, r := fittedHere(t)
	rep = Status(t.Context(), o)
	if rep.State != Ready || rep.Fitted.Dir != r.Dir || rep.Threads != 2 || rep.Fitted.Functions != 3 {
		t.Errorf("fitted: %+v", rep)
	}
	text := strings.Join(rep.Lines(), "\n")
	for _, part := range []string{"fitted", "2.11.0+cu130", "C++11 ABI", "CUDA 13.0", "1 of its libraries",
		"BLAS mkl", "2 threads", "the 3 functions that Stoker calls"} {
		if !strings.Contains(text, part) {
			t.Errorf("report lacks %q:\n%s", part, text)
		}
	}
	// A newer fitted copy is not the one that this checkout builds against.
	writeAll(t, o.fits(), map[string]string{"newer/" + fitNote: `{"format": 2, "torch": {"release": "9.9.9"}}`})
	if rep = Status(t.Context(), o); rep.Fitted.Dir != r.Dir {
		t.Errorf("reported %s, the checkout has %s", rep.Fitted.Dir, r.Dir)
	}
	elsewhere := o
	elsewhere.Root = plainDir(t)
	if rep = Status(t.Context(), elsewhere); rep.Torch.Release != "9.9.9" {
		t.Errorf("reported %s, the newest is 9.9.9", rep.Torch.Release)
	}
	must.Do(t, os.RemoveAll(r.Torch.Root))
	rep = Status(t.Context(), o)
	if rep.State != Changed || rep.Next != "make cuda" || !strings.Contains(rep.Reason, "is gone") {
		t.Errorf("vanished: %+v", rep)
	}
}

func TestReportLinesOfEveryState(t *testing.T) {
	old := Fitted{Gotch: "v0.9.1", Functions: 68, Torch: Torch{Release: "1.13.0"}}
	for _, c := range []struct {
		rep  Report
		says []string
	}{
		{Report{State: Absent, Reason: "no libtorch found", Next: "make cuda"},
			[]string{"libtorch: absent", "no libtorch found", "run: make cuda"}},
		{Report{State: Ready, Torch: &Torch{Release: "2.15.0", NewABI: true, Std: "c++20", BLAS: "mkl"},
			Fitted: &Fitted{}, Gotch: "v0.9.1"},
			[]string{"no CUDA", "c++20"}},
		{Report{State: Ready, Torch: &old.Torch, Fitted: &old, Gotch: "v0.9.1"},
			[]string{"old C++ ABI", "gotch v0.9.1, the 68 functions"}},
	} {
		text := strings.Join(c.rep.Lines(), "\n")
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("report lacks %q:\n%s", part, text)
			}
		}
	}
	if got := (Fitted{}).Report(); got.State != Changed {
		t.Errorf("a record without files: %+v", got)
	}
}

func TestReadFittedRefusesForeignRecords(t *testing.T) {
	dir := plainDir(t)
	_, err := ReadFitted(dir)
	wantError(t, err, fitNote, "make cuda")
	writeAll(t, dir, map[string]string{fitNote: "{"})
	_, err = ReadFitted(dir)
	wantError(t, err, fitNote, "make cuda")
	writeAll(t, dir, map[string]string{fitNote: `{"format": 99}`})
	_, err = ReadFitted(dir)
	wantError(t, err, "another version of Stoker", "99")
}

func TestAChangedLibtorchIsFittedAnew(t *testing.T) {
	_, o, r := fittedHere(t)
	path := filepath.Join(r.Torch.Lib, "libtorch_cpu.so")
	other := elfSpec{needed: []string{"libc10.so"}, payload: "another build"}
	must.Do(t, os.WriteFile(path, other.bytes(), 0o644))
	err := r.Check()
	if !errors.Is(err, ErrChanged) {
		t.Fatalf("%v, want ErrChanged", err)
	}
	wantError(t, err, "libtorch_cpu.so", "make cuda")
	again, err := Ensure(t.Context(), o, nil)
	if err != nil || again.Dir == r.Dir || again.Check() != nil {
		t.Errorf("%v: %s after %s", err, again.Dir, r.Dir)
	}
}

// buildFake makes a real binary whose build information says that gotch was
// replaced by the fitted copy, as stoker-torch's does.
func buildFake(t *testing.T, path string, r Fitted) {
	t.Helper()
	src := plainDir(t)
	writeAll(t, src, map[string]string{
		"go.mod": "module example.com/fake\n\ngo 1.26\n\nrequire " + GotchModule + " " + GotchVersion + "\n\nreplace " +
			GotchModule + " => " + r.Dir + "\n",
		"main.go": "package main\n\nimport _ \"" + GotchModule + "/plain\"\n\nfunc main() {}\n",
	})
	writeAll(t, r.Dir, map[string]string{"plain/plain.go": "package plain\n"})
	cmd := exec.Command(goTool, "build", "-buildvcs=false", "-o", path, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestPrepareChecksTheBinarysLibtorch(t *testing.T) {
	path := os.Getenv("PATH")
	_, _, r := fittedHere(t)
	t.Setenv("PATH", path)
	binary := filepath.Join(plainDir(t), Binary)
	buildFake(t, binary, r)
	l, err := Prepare(binary, []string{"train", "x.yaml"},
		[]string{"HOME=/h", "LD_LIBRARY_PATH=/other", "OMP_WAIT_POLICY=ACTIVE"})
	must.Do(t, err)
	want := []string{"HOME=/h", "OMP_WAIT_POLICY=PASSIVE",
		"LD_LIBRARY_PATH=" + strings.Join(append(slices.Clone(r.Torch.LibDirs), "/other"), ":")}
	if !slices.Equal(l.Env, want) {
		t.Errorf("environment\n%q, want\n%q", l.Env, want)
	}
	if !slices.Equal(l.Args, []string{binary, "train", "x.yaml"}) || l.Fitted.Dir != r.Dir {
		t.Errorf("launch %+v", l)
	}
	t.Setenv("PATH", filepath.Dir(binary))
	if found, err := FindBinary(); err != nil || found != binary {
		t.Errorf("found %q, %v", found, err)
	}
	if rep := Status(t.Context(), Options{Cache: plainDir(t)}); rep.State != Ready || rep.Binary != binary {
		t.Errorf("status by the binary: %+v", rep)
	}
	must.Do(t, os.Remove(filepath.Join(r.Torch.Lib, "libc10.so")))
	_, err = Prepare(binary, nil, nil)
	if !errors.Is(err, ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	if rep := Status(t.Context(), Options{Cache: plainDir(t)}); rep.State != Changed {
		t.Errorf("status by the binary: %+v", rep)
	}
	must.Do(t, os.RemoveAll(r.Dir))
	_, err = Prepare(binary, nil, nil)
	wantError(t, err, fitNote, "make cuda")
}

func TestPrepareRefusesOtherBinaries(t *testing.T) {
	self, err := os.Executable()
	must.Do(t, err)
	if _, err = Prepare(self, nil, nil); !errors.Is(err, ErrNoBinary) {
		t.Errorf("%v, want ErrNoBinary: the test is built without libtorch", err)
	}
	_, err = Prepare(filepath.Join(plainDir(t), Binary), nil, nil)
	wantError(t, err, Binary)
	info := &buildinfo.BuildInfo{Deps: []*debug.Module{{Path: GotchModule, Version: GotchVersion}}}
	_, err = fittedIn(info)
	wantError(t, err, "not with a fitted copy", "make cuda")
	t.Setenv("PATH", plainDir(t))
	_, err = FindBinary()
	wantError(t, err, Binary, "make cuda")
	wantError(t, Unavailable("--device cuda:0", nil), "--device cuda:0 needs libtorch", "run: make cuda")
	wantError(t, Unavailable("--device cuda:0", err), "--device cuda:0 needs libtorch", "run: make cuda")
	wantError(t, Launch{Path: filepath.Join(plainDir(t), "none")}.Exec(), "starting", "none")
}

func TestGotchIsTheVersionOfGoMod(t *testing.T) {
	text := read(t, filepath.Join("..", "..", "go.mod"))
	if !strings.Contains(text, GotchModule+" "+GotchVersion) {
		t.Errorf("go.mod requires another gotch than %s", GotchVersion)
	}
}
