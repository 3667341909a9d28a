package libtorch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
