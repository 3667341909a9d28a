package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// endless is a run that only a signal ends.
const endless = "train: {steps: 1000000000, copies: 2, log_every: 100, evaluate: {every: 0}, checkpoint: {every: " +
	"1000}}\n"

// Ctrl-C and SIGTERM save, say how to go on, and are told apart by their exit codes; resume goes on.
func TestSignalsSave(t *testing.T) {
	file, dir := config(t, endless), t.TempDir()
	run := filepath.Join("runs", "small-s1")
	for i, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, exitInterrupted}, {syscall.SIGTERM, exitTerminated}} {
		args := []string{"train", file}
		if i > 0 {
			args = []string{"resume", run}
		}
		c, errs := process(dir, args...)
		start(t, c, errs, "steps/s") // it is under way
		if err := c.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		// As timeout(1) does, which signals the process and then its group; the process may have ended by then.
		if err := c.Process.Signal(s.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		if code := wait(t, c); code != s.code {
			t.Errorf("%v: exit %d, want %d: %s", s.signal, code, s.code, errs)
		}
		contains(t, s.signal.String(), errs.String(), "stopped by "+s.signal.String()+" at step ",
			"of 1000000000, all saved; go on with: stoker resume "+run)
		if strings.ContainsAny(errs.String(), "\r\x1b") {
			t.Errorf("control characters where there is no terminal: %q", errs)
		}
		if code, out, errs := stoker("check", filepath.Join(dir, run)); code != exitDone {
			t.Errorf("after %v: %s%s", s.signal, out, errs)
		}
	}
}

// The second signal doesn't wait, and is a failure: what the first one asked for was not done. The run is whole all
// the same.
func TestSecondSignal(t *testing.T) {
	file, dir := config(t, endless), t.TempDir()
	c, errs := process(dir, "train", file, "--set", "agent.learning_starts=1500", "--set",
		"agent.gradient_steps=1000000000")
	start(t, c, errs, "steps/s")
	for deadline := time.Now().Add(time.Minute); !saved(filepath.Join(dir, "runs", "small-s1")); {
		if time.Now().After(deadline) {
			t.Fatalf("no checkpoint: %s", errs)
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // the update, which never ends, begins
	for range 2 {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(patience + 300*time.Millisecond)
	}
	if code := wait(t, c); code != exitFailed {
		t.Errorf("exit %d, want %d: %s", code, exitFailed, errs)
	}
	contains(t, "first signal", errs.String(), "saving, then stopping; Ctrl-C once more ends it at once")
	if code, out, errs := stoker("check", filepath.Join(dir, "runs", "small-s1")); code != exitDone {
		t.Errorf("%s%s", out, errs)
	}
}

// saved says whether a run has a checkpoint.
func saved(run string) bool {
	_, err := os.Stat(filepath.Join(run, "checkpoints", "latest"))
	return err == nil
}

// start starts a process and waits until its standard error says a word.
func start(t *testing.T, c *exec.Cmd, errs *output, word string) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // where the test has failed before
	await(t, errs, word)
}

// await waits until a process's standard error says a word.
func await(t *testing.T, errs *output, word string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(errs.String(), word); {
		if time.Now().After(deadline) {
			t.Fatalf("it doesn't say %q: %s", word, errs)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func wait(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// output is a buffer that is written by one goroutine and read by another.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
