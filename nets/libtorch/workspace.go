package libtorch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

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
