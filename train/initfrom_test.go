package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
)

// A run started from another's weights acts as that one did from its first step: the policy of its first checkpoint,
// actor and frozen view of observations, is the other's. Counters begin anew.
func TestInitFrom(t *testing.T) {
	for name, text := range small {
		t.Run(name, func(t *testing.T) {
			teacher := start(t, parse(t, text))
			runs := t.TempDir()
			o := options(runs)
			o.InitFrom = teacher
			_, err := Start(&countdown{context.Background(), 0}, parse(t, text, "seed=99"), o)
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			pupil := filepath.Join(runs, "a")
			from, err := OpenCheckpoint(teacher) // the best
			must.Do(t, err)
			got, err := OpenCheckpoint(pupil)
			must.Do(t, err)
			want, err := ReadPolicy(from)
			must.Do(t, err)
			have, err := ReadPolicy(got)
			must.Do(t, err)
			seen := false
			for name, a := range want.Arrays {
				seen = seen || strings.HasSuffix(name, ".shift")
				if !slices.Equal(a.Data, have.Arrays[name].Data) {
					t.Errorf("array %s of the policy differs from the teacher's", name)
				}
			}
			if !seen {
				t.Error("the policy has no view of observations: nothing is compared")
			}
			if h := got.Header(); h.Counters["steps"] != 0 || h.Counters["critic_updates"] != 0 {
				t.Errorf("counters begin at %v", h.Counters)
			}
			// It can go on, and what it came from is written down.
			must.Get(Resume(context.Background(), pupil, options("")))(t)
			b, err := os.ReadFile(filepath.Join(pupil, checkpoints.RunFile))
			must.Do(t, err)
			if !strings.Contains(string(b), `"init_from": "`+teacher) {
				t.Error("run.json doesn't say where the weights are from")
			}
		})
	}
}

// Where a policy is all that is left of a run, as of those in the zoo, its learner begins with it, and values begin anew. A
// learner that needs more refuses.
func TestInitFromPolicy(t *testing.T) {
	const wrappers = "wrappers: {normalize_observation: {clip: 2}, normalize_reward: {gamma: 0.9, clip: 1.5}}\n"
	begun := map[string]int{} // by learner, and whether observations are standardised
	for _, c := range combinations() {
		for _, standardised := range []bool{false, true} {
			text := c.brief()
			if standardised {
				text += wrappers
			}
			x := parse(t, text)
			teacher, err := try(t.Context(), t, x, "")
			begins := slices.Contains([]string{"ppo", "reinforce", "dqn"}, c.row.Name)
			if standardised && err != nil && (!begins || strings.Contains(err.Error(), "shows graphs alone")) {
				continue // it takes no wrappers
			}
			must.Do(t, err)
			from := must.Get(OpenCheckpoint(teacher))(t)
			policy := filepath.Join(t.TempDir(), "policy")
			must.Get(checkpoints.ExportPolicy(from, durable.OS{}, policy, PolicyFile))(t)
			x.Seed = 99
			now := &countdown{t.Context(), 0} // stops before the first step
			pupil, err := try(now, t, x, policy)
			if !begins {
				if err == nil || !strings.Contains(err.Error(), "want a full checkpoint") || !errors.Is(err, ErrUsage) {
					t.Errorf("%s: error %v, want a refusal", c.name, err)
				}
				continue
			}
			must.Do(t, err)
			begun[fmt.Sprint(c.row.Name, " ", standardised)]++
			first := must.Get(OpenCheckpoint(pupil))(t)
			want, have := must.Get(ReadPolicy(from))(t), must.Get(ReadPolicy(first))(t)
			for name, a := range want.Arrays {
				if !slices.Equal(a.Data, have.Arrays[name].Data) {
					t.Errorf("%s: array %s of the policy differs from the teacher's", c.name, name)
				}
			}
			s := must.Get(readLearner(first))(t)
			fresh := must.Get(readLearner(must.Get(OpenCheckpoint(must.Get(try(now, t, x, ""))(t)))(t)))(t)
			for name, a := range s.Weights {
				if strings.HasSuffix(name, "value") && !slices.Equal(a.Data, fresh.Weights[name].Data) {
					t.Errorf("%s: weights %s are not those of a run that begins anew", c.name, name)
				}
			}
			must.Get(Resume(t.Context(), pupil, options("")))(t)
		}
	}
	for _, name := range []string{"ppo false", "ppo true", "reinforce false", "reinforce true", "dqn false", "dqn true"} {
		if begun[name] == 0 {
			t.Errorf("no %s began with a policy: %v", name, begun)
		}
	}
}

// try trains x, and returns the run's folder. That ctx stops it is no error.
func try(ctx context.Context, t *testing.T, x *configs.Experiment, from string) (string, error) {
	t.Helper()
	o := options(t.TempDir())
	o.InitFrom = from
	_, err := Start(ctx, x, o)
	if errors.Is(err, errStop) {
		err = nil
	}
	return filepath.Join(o.RunsDir, "a"), err
}

