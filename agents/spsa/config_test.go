package spsa

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Errors of a configuration name its key.
func TestConfigRefuses(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(c *Config){
		`realised is "copied", want`: func(c *Config) { c.Realised = "copied" },
		"leave nothing to search":    func(c *Config) { c.Prices.Step, c.Baselines.Step = 0, 0 },
		"capacity is -1":             func(c *Config) { c.Capacity = -1 },
		"pairs is 0":                 func(c *Config) { c.Pairs = 0 },
		"offset is -1":               func(c *Config) { c.Offset = -1 },
		"decay is 1.1":               func(c *Config) { c.Decay = 1.1 },
		"perturbation_decay is NaN":  func(c *Config) { c.PerturbationDecay = nan },
		"adam.beta1 is 1":            func(c *Config) { c.Adam.Beta1 = 1 },
		"adam.beta2 is -0.1":         func(c *Config) { c.Adam.Beta2 = -0.1 },
		"adam.epsilon is 0, want more than": func(c *Config) {
			c.Adam = Adam{On: true, Beta1: 0.9,
				Beta2: 0.9}
		},
		"prices.perturbation is 0, want more":                    func(c *Config) { c.Prices.Perturbation = 0 },
		"baselines.perturbation is 0.4, want":                    func(c *Config) { c.Baselines.Perturbation = 0.4 },
		"prices.step is -1":                                      func(c *Config) { c.Prices.Step = -1 },
		"baselines.step is NaN":                                  func(c *Config) { c.Baselines.Step = nan },
		"prices.unit is 0":                                       func(c *Config) { c.Prices.Unit = 0 },
		"baselines.unit is +Inf":                                 func(c *Config) { c.Baselines.Unit = math.Inf(1) },
		"prices.most is -2":                                      func(c *Config) { c.Prices.Most = -2 },
		"baselines.most is NaN":                                  func(c *Config) { c.Baselines.Most = nan },
		"prices.start[1] is NaN":                                 func(c *Config) { c.Prices.Start = []float64{1, nan, 1} },
		"baselines.caps[0] is +Inf":                              func(c *Config) { c.Baselines.Caps = []float64{math.Inf(1)} },
		"prices.start has 2 numbers, want 3":                     func(c *Config) { c.Prices.Start = []float64{1, 1} },
		"prices.caps has 1 numbers, want 3":                      func(c *Config) { c.Prices.Caps = []float64{2} },
		"baselines.start has 0 numbers":                          func(c *Config) { c.Baselines.Start = nil },
		"prices.start[0] is -6, want at least":                   func(c *Config) { c.Prices.Start[0] = -6 },
		"prices.start[2] is 1, want at least -5 and at most 0.5": func(c *Config) { c.Prices.Caps = []float64{5, 5, 0.5} },
		"prices.floors and prices.caps leave nothing for component 1": func(c *Config) {
			c.Prices.Floors, c.Prices.Caps = []float64{0, 2, 0}, []float64{5, 1, 5}
		},
		"baselines.start adds up to 13, want at most the capacity of 12": func(c *Config) { c.Capacity = 12 },
		"baselines.floors add up to 13, want at most the capacity of 12": func(c *Config) {
			c.Capacity, c.Baselines.Floors = 12, []float64{5, 8}
		},
		`objective: test/Quadratic-v1 reports no quantity "gain"`: func(c *Config) { c.Objective = "gain" },
		`objective: neither direction of "window" is better`:      func(c *Config) { c.Objective = "window" },
	} {
		build, c := mixed(7)
		change(&c)
		env := must.Get(build())(t)
		if _, err := NewPricer(c, env, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// Environments without continuous or whole-number components are refused; a missing block needs no configuration.
func TestSpecRefuses(t *testing.T) {
	choices := newQuadratic(plain(1, 0, 1, 0))
	choices.spec.Kinds[0].Action = envs.Discrete{N: 3}
	two := newQuadratic(plain(1, 0, 1, 0))
	two.spec.Kinds = append(two.spec.Kinds, two.spec.Kinds[0])
	o := plain(1, 0, 1, 0)
	for want, env := range map[string]envs.Env{"want a box": choices, "2 kinds": two, "": newQuadratic(o)} {
		_, err := NewPricer(searching(&o, []float64{0}), env, 1)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

// A quantity where lower is better is minimised.
func TestObjectiveLower(t *testing.T) {
	o := plain(1, 0, 1, 2)
	c := searching(&o, []float64{0})
	c.Objective, c.Prices.Step = "loss", 0.5
	p := newPricer(t, c, newQuadratic(o), 1)
	world := begun(t, newQuadratic(o), 1)
	for range 5 {
		must.Do(t, p.Estimate(world))
		p.Move()
	}
	if p.x[0] < 1.8 {
		t.Errorf("after five moves the action is %g, want it near 2", p.x[0])
	}
}
