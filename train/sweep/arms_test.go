package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// tiny is an experiment whose run takes milliseconds.
const tiny = `
name: tiny
env: {id: stoker/LQR-v1, steps: 5}
agent: {name: maddpg, mix: single, hidden: [4], batch: 4, random_steps: 4, learning_starts: 4}
train: {steps: 40, envs: 2, log_every: 10, evaluate: {every: 20, episodes: 1, metric: cost},
	checkpoint: {every: 20}}
`

// plan is a sweep of tiny over a grid of axes as --grid has them, and ranges as --random has them.
func plan(t *testing.T, seeds []uint64, trials int, keys ...string) *Plan {
	t.Helper()
	p := &Plan{Config: "tiny.yaml", Text: tiny, Folder: t.TempDir(), Seeds: seeds, Trials: trials, Metric: "cost"}
	for _, k := range keys {
		if strings.Contains(k, "(") {
			r := must.Get(ParseRange(k))(t)
			p.Random, p.Seed = append(p.Random, r), 1
			continue
		}
		a := must.Get(ParseAxis(k))(t)
		p.Grid = append(p.Grid, a)
	}
	return p
}

// A grid's arms are all combinations, with a run a seed.
func TestGrid(t *testing.T) {
	arms := must.Get(plan(t, []uint64{1, 7}, 0, "agent.actor_rate=1e-4,3e-4", "agent.hidden=[4],[8, 8]",
		"train.steps=40").Arms(catalog.Default()))(t)
	var got []string
	for _, a := range arms {
		got = append(got, a.Name)
	}
	want := []string{
		"actor_rate-1e-4_hidden-4_steps-40", "actor_rate-1e-4_hidden-8-8_steps-40",
		"actor_rate-3e-4_hidden-4_steps-40", "actor_rate-3e-4_hidden-8-8_steps-40",
	}
	if !slices.Equal(got, want) {
		t.Errorf("arms %q, want %q", got, want)
	}
	a := arms[1]
	if a.Steps != 40 || len(a.Runs) != 2 || a.Runs[1].Folder != a.Name+"-s7" || a.Runs[1].Status != Waiting ||
		fmt.Sprint(sets(a.Settings)) != "[agent.actor_rate=1e-4 agent.hidden=[8, 8] train.steps=40]" {
		t.Errorf("%+v", a)
	}
}

// A trial's values depend on its number and key alone: more trials, other keys and a grid change none of them. Trials
// that draw the same are one arm.
func TestTrials(t *testing.T) {
	settings := func(p *Plan, key string) (out []string) {
		t.Helper()
		arms := must.Get(p.Arms(catalog.Default()))(t)
		for _, a := range arms {
			for _, s := range a.Settings {
				if s.Key == key {
					out = append(out, s.Value)
				}
			}
		}
		return out
	}
	one := []uint64{1}
	few := settings(plan(t, one, 4, "agent.gamma=uniform(0.5,0.9)"), "agent.gamma")
	more := settings(plan(t, one, 9, "agent.tau=log(1e-4,0.1)", "agent.gamma=uniform(0.5,0.9)"), "agent.gamma")
	both := settings(plan(t, one, 4, "agent.batch=4,8", "agent.gamma=uniform(0.5,0.9)"), "agent.gamma")
	if len(few) != 4 || len(more) != 9 || !slices.Equal(few, more[:4]) || !slices.Equal(both, slices.Concat(few, few)) {
		t.Errorf("draws %q, with more %q, with a grid %q", few, more, both)
	}
	if got := settings(plan(t, one, 50, "agent.batch=int(4,6)"), "agent.batch"); len(got) != 3 {
		t.Errorf("50 draws of 3 values are arms %q", got)
	}
}

