package libtorch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Skip is a place that was looked at and passed over, and why.
type Skip struct{ Where, Why string }

func (s Skip) String() string { return s.Where + ": " + s.Why }

// Found is the libtorch that setting up would start from, and what was passed
// over on the way to it.
type Found struct {
	Torch   Torch
	Skipped []Skip
}

// ErrAbsent is wrapped by errors that mean: there is no libtorch here.
var ErrAbsent = errors.New("no libtorch found")

// Find looks for a libtorch in the order of the Origin constants and changes
// nothing: it fetches and installs nothing, and does not hash what it finds.
func Find(ctx context.Context, o Options) (Found, error) {
	o, err := o.filled()
	if err != nil {
		return Found{}, err
	}
	torches, skipped, err := o.local(ctx)
	if err != nil {
		return Found{Skipped: skipped}, err
	}
	if len(torches) == 0 && o.debianIsNext(ctx) {
		if t, err := o.accepted(FromDebian, "/usr"); err == nil {
			torches = append(torches, t)
		} else {
			skipped = append(skipped, Skip{"libtorch-dev", err.Error()})
		}
	}
	if len(torches) == 0 {
		return Found{Skipped: skipped}, fmt.Errorf("%w (%s); make cuda fetches one", ErrAbsent, joinSkips(skipped))
	}
	return Found{Torch: torches[0], Skipped: skipped}, nil
}

// debianIsNext says whether Debian's package would be used if it is installed:
// it stands in where there is no pip to fetch a newer torch with.
func (o Options) debianIsNext(ctx context.Context) bool {
	if o.From == "" && o.Release == "" {
		_, _, pip := o.findPip(ctx)
		return !pip
	}
	return o.From == FromDebian
}

// local lists what is on this machine apart from Debian's package, best first.
// A folder that was named but does not hold a libtorch is an error: whoever
// set LIBTORCH means that one.
func (o Options) local(ctx context.Context) (torches []Torch, skipped []Skip, err error) {
	if o.sys.goos != "linux" || multiarch(o.sys.goarch) == "" {
		return nil, nil, fmt.Errorf("%w: on %s/%s Stoker trains on its own CPU engine; libtorch is set up on "+
			"linux/amd64 and linux/arm64 only",
			ErrAbsent, o.sys.goos, o.sys.goarch)
	}
	if o.Folder != "" && o.wants(FromFolder) {
		t, err := o.accepted(FromFolder, o.Folder)
		if err != nil {
			return nil, nil, fmt.Errorf("LIBTORCH=%s: %w", o.Folder, err)
		}
		return []Torch{t}, nil, nil
	}
	if o.wants(FromPython) {
		places, why := o.pythonTorches(ctx)
		if why != "" {
			skipped = append(skipped, Skip{"python", why})
		}
		for _, dir := range places {
			if t, err := o.accepted(FromPython, dir); err == nil {
				torches = append(torches, t)
			} else {
				skipped = append(skipped, Skip{dir, err.Error()})
			}
		}
	}
	if o.wants(FromPip) {
		for _, f := range o.fetched() {
			if t, err := o.accepted(FromPip, f.site); err == nil {
				torches = append(torches, t)
			} else {
				skipped = append(skipped, Skip{f.site, err.Error()})
			}
		}
	}
	return torches, skipped, nil
}

// accepted inspects a folder and holds it against the release asked for.
func (o Options) accepted(from Origin, dir string) (Torch, error) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	t, err := inspect(o.sys, from, dir)
	if err != nil {
		return t, err
	}
	if o.Release != "" && !sameRelease(t.Release, o.Release) {
		return t, fmt.Errorf("it is release %s, asked for is %s", t.Release, o.Release)
	}
	return t, nil
}

