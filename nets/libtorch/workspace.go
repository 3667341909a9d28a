package libtorch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// compileFlags are what C++ against this libtorch is compiled with, gotch's
// and that of nets/torch alike. Optimisation comes on top.
func (t Torch) compileFlags() []string {
	flags := make([]string, 0, 8)
	flags = append(flags, "-std="+t.Std, t.abiFlag(), "-DNDEBUG", "-w")
	for _, dir := range t.Include {
		flags = append(flags, "-I"+dir)
	}
	return flags
}

// abiFlag must be as libtorch was built, or no function that takes a string
// links. https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
func (t Torch) abiFlag() string {
	if t.NewABI {
		return "-D_GLIBCXX_USE_CXX11_ABI=1"
	}
	return "-D_GLIBCXX_USE_CXX11_ABI=0"
}

// linkFlags name torch_cpu and c10 only. The CUDA half is opened at run time
// (dlopen), so that one binary serves machines with and without a GPU.
func (t Torch) linkFlags() []string {
	flags := []string{"-L" + t.Lib}
	if t.Origin == FromDebian {
		flags = nil // the system's own folder needs no search path
	} else {
		for _, dir := range t.LibDirs {
			flags = append(flags, "-Wl,-rpath,"+dir)
		}
	}
	return append(flags, "-ltorch_cpu", "-lc10", "-lstdc++", "-lm")
}

// environment is what a program that links this libtorch is started with: its
// own folders come first, whatever another LD_LIBRARY_PATH leads to, and
// waiting OpenMP threads sleep instead of spinning (beside one busy process a
// spinning pair fell to a fiftieth of its speed).
func (t Torch) environment(libraryPath string) []string {
	const patience = "OMP_WAIT_POLICY=PASSIVE"
	if t.Origin == FromDebian {
		return []string{patience}
	}
	dirs := append(slices.Clone(t.LibDirs), filepath.SplitList(libraryPath)...)
	return []string{patience, "LD_LIBRARY_PATH=" + strings.Join(dirs, string(filepath.ListSeparator))}
}

// cgoFile replaces gotch's lib.go, whose flags know one libtorch in one place.
func (f *fitter) cgoFile() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Written by Stoker for torch %s; make cuda writes it again.\n\npackage libtch\n\n",
		f.t.Version())
	b.WriteString("// #cgo CFLAGS: -I${SRCDIR} -O2 -Wno-unused-function\n")
	fmt.Fprintf(&b, "// #cgo LDFLAGS: ${SRCDIR}/%s %s\n", archive, strings.Join(f.t.linkFlags(), " "))
	b.WriteString("import \"C\"\n")
	return b.Bytes()
}

// packageFile is nets/torch's git-ignored file: flags for its own C++, the
// release it was built with, and where the library for CUDA graphs is, or why
// there is none.
func (r Fitted) packageFile(graphs string, fault error) []byte {
	t := r.Torch
	var b bytes.Buffer
	b.WriteString("// Written by make cuda for the libtorch at hand; not for committing.\n\n")
	b.WriteString("//go:build libtorch\n\npackage torch\n\n")
	fmt.Fprintf(&b, "// #cgo CXXFLAGS: %s -O2\n", strings.Join(t.compileFlags(), " "))
	fmt.Fprintf(&b, "// #cgo LDFLAGS: %s -ldl\n", strings.Join(t.linkFlags(), " "))
	b.WriteString("import \"C\"\n\n")
	b.WriteString("// fittedRelease is the torch release this package was built against.\n")
	fmt.Fprintf(&b, "const fittedRelease = %q\n\n", t.Release)
	why := ""
	if fault != nil {
		why, _, _ = strings.Cut(fault.Error(), "\n")
	}
	b.WriteString("// graphsLibrary is the library for CUDA graphs; where it is empty, graphsFault says why.\n")
	fmt.Fprintf(&b, "const (\n\tgraphsLibrary = %q\n\tgraphsFault   = %q\n)\n", graphs, why)
	return b.Bytes()
}

// flagsFile is what setting up writes for nets/torch's own C++.
const flagsFile = "nets/torch/zz_libtorch.go"

var goLine = regexp.MustCompile(`(?m)^go (\S+)$`)

// point makes the checkout build against a fitted copy: go.work replaces gotch
// by it, and nets/torch gets its compiler flags. Both files are git-ignored.
// A go.work of the user's own keeps whatever else it says.
func (o Options) point(ctx context.Context, r Fitted, log func(string)) error {
	mod, err := os.ReadFile(filepath.Join(o.Root, "go.mod"))
	if err != nil {
		return fmt.Errorf("no checkout of Stoker in %q: %w", o.Root, err)
	}
	run := func(args ...string) error {
		c := cmdOf("go", append([]string{"work"}, args...)...)
		// The folder may lie in another workspace; this one is meant.
		c.dir, c.env = o.Root, []string{"GOWORK=" + filepath.Join(o.Root, "go.work")}
		_, err := o.sys.run(ctx, c)
		return err
	}
	if !exists(filepath.Join(o.Root, "go.work")) {
		if err := run("init", "."); err != nil {
			return fmt.Errorf("writing go.work: %w", err)
		}
		if m := goLine.FindSubmatch(mod); m != nil {
			// As go.mod says, so that an older toolchain that may build the
			// module may build the workspace.
			if err := run("edit", "-go="+string(m[1])); err != nil {
				return fmt.Errorf("writing go.work: %w", err)
			}
		}
	}
	replace := fmt.Sprintf("-replace=%s@%s=%s", GotchModule, GotchVersion, r.Dir)
	if err := run("edit", replace); err != nil {
		return fmt.Errorf("writing go.work: %w", err)
	}
	path := filepath.Join(o.Root, flagsFile)
	graphs, fault := o.graphs(ctx, r, log)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault != nil {
		log("going on without CUDA graphs: " + fault.Error())
	}
	text := r.packageFile(graphs, fault)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeFile(path, text)
}

var replaceLine = regexp.MustCompile(regexp.QuoteMeta(GotchModule+" "+GotchVersion) + `\s*=>\s*(\S+)`)

// current is the fitted copy that the checkout builds against, or the newest.
func (o Options) current() (Fitted, bool) {
	if text, err := os.ReadFile(filepath.Join(o.Root, "go.work")); err == nil {
		if m := replaceLine.FindSubmatch(text); m != nil {
			if r, err := ReadFitted(string(m[1])); err == nil {
				return r, true
			}
		}
	}
	if all := o.records(); len(all) > 0 {
		return all[0], true
	}
	return Fitted{}, false
}

// Prebuild has the go command build the bindings and nets/torch once, so that
// later builds and an editor find them in Go's build cache.
func Prebuild(ctx context.Context, o Options, log func(string)) error {
	o, err := o.filled()
	if err != nil {
		return err
	}
	targets := []string{GotchModule + "/libtch"}
	sources, err := filepath.Glob(filepath.Join(o.Root, "nets", "torch", "*.go"))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sources, func(p string) bool { return filepath.Base(p) == "doc.go" }) {
		targets = append(targets, "./nets/torch/...")
	}
	if log != nil {
		log("building the Go side of the bindings")
	}
	c := cmdOf("go", append([]string{"build", "-tags", "libtorch"}, targets...)...)
	c.dir, c.env = o.Root, []string{"CGO_ENABLED=1", "GOWORK=" + filepath.Join(o.Root, "go.work")}
	if _, err := o.sys.run(ctx, c); err != nil {
		return fmt.Errorf("building the libtorch engine: %w", err)
	}
	return nil
}
