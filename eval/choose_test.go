package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

const tiny = `
name: tiny
env: {id: stoker/LQR-v1}
agent: {name: maddpg, mix: none, hidden: [4], batch: 8, random_steps: 20, learning_starts: 20}
train: {steps: 200, envs: 2, log_every: 100, evaluate: {every: 100, episodes: 1}, checkpoint: {every: 100, keep: 0}}
`

// runs trains, once for all tests, on the LQR: seeds 1 to 3 of tiny; seed 1 of another width, and of tiny with
// another eval section and other logging; and one in CartPole.
var runs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "eval-runs")
	if err != nil {
		return "", err
	}
	runsDir = dir
	for name, sets := range map[string][]string{
		"s1": {"seed=1"}, "s2": {"seed=2"}, "s3": {"seed=3"}, "wide": {"agent.hidden=[5]"},
		"told": {"seed=4", "eval.seeds=7-9", "train.log_every=50"},
		"pole": {"env.id=stoker/CartPole-v1"},
	} {
		x, err := configs.Parse(name, []byte(tiny), sets, catalog.Default())
		if err != nil {
			return "", err
		}
		if _, err := train.Start(context.Background(), x, train.Options{RunsDir: dir, Name: name}); err != nil {
			return "", err
		}
	}
	return dir, nil
})

var runsDir string // empty until runs are asked for

func TestMain(m *testing.M) {
	code := m.Run()
	if runsDir != "" {
		os.RemoveAll(runsDir)
	}
	os.Exit(code)
}

// of returns the paths of runs.
func of(t *testing.T, names ...string) []string {
	t.Helper()
	dir := must.Get(runs())(t)
	var out []string
	for _, n := range names {
		out = append(out, filepath.Join(dir, n))
	}
	return out
}

// sizing is a configuration of the environment that has baselines.
func sizing(t *testing.T, eval string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sizing.yaml")
	text := "name: s\nenv: {id: stoker/Sizing-v2}\nagent: {name: maddpg}\neval: " + eval + "\n"
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

func listing(c *Choice) []string {
	var out []string
	for _, con := range c.Contestants {
		line := con.Name + " " + string(con.Kind)
		for _, v := range con.Versions {
			if v.Source != "" {
				line += " " + string(rune('0'+v.TrainingSeed))
			}
		}
		out = append(out, line)
	}
	return out
}

func TestChoose(t *testing.T) {
	checkpoint := func(run string, step string) string {
		return filepath.Join(of(t, run)[0], "checkpoints", "step-000000000"+step)
	}
	for _, c := range []struct {
		name   string
		paths  []string
		config string
		want   []string
		runs   []string // contestants of the learning curves
	}{
		{"seeds form one", of(t, "s1", "s2", "s3"), "", []string{"tiny learned 1 2 3"}, []string{"tiny", "tiny", "tiny"}},
		{"a pattern", of(t, "s[12]"), "", []string{"tiny learned 1 2"}, []string{"tiny", "tiny"}},
		{"how it was told does not count", of(t, "told", "s1"), "", []string{"tiny learned 4 1"}, []string{"tiny", "tiny"}},
		{"another width is another", of(t, "s1", "wide", "s2"), "", []string{"tiny learned 1 2", "wide learned 1"},
			[]string{"tiny", "wide", "tiny"}},
		{"checkpoints by their step", []string{checkpoint("s1", "100"), checkpoint("s2", "100"), checkpoint("s1", "200")}, "",
			[]string{"tiny@100 learned 1 2", "s1@200 learned 1"}, nil},
		{"checkpoints of another width", []string{checkpoint("s1", "100"), checkpoint("wide", "100"), of(t, "s1")[0]}, "",
			[]string{"s1@100 learned 1", "wide@100 learned 1", "s1 learned 1"}, []string{"s1"}},
		{"baselines of the configuration", nil, sizing(t, "{baselines: [fixed, {name: autoscaler}, fixed]}"),
			[]string{"fixed heuristic", "autoscaler heuristic", "fixed-2 heuristic"}, nil},
		{"baselines by what differs", nil, sizing(t, "{baselines: [autoscaler, {name: autoscaler, cpu: 0.4}, fixed]}"),
			[]string{"autoscaler cpu=0.8 heuristic", "autoscaler cpu=0.4 heuristic", "fixed heuristic"}, nil},
		{"named baselines instead", []string{"oracle", "random-search"}, sizing(t, "{baselines: [fixed]}"),
			[]string{"oracle oracle", "random-search heuristic"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(Choose(catalog.Default(), c.paths, c.config, nil))(t)
			if !slices.Equal(listing(got), c.want) {
				t.Errorf("contestants %q, want %q", listing(got), c.want)
			}
			var names []string
			for _, r := range got.Runs {
				names = append(names, r.Contestant)
			}
			if !slices.Equal(names, c.runs) {
				t.Errorf("runs of %q, want %q", names, c.runs)
			}
		})
	}
}

// A run stands for its best checkpoint; settings go over the first run's configuration, and hold for the comparison.
func TestChooseExperiment(t *testing.T) {
	c, err := Choose(catalog.Default(), of(t, "s1", "told"), "", []string{"eval.seeds=3-5"})
	must.Do(t, err)
	if c.Experiment.Eval.Seeds != "3-5" || c.Experiment.Env.Name != "stoker/LQR-v1" {
		t.Errorf("experiment %+v", c.Experiment)
	}
	best, err := os.ReadFile(filepath.Join(of(t, "s1")[0], "checkpoints", "best"))
	must.Do(t, err)
	if got := filepath.Base(c.Contestants[0].Versions[0].Source); !strings.Contains(string(best), got) {
		t.Errorf("source is %s, best is %s", got, best)
	}
	if c, err = Choose(catalog.Default(), of(t, "told"), "", nil); err != nil || c.Experiment.Eval.Seeds != "7-9" {
		t.Errorf("eval.seeds is %q, want the run's own 7-9: %v", c.Experiment.Eval.Seeds, err)
	}
}

// What was chosen plays: learned policies act on the environment of the experiment, each as trained.
func TestChoicePlays(t *testing.T) {
	c := must.Get(Choose(catalog.Default(), of(t, "s1", "s2"), "", nil))(t)
	p := run(t, Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(c.Experiment, c.Experiment.Eval.Split) },
		Contestants: c.Contestants, Seeds: seeds(3), Workers: 2})
	a, b := p.Episodes[0][0], p.Episodes[0][1]
	if len(a) != 3 || reflect.DeepEqual(a, b) {
		t.Errorf("two training seeds play alike: %v, %v", a, b)
	}
	if got := summary(t, p); got.Policies[0].Sources[1] != c.Contestants[0].Versions[1].Source {
		t.Errorf("sources %v", got.Policies[0].Sources)
	}
}