// Names are good folder names, and those of unlike settings differ.
func TestArmNames(t *testing.T) {
	long := "workload.path=/data/" + strings.Repeat("a", 90)
	p := plan(t, []uint64{1}, 0, long+"/b,"+strings.TrimPrefix(long, "workload.path=")+"/c,x y,x/y,x-y,é",
		"agent.tau=0.1")
	list := must.Get(p.combinations())(t)
	seen := map[string]bool{}
	for _, c := range list {
		name := p.armName(c)
		if !sweepName.MatchString(name+"-s123456789") || seen[name] {
			t.Errorf("%v is called %s", c, name)
		}
		seen[name] = true
	}
	if p := plan(t, nil, 0, "agent.actor.rate=1", "agent.critic.rate=2"); p.armName([]Setting{{"agent.actor.rate",
		"1"}}) !=
		"actor.rate-1" {
		t.Error("keys with the same last part are not told apart")
	}
}

func TestArmsErrors(t *testing.T) {
	for _, c := range []struct {
		set    string
		trials int
		keys   []string
		want   string
	}{
		{"", 0, nil, "nothing is varied: give --grid KEY=VALUE,VALUE"},
		{"", 0, []string{"agent.actor_rat=1,2"},
			"--grid agent.actor_rat=1: unknown key agent.actor_rat; did you mean actor_rate?"},
		{"", 0, []string{"agent.actor_rate=1e-4,2,x"},
			"--grid agent.actor_rate=2: agent.actor_rate is 2, want more than 0 and at " +
				"most 1\n--grid agent.actor_rate=x: agent.actor_rate is \"x\", want a number"},
		{"", 0, []string{"agent.tau=0.1,1e-1"}, "--grid agent.tau names the value 1e-1 twice"},
		{"", 0, []string{"agent.tau=0.1", "agent.tau=0.2"}, "key agent.tau is varied twice"},
		{"agent.tau=0.1", 0, []string{"agent.tau=0.1,0.2"}, "key agent.tau is given by --set and varied"},
		{"", 0, []string{"seed=1,2"}, "key seed can't be varied: the training seeds are those of --seeds"},
		{"", 0, []string{"eval.resamples=100,200"}, "key eval.resamples can't be varied"},
		{"", 0, []string{"agent.activation='relu',relu"}, "two arms are the same"},
		{"", 0, []string{"agent.tau=uniform(0.1,0.5)"}, "--random needs --trials"},
		{"", 3, []string{"agent.tau=0.1,0.2"}, "--trials is given without --random"},
		{"", 3, []string{"agent.tau=uniform(0.5,1.5)"}, "--random agent.tau=1.5: agent.tau is 1.5, want"},
		{"", 0, []string{"agent.tau=0.1,0.2", "agent=x"}, "--grid agent=x: "},
		{"", 20_000, []string{"agent.tau=uniform(0.1,0.5)"}, "the sweep has more than 10000 arms"},
		{"agent.tua=1", 0, []string{"agent.tau=0.1"}, "unknown key agent.tua"},
	} {
		p := plan(t, []uint64{1}, c.trials, c.keys...)
		if c.set != "" {
			p.Set = []string{c.set}
		}
		if _, err := p.Arms(catalog.Default()); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err,
			train.ErrUsage) {
			t.Errorf("%v: %v, want %q", c.keys, err, c.want)
		}
	}
	p := plan(t, nil, 0, "agent.tau=0.1")
	if _, err := p.Arms(catalog.Default()); err == nil || !strings.Contains(err.Error(), "no training seeds") {
		t.Errorf("no seeds: %v", err)
	}
}

// Relative paths of data start where the command was given, also when the sweep goes on from another folder.
func TestPathsOfAPlan(t *testing.T) {
	p := &Plan{Config: "own.yaml", Text: "name: own\nenv: {id: stoker/StepsFlat-v1, workflow: flow.yaml}\nagent: ppo\ntrain: {steps: 8}\n" +
		"workload: {draw: {traces: [{kind: azure2019, path: day}, {kind: azure2019, path: /elsewhere}]}}\n", Folder: filepath.FromSlash("/given/here")}
	x := must.Get(p.Load(catalog.Default()))(t)
	if got := x.Env.Config.(*steps.EnvConfig).Workflow; got != filepath.Join(p.Folder, "flow.yaml") {
		t.Errorf("the workflow is %s", got)
	}
	if d := x.Workload.Draw.Traces; d[0].Path != filepath.Join(p.Folder, "day") || d[1].Path != "/elsewhere" {
		t.Errorf("traces are %+v", d)
	}
}
