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