// A baseline that the caller names has the configuration that the experiment gives it.
func TestBaselineConfig(t *testing.T) {
	autoscaler := must.Get(catalog.Default().Baseline("autoscaler"))(t)
	fixed := must.Get(catalog.Default().Baseline("fixed"))(t)
	own := configs.Choice{Name: "autoscaler", Config: "the experiment's own"}
	c := Choice{Experiment: &configs.Experiment{Eval: configs.Eval{Baselines: []configs.Choice{{Name: "oracle"}, own, own}}}}
	want := []configs.Choice{own, own, {Name: "fixed", Config: fixed.Config()}}
	if got := c.baselines([]catalog.Baseline{autoscaler, fixed}); !reflect.DeepEqual(got, want) {
		t.Errorf("baselines %+v, want %+v", got, want)
	}
	if got := c.baselines(nil); len(got) != 3 {
		t.Errorf("baselines where none is named: %+v", got)
	}
}

func TestChooseErrors(t *testing.T) {
	s1 := of(t, "s1")[0]
	for _, c := range []struct {
		name   string
		paths  []string
		config string
		sets   []string
		want   string
		usage  bool
	}{
		{"unknown", []string{"autoscalar"}, "", nil,
			`autoscalar is neither a run nor a checkpoint, and there is no policy "autoscalar". Did you mean "autoscaler"? There are: `, true},
		{"no environment", []string{"fixed"}, "", nil,
			"no run or checkpoint names an environment: give a configuration with --config", true},
		{"nothing", nil, "", nil, "no run or checkpoint names an environment", true},
		{"twice the same run", []string{s1, s1}, "", nil, "training seed 1 of s1 is there already, from " + s1, true},
		{"twice the same baseline", []string{"fixed", "fixed"}, sizing(t, "{}"), nil, "policy fixed is named twice", true},
		{"another environment", of(t, "s1", "pole"), "", nil,
			"pole acts in stoker/CartPole-v1, the comparison is in stoker/LQR-v1", true},
		{"another than the configuration's", []string{s1}, sizing(t, "{}"), nil,
			"s1 acts in stoker/LQR-v1, the comparison is in stoker/Sizing-v2", true},
		{"a baseline of another environment", []string{s1, "fixed"}, "", nil,
			"fixed is made for [stoker/Sizing-v2 stoker/Sizing-v3], not for stoker/LQR-v1", true},
		{"no run", []string{t.TempDir()}, "", nil, "neither a checkpoint", false},
		{"no configuration", []string{s1}, "nowhere.yaml", nil, "nowhere.yaml", false},
		{"a wrong setting", []string{s1}, "", []string{"eval.sides=1"}, "eval.sides", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Choose(catalog.Default(), c.paths, c.config, c.sets)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v, want %q", err, c.want)
			}
			if c.usage && !errors.Is(err, train.ErrUsage) {
				t.Errorf("%v is not marked as the caller's mistake", err)
			}
		})
	}
}

