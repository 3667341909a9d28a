package sizing

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// flat gives every function of an environment the same numbers.
func flat(e *sizing.Env, base, slope []float64) RuleConfig {
	c := RuleConfig{Load: 2}
	for _, f := range e.Spec().Kinds[0].Names {
		c.Functions = append(c.Functions, FunctionRule{Function: f, Base: base, Slope: slope})
	}
	slices.Reverse(c.Functions) // their order does not count
	return c
}

// The rule's arithmetic by hand: base at the load of the rule, the slope for a factor e, cut at both ends, and a load of
// 0 as the smallest.
func TestRuleArithmetic(t *testing.T) {
	e := newEnv(t, 1, nil)
	c := flat(e, []float64{0.5, 0.4, 0.3, 1.2}, []float64{0.1, 0, -0.2, -0.1})
	c.Functions[len(c.Functions)-2].Base = []float64{0.9, 0.9, 0.9, 0.9} // the second function of the workflow
	p := must.Get(NewRule(c, e))(t)
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	for _, k := range []struct {
		load float64
		want [4]float64
	}{
		{2, [4]float64{0.5, 0.4, 0.3, 1}},
		{2 * math.E, [4]float64{0.6, 0.4, 0.1, 1}},
		{2 * math.E * math.E, [4]float64{0.7, 0.4, 0, 1}},
		{2 / math.E, [4]float64{0.4, 0.4, 0.5, 1}},
		{0, [4]float64{0.5 - 0.1*math.Log(32), 0.4, 0.3 + 0.2*math.Log(32), 1}},
		{1e9, [4]float64{0.5 + 0.1*math.Log(32), 0.4, 0, 1.2 - 0.1*math.Log(32)}},
	} {
		for f := range p.n {
			p.world.seen(obs, f)[p.feature("load")] = float32(k.load)
		}
		must.Do(t, p.Act(obs, act, true))
		for i, want := range k.want {
			if got := p.action(act, 0)[i]; math.Abs(float64(got)-want) > 1e-6 {
				t.Errorf("load %v: component %d is %v, want %v", k.load, i, got, want)
			}
		}
	}
	if got := p.action(act, 1)[1]; got != 0.9 {
		t.Errorf("the second function has memory %v, want its own 0.9", got)
	}
	p.world.seen(obs, 0)[p.feature("load")] = float32(math.NaN())
	if p.Act(obs, act, true) == nil {
		t.Error("a load that is no number passes")
	}
}

// A tuned autoscaler has the bases that were found for the nearest CPU target, and keeps its own target. What has no
// numbers is asked for.
func TestTunedAutoscaler(t *testing.T) {
	counted := func(workflow string) *sizing.Env {
		c := sizing.DefaultCounted()
		c.Workflow = workflow
		return must.Get(sizing.NewCounted(c, sizing.DefaultWorkload()))(t)
	}
	bases := func(cpu float64) []FunctionBase {
		c := DefaultAutoscaler()
		c.Tuned, c.CPU = true, cpu
		p := must.Get(NewAutoscaler(c, counted(sizing.Parallel)))(t)
		if p.config.CPU != cpu {
			t.Errorf("the target is %v, want %v", p.config.CPU, cpu)
		}
		if len(p.config.Functions) != 6 {
			t.Errorf("%d functions have a base, want all six", len(p.config.Functions))
		}
		return p.config.Functions
	}
	same := func(a, b FunctionBase) bool { return a.Function == b.Function && slices.Equal(a.Base, b.Base) }
	if !slices.EqualFunc(bases(0.5), bases(0.51), same) || slices.EqualFunc(bases(0.4), bases(0.7), same) {
		t.Error("bases do not follow the target")
	}
	c := DefaultAutoscaler()
	c.Tuned = true
	if _, err := NewAutoscaler(c, counted(sizing.Branch)); err == nil || !strings.Contains(err.Error(), "stoker search autoscaler") {
		t.Errorf("branch: %v", err)
	}
	if c.CPU = 0; c.Validate() == nil {
		t.Error("tuned without a CPU target passes")
	}
}

// The numbers that come with Stoker play a whole episode in both versions, and follow the load; those of another
// workflow are asked for.
func TestShippedRule(t *testing.T) {
	for _, build := range []func(sizing.Config) (*sizing.Env, error){
		func(c sizing.Config) (*sizing.Env, error) { return sizing.New(c, sizing.DefaultWorkload()) },
		func(c sizing.Config) (*sizing.Env, error) { return sizing.NewCounted(c, sizing.DefaultWorkload()) },
	} {
		c := sizing.Default()
		c.Windows = 6
		e := must.Get(build(c))(t)
		p := must.Get(NewRule(DefaultRule(), e))(t)
		acts := steps(t, e, rollout.Actor{Policy: p}, 3)
		if len(acts) != 6 || slices.Equal(acts[0], acts[5]) {
			t.Errorf("%s: %d windows, and the last as the first", e.Spec().ID, len(acts))
		}
	}
	users := newEnv(t, 0, nil)
	if _, err := NewRule(DefaultRule(), users); err == nil || !strings.Contains(err.Error(), "stoker search rule") {
		t.Errorf("with users: %v", err)
	}
}

