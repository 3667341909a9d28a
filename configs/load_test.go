package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/internal/must"
)

type pond struct {
	Depth float64 `yaml:"depth"`
	Fish  []int   `yaml:"fish"`
	Nest  struct {
		Twigs int `yaml:"twigs"`
	} `yaml:"nest"`
}

func (p *pond) Validate() error {
	if p.Depth <= 0 {
		return bounds.Errorf("depth", "is %g, want more than 0", p.Depth)
	}
	if p.Nest.Twigs == 13 {
		return errors.New("depth and nest don't fit")
	}
	return nil
}

func tables() Tables {
	one := func(name string) (any, error) {
		if name != "pond" {
			return nil, fmt.Errorf("no %q here, there is pond", name)
		}
		return &pond{Depth: 2}, nil
	}
	return Tables{one, one, one}
}

const good = `
name: test
env:
  id: pond
  fish: [1, 2]
agent: pond
train:
  steps: 10
eval:
  baselines: [pond, {name: pond, depth: 3}]
`

func TestParse(t *testing.T) {
	e := must.Get(Parse("x.yaml", []byte(good), []string{"train.envs=3", "env.nest.twigs=4", "eval.seeds=1-3", "workload.factor=0.5", "env.fish=[7,8]"}, tables()))(t)
	p := e.Env.Config.(*pond)
	if p.Depth != 2 || len(p.Fish) != 2 || p.Fish[1] != 8 || p.Nest.Twigs != 4 {
		t.Errorf("env is %+v", p)
	}
	if e.Train.Steps != 10 || e.Train.Envs != 3 || e.Train.LogEvery != Default().Train.LogEvery || e.Workload.Factor != 0.5 {
		t.Errorf("experiment is %+v", e)
	}
	if r := e.Eval.Baselines; len(r) != 2 || r[1].Config.(*pond).Depth != 3 || r[0].Config.(*pond).Depth != 2 {
		t.Errorf("baselines are %+v", r)
	}
}

func TestRoundTrip(t *testing.T) {
	e := must.Get(Parse("x.yaml", []byte(good), nil, tables()))(t)
	a := must.Get(e.YAML())(t)
	f, err := Parse("dump", a, nil, tables())
	if err != nil {
		t.Fatalf("%v in\n%s", err, a)
	}
	b, err := f.YAML()
	if err != nil || string(a) != string(b) {
		t.Errorf("dump of the dump differs (%v):\n%s\n%s", err, a, b)
	}
}

