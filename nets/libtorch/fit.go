package libtorch

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
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
const fitFormat = 2

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
	uses map[string]string // what nets/torch calls of gotch, and where
	work string            // the copy while it is being made
}

// fit makes the fitted copy for one libtorch, or finds it made.
func (o Options) fit(ctx context.Context, t Torch, log func(string)) (Fitted, error) {
	f := &fitter{o: o, t: t, log: log}
	if err := usablePaths(append(slices.Concat(t.Include, t.LibDirs), o.fits())); err != nil {
		return Fitted{}, err
	}
	var err error
	if f.uses, err = o.calls(); err != nil {
		return Fitted{}, err
	}
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
	if err := o.room(o.fits(), 100_000_000); err != nil {
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
	fmt.Fprintln(h, fitFormat, f.g.Sum, f.t.Hash, f.t.Include, f.t.LibDirs, f.cxx.version, f.t.compileFlags(),
		f.t.linkFlags(), sortedNames(f.uses))
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
	texts, callers, err := f.cutSources()
	if err != nil {
		return r, err
	}
	r.Functions = len(callers)
	f.log(fmt.Sprintf("compiling the %d functions of gotch that Stoker calls against torch %s", r.Functions,
		f.t.Release))
	if err := f.compile(ctx, texts, callers); err != nil {
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

// cutSources writes what nets/torch needs of gotch into the copy. It returns the C++ and, for each C function, the Go
// functions that call it.
func (f *fitter) cutSources() (map[string]cppText, map[string][]string, error) {
	goFiles, cFiles, err := f.readSources()
	if err != nil {
		return nil, nil, err
	}
	cutFiles, callers, err := cutGo(goFiles, f.uses)
	if err != nil {
		return nil, nil, err
	}
	called := append(sortedNames(callers), cppWord.FindAllString(string(probeSource), -1)...)
	texts, err := cutCpp(cFiles, called)
	if err != nil {
		return nil, nil, err
	}
	for name := range callers { // C's own types and functions
		if !strings.HasPrefix(name, "at") {
			delete(callers, name)
		}
	}
	for file, text := range cutFiles {
		if err := writeFile(filepath.Join(f.work, "libtch", file), text); err != nil {
			return nil, nil, err
		}
	}
	for file, c := range texts {
		dir := filepath.Join(f.work, "libtch")
		if file == bindings || file == unit { // beside the Go files the go command would compile it
			dir = filepath.Join(dir, cppFolder)
		}
		if err := writeFile(filepath.Join(dir, file), []byte(c.text)); err != nil {
			return nil, nil, err
		}
	}
	return texts, callers, writeFile(filepath.Join(f.work, "go.mod"), []byte("module "+GotchModule+"\n\ngo 1.20\n"))
}

// readSources reads gotch's Go files, and its C and C++ files, and copies its licence.
func (f *fitter) readSources() (goFiles map[string][]byte, cFiles map[string]string, err error) {
	for _, dir := range []string{f.work, filepath.Join(f.work, "libtch", cppFolder)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, err
		}
	}
	read := func(name string) []byte {
		text, e := os.ReadFile(filepath.Join(f.g.Dir, name))
		err = errors.Join(err, e)
		return text
	}
	goFiles, cFiles = map[string][]byte{}, map[string]string{}
	names, err := filepath.Glob(filepath.Join(f.g.Dir, "libtch", "*.go"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range names {
		if name := filepath.Base(path); name != "lib.go" && !strings.HasSuffix(name, "_test.go") {
			goFiles[name] = read(filepath.Join("libtch", name))
		}
	}
	for _, name := range []string{apiHeader, genHeader, unit, bindings} {
		cFiles[name] = string(read(filepath.Join("libtch", name)))
	}
	licence := read("LICENSE")
	if err != nil {
		return nil, nil, fmt.Errorf("gotch's sources: %w", err)
	}
	return goFiles, cFiles, writeFile(filepath.Join(f.work, "LICENSE"), licence)
}

// compile makes the archive. Where libtorch lacks a function in the form that gotch calls, the error says who needs it.
func (f *fitter) compile(ctx context.Context, texts map[string]cppText, callers map[string][]string) error {
	dir := filepath.Join(f.work, "libtch", cppFolder)
	c := f.cxx.command(dir, slices.Concat(f.t.compileFlags(),
		[]string{"-I..", "-O2", "-fPIC", "-fmax-errors=0", "-c", unit, "-o", "torch_api.o"})...)
	out, err := f.o.sys.run(ctx, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		var needs []string
		for _, name := range refused(out, texts) {
			for _, caller := range callers[name] {
				needs = append(needs, fmt.Sprintf("it has no %s as gotch %s calls it, which %s needs",
					strings.TrimPrefix(name, "atg_"), GotchVersion, cmp.Or(f.uses[caller], caller)))
			}
		}
		if len(needs) > 0 {
			return fmt.Errorf("torch %s does not fit: %s\n%s", f.t.Release, strings.Join(needs, "; "),
				firstErrors(out, 3))
		}
		return fmt.Errorf("compiling gotch's bindings against torch %s in %s: %w", f.t.Release, f.t.Lib, err)
	}
	archiving := command{dir: dir, name: "ar", args: []string{"rcs", filepath.Join("..", archive), "torch_api.o"}}
	if _, err := f.o.sys.run(ctx, archiving); err != nil {
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
	args := slices.Concat([]string{"-O1", f.t.abiFlag(), "-std=" + f.t.Std, "probe.cpp", filepath.Join("..", archive),
		"-o", "probe"},
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
			return fmt.Errorf("the folder %q has characters that cgo does not pass to a compiler; move it, or set "+
				"XDG_CACHE_HOME to a plain folder", p)
		}
	}
	return nil
}
