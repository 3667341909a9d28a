package libtorch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// python answers with a search path that holds a torch.
func (m *machine) python(name string, paths ...string) {
	m.programs[name] = func(c command) (string, error) {
		if len(c.args) > 1 && c.args[0] == "-c" {
			return strings.Join(append([]string{""}, paths...), "\n"), nil
		}
		return "", errors.New("No module named pip")
	}
}

func TestFindPrefersWhatWasNamed(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	named, site := plainDir(t), plainDir(t)
	torchAt(t, named)
	torchAt(t, site)
	m.python("python3", site)
	o.Folder = named
	got, err := Find(t.Context(), o)
	if err != nil || got.Torch.Origin != FromFolder || got.Torch.Root != filepath.Join(named, "torch") {
		t.Fatalf("%+v, %v", got.Torch, err)
	}
	o.Folder = ""
	got, err = Find(t.Context(), o)
	if err != nil || got.Torch.Origin != FromPython || got.Torch.Root != filepath.Join(site, "torch") {
		t.Fatalf("%+v, %v", got.Torch, err)
	}
	if m.didRun("import torch") {
		t.Error("torch was imported")
	}
}

func TestFindRefusesAFolderThatWasNamedWrongly(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	site := plainDir(t)
	torchAt(t, site)
	m.python("python3", site)
	o.Folder = plainDir(t)
	_, err := Find(t.Context(), o)
	wantError(t, err, "LIBTORCH="+o.Folder, "no libtorch in")
	o.Folder, o.Release = site, "2.15.0"
	_, err = Find(t.Context(), o)
	wantError(t, err, "LIBTORCH=", "release 2.11.0, asked for is 2.15.0")
}

func TestFindAsksEveryPython(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	empty, broken, venv := plainDir(t), plainDir(t), plainDir(t)
	torchAt(t, filepath.Join(venv, "lib"))
	torchAt(t, broken)
	remove(t, broken, "torch/include")
	m.vars["VIRTUAL_ENV"] = venv
	m.python(filepath.Join(venv, "bin", "python"), filepath.Join(venv, "lib"))
	m.python("python3", empty)
	m.python("python", broken)
	got, err := Find(t.Context(), o)
	if err != nil || got.Torch.Root != filepath.Join(venv, "lib", "torch") {
		t.Fatalf("%+v, %v", got.Torch, err)
	}
	// Without the virtual environment, what is left does not fit: say why.
	m.vars["VIRTUAL_ENV"] = ""
	got, err = Find(t.Context(), o)
	if !errors.Is(err, ErrAbsent) {
		t.Fatalf("error %v, want ErrAbsent", err)
	}
	wantError(t, err, filepath.Join(broken, "torch"), "without its C++ headers", "make cuda")
	if len(got.Skipped) == 0 {
		t.Error("nothing reported as passed over")
	}
}

func TestFindTakesTheFetchedReleaseThatIsWanted(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	put := func(name string, f fetch) string {
		dir := filepath.Join(o.torches(), name)
		torchAt(t, dir)
		must.Do(t, f.write(dir))
		return filepath.Join(dir, "torch")
	}
	plain := put("a", fetch{Release: "2.11.0"})
	put("c", fetch{Release: "2.15.0"})
	writeAll(t, o.torches(), map[string]string{"d/" + fetchNote: "{broken"})
	got, err := Find(t.Context(), o)
	if err != nil || got.Torch.Root != plain || got.Torch.Origin != FromPip {
		t.Fatalf("%+v, %v", got.Torch, err)
	}
	full := put("b", fetch{Release: "2.11.0", CUDA: true})
	if got, err = Find(t.Context(), o); err != nil || got.Torch.Root != full {
		t.Fatalf("with CUDA wheels: %+v, %v", got.Torch, err)
	}
	o.From = FromPython
	if _, err = Find(t.Context(), o); !errors.Is(err, ErrAbsent) {
		t.Errorf("looked at the cache, asked for Python's: %v", err)
	}
}

func TestFindOnOtherSystems(t *testing.T) {
	m := newMachine(t)
	m.goos, m.goarch = "darwin", "arm64"
	_, err := Find(t.Context(), m.options())
	wantError(t, err, "darwin/arm64", "CPU engine")
	if !errors.Is(err, ErrAbsent) {
		t.Error("not ErrAbsent")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{CUDA: "maybe"}, `"maybe" is none of auto, yes, no`},
		{Options{From: "conda"}, `"conda" is none of folder, python, pip, debian`},
		{Options{From: FromFolder}, "LIBTORCH"},
		{Options{Release: "newest"}, `"newest" is no release number`},
	} {
		c.o.Cache = t.TempDir() // where neither HOME nor XDG_CACHE_HOME is set
		_, err := c.o.filled()
		wantError(t, err, c.says)
		_, err = Ensure(context.Background(), c.o, nil)
		wantError(t, err, c.says)
	}
	t.Setenv("LIBTORCH", "/opt/libtorch")
	t.Setenv("STOKER_TORCH", "2.15.0")
	if o := FromEnvironment("here"); o.Folder != "/opt/libtorch" || o.Release != "2.15.0" || o.Root != "here" {
		t.Errorf("environment read as %+v", o)
	}
}

func TestCUDAIsFetchedWhereThereIsAGPU(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		option    string
		gpu, want bool
	}{{"auto", false, false}, {"auto", true, true}, {"yes", false, true}, {"no", true, false}} {
		m.hasGPU = c.gpu
		o := m.options()
		o.CUDA = c.option
		if got := o.wheels(); got != c.want {
			t.Errorf("%s with GPU %v: %v", c.option, c.gpu, got)
		}
	}
}

func TestLoaderDirsReadTheSystemsConfiguration(t *testing.T) {
	m := newMachine(t)
	writeAll(t, m.sysroot, map[string]string{
		"etc/ld.so.conf.d/cuda.conf": "# CUDA\n/opt/cuda/lib64\n",
		"opt/cuda/lib64/libone.so":   "x",
		"extra/libtwo.so":            "x",
	})
	m.vars["LD_LIBRARY_PATH"] = filepath.Join(m.sysroot, "extra")
	lost := m.unresolved(library{path: "/nowhere/lib.so", needed: []string{"libone.so", "libtwo.so", "libthree.so"}})
	if len(lost) != 1 || lost[0] != "libthree.so" {
		t.Errorf("lost %v, want libthree.so only", lost)
	}
	must.Do(t, os.Remove(filepath.Join(m.sysroot, "extra/libtwo.so")))
	if lost = m.unresolved(library{path: "/nowhere/lib.so", needed: []string{"libtwo.so"}}); len(lost) != 1 {
		t.Error("found a library that is gone")
	}
}
