package libtorch

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GotchModule and GotchVersion name the C bindings that are fitted. The
// version is the one that go.mod requires.
const (
	GotchModule  = "github.com/sugarme/gotch"
	GotchVersion = "v0.9.1"
)

// fitFormat counts changes of what this package writes into a fitted copy.
const fitFormat = 1

//go:embed cpp/probe.cpp
var probeSource []byte

// gotch is the module as the go command unpacked it.
type gotch struct{ Dir, Sum, Error string }

func (o Options) gotch(ctx context.Context) (gotch, error) {
	c := cmdOf("go", "mod", "download", "-json", GotchModule+"@"+GotchVersion)
	c.dir, c.env = o.Root, []string{"GOWORK=off"}
	out, err := o.sys.run(ctx, c)
	var g gotch
	if jerr := json.Unmarshal([]byte(out), &g); jerr != nil && err == nil {
		err = jerr
	}
	if g.Error != "" {
		err = fmt.Errorf("%s", g.Error)
	}
	if err != nil {
		return g, fmt.Errorf("getting %s %s: %w", GotchModule, GotchVersion, err)
	}
	return g, nil
}

// fitter carries what the steps of one fitting share.
type fitter struct {
	o    Options
	t    Torch
	g    gotch
	cxx  compiler
	log  func(string)
	work string // the copy while it is being made
}

// fit makes the fitted copy for one libtorch, or finds it made.
func (o Options) fit(ctx context.Context, t Torch, log func(string)) (Fitted, error) {
	f := &fitter{o: o, t: t, log: log}
	if err := usablePaths(append(slices.Concat(t.Include, t.LibDirs), o.fits())); err != nil {
		return Fitted{}, err
	}
	var err error
	if f.cxx, err = o.compiler(ctx, log); err != nil {
		return Fitted{}, err
	}
	if f.g, err = o.gotch(ctx); err != nil {
		return Fitted{}, err
	}
	if !o.recall(&f.t) {
		log("reading " + t.Lib)
		if err := f.t.identify(o.sys); err != nil {
			return Fitted{}, err
		}
	}
	final := filepath.Join(o.fits(), fmt.Sprintf("%s-torch%s-%s", GotchVersion, t.Release, f.key()[:12]))
	if !o.Refit {
		if done, err := ReadFitted(final); err == nil && exists(filepath.Join(final, "libtch", archive)) {
			return done, nil
		}
	}
	if err := o.room(o.fits(), 500_000_000); err != nil {
		return Fitted{}, err
	}
	work, clean, err := workFolder(o.fits())
	if err != nil {
		return Fitted{}, err
	}
	defer clean()
	f.work = filepath.Join(work, "gotch")
	record, err := f.make(ctx)
	if err != nil {
		return Fitted{}, err
	}
	if isDir(final) {
		if err := os.RemoveAll(final); err != nil {
			return Fitted{}, err
		}
	}
	if err := replaceFolder(f.work, final); err != nil {
		return Fitted{}, err
	}
	record.Dir = final
	return record, nil
}

// key is what makes two fitted copies differ: Go rebuilds a cgo package for
// every new folder, so everything that the archive depends on is in the name.
func (f *fitter) key() string {
	h := sha256.New()
	fmt.Fprintln(h, fitFormat, f.g.Sum, f.t.Hash, f.t.Include, f.t.LibDirs, f.cxx.version, f.t.compileFlags(), f.t.linkFlags())
	h.Write(probeSource)
	return hex.EncodeToString(h.Sum(nil))
}

// make goes through the steps; the record is written last.
func (f *fitter) make(ctx context.Context) (Fitted, error) {
	start := time.Now()
	r := Fitted{
		Format: fitFormat, Key: f.key(), Gotch: GotchVersion, GotchSum: f.g.Sum,
		Compiler: f.cxx.version,
	}
	if err := f.copySources(); err != nil {
		return r, err
	}
	gaps, err := f.fillGaps(ctx)
	if err != nil {
		return r, err
	}
	for _, g := range gaps {
		r.Missing = append(r.Missing, g.operation())
	}
	slices.Sort(r.Missing)
	f.log(fmt.Sprintf("compiling the bindings against torch %s, %d functions missing (2 to 4 minutes, once)",
		f.t.Release, len(r.Missing)))
	if err := f.compile(ctx); err != nil {
		return r, err
	}
	if err := f.probe(ctx, &r); err != nil {
		return r, err
	}
	r.Torch = f.t
	if err := writeFile(filepath.Join(f.work, "libtch", "lib.go"), f.cgoFile()); err != nil {
		return r, err
	}
	r.Seconds = time.Since(start).Round(time.Second).Seconds()
	return r, writeJSON(filepath.Join(f.work, fitNote), r)
}

// The C++ goes into a folder of its own: compiled once into an archive, it is
// no business of the go command any more, whatever flags that builds with.
const (
	cppFolder  = "cpp"
	archive    = "libtch.a"
	bindings   = "torch_api_generated.cpp.h"
	unit       = "torch_api.cpp"
	apiHeader  = "torch_api.h"
	genHeader  = "torch_api_generated.h"
	pathLetter = `^[A-Za-z0-9_/.+~%=:\-]+$`
)

