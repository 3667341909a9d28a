package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/proof"
)

// folders holds the folders of one proof or short run, and the values of the variables in its steps.
type folders struct {
	out, tmp string
	values   map[string]string
}

// newFolders makes an empty folder for files, and a temporary one.
func newFolders(out string, needed []proof.Need) (*folders, error) {
	values := map[string]string{}
	var missing []string
	for _, n := range needed {
		if n.Env == "" {
			continue
		}
		if values[n.Env] = os.Getenv(n.Env); values[n.Env] == "" {
			missing = append(missing, fmt.Sprintf("%s is not set: %s", n.Env, n.Text))
		}
	}
	if missing != nil {
		return nil, errors.New(strings.Join(missing, "; "))
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "stoker-verify-")
	if err != nil {
		return nil, err
	}
	values["OUT"], values["TMP"] = out, tmp
	return &folders{out, tmp, values}, nil
}

func (f *folders) close() error { return os.RemoveAll(f.tmp) }

// replace expands the variables of steps.
func (f *folders) replace(text string) string {
	return os.Expand(text, func(name string) string {
		if v, ok := f.values[name]; ok {
			return v
		}
		return "$" + name // not a variable of steps
	})
}

// run runs one step; its output goes to a log.
func (f *folders) run(ctx context.Context, s proof.Step, log io.Writer) (err error) {
	var args []string
	for _, a := range s.Args {
		args = append(args, f.replace(a))
	}
	if s.Unless != "" {
		if _, err := os.Stat(s.Unless); err == nil {
			fmt.Fprintf(log, "%s exists: skipped %s\n", s.Unless, strings.Join(args, " "))
			return nil
		}
	}
	env := []string{"CGO_ENABLED=0", "GOWORK=off", proof.Folder + "=" + f.out}
	for _, e := range s.Env {
		env = append(env, f.replace(e))
	}
	fmt.Fprintf(log, "$ %s\n", strings.Join(slices.Concat(s.Env, args), " "))
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), log, log
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // runs save before they stop
	c.WaitDelay = time.Minute
	var said bytes.Buffer
	if s.Stdout != "" {
		c.Stdout = &said
		defer func() { // results name no folder of this machine
			text := bytes.ReplaceAll(said.Bytes(), []byte(f.out), []byte("$OUT"))
			err = errors.Join(err, os.WriteFile(filepath.Join(f.out, s.Stdout), text, 0o666))
		}()
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// build builds bin/stoker, which steps run.
func build(ctx context.Context) error {
	c := exec.CommandContext(ctx, "make", "build")
	c.Stdout, c.Stderr = io.Discard, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("make build: %w", err)
	}
	return nil
}
