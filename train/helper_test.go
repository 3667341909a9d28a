package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Small experiments: everything that a run does happens in a few milliseconds. Steps, copies and schedules don't
// divide one another, so that each falls between the others.
var small = map[string]string{
	// Choices, a joint critic, updates every few steps, replay that wraps around.
	"spread": `
name: spread
seed: 7
env: {id: stoker/SimpleSpread-v1, steps: 5}
agent: {name: maddpg, mix: joint, hidden: [4], batch: 4, replay: 30, update_every: 4, random_steps: 6, learning_starts: 9}
train: {steps: 48, envs: 3, log_every: 10, evaluate: {every: 15, episodes: 2}, checkpoint: {every: 12, keep: 2}}
`,
	// Continuous actions, standardised observations, falling noise.
	"lqr": `
name: lqr
seed: 8
env: {id: stoker/LQR-v1, steps: 7}
agent: {name: maddpg, mix: single, hidden: [4], batch: 4, replay: 1000, random_steps: 6, learning_starts: 9, noise_final: 0.01}
train: {steps: 40, envs: 2, log_every: 7, evaluate: {every: 11, episodes: 1, metric: cost}, checkpoint: {every: 13, keep: 0}}
`,
	// Every wrapper, around several agents; episodes end by the time limit alone.
	"wrapped": `
name: wrapped
seed: 10
env: {id: stoker/SimpleSpread-v1, steps: 9}
wrappers: {time_limit: 4, normalize_observation: {clip: 2}, normalize_reward: {gamma: 0.9, clip: 1.5}}
agent: {name: maddpg, mix: joint, hidden: [4], batch: 4, replay: 30, update_every: 4, random_steps: 6, learning_starts: 9}
train: {steps: 48, envs: 3, log_every: 10, evaluate: {every: 15, episodes: 2}, checkpoint: {every: 12, keep: 2}}
`,
	// The simulator under the Azure trace, attention, an agent for each function; episodes begin and end on the way.
	"sizing": `
name: sizing
seed: 9
env: {id: stoker/Sizing-v2, windows: 5}
agent: {name: maddpg, hidden: [4], keys: 2, batch: 4, replay: 300, random_steps: 6, learning_starts: 9}
train: {steps: 36, envs: 3, log_every: 10, evaluate: {every: 14, episodes: 1, metric: price}, checkpoint: {every: 10, keep: 1}}
`,
}

func parse(t testing.TB, text string, sets ...string) *configs.Experiment {
	t.Helper()
	x := must.Get(configs.Parse("test.yaml", []byte(text), sets, catalog.Default()))(t)
	return x
}

// memory is a disk in memory. Locks and event files, which don't go through the seam, are beside it on the real one,
// in folders of the same names; no checkpoint has any.
type memory struct{ *durabletest.Disk }

func (m memory) Mkdir(name string) error {
	if strings.Contains(name, string(filepath.Separator)+checkpoints.CheckpointsDir) {
		return m.Disk.Mkdir(name)
	}
	err := os.MkdirAll(name, 0o777)
	return errors.Join(m.Disk.Mkdir(name), err)
}

func (m memory) Rename(from, to string) error {
	if err := m.Disk.Rename(from, to); err != nil {
		return err
	}
	if info, err := os.Lstat(from); err == nil && info.IsDir() {
		return errors.Join(os.RemoveAll(to), os.Rename(from, to))
	}
	return nil
}

// lab is where a test's runs are.
type lab struct {
	disk memory
	runs string
}

func newLab(t testing.TB) lab { return lab{memory{durabletest.New()}, t.TempDir()} }

// options of a run called a.
func (l lab) options() Options {
	return Options{RunsDir: l.runs, Name: "a", FS: l.disk, Version: "test", Command: []string{"test"}}
}

// dir is the folder of the run called a.
func (l lab) dir() string { return filepath.Join(l.runs, "a") }

// start runs an experiment to its end.
func (l lab) start(t testing.TB, x *configs.Experiment) *Result {
	t.Helper()
	res := must.Get(Start(context.Background(), x, l.options()))(t)
	return res
}

