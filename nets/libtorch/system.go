package libtorch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// system is what this package asks of the machine. Tests put a made-up one in
// its place, so that no test needs a network, a compiler or root.
type system struct {
	goos, goarch string
	// sysroot is put before absolute folders such as /usr/include.
	sysroot string
	root    bool // may install packages
	env     func(string) string
	run     func(ctx context.Context, c command) (string, error)
	look    func(name string) (string, error)
	free    func(dir string) (uint64, error) // bytes a user may still write
	gpu     func() bool
	glibc   func(ctx context.Context) (int, int)
}

// host is the machine this process runs on.
func host() *system {
	s := &system{
		goos: runtime.GOOS, goarch: runtime.GOARCH, sysroot: "/",
		root: os.Geteuid() == 0,
		env:  os.Getenv, run: runCommand, look: exec.LookPath, free: diskFree,
	}
	s.gpu = func() bool { return exists("/dev/nvidia0") || exists("/dev/nvidiactl") }
	s.glibc = func(ctx context.Context) (int, int) { return glibcRelease(ctx, s) }
	return s
}

// at is an absolute path inside the system root.
func (s *system) at(path string) string { return filepath.Join(s.sysroot, path) }

// A command is a program to run: in dir, with env added to the environment.
type command struct {
	dir  string
	env  []string
	name string
	args []string
}

func cmdOf(name string, args ...string) command { return command{name: name, args: args} }

// runCommand runs a program and returns what it wrote to both outputs. A
// failure carries the command and the last lines of its output.
func runCommand(ctx context.Context, c command) (string, error) {
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), c.env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return string(out), nil
	}
	if ctx.Err() != nil {
		return string(out), ctx.Err()
	}
	return string(out), &commandError{line: c.String(), output: string(out), err: err}
}

type commandError struct {
	line, output string
	err          error
}

func (e *commandError) Error() string {
	text := fmt.Sprintf("%s: %v", e.line, e.err)
	if said := lastLines(e.output, 8); said != "" {
		text += "\n" + said
	}
	return text
}

func (e *commandError) Unwrap() error { return e.err }

// String is the command as one would type it, shortened where it is long.
func (c command) String() string {
	line := c.name
	for _, a := range c.args {
		if len(line) > 200 {
			return line + " …"
		}
		line += " " + a
	}
	return line
}

// lastLines keeps the n last lines that say something.
func lastLines(text string, n int) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) > n {
		kept = kept[len(kept)-n:]
	}
	return strings.Join(kept, "\n")
}