// A checkpoint that is damaged is refused with its reason.
func TestChooseDamaged(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(dir, "run"), os.DirFS(of(t, "s3")[0])))
	list, err := filepath.Glob(filepath.Join(dir, "run", "checkpoints", "step-*", "policy.json"))
	if err != nil || len(list) == 0 {
		t.Fatal("no checkpoints to damage", err)
	}
	for _, f := range list {
		must.Do(t, os.WriteFile(f, []byte("{}"), 0o666))
	}
	if _, err := Choose(catalog.Default(), []string{filepath.Join(dir, "run")}, "", nil); err == nil ||
		!strings.Contains(err.Error(), "policy.json") {
		t.Errorf("error is %v, want one that names policy.json", err)
	}
}

// Generated applications of an evaluation's test part are others than those of training, unless env.first says which.
func TestUnseen(t *testing.T) {
	for config, workflow := range map[string]string{"variants/each-reinforce": "app1", "steps/graph": "ml"} {
		for setting, want := range map[string]int{"": 2000, "env.first=5000": 5000, "eval.split=train": 0, "env.workflow=" + workflow: 0} {
			var sets []string
			if setting != "" {
				sets = []string{setting}
			}
			c := must.Get(Choose(catalog.Default(), []string{"random"}, config, sets))(t)
			first := reflect.ValueOf(c.Experiment.Env.Config).Elem().FieldByName("First").Int()
			if int(first) != want {
				t.Errorf("%s with %q plays applications from number %d on, want %d", config, setting, first, want)
			}
		}
	}
}

// An evaluation on recorded traces notes which trace each episode draws: those of eval.set, not of training.
func TestPlayedTraces(t *testing.T) {
	c := must.Get(Choose(catalog.Default(), []string{"fixed"}, "sizing/traces", []string{"env.windows=2"}))(t)
	x := c.Experiment
	r := Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }, Contestants: c.Contestants,
		Seeds: []uint64{1, 2, 3, 4, 5, 6}, Workers: 2}
	p := must.Get(Run(t.Context(), r))(t)
	if len(p.Traces) != 12 || len(p.TraceOf) != 6 || !strings.Contains(p.Traces[0], "names 8, 9, a, b, minutes 0 to 240") {
		t.Errorf("traces %q, drawn %v", p.Traces, p.TraceOf)
	}
	first := Contestant{Name: "ends at once", Kind: catalog.Learned, Foreign: true, Versions: []Version{{Source: "x.stoker",
		New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{}, errors.New("it ended") }}}}
	r.Contestants = append([]Contestant{first}, r.Contestants...)
	if q := must.Get(Run(t.Context(), r))(t); len(q.Out) != 1 || !slices.Equal(q.TraceOf, p.TraceOf) {
		t.Errorf("beside a policy that is out %v the traces drawn are %v, want %v", q.Out, q.TraceOf, p.TraceOf)
	}
	if n := p.drew(); n < 2 || n > 6 {
		t.Errorf("six episodes drew %d traces: %v", n, p.TraceOf)
	}
}

// A baseline that sees a graph plays in the graph's environment beside a policy that sees the vector, under the same load.
func TestPlaysIn(t *testing.T) {
	sets := []string{"env.seconds=2", "eval.seeds=1-2"}
	flat := must.Get(Choose(catalog.Default(), []string{"random", "sjf-nodes"}, "placement/serverless-dqn", sets))(t)
	graph := must.Get(Choose(catalog.Default(), []string{"sjf-nodes"}, "placement/serverless-dqn",
		append(sets, "env.id=stoker/Placement-v2", "agent={name: reinforce}", "eval.baselines=[]")))(t)
	var played [][]envs.Episode
	for _, c := range []*Choice{flat, graph} {
		x := c.Experiment
		r := Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, "test") }, Contestants: c.Contestants,
			Seeds: []uint64{1, 2}, Workers: 1}
		p := must.Get(Run(t.Context(), r))(t)
		played = append(played, p.Episodes[len(c.Contestants)-1][0])
	}
	if !reflect.DeepEqual(played[0], played[1]) {
		t.Errorf("beside a vector's policy it plays %+v, in its own environment %+v", played[0], played[1])
	}
	if _, err := Choose(catalog.Default(), []string{"stepconf"}, "placement/serverless-dqn", nil); err == nil {
		t.Error("a baseline of another problem is accepted")
	}
}