// What a search writes is read back, and a file that it did not write is refused with its name.
func TestRuleFile(t *testing.T) {
	e := newEnv(t, 1, nil)
	want := flat(e, []float64{0.1, 0.2, 0.3, 0.4}, []float64{0, 0.1, 0.2, 0})
	write := func(baseline string, config any) string {
		b := must.Get(json.Marshal(map[string]any{"baseline": baseline, "config": config}))(t)
		file := filepath.Join(t.TempDir(), "found.json")
		must.Do(t, os.WriteFile(file, b, 0o600))
		return file
	}
	inline := must.Get(NewRule(want, e))(t)
	read, err := NewRule(RuleConfig{File: write("rule", want)}, e)
	if err != nil || !slices.Equal(read.base, inline.base) || !slices.Equal(read.slope, inline.slope) || read.load != 2 {
		t.Fatalf("read back: %v", err)
	}
	other, short := want, want
	other.Functions = slices.Clone(want.Functions)
	other.Functions[0].Function = "nobody"
	short.Functions = want.Functions[1:]
	beyond := flat(e, []float64{0.1, 0.2, 0.3, 40}, []float64{0, 0.1, 0.2, 0})
	for what, file := range map[string]string{
		"is of baseline \"autoscaler\"":          write("autoscaler", want),
		"has no numbers for function":            write("rule", other),
		"numbers of 5 functions, want one entry": write("rule", short),
		"config.functions[0].base[3] is 40":      write("rule", beyond),
		"has no functions":                       write("rule", map[string]any{}),
		"want one that stoker search rule wrote": write("rule", []int{1}),
		"no such file":                           "nowhere.json",
	} {
		if _, err := NewRule(RuleConfig{File: file}, e); err == nil || !strings.Contains(err.Error(), what) ||
			!strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRuleValidate(t *testing.T) {
	e := newEnv(t, 1, nil)
	for want, change := range map[string]func(*RuleConfig){
		"functions has 6 entries beside a file": func(c *RuleConfig) { c.File = "x" },
		"load is 0":                             func(c *RuleConfig) { c.Load = 0 },
		"functions[0].slope has 1 numbers":      func(c *RuleConfig) { c.Functions[0].Slope = []float64{1} },
		"functions[0].base has 2 numbers":       func(c *RuleConfig) { c.Functions[0].Base = []float64{1, 1} },
		"functions[0].base[0] is 11":            func(c *RuleConfig) { c.Functions[0].Base = []float64{11, 0, 0, 0} },
	} {
		c := flat(e, []float64{0.1, 0.2, 0.3, 0.4}, []float64{0, 0.1, 0.2, 0})
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The spaces of both baselines turn numbers into a configuration that acts by them, and start where the baseline does.
func TestSpaces(t *testing.T) {
	e := newEnv(t, 1, nil)
	s, err := RuleSpace(DefaultRule(), e)
	if err != nil || s.Check() != nil || len(s.Names) != 33 {
		t.Fatalf("the rule has %d numbers, want 33: %v, %v", len(s.Names), err, s.Check())
	}
	x := make([]float64, 33)
	for i := range x {
		x[i] = float64(i) / 100
	}
	c := s.Config(x).(*RuleConfig)
	if math.Abs(c.Load-1) > 1e-9 || !slices.Equal(c.Functions[1].Base, x[5:9]) ||
		!slices.Equal(c.Functions[1].Slope, []float64{x[30], x[31], x[9], x[32]}) {
		t.Errorf("the second function has %+v of load %v", c.Functions[1], c.Load)
	}
	if _, err := NewRule(*c, e); err != nil {
		t.Error(err)
	}
	a := DefaultAutoscaler()
	a.CPU = 0.4
	s, err = AutoscalerSpace(a, e)
	if err != nil || s.Check() != nil || len(s.Names) != 24 {
		t.Fatalf("the autoscaler has %d numbers, want 24: %v, %v", len(s.Names), err, s.Check())
	}
	old := must.Get(NewAutoscaler(a, e))(t)
	same, err := NewAutoscaler(*s.Config(s.Start).(*AutoscalerConfig), e)
	if err != nil || !slices.Equal(old.bases, same.bases) || same.config.CPU != 0.4 {
		t.Errorf("the start is %+v, want %+v (%v)", same.bases, old.bases, err)
	}
	s.Start[4] = 1
	moved, err := NewAutoscaler(*s.Config(s.Start).(*AutoscalerConfig), e)
	if err != nil || moved.bases[1].CPU != e.Range().High.CPU || moved.bases[0] != old.bases[0] {
		t.Errorf("with more CPU for the second function: %+v (%v)", moved.bases, err)
	}
	a.Functions = []FunctionBase{{"nobody", []float64{1, 1, 1, 1}}}
	if _, err := NewAutoscaler(a, e); err == nil || !strings.Contains(err.Error(), `functions[0].function is "nobody"`) {
		t.Errorf("an unknown function: %v", err)
	}
}

// The shipped numbers are those for the worth of a kept window: the dial in place of qos where there is one.
func TestRuleFollowsTheDial(t *testing.T) {
	act := func(change func(*sizing.Config), weight float64) []float32 {
		w := workload.Default()
		w.Kind, w.Rate, w.Length = workload.Poisson, 0.6, 60
		c := sizing.DefaultCounted()
		c.Windows, c.Features = 2, sizing.Described
		change(&c)
		e := must.Get(sizing.NewCounted(c, w))(t)
		p := must.Get(NewRule(RuleConfig{Weight: weight}, e))(t)
		return steps(t, e, rollout.Actor{Policy: p}, 1)[0]
	}
	for want, change := range map[float64]func(*sizing.Config){
		1: func(c *sizing.Config) { c.Reward.QoS = 1 },
		4: func(c *sizing.Config) { c.Reward.QoS, c.Reward.Dial = 1, []float64{4} },
		2: func(c *sizing.Config) { c.Reward.QoS, c.Reward.Dial = 8, []float64{0.5, 6} },
	} {
		if own, named := act(change, 0), act(change, want); !slices.Equal(own, named) {
			t.Errorf("without a weight the rule plays %v, want that of weight %v, %v", own, want, named)
		}
	}
}