func (f *fitter) copySources() error {
	cpp := filepath.Join(f.work, "libtch", cppFolder)
	if err := os.MkdirAll(cpp, 0o755); err != nil {
		return err
	}
	copies := map[string]string{"LICENSE": "LICENSE", "go.mod": "go.mod", "go.sum": "go.sum"}
	entries, err := os.ReadDir(filepath.Join(f.g.Dir, "libtch"))
	if err != nil {
		return fmt.Errorf("gotch's sources: %w", err)
	}
	for _, e := range entries {
		name := filepath.Join("libtch", e.Name())
		switch {
		case e.IsDir() || e.Name() == "lib.go":
			continue
		case strings.HasSuffix(name, ".go") || e.Name() == apiHeader || e.Name() == genHeader:
			copies[name] = name
		case strings.HasSuffix(name, ".cpp") || strings.HasSuffix(name, ".h"):
			copies[name] = filepath.Join("libtch", cppFolder, e.Name())
		}
	}
	for from, to := range copies {
		text, err := os.ReadFile(filepath.Join(f.g.Dir, from))
		if err != nil {
			return fmt.Errorf("gotch's sources: %w", err)
		}
		if err := os.WriteFile(filepath.Join(f.work, to), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fillGaps has the compiler check the bindings' syntax against the headers and
// stubs what it refuses, until it accepts the rest.
func (f *fitter) fillGaps(ctx context.Context) ([]gap, error) {
	f.log("checking gotch's bindings against the headers of torch " + f.t.Release)
	dir := filepath.Join(f.work, "libtch", cppFolder)
	var gaps []gap
	for range 8 {
		out, err := f.o.sys.run(ctx, f.cxx.command(dir, slices.Concat(f.t.compileFlags(),
			[]string{"-I..", "-fsyntax-only", "-fmax-errors=0", unit})...))
		if err == nil {
			return gaps, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		filled := 0
		for _, file := range []string{bindings, unit} {
			lines := errorLines(out, file)
			if len(lines) == 0 {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return nil, err
			}
			text2, names, err := stub(string(text), lines, func(name string) string {
				return fmt.Sprintf("libtorch %s has no %s as gotch %s calls it",
					f.t.Release, gap{file, name}.operation(), GotchVersion)
			})
			if err != nil {
				return nil, fmt.Errorf("gotch %s does not fit torch %s: %s: %w\n%s",
					GotchVersion, f.t.Release, file, err, firstErrors(out, 3))
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text2), 0o644); err != nil {
				return nil, err
			}
			for _, name := range names {
				gaps = append(gaps, gap{file, name})
			}
			filled += len(names)
		}
		if filled == 0 {
			return nil, fmt.Errorf("gotch %s does not fit torch %s in %s:\n%s",
				GotchVersion, f.t.Release, f.t.Lib, firstErrors(out, 3))
		}
	}
	return nil, fmt.Errorf("gotch %s does not fit torch %s: stubbing %d functions brought up ever new errors",
		GotchVersion, f.t.Release, len(gaps))
}

func (f *fitter) compile(ctx context.Context) error {
	dir := filepath.Join(f.work, "libtch", cppFolder)
	c := f.cxx.command(dir, slices.Concat(f.t.compileFlags(), []string{"-I..", "-O2", "-fPIC", "-c", unit, "-o", "torch_api.o"})...)
	if _, err := f.o.sys.run(ctx, c); err != nil {
		return fmt.Errorf("compiling gotch's bindings: %w", err)
	}
	if _, err := f.o.sys.run(ctx, command{dir: dir, name: "ar", args: []string{"rcs", filepath.Join("..", archive), "torch_api.o"}}); err != nil {
		return fmt.Errorf("archiving gotch's bindings: %w", err)
	}
	return os.Remove(filepath.Join(dir, "torch_api.o"))
}

// probe links a small program as stoker-torch will be linked, and runs it.
func (f *fitter) probe(ctx context.Context, r *Fitted) error {
	dir := filepath.Join(f.work, "libtch", cppFolder)
	if err := os.WriteFile(filepath.Join(dir, "probe.cpp"), probeSource, 0o644); err != nil {
		return err
	}
	args := slices.Concat([]string{"-O1", f.t.abiFlag(), "-std=" + f.t.Std, "probe.cpp", filepath.Join("..", archive), "-o", "probe"},
		f.t.linkFlags(), []string{"-ldl"})
	if _, err := f.o.sys.run(ctx, f.cxx.command(dir, args...)); err != nil {
		return fmt.Errorf("linking with torch %s: %w", f.t.Release, err)
	}
	run := command{dir: dir, name: filepath.Join(dir, "probe"), env: f.t.environment(f.o.sys.env("LD_LIBRARY_PATH"))}
	if f.t.CUDA != "" && len(f.t.CUDALacks) == 0 {
		run.args = []string{filepath.Join(f.t.Lib, "libtorch_cuda.so")}
	}
	out, err := f.o.sys.run(ctx, run)
	if err != nil {
		return fmt.Errorf("torch %s was built against but does not run: %w", f.t.Release, err)
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "release":
			if value != "" && !sameRelease(value, f.t.Release) {
				return fmt.Errorf("the headers in %s are of torch %s, the library in %s is %s",
					f.t.Include[0], f.t.Release, f.t.Lib, value)
			}
		case "blas":
			if f.t.BLAS == "unknown" && value != "" {
				f.t.BLAS = value
			}
		case "threads":
			if r.Threads, err = strconv.Atoi(value); err != nil {
				return fmt.Errorf("asking torch for its threads: %w", err)
			}
		case "cuda":
			r.CUDAFault = value
		}
	}
	return os.Remove(filepath.Join(dir, "probe"))
}

var pathForm = regexp.MustCompile(pathLetter)

// usablePaths refuses folders that cgo's flag check would refuse later and
// less clearly.
func usablePaths(paths []string) error {
	for _, p := range paths {
		if !pathForm.MatchString(p) {
			return fmt.Errorf("the folder %q has characters that cgo does not pass to a compiler; move it, or set XDG_CACHE_HOME to a plain folder", p)
		}
	}
	return nil
}