// Every error names the file, the line where there is one, the key, and what would be right.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		sets       []string
		want       []string
	}{
		{"unknown key", "name: x\nenv: pond\nagent: pond\ntrain:\n  stps: 3\n", nil, []string{"x.yaml:5: ", "train.stps", "did you mean steps?", "checkpoint, envs, evaluate"}},
		{"a key twice", "name: x\nenv: {id: pond}\nagent: pond\nenv: {id: pond}\n", nil, []string{"x.yaml:4: key env is there twice"}},
		{"a key twice below", "name: x\nenv: pond\nagent: pond\ntrain: {steps: 3, steps: 4}\n", nil, []string{"x.yaml:4: key steps is there twice"}},
		{"two unknown keys", "name: x\nenv: pond\nagent: pond\ntrain:\n  stps: 3\nfoo: 1\n", nil, []string{"x.yaml:5", "x.yaml:6", "foo"}},
		{"unknown env key", "name: x\nenv:\n  id: pond\n  dept: 3\nagent: pond\n", nil, []string{"x.yaml:4", "env.dept", "did you mean depth?"}},
		{"unknown env", "name: x\nenv:\n  id: sea\nagent: pond\n", nil, []string{"x.yaml:3", "env.id", "there is pond"}},
		{"another env's keys", "name: x\nenv: {id: sea, salt: 3, wide: 4}\nagent: pond\n", []string{"env.id=pond"}, []string{"x.yaml:2: env: the file has keys that pond does not have: salt, wide.", "--set env=pond", "Keys of pond: depth"}},
		{"wrong in evaluation", "name: x\nenv: {id: pond}\nagent: pond\neval:\n  set: [env.dept=3]\n", nil, []string{"x.yaml:5: eval.set: unknown key env.dept", "did you mean depth?"}},
		{"no env", "name: x\nagent: pond\n", nil, []string{"x.yaml", "env is missing"}},
		{"nothing as env", "name: x\nenv:\nagent: pond\n", nil, []string{"env is missing, want env: {id: …}"}},
		{"a list as env", "name: x\nenv: [1]\nagent: pond\n", nil, []string{"x.yaml:2", "env: want keys and values, id among them"}},
		{"env without id", "name: x\nenv: {depth: 1}\nagent: pond\n", nil, []string{"x.yaml:2: env.id is missing"}},
		{"ill-typed", "name: x\nenv: pond\nagent: pond\ntrain:\n  steps: many\n", nil, []string{`x.yaml:5: train.steps is "many", want a whole number`}},
		{"a fraction", "name: x\nenv: pond\nagent: pond\ntrain:\n  steps: 1.5\n", nil, []string{`x.yaml:5: train.steps is "1.5", want a whole number`}},
		{"a list for a number", "name: x\nenv: pond\nagent: pond\ntrain:\n  steps: [1]\n", nil, []string{"x.yaml:5: train.steps is a list, want a whole number"}},
		{"a number for a list", "name: x\nenv: {id: pond, fish: 3}\nagent: pond\n", nil, []string{`x.yaml:2: env.fish is "3", want a list`}},
		{"a number for a section", "name: x\nenv: pond\nagent: pond\ntrain: 3\n", nil, []string{`x.yaml:4: train is "3", want keys and values; allowed are checkpoint, envs`}},
		{"a mapping for a number", "name: x\nenv: pond\nagent: pond\nseed: {a: 1}\n", nil, []string{"x.yaml:4: seed is a mapping, want a whole number of at least 0"}},
		{"negative", "name: x\nenv: pond\nagent: pond\nseed: -1\n", nil, []string{`x.yaml:4: seed is "-1", want a whole number of at least 0`}},
		{"no value", "name: x\nenv: pond\nagent: pond\ntrain:\n  steps:\n", nil, []string{"x.yaml:5: train.steps has no value, want a whole number"}},
		{"ill-typed in env", "name: x\nenv: {id: pond, depth: deep}\nagent: pond\n", nil, []string{`x.yaml:2: env.depth is "deep", want a number`}},
		{"ill-typed in a list", "name: x\nenv: {id: pond, fish: [1, x]}\nagent: pond\n", nil, []string{`x.yaml:2: env.fish[1] is "x", want a whole number`}},
		{"out of range", "name: x\nenv: pond\nagent: pond\ntrain:\n  envs: 0\n  log_every: 0\n", nil, []string{"x.yaml:5: train.envs is 0, want 1 to 1048576", "x.yaml:6: train.log_every is 0, want at least 1"}},
		{"env says no", "name: x\nenv: {id: pond, depth: -1}\nagent: pond\n", nil, []string{"x.yaml:2: env.depth is -1, want more than 0"}},
		{"env says no to a default", "name: x\nenv: {id: pond}\nagent: {name: pond, nest: {twigs: 13}}\n", nil, []string{"x.yaml: agent: depth and nest don't fit"}},
		{"time limit", "name: x\nenv: pond\nagent: pond\nwrappers:\n  time_limit: -1\n", nil,
			[]string{"x.yaml:5: wrappers.time_limit is -1, want 0 to 2147483648"}},
		{"unknown wrapper", "name: x\nenv: pond\nagent: pond\nwrappers: {time_limits: 3}\n", nil,
			[]string{"x.yaml:4", "wrappers.time_limits", "did you mean time_limit?"}},
		{"a number for a wrapper", "name: x\nenv: pond\nagent: pond\nwrappers: {normalize_observation: 10}\n", nil,
			[]string{`x.yaml:4: wrappers.normalize_observation is "10", want keys and values; allowed are clip`}},
		{"gamma without clip", "name: x\nenv: pond\nagent: pond\nwrappers:\n  normalize_reward: {gamma: 0.9, clip: 0}\n", nil,
			[]string{"x.yaml:5: wrappers.normalize_reward.gamma is 0.9 without a clip"}},
		{"name", "name: a/b\nenv: pond\nagent: pond\n", nil, []string{`x.yaml:1: name is "a/b", want letters`}},
		{"no name", "env: pond\nagent: pond\n", nil, []string{"name is missing, want a short name"}},
		{"workload", "name: x\nenv: pond\nagent: pond\nworkload:\n  burst:\n    factor: 0\n", nil, []string{"x.yaml:6: workload.burst.factor is 0"}},
		{"cuda without torch", "name: x\nenv: pond\nagent: pond\nengine: {device: cuda:0}\n", nil, []string{`x.yaml:4: engine.device is "cuda:0"`, "CUDA needs torch"}},
		{"baseline", "name: x\nenv: pond\nagent: pond\neval:\n  baselines:\n  - pond\n  - {name: pond, dept: 2}\n", nil, []string{"x.yaml:7: unknown key eval.baselines[1].dept", "did you mean depth?"}},
		{"baselines", "name: x\nenv: pond\nagent: pond\neval: {baselines: pond}\n", nil, []string{"x.yaml:4: eval.baselines: want a list"}},
		{"broken YAML", "name: [x\n", nil, []string{"x.yaml"}},
		{"not a mapping", "- 1\n", nil, []string{"keys and values"}},
		{"empty", "", nil, []string{"x.yaml"}},
		{"an alias to nothing", "name: *a\n", nil, []string{"x.yaml:1", "unknown anchor"}},
		{"an alias to itself", "name: x\nenv: pond\nagent: &a {name: pond, fish: [*a]}\n", nil, []string{"x.yaml: has more than 100000 values, or an alias within itself"}},
		{"duplicate", "name: x\nname: y\nenv: pond\nagent: pond\n", nil, []string{"x.yaml:2", "name"}},
		{"set unknown", good, []string{"train.stps=1"}, []string{"command line: unknown key train.stps", "did you mean steps?"}},
		{"set ill-typed", good, []string{"train.steps=x"}, []string{`command line: train.steps is "x", want a whole number`}},
		{"set out of range", good, []string{"train.envs=0"}, []string{"command line: train.envs is 0"}},
		{"set what env refuses", good, []string{"env.depth=-3"}, []string{"command line: env.depth is -3, want more than 0"}},
		{"set without =", good, []string{"train.steps"}, []string{"--set train.steps", "key=value"}},
		{"set nothing", good, []string{"=3"}, []string{"--set =3", "key=value"}},
		{"set an empty part", good, []string{"train..steps=3"}, []string{"has an empty part"}},
		{"set below a scalar", good, []string{"name.x=1"}, []string{"--set name.x=1", "name has no keys"}},
		{"set broken YAML", good, []string{"env.fish=[1"}, []string{"--set env.fish=[1", "did not find expected"}},
		{"seeds", good, []string{"eval.seeds=5-1"}, []string{"command line: eval.seeds", "backwards"}},
		{"device", good, []string{"engine.device=cuda"}, []string{"engine.device", "cuda:N"}},
	} {
		_, err := Parse("x.yaml", []byte(c.text), c.sets, tables())
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want an Error", c.name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", c.name, err, w)
			}
		}
	}
}

