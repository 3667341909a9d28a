package libtorch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// goTool is the real go command, found before a test empties PATH.
var goTool, goToolError = exec.LookPath("go")

// toolchain makes the machine able to fit: a compiler, an archiver, gotch's sources, and the real go command for
// go.work.
func (m *machine) toolchain(o Options) {
	t := m.t
	if goToolError != nil {
		t.Skip("go.work is written by the go command:", goToolError)
	}
	src := plainDir(t)
	writeAll(t, src, gotchSources)
	writeAll(t, o.Root, engineSources)
	writeAll(t, o.Root, map[string]string{"go.mod": "module example.com/stoker\n\ngo 1.26.0\n"})
	m.programs["go"] = func(c command) (string, error) {
		if c.args[0] == "mod" {
			return fmt.Sprintf(`{"Dir": %q, "Sum": "h1:abc"}`, src), nil
		}
		if c.args[0] == "build" {
			return "", nil
		}
		c.name = goTool
		return runCommand(t.Context(), c)
	}
	m.programs["g++"] = func(c command) (string, error) {
		switch {
		case slices.Contains(c.args, "--version"):
			return "g++ 12.2.0", nil
		}
		out := c.args[slices.Index(c.args, "-o")+1]
		return "", os.WriteFile(filepath.Join(c.dir, out), []byte("compiled"), 0o755)
	}
	m.programs["ar"] = func(c command) (string, error) {
		return "", os.WriteFile(filepath.Join(c.dir, c.args[1]), []byte("archive"), 0o644)
	}
	m.programs["probe"] = func(c command) (string, error) {
		if !slices.ContainsFunc(c.env, func(e string) bool { return strings.HasPrefix(e, "LD_LIBRARY_PATH=/") }) {
			return "libtorch_cpu.so: cannot open shared object file", errors.New("exit status 127")
		}
		return "release=2.11.0\nblas=mkl\nthreads=2\n", nil
	}
}

// compilerSays has compiling fail with this output.
func (m *machine) compilerSays(output string) {
	gxx := m.programs["g++"]
	m.programs["g++"] = func(c command) (string, error) {
		if slices.Contains(c.args, "-c") {
			return output, errors.New("exit status 1")
		}
		return gxx(c)
	}
}