// glibcRelease asks for the C library's release, which bounds the wheels that
// can run here; 2.28, what PyPI's torch wheels ask for, where it is not told.
func glibcRelease(ctx context.Context, s *system) (major, minor int) {
	out, err := s.run(ctx, cmdOf("getconf", "GNU_LIBC_VERSION"))
	if err == nil {
		if _, err = fmt.Sscanf(strings.TrimSpace(out), "glibc %d.%d", &major, &minor); err == nil {
			return major, minor
		}
	}
	return 2, 28
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// isDir follows links: Debian's python package links its lib folder.
func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// pip is a way to run pip that was seen to work.
type pip struct {
	sys  *system
	name string
	args []string // what stands before pip's own arguments
}

// pip finds a pip that runs, and as root installs Debian's where there is none.
func (o Options) pip(ctx context.Context, log func(string)) (pip, error) {
	p, why, ok := o.findPip(ctx)
	if ok {
		return p, nil
	}
	if err := o.install(ctx, log, "pip", "python3-pip"); err != nil {
		return pip{}, fmt.Errorf("no pip to fetch libtorch with (%s): %w", why, err)
	}
	if p, why, ok = o.findPip(ctx); ok {
		return p, nil
	}
	return pip{}, fmt.Errorf("no pip to fetch libtorch with, even after installing it: %s", why)
}

func (o Options) findPip(ctx context.Context) (pip, string, bool) {
	why := "neither python3 nor pip is on PATH"
	for _, try := range [][]string{{"python3", "-m", "pip"}, {"python", "-m", "pip"}, {"pip3"}, {"pip"}} {
		path, err := o.sys.look(try[0])
		if err != nil {
			continue
		}
		p := pip{sys: o.sys, name: path, args: try[1:]}
		c := cmdOf(path, append(append([]string(nil), p.args...), "--version")...)
		if _, err := o.sys.run(ctx, c); err != nil {
			why = lastLines(err.Error(), 1)
			continue
		}
		return p, "", true
	}
	return pip{}, why, false
}

// compiler is the C++ compiler to build with: $CXX, else g++, else clang++.
type compiler struct {
	path    string
	args    []string // $CXX may hold flags
	version string
}

func (o Options) compiler(ctx context.Context, log func(string)) (compiler, error) {
	if named := strings.Fields(o.sys.env("CXX")); len(named) > 0 {
		path, err := o.sys.look(named[0])
		if err != nil {
			return compiler{}, fmt.Errorf("CXX=%s: %w", strings.Join(named, " "), err)
		}
		return o.askVersion(ctx, compiler{path: path, args: named[1:]})
	}
	for range 2 {
		for _, name := range []string{"g++", "clang++"} {
			if path, err := o.sys.look(name); err == nil {
				return o.askVersion(ctx, compiler{path: path})
			}
		}
		if err := o.install(ctx, log, "a C++ compiler", "g++"); err != nil {
			return compiler{}, err
		}
	}
	return compiler{}, fmt.Errorf("g++ was installed but is not on PATH")
}

func (o Options) askVersion(ctx context.Context, c compiler) (compiler, error) {
	out, err := o.sys.run(ctx, c.command("", "--version"))
	if err != nil {
		return c, fmt.Errorf("the C++ compiler does not run: %w", err)
	}
	c.version, _, _ = strings.Cut(strings.TrimSpace(out), "\n")
	return c, nil
}

func (c compiler) command(dir string, args ...string) command {
	return command{dir: dir, name: c.path, args: append(append([]string(nil), c.args...), args...)}
}

// install installs Debian packages as root; anyone else is told the line.
func (o Options) install(ctx context.Context, log func(string), what string, packages ...string) error {
	line := "apt-get install -y --no-install-recommends " + strings.Join(packages, " ")
	if _, err := o.sys.look("apt-get"); err != nil {
		return fmt.Errorf("%s is missing; install it with this system's package manager (on Debian: %s), then run: "+
			"make cuda", what, line)
	}
	if !o.sys.root {
		return fmt.Errorf("%s is missing; run: sudo %s && make cuda", what, line)
	}
	log("installing " + strings.Join(packages, " ") + " with apt-get")
	env := []string{"DEBIAN_FRONTEND=noninteractive"}
	args := strings.Fields(line)[1:]
	if _, err := o.sys.run(ctx, command{env: env, name: "apt-get", args: args}); err == nil {
		return nil
	}
	// Package lists may be missing or old: fetch them and try once more.
	if _, err := o.sys.run(ctx, command{env: env, name: "apt-get", args: []string{"update"}}); err != nil {
		return fmt.Errorf("%s is missing and the package lists cannot be fetched: %w", what, err)
	}
	if _, err := o.sys.run(ctx, command{env: env, name: "apt-get", args: args}); err != nil {
		return fmt.Errorf("%s is missing and cannot be installed: %w", what, err)
	}
	return nil
}

// debian gives Debian's libtorch, installed where this may be done, with
// OpenBLAS: with the reference BLAS products take ten times as long.
func (o Options) debian(ctx context.Context, log func(string)) (Torch, error) {
	t, err := o.accepted(FromDebian, "/usr")
	if err != nil {
		if o.Release != "" && o.From != FromDebian {
			return t, err // a release was asked for; Debian's is what it is
		}
		if ierr := o.install(ctx, log, "Debian's libtorch", "libtorch-dev", "libopenblas-dev"); ierr != nil {
			return t, ierr
		}
		return o.accepted(FromDebian, "/usr")
	}
	if blasBehind(o.sys, "libblas.so.3") == "reference" {
		if err := o.install(ctx, log, "OpenBLAS", "libopenblas-dev"); err != nil {
			log("going on with the slow reference BLAS: " + err.Error())
		}
	}
	return t, nil
}