func (l lab) resume(t testing.TB) *Result {
	t.Helper()
	res := must.Get(Resume(context.Background(), l.dir(), l.options()))(t)
	return res
}

// whole holds the outcomes of finished, by configuration.
var whole sync.Map

// finished is the outcome of an experiment run in one go, with which many tests compare: each is run once.
func finished(t testing.TB, x *configs.Experiment) map[string]string {
	t.Helper()
	text := string(must.Get(x.YAML())(t))
	if out, ok := whole.Load(text); ok {
		return out.(map[string]string)
	}
	out := inOneGo(t, x)
	whole.Store(text, out)
	return out
}

// inOneGo runs an experiment to its end and returns the outcome.
func inOneGo(t testing.TB, x *configs.Experiment) map[string]string {
	t.Helper()
	l := newLab(t)
	l.start(t, x)
	return l.outcome(t)
}

// sound fails the test where check finds a problem.
func (l lab) sound(t testing.TB) {
	t.Helper()
	if r, err := checkpoints.CheckFS(l.disk, l.dir()); err != nil {
		t.Fatalf("%v\n%v", err, r)
	}
}

func (l lab) outcome(t testing.TB) map[string]string { t.Helper(); return outcome(t, l.disk, l.dir()) }

// fast is the real disk without waiting for it: nothing that is tested there depends on what a power cut would leave.
type fast = durable.Unsynced

// options of a run called a on the real disk.
func options(runs string) Options {
	return Options{RunsDir: runs, Name: "a", FS: fast{}, Version: "test", Command: []string{"test"}}
}

// start runs an experiment to its end in a new folder of the real disk and returns the run's.
func start(t testing.TB, x *configs.Experiment) string {
	t.Helper()
	runs := t.TempDir()
	must.Get(Start(context.Background(), x, options(runs)))(t)
	return filepath.Join(runs, "a")
}

// outcome is all that must not depend on how a run was carried out: the files of its latest checkpoint, that
// checkpoint's name, what best names, and the metrics.
func outcome(t testing.TB, fsys durable.FS, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(name string, path ...string) {
		b := must.Get(durable.ReadFile(fsys, filepath.Join(append([]string{dir}, path...)...), 1<<30))(t)
		out[name] = string(b)
	}
	read(checkpoints.MetricsFile, checkpoints.MetricsFile)
	at := must.Get(checkpoints.ReadPointer(fsys, filepath.Join(dir, checkpoints.CheckpointsDir), checkpoints.Latest))(t)
	entries := must.Get(fsys.ReadDir(at))(t)
	for _, p := range []checkpoints.Pointer{checkpoints.Latest, checkpoints.Best} {
		read(string(p), checkpoints.CheckpointsDir, string(p))
	}
	for _, e := range entries {
		read(e.Name(), checkpoints.CheckpointsDir, filepath.Base(at), e.Name())
	}
	return out
}

// same fails the test where two outcomes differ.
func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if d := differs(got, want); d != "" {
		t.Fatalf("%s: %s", what, d)
	}
}

// differs says where two outcomes differ, empty where they don't.
func differs(got, want map[string]string) string {
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		return fmt.Sprintf("files %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	names := slices.Sorted(maps.Keys(want))
	slices.Reverse(names) // hashes of files come last: they say the least
	for _, name := range names {
		g, w := got[name], want[name]
		if g == w {
			continue
		}
		at := 0
		for at < min(len(g), len(w)) && g[at] == w[at] {
			at++
		}
		return fmt.Sprintf("%s differs at byte %d of %d: …%q, want …%q", name, at, len(w), around(g, at), around(w, at))
	}
	return ""
}

func around(s string, at int) string { return s[max(0, at-40):min(len(s), at+40)] }

// countdown is a context that ends, with a cause, when it has been asked for it n times.
type countdown struct {
	context.Context
	n int
}

var errStop = fmt.Errorf("told to stop")

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return errStop
	}
	return nil
}

// copyTree copies a folder as it stands.
func copyTree(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "a")
	must.Do(t, os.CopyFS(to, os.DirFS(from)))
	return to
}
