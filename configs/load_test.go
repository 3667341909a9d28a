package configs

import (
	"fmt"
	"strings"
	"testing"
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
		return fmt.Errorf("depth is %g, want more than 0", p.Depth)
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
  rivals: [pond, {name: pond, depth: 3}]
`

func TestParse(t *testing.T) {
	e, err := Parse("x.yaml", []byte(good), []string{"train.copies=3", "env.nest.twigs=4", "eval.seeds=1-3", "workload.factor=0.5", "env.fish=[7,8]"}, tables())
	if err != nil {
		t.Fatal(err)
	}
	p := e.Env.Config.(*pond)
	if p.Depth != 2 || len(p.Fish) != 2 || p.Fish[1] != 8 || p.Nest.Twigs != 4 {
		t.Errorf("env is %+v", p)
	}
	if e.Train.Steps != 10 || e.Train.Copies != 3 || e.Train.LogEvery != Default().Train.LogEvery || e.Workload.Factor != 0.5 {
		t.Errorf("experiment is %+v", e)
	}
	if r := e.Eval.Rivals; len(r) != 2 || r[1].Config.(*pond).Depth != 3 || r[0].Config.(*pond).Depth != 2 {
		t.Errorf("rivals are %+v", r)
	}
}

func TestRoundTrip(t *testing.T) {
	e, err := Parse("x.yaml", []byte(good), nil, tables())
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.YAML()
	if err != nil {
		t.Fatal(err)
	}
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
		{"unknown key", "name: x\nenv: pond\nagent: pond\ntrain:\n  stps: 3\n", nil, []string{"x.yaml:5", "train.stps", "did you mean steps?"}},
		{"two unknown keys", "name: x\nenv: pond\nagent: pond\ntrain:\n  stps: 3\nfoo: 1\n", nil, []string{"x.yaml:5", "x.yaml:6", "foo"}},
		{"unknown env key", "name: x\nenv:\n  id: pond\n  dept: 3\nagent: pond\n", nil, []string{"x.yaml:4", "env.dept", "did you mean depth?"}},
		{"unknown env", "name: x\nenv:\n  id: sea\nagent: pond\n", nil, []string{"x.yaml:3", "env.id", "there is pond"}},
		{"no env", "name: x\nagent: pond\n", nil, []string{"x.yaml", "env is missing"}},
		{"ill-typed", "name: x\nenv: pond\nagent: pond\ntrain:\n  steps: many\n", nil, []string{"x.yaml:5", "many"}},
		{"ill-typed in env", "name: x\nenv: {id: pond, depth: deep}\nagent: pond\n", nil, []string{"x.yaml:2", "env", "deep"}},
		{"out of range", "name: x\nenv: pond\nagent: pond\ntrain:\n  copies: 0\n", nil, []string{"train.copies is 0", "at least 1"}},
		{"env says no", "name: x\nenv: {id: pond, depth: -1}\nagent: pond\n", nil, []string{"env: depth is -1"}},
		{"broken YAML", "name: [x\n", nil, []string{"x.yaml"}},
		{"not a mapping", "- 1\n", nil, []string{"keys and values"}},
		{"empty", "", nil, []string{"x.yaml"}},
		{"duplicate", "name: x\nname: y\nenv: pond\nagent: pond\n", nil, []string{"x.yaml:2", "name"}},
		{"set unknown", good, []string{"train.stps=1"}, []string{"train.stps", "did you mean steps?"}},
		{"set without =", good, []string{"train.steps"}, []string{"--set train.steps", "key=value"}},
		{"set below a scalar", good, []string{"name.x=1"}, []string{"--set name.x=1", "name has no keys"}},
		{"seeds", good, []string{"eval.seeds=5-1"}, []string{"eval.seeds", "backwards"}},
		{"device", good, []string{"engine.device=cuda"}, []string{"engine.device", "cuda:N"}},
	} {
		_, err := Parse("x.yaml", []byte(c.text), c.sets, tables())
		if err == nil {
			t.Errorf("%s: accepted", c.name)
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
	for _, s := range []string{"", "a", "3-1", "1-", "1,1", "1-3,2", "-4", "0-99999999999"} {
		if _, err := ParseSeeds(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good, "train.steps=3")
	f.Add("name: &a x\nenv: *a\n", "a.b=[1,{c: 2}]")
	f.Fuzz(func(t *testing.T, text, set string) {
		if e, err := Parse("fuzz", []byte(text), []string{set}, tables()); err == nil {
			if _, err := e.YAML(); err != nil {
				t.Errorf("accepted, but does not dump: %v", err)
			}
		}
	})
}
