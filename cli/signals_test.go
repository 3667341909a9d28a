package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
)

// endless is a run that only a signal ends.
const endless = "train: {steps: 1000000000, envs: 2, log_every: 100, evaluate: {every: 0}, checkpoint: {every: " +
	"1000}}\n"

// noSignals skips a test that sends signals where there are none.
func noSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends a process no signal")
	}
}

// Ctrl-C and SIGTERM save, say how to go on, and are told apart by their exit codes; resume goes on.
func TestSignalsSave(t *testing.T) {
	noSignals(t)
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
		must.Do(t, c.Process.Signal(s.signal))
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
	noSignals(t)
	file, dir := config(t, endless), t.TempDir()
	for try := 1; ; try++ {
		name := fmt.Sprint("try", try)
		run := filepath.Join(dir, "runs", name)
		c, errs := process(dir, "train", file, "--name", name, "--set", "agent.learning_starts=1010", "--set",
			"agent.gradient_steps=1000000000")
		start(t, c, errs, "steps/s")
		for !saved(run) {
			time.Sleep(5 * time.Millisecond) // a look at the folder now and then, as often as it takes
		}
		// The update soon after it, which never ends, begins. Where the signal comes before it, the run stops: then again.
		ended := make(chan int, 1)
		go func() {
			_ = c.Wait() // the exit code says what was wrong
			ended <- c.ProcessState.ExitCode()
		}()
		must.Do(t, c.Process.Signal(os.Interrupt))
		if !errs.wait("saving, then stopping; Ctrl-C once more ends it at once", ended) {
			continue
		}
		err := c.Process.Signal(os.Interrupt)
		code := <-ended
		if errors.Is(err, os.ErrProcessDone) || code == exitInterrupted { // the stop was slow, but came before the update
			continue
		}
		if code != exitFailed {
			t.Errorf("exit %d, want %d: %s", code, exitFailed, errs)
		}
		if code, out, errs := stoker("check", run); code != exitDone {
			t.Errorf("%s%s", out, errs)
		}
		return
	}
}

// saved says whether a run's last checkpoint is that of step 1,000.
func saved(run string) bool {
	latest, err := os.ReadFile(filepath.Join(run, "checkpoints", "latest"))
	return err == nil && strings.HasPrefix(string(latest), "step-000000001000 ")
}

// start starts a process and waits until its standard error says a word.
func start(t *testing.T, c *exec.Cmd, errs *output, word string) {
	t.Helper()
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // where the test has failed before
	await(t, errs, word)
}

// await waits until a process's standard error says a word.
func await(t *testing.T, errs *output, word string) {
	t.Helper()
	errs.wait(word, nil)
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

// output is what a process says.
type output = shared
