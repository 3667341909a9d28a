package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/internal/must"
)

const offline = `
name: offline
seed: 9
env: {id: stoker/Sizing-v2, windows: 5, users: [10]}
workload: {kind: closed-loop}
agent: {name: maddpg, hidden: [4], keys: 2, batch: 4, replay: 300, rate_final: 0.1}
train: {steps: 12, envs: 3, log_every: 5, evaluate: {every: 4, episodes: 1, metric: price}, checkpoint: {every: 5, keep: 1}}
`

// written is a library of the environment of an experiment, in a file.
func written(t *testing.T, text string, rows int) string {
	t.Helper()
	x := parse(t, text)
	l := must.Get(library.Make(context.Background(), library.Plan{
		NewEnv: func() (envs.Env, error) { return NewEnv(x, "train") }, Rows: rows, Seed: 1, High: 1,
	}))(t)
	var b bytes.Buffer
	must.Do(t, l.Write(&b))
	path := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// A run that learns from a library steps no environment but in evaluations, and resumes to the same bytes after any
// stop, even where the library is gone: its rows are in the checkpoint.
func TestLibraryRun(t *testing.T) {
	path := written(t, offline, 60)
	rows := must.Get(os.ReadFile(path))(t)
	set := "train.library.path=" + path
	want := finished(t, parse(t, offline, set))
	if !strings.Contains(want["manifest.json"], `"digest"`) {
		t.Error("the checkpoint's configuration does not name the library's digest")
	}
	if m := want["metrics.jsonl"]; !strings.Contains(m, `"time/episodes":0,`) || !strings.Contains(m, `"train/replay":60`) ||
		!strings.Contains(m, `"train/n_updates":12`) || strings.Contains(m, "rollout/") {
		t.Errorf("metrics are\n%s", m)
	}
	for _, stride := range []int{0, 3} {
		l := newLab(t)
		gone := filepath.Join(t.TempDir(), "rows.csv")
		must.Do(t, os.WriteFile(gone, rows, 0o600))
		ctx := &countdown{context.Background(), stride}
		_, err := Start(ctx, parse(t, offline, "train.library.path="+gone), l.options())
		must.Do(t, os.Remove(gone))
		for err != nil {
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			ctx.n = stride + 1
			_, err = Resume(ctx, l.dir(), l.options())
		}
		same(t, fmt.Sprintf("stopped every %d updates", stride), l.outcome(t), want)
	}
}

func TestLibraryRunRefuses(t *testing.T) {
	path := written(t, offline, 60)
	set := "train.library.path=" + path
	open := strings.Replace(offline, "users: [10]", "", 1)
	for want, x := range map[string][]string{
		"agent.replay is 20, but":                  {offline, set, "agent.replay=20"},
		"no digest":                                {offline, set, "train.library.digest=0123"},
		"want sequential (env.workflow)":           {offline, set, "env.workflow=sequential"},
		"cannot learn from a library":              {offline, set, "wrappers.normalize_observation.clip=5"},
		"is arrivals":                              {open, set, "workload.kind=azure2019"},
		"local-global needs measurements":          {offline, set, "env.reward.form=local-global"},
		"not of stoker/LQR-v1":                     {small["lqr"], set},
		"none.csv":                                 {offline, "train.library.path=none.csv"},
		"keeps the thresholds of this environment": {offline, set, "env.qos.latency=0.01"},
	} {
		if want == "no digest" {
			want = "it is another file"
		}
		l := newLab(t)
		_, err := Start(context.Background(), parse(t, x[0], x[1:]...), l.options())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := l.disk.Lstat(l.dir()); err == nil {
			t.Errorf("%s: there is a run's folder", want)
		}
	}
}