// Where weights don't fit, or the normaliser that they need is missing, nothing is started.
func TestInitFromRefuses(t *testing.T) {
	teacher := start(t, parse(t, small["lqr"]))
	from, err := OpenCheckpoint(teacher)
	must.Do(t, err)
	policy := filepath.Join(t.TempDir(), "policy")
	_, err = checkpoints.ExportPolicy(from, durable.OS{}, policy, PolicyFile)
	must.Do(t, err)
	damaged := copyTree(t, from.Dir())
	must.Do(t, os.WriteFile(filepath.Join(damaged, loopFile), nil, 0o666))
	for _, c := range []struct {
		name, from string
		sets       []string
		usage      bool
		want       string
	}{
		{"nothing there", teacher + "x", nil, true, "there is no "},
		{"no run", t.TempDir(), nil, true, "neither a checkpoint"},
		{"a policy only", policy, nil, true, "want a full checkpoint"},
		{"damaged", damaged, nil, false, "refused"},
		{"another width", teacher, []string{"agent.hidden=[5]"}, true, "has shape"},
		{"another activation", teacher, []string{"agent.activation=tanh"}, true, "its network.arch.activation is relu, want tanh"},
		{"learned standardised", teacher, []string{"agent.standardise=false"}, true, "want standardise: true"},
		{"sees what it has standardised", teacher, []string{"wrappers.normalize_observation.clip=5"}, true, "set wrappers.normalize_observation.clip=0"},
	} {
		runs := t.TempDir()
		o := options(runs)
		o.InitFrom = c.from
		_, err := Start(context.Background(), parse(t, small["lqr"], c.sets...), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--init-from") ||
			errors.Is(err, ErrUsage) != c.usage {
			t.Errorf("%s: error %v (usage %v), want one with %q", c.name, err, errors.Is(err, ErrUsage), c.want)
		}
		if left, _ := os.ReadDir(runs); len(left) > 0 {
			t.Errorf("%s: %v was left behind", c.name, left)
		}
	}
	const ppo = `
name: ppo
env: {id: stoker/LQR-v1, steps: 7}
wrappers: {normalize_observation: {clip: 2}}
agent: {name: ppo, activation: tanh, hidden: [4], bounds: clip, rollout: 8, minibatches: 2}
train: {steps: 16, envs: 2, evaluate: {every: 16, episodes: 1}}
`
	alone := filepath.Join(t.TempDir(), "policy")
	_, err = checkpoints.ExportPolicy(must.Get(OpenCheckpoint(start(t, parse(t, ppo))))(t), durable.OS{}, alone, PolicyFile)
	must.Do(t, err)
	for _, c := range []struct{ old, now, want string }{
		{"tanh", "relu", "its network.arch.activation is tanh, want relu"},
		{"[4]", "[5]", "its network.arch.hidden[0] is 4, want 5"},
		{"bounds: clip", "bounds: tanh", "its bounds is clip, want tanh"},
		{"clip: 2", "clip: 3", "is standardised within ±2, want ±3"},
		{"wrappers: {normalize_observation: {clip: 2}}\n", "", "see wrappers.normalize_observation"},
		{"{name: ppo, activation: tanh, hidden: [4], bounds: clip, rollout: 8, minibatches: 2}", "{name: sac}", "its agent is ppo"},
	} {
		o := options(t.TempDir())
		o.InitFrom = alone
		x := parse(t, string(replace([]byte(ppo), c.old, c.now)))
		if _, err := Start(t.Context(), x, o); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.now, err, c.want)
		}
	}
	plain := start(t, parse(t, small["lqr"], "agent.standardise=false"))
	o := options(t.TempDir())
	o.InitFrom = plain
	if _, err := Start(context.Background(), parse(t, small["lqr"]), o); err == nil ||
		!strings.Contains(err.Error(), "want standardise: false") {
		t.Errorf("without a normaliser: %v", err)
	}
}

// An exported policy is a checkpoint of its own, whose policy is the run's best; it is small, and can't be resumed.
func TestExportPolicy(t *testing.T) {
	dir := start(t, parse(t, small["spread"]))
	best, err := OpenCheckpoint(dir)
	must.Do(t, err)
	at, err := checkpoints.Find(durable.OS{}, dir, checkpoints.Best)
	must.Do(t, err)
	if best.Dir() != at {
		t.Errorf("a run stands for %s, want its best, %s", best.Dir(), at)
	}
	dest := filepath.Join(t.TempDir(), "policy")
	c, err := checkpoints.ExportPolicy(best, durable.OS{}, dest, PolicyFile)
	must.Do(t, err)
	a, err := ReadPolicy(best)
	must.Do(t, err)
	b, err := ReadPolicy(c)
	must.Do(t, err)
	if string(a.Description) != string(b.Description) || !slices.Equal(a.Arrays["actor"].Data, b.Arrays["actor"].Data) {
		t.Error("the exported policy is another")
	}
	if strings.Contains(string(a.Description), "\n") {
		t.Errorf("the description is not as the agent wrote it: %s", a.Description)
	}
	x, err := ReadExperiment(c, []string{"eval.seeds=1-3"}, catalog.Default())
	must.Do(t, err)
	if x.Env.Name != "stoker/SimpleSpread-v1" || x.Eval.Seeds != "1-3" {
		t.Errorf("its experiment is %+v", x)
	}
	if _, err := checkpoints.Check(dest); err != nil {
		t.Error(err)
	}
}