// pythonTorches asks the Pythons at hand for their search path and looks for a
// torch folder in it. Importing torch would take seconds and run its code.
func (o Options) pythonTorches(ctx context.Context) (dirs []string, why string) {
	var pythons []string
	for _, home := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := o.sys.env(home); dir != "" {
			pythons = append(pythons, filepath.Join(dir, "bin", "python"))
		}
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := o.sys.look(name); err == nil {
			pythons = append(pythons, path)
		}
	}
	if len(pythons) == 0 {
		return nil, "there is none on PATH"
	}
	for _, python := range pythons {
		out, err := o.sys.run(ctx, cmdOf(python, "-c", `import sys; print("\n".join(sys.path))`))
		if err != nil {
			why = err.Error()
			continue
		}
		for line := range strings.Lines(out) {
			dir := filepath.Join(strings.TrimSpace(line), "torch")
			if filepath.IsAbs(dir) && isDir(dir) && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 && why == "" {
		why = fmt.Sprintf("no torch in the packages of %s", strings.Join(slices.Compact(pythons), ", "))
	}
	return dirs, why
}

// fetched lists the folders in the cache whose release is the one wanted, the
// fullest (with CUDA wheels) first.
func (o Options) fetched() []fetch {
	want := cmp.Or(o.Release, DefaultRelease)
	notes, err := filepath.Glob(filepath.Join(o.torches(), "*", fetchNote))
	if err != nil {
		return nil // the pattern is ours; only a malformed one errs
	}
	var all []fetch
	for _, note := range notes {
		f, err := readFetch(note)
		if err == nil && sameRelease(f.Release, want) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b fetch) int {
		if a.CUDA != b.CUDA {
			return cmp.Compare(boolRank(b.CUDA), boolRank(a.CUDA))
		}
		return cmp.Compare(a.site, b.site)
	})
	return all
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func joinSkips(skips []Skip) string {
	if len(skips) == 0 {
		return "nowhere to look"
	}
	text := make([]string, len(skips))
	for i, s := range skips {
		text[i] = s.String()
	}
	return strings.Join(text, "; ")
}

// Ensure does all of `make cuda` but the building of Stoker itself: it finds a
// libtorch or fetches one, fits gotch to it, and points the checkout at the
// fitted copy. What is done already is not done again. log is told in plain
// lines what happens; it may be nil.
func Ensure(ctx context.Context, o Options, log func(string)) (Fitted, error) {
	o, err := o.filled()
	if err != nil {
		return Fitted{}, err
	}
	if log == nil {
		log = func(string) {}
	}
	r, err := o.choose(ctx, log)
	if err != nil {
		return Fitted{}, err
	}
	return r, o.point(ctx, r, log)
}

// choose tries one libtorch after the other until one can be fitted.
func (o Options) choose(ctx context.Context, log func(string)) (Fitted, error) {
	if _, err := o.calls(); err != nil { // no libtorch would do
		return Fitted{}, err
	}
	local, skipped, err := o.local(ctx)
	if err != nil {
		return Fitted{}, err
	}
	for _, s := range skipped {
		log("not used: " + s.String())
	}
	try := func(t Torch) (Fitted, bool) {
		log(fmt.Sprintf("torch %s (%s) in %s", t.Version(), t.Origin, t.Root))
		r, err := o.fit(ctx, t, log)
		if err != nil {
			skipped = append(skipped, Skip{t.Root, err.Error()})
			log("not used: " + skipped[len(skipped)-1].String())
		}
		return r, err == nil
	}
	if o.Refit && o.From == FromPip {
		local = slices.DeleteFunc(local, func(t Torch) bool { return t.Origin == FromPip })
	}
	for _, t := range local {
		if t.Origin == FromPip && o.wheels() && len(t.CUDALacks) > 0 {
			if t, err = o.completeCUDA(ctx, t, log); err != nil {
				log("going on without CUDA's libraries: " + err.Error())
			}
		}
		if r, ok := try(t); ok {
			return r, nil
		}
		if ctx.Err() != nil {
			return Fitted{}, ctx.Err()
		}
	}
	if o.Folder != "" && o.wants(FromFolder) { // named, so nothing else will do
		return Fitted{}, errors.New(joinSkips(skipped))
	}
	for _, source := range []struct {
		from Origin
		get  func(context.Context, func(string)) (Torch, error)
	}{{FromPip, o.fetchTorch}, {FromDebian, o.debian}} {
		if !o.wants(source.from) {
			continue
		}
		t, err := source.get(ctx, log)
		if err == nil {
			if r, ok := try(t); ok {
				return r, nil
			}
		} else {
			skipped = append(skipped, Skip{string(source.from), err.Error()})
			log("not used: " + skipped[len(skipped)-1].String())
		}
		if ctx.Err() != nil {
			return Fitted{}, ctx.Err()
		}
	}
	return Fitted{}, fmt.Errorf("%w that fits:\n%s\n%s", ErrAbsent, listSkips(skipped), nextCommand)
}

// nextCommand is what someone with none of the usual ways open can do.
const nextCommand = "unpack a libtorch (https://pytorch.org, LibTorch, C++) and run: make cuda " +
	"LIBTORCH=/path/to/libtorch"

func listSkips(skips []Skip) string {
	lines := make([]string, len(skips))
	for i, s := range skips {
		lines[i] = "  " + s.String()
	}
	return strings.Join(lines, "\n")
}

// completeCUDA adds the wheels for a GPU to a libtorch fetched without them.
func (o Options) completeCUDA(ctx context.Context, t Torch, log func(string)) (Torch, error) {
	for _, f := range o.fetched() {
		if !strings.HasPrefix(t.Root, f.site) {
			continue
		}
		if err := o.addCUDA(ctx, f, log); err != nil {
			return t, err
		}
		return inspect(o.sys, t.Origin, t.Root)
	}
	return t, fmt.Errorf("%s was not fetched by make cuda", t.Root)
}
