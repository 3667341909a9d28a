package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stoker-rl/stoker/internal/must"
)

// mainVar tells a copy of this test program to be stoker.
const mainVar = "STOKER_TEST_MAIN"

func TestMain(m *testing.M) {
	if gain := os.Getenv(policyVar); gain != "" && os.Getenv(mainVar) == "" {
		actAs(gain)
		return
	}
	if os.Getenv(mainVar) != "" {
		os.Exit(Main(os.Args[1:], Default()))
	}
	os.Exit(m.Run())
}

// shipped is one program for all tests: cobra keeps every command line that was made, and what hangs on it, until the process ends.
var shipped = Default()

// stoker runs the command in this process.
func stoker(a ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	root := newRoot(shipped)
	root.SetArgs(a)
	root.SetOut(&o)
	root.SetErr(&e)
	code = exitCode(root, root.ExecuteContext(context.Background()))
	return code, o.String(), e.String()
}

// process is the command in a process of its own, not yet started, with its standard error kept.
func process(dir string, a ...string) (*exec.Cmd, *output) {
	c, errs := exec.Command(os.Args[0], a...), &output{}
	c.Env, c.Dir, c.Stderr = append(os.Environ(), mainVar+"=1"), dir, errs
	return c, errs
}

// config writes a small experiment, and more keys behind it, to a file.
func config(t *testing.T, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	text := `name: small
env: {id: stoker/LQR-v1, steps: 5}
agent: {name: maddpg, mix: single, hidden: [4], batch: 4, replay: 300, random_steps: 4, learning_starts: 4}
` + more
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

const brief = "train: {steps: 40, envs: 2, log_every: 10, evaluate: {every: 20, episodes: 1}, checkpoint: {every: " +
	"20}}\neval: {seeds: 1-3, resamples: 100}\n"

// finished holds the files of a finished run, which is trained once.
var finished = fstest.MapFS{}

// trained is a folder of a finished run.
func trained(t *testing.T) string {
	t.Helper()
	run := filepath.Join(t.TempDir(), "a")
	if len(finished) > 0 {
		must.Do(t, os.CopyFS(run, finished))
		return run
	}
	if code, _, errs := stoker("train", config(t, brief), "--runs", filepath.Dir(run), "--name", "a"); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	must.Do(t, fs.WalkDir(os.DirFS(run), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(run, path))
		finished[path] = &fstest.MapFile{Data: b, Mode: 0o666}
		return err
	}))
	return run
}

// decode reads JSON and fails the test where it is none.
func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func contains(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in %s", what, w, text)
		}
	}
}

// fields splits a command line at spaces, but not at those of the folder for temporary files.
func fields(line string) []string {
	const folder = "\x00"
	words := strings.Fields(strings.ReplaceAll(line, os.TempDir(), folder))
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, folder, os.TempDir())
	}
	return words
}