func TestEnsureFitsOnceAndPointsTheCheckoutAtIt(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	var told []string
	r := must.Get(Ensure(t.Context(), o, func(line string) { told = append(told, line) }))(t)
	if r.Functions != 3 || r.Threads != 2 || r.Torch.BLAS != "mkl" || r.Gotch != GotchVersion {
		t.Errorf("record %+v", r)
	}
	if !strings.HasPrefix(r.Dir, o.fits()) || !exists(filepath.Join(r.Dir, "libtch", archive)) {
		t.Errorf("no fitted copy in %s", r.Dir)
	}
	for _, name := range []string{"libtch/torch_api.cpp", "libtch/cpp/torch_api.o", "libtch/cpp/probe",
		"libtch/stb_image.h", "ts"} {
		if exists(filepath.Join(r.Dir, name)) {
			t.Errorf("%s should not be in the copy", name)
		}
	}
	lib := read(t, filepath.Join(r.Dir, "libtch/lib.go"))
	for _, part := range []string{"${SRCDIR}/libtch.a", "-L" + r.Torch.Lib, "-Wl,-rpath," + r.Torch.LibDirs[1],
		"-ltorch_cpu -lc10"} {
		if !strings.Contains(lib, part) {
			t.Errorf("lib.go lacks %q:\n%s", part, lib)
		}
	}
	if strings.Contains(lib, "torch_cuda") {
		t.Error("links libtorch_cuda: the binary would need a GPU machine")
	}
	work := read(t, filepath.Join(o.Root, "go.work"))
	for _, part := range []string{"go 1.26.0\n", "use .", GotchModule + " " + GotchVersion + " => " + r.Dir} {
		if !strings.Contains(work, part) {
			t.Errorf("go.work lacks %q:\n%s", part, work)
		}
	}
	flags := read(t, filepath.Join(o.Root, flagsFile))
	for _, part := range []string{"//go:build libtorch", "-std=c++17", "_GLIBCXX_USE_CXX11_ABI=1",
		`fittedRelease = "2.11.0"`} {
		if !strings.Contains(flags, part) {
			t.Errorf("flags file lacks %q:\n%s", part, flags)
		}
	}
	if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "compiling the 3 functions") }) {
		t.Errorf("not told what is compiled: %q", told)
	}

	// Once more: nothing is fetched, compiled or written again.
	m.ran = nil
	again, err := Ensure(t.Context(), o, nil)
	if err != nil || again.Dir != r.Dir {
		t.Fatalf("%v: %s", err, again.Dir)
	}
	for _, part := range []string{"download", "-c ", "probe"} {
		if slices.ContainsFunc(m.ran, func(line string) bool {
			return strings.Contains(line, part) && !strings.Contains(line, "mod download") &&
				!strings.HasPrefix(line, "python3 -c")
		}) {
			t.Errorf("did %q again: %v", part, m.ran)
		}
	}
	// A call more in nets/torch is another copy; one that is there already is not.
	writeAll(t, o.Root, map[string]string{"nets/torch/more.go": "package torch\n\nimport lib \"" + bindingsPackage +
		"\"\n\nvar _ = lib.AtgAdd\n"})
	if again, err = Ensure(t.Context(), o, nil); err != nil || again.Dir != r.Dir {
		t.Errorf("%v: %s for the same calls as %s", err, again.Dir, r.Dir)
	}
	writeAll(t, o.Root, map[string]string{"nets/torch/more.go": "package torch\n\nimport lib \"" + bindingsPackage +
		"\"\n\nvar _ = lib.AtPrint\n"})
	if again, err = Ensure(t.Context(), o, nil); err != nil || again.Dir == r.Dir || again.Functions != 4 {
		t.Errorf("%v: %s with %d functions after another call, was %s", err, again.Dir, again.Functions, r.Dir)
	}
	if err := Prebuild(t.Context(), o, nil); err != nil || !m.didRun("build -tags libtorch "+GotchModule+"/libtch") {
		t.Errorf("prebuild: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

func TestEnsureKeepsTheUsersWorkspace(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	writeAll(t, o.Root, map[string]string{
		"go.work":       "go 1.26.0\n\nuse (\n\t.\n\t./mine\n)\n\nreplace " + GotchModule + " " + GotchVersion + " => /old\n",
		"mine/go.mod":   "module example.com/mine\n\ngo 1.26.0\n",
		"mine/other.go": "package mine\n",
	})
	r := must.Get(Ensure(t.Context(), o, nil))(t)
	work := read(t, filepath.Join(o.Root, "go.work"))
	if !strings.Contains(work, "./mine") || strings.Contains(work, "/old") || !strings.Contains(work, r.Dir) {
		t.Errorf("go.work became\n%s", work)
	}
}

func TestEnsureGoesOnWhereAPythonsTorchDoesNotFit(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	site := plainDir(t)
	torchAt(t, site)
	m.python("python", site)
	probe := m.programs["probe"]
	m.programs["probe"] = func(c command) (string, error) {
		if strings.Contains(strings.Join(c.env, " "), site) {
			return "undefined symbol: omp_get_num_threads", errors.New("exit status 127")
		}
		return probe(c)
	}
	var told []string
	r, err := Ensure(t.Context(), o, func(line string) { told = append(told, line) })
	if err != nil || r.Torch.Origin != FromPip {
		t.Fatalf("%v, %+v", err, r.Torch)
	}
	if !slices.ContainsFunc(told, func(s string) bool {
		return strings.HasPrefix(s, "not used: "+site) && strings.Contains(s, "undefined symbol")
	}) {
		t.Errorf("the reason was not told: %q", told)
	}
}

func TestEnsureExplainsWhatIsLeftToDo(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(func(command) error { return errors.New("Network is unreachable") })
	m.toolchain(o)
	_, err := Ensure(t.Context(), o, nil)
	if !errors.Is(err, ErrAbsent) {
		t.Fatalf("%v, want ErrAbsent", err)
	}
	wantError(t, err, "Network is unreachable", "libtorch-dev", "make cuda LIBTORCH=/path/to/libtorch")
	if exists(filepath.Join(o.Root, "go.work")) {
		t.Error("go.work was written without a fitted copy")
	}
}

func TestEnsureReportsMisfits(t *testing.T) {
	cases := map[string]struct {
		set  func(m *machine, o *Options)
		says []string
	}{
		"a function refused": {func(m *machine, o *Options) {
			m.compilerSays(bindings + ":2:1: error: 'add' is not a member of 'torch'\n")
		}, []string{"torch 2.11.0 does not fit", "no add as gotch", "nets/torch/add.go:6 needs", "is not a member"}},
		"headers broken": {func(m *machine, o *Options) {
			m.compilerSays("/include/ATen/ATen.h:5:2: error: #error C++20 or later compatible compiler is required\n")
		}, []string{"against torch 2.11.0", "C++20 or later"}},
		"other library than headers": {func(m *machine, o *Options) {
			m.programs["probe"] = func(command) (string, error) { return "release=2.9.1\n", nil }
		}, []string{"headers in", "of torch 2.11.0", "is 2.9.1"}},
		"compiler runs out of memory": {func(m *machine, o *Options) {
			m.compilerSays("g++: fatal error: Killed signal terminated program cc1plus")
		}, []string{"compiling gotch's bindings", "Killed"}},
		"nothing to bind": {func(m *machine, o *Options) {
			if err := os.RemoveAll(filepath.Join(o.Root, "nets")); err != nil {
				m.t.Fatal(err)
			}
		}, []string{"no checkout of Stoker"}},
		"gotch lacks a function": {func(m *machine, o *Options) {
			writeAll(m.t, o.Root, map[string]string{"nets/torch/more.go": "package torch\n\nimport lib \"" +
				bindingsPackage + "\"\n\nvar _ = lib.AtgMore\n"})
		}, []string{"nets/torch/more.go:5 calls libtch.AtgMore"}},
		"odd folder": {func(m *machine, o *Options) {
			o.Cache = filepath.Join(m.t.TempDir(), "my cache")
			m.hasGPU = false
		}, []string{"my cache", "characters", "XDG_CACHE_HOME"}},
		"no gotch": {func(m *machine, o *Options) {
			m.programs["go"] = func(c command) (string, error) {
				return `{"Error": "proxy: 403 Forbidden"}`, errors.New("exit status 1")
			}
		}, []string{GotchModule, "403 Forbidden"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			o := m.options()
			m.pypi(nil)
			m.toolchain(o)
			c.set(m, &o)
			_, err := Ensure(t.Context(), o, nil)
			wantError(t, err, c.says...)
			if left := leftovers(t, o.fits()); len(left) > 0 || len(o.records()) > 0 {
				t.Errorf("left behind: %v, %v", left, o.records())
			}
		})
	}
}

func TestEnsureStopsWhenToldTo(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	ctx, cancel := context.WithCancel(t.Context())
	gxx := m.programs["g++"]
	m.programs["g++"] = func(c command) (string, error) {
		if slices.Contains(c.args, "-c") {
			cancel()
			return "", errors.New("signal: killed")
		}
		return gxx(c)
	}
	if _, err := Ensure(ctx, o, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if left := leftovers(t, o.fits()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestANamedFolderIsTheOnlyOneTried(t *testing.T) {
	m := newMachine(t)
	o := m.options()
	m.pypi(nil)
	m.toolchain(o)
	o.Folder = torchAt(t, plainDir(t))
	m.programs["probe"] = func(command) (string, error) { return "Illegal instruction", errors.New("signal: illegal") }
	_, err := Ensure(t.Context(), o, nil)
	wantError(t, err, o.Folder, "Illegal instruction")
	if m.didRun("pip download") {
		t.Error("fetched another one than the one that was named")
	}
}