func TestParseSeeds(t *testing.T) {
	got, err := ParseSeeds("1-3, 7,9-9")
	if err != nil || fmt.Sprint(got) != "[1 2 3 7 9]" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseSeeds("18446744073709551614-18446744073709551615"); err != nil || len(got) != 2 {
		t.Errorf("the largest seeds: %v, %v", got, err)
	}
	for _, s := range []string{"", "a", "3-1", "1-", "1,1", "1-3,2", "-4", "0-99999999999"} {
		if _, err := ParseSeeds(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

// Settings reach where a file leaves a section out, empty, or a bare name; nothing behind the = is the empty text.
func TestSet(t *testing.T) {
	e := must.Get(Parse("x.yaml", []byte("name: x\nenv: pond\nagent: pond\ntrain:\neval:\n  split: train\n"),
		[]string{"env.depth=7", "train.steps=1e3", "train.evaluate.every=5", "eval.split=all", "agent={name: pond, fish: [4]}", "workload.path=", "seed=3", "seed=4"}, tables()))(t)
	if e.Env.Config.(*pond).Depth != 7 || e.Train.Steps != 1000 || e.Train.Evaluate.Every != 5 || e.Eval.Split != "all" ||
		e.Agent.Config.(*pond).Fish[0] != 4 || e.Seed != 4 || e.Workload.Path != "" {
		t.Errorf("experiment is %+v", e)
	}
}

// Anchors serve again, and setting over one place leaves the other.
func TestAliases(t *testing.T) {
	text := "name: x\nenv: {id: pond, fish: &f [1, 2]}\nagent: &a {name: pond, fish: *f}\neval: {baselines: [*a, pond]}\n"
	e := must.Get(Parse("x.yaml", []byte(text), []string{"agent.depth=9"}, tables()))(t)
	a, r := e.Agent.Config.(*pond), e.Eval.Baselines[0].Config.(*pond)
	if len(a.Fish) != 2 || a.Depth != 9 || len(r.Fish) != 2 || r.Depth != 2 {
		t.Errorf("agent %+v, baseline %+v", a, r)
	}
}

// A file that is too large is refused before it is read whole: the sparse one here would have 1 TB.
func TestLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	for size, want := range map[int64]string{maxBytes: "", maxBytes + 1: "large.yaml has more than 4 MiB (4194304 bytes)",
		1 << 40: "large.yaml has more than 4 MiB"} {
		must.Do(t, os.WriteFile(path, nil, 0o600))
		if err := os.Truncate(path, size); err != nil {
			t.Skip(err) // the file system has no such files
		}
		b, err := Read(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || len(b) > maxBytes {
			t.Errorf("%d bytes: read %d, %v; want %q", size, len(b), err, want)
		}
		if want == "" {
			continue
		}
		for name, read := range map[string]func(string) error{
			"application": func(p string) error { _, err := ReadApp(p); return err },
			"load":        func(p string) error { _, err := ReadLoad(p); return err },
			"steps":       func(p string) error { _, err := ReadSteps(p); return err },
		} {
			if err := read(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %d bytes: %v, want %q", name, size, err, want)
			}
		}
	}
	jobs := filepath.Join(t.TempDir(), "jobs.json")
	must.Do(t, os.WriteFile(jobs, nil, 0o600))
	if err := os.Truncate(jobs, 1<<40); err != nil {
		t.Skip(err)
	}
	if _, err := JobNames(jobs); IsJobs(jobs) || err == nil || !strings.Contains(err.Error(), "jobs.json has more than 64 MiB") {
		t.Errorf("jobs: %v", err)
	}
}

// A path that isn't there means a shipped experiment where one has the name; else the nearest is named.
func TestShipped(t *testing.T) {
	for _, name := range Shipped() {
		for _, path := range []string{name, "configs/" + name, strings.TrimSuffix(name, ".yaml")} {
			if b, err := Read(path); err != nil || len(b) == 0 {
				t.Errorf("%s: %d bytes, %v", path, len(b), err)
			}
		}
	}
	_, err := Load("configs/classic/cartpol.yaml", nil, tables())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(filepath.ToSlash(err.Error()), "did you mean configs/classic/cartpole.yaml?") {
		t.Errorf("a slip in the name gave %v", err)
	}
	if _, err := Load("unlike-any.yaml", nil, tables()); err == nil || !strings.Contains(err.Error(), "these are shipped:\n  classic/cartpole") {
		t.Errorf("a name like no other gave %v", err)
	}
	if _, err := Load(t.TempDir(), nil, tables()); err == nil {
		t.Error("a folder was read")
	}
}

// Whatever is accepted dumps to a text that reads back to the same.
func FuzzParse(f *testing.F) {
	f.Add(good, "train.steps=3")
	f.Add("name: &a x\nenv: *a\n", "a.b=[1,{c: 2}]")
	f.Add("name: x\nenv: {id: pond, fish: &f [1]}\nagent: &a {name: pond, fish: *f}\neval: {baselines: [*a]}\n", "agent.depth=2")
	f.Add("name: x\nenv: pond\nagent: pond\ntrain:\n", "train.evaluate={every: 0}")
	f.Fuzz(func(t *testing.T, text, set string) {
		e, err := Parse("fuzz", []byte(text), []string{set}, tables())
		if err != nil {
			return
		}
		a, err := e.YAML()
		if err != nil {
			t.Fatalf("accepted, but does not dump: %v", err)
		}
		again, err := Parse("dump", a, nil, tables())
		if err != nil {
			t.Fatalf("accepted, but its dump is not: %v\n%s", err, a)
		}
		if b, err := again.YAML(); err != nil || string(a) != string(b) {
			t.Errorf("the dump's dump differs (%v):\n%s\n%s", err, a, b)
		}
	})
}

func TestWrappersNamed(t *testing.T) {
	for text, want := range map[string]Wrappers{
		"":                                      {},
		"wrappers: {time_limit: 3}":             {TimeLimit: 3},
		"wrappers: {normalize_observation: {}}": {NormalizeObservation: NormalizeObservation{Clip: 10}},
		"wrappers: {normalize_observation: {clip: 5}}": {NormalizeObservation: NormalizeObservation{Clip: 5}},
		"wrappers: {normalize_observation: {clip: 0}}": {},
		"wrappers: {normalize_reward: {}}":             {NormalizeReward: NormalizeReward{Gamma: 0.99, Clip: 10}},
		"wrappers: {normalize_reward: {gamma: 0.9}}":   {NormalizeReward: NormalizeReward{Gamma: 0.9, Clip: 10}},
	} {
		x := must.Get(Parse("x.yaml", []byte("name: x\nenv: pond\nagent: pond\n"+text), nil, tables()))(t)
		if x.Wrappers != want {
			t.Errorf("%q: wrappers are %+v, want %+v", text, x.Wrappers, want)
		}
	}
}
