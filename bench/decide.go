package bench

import (
	"fmt"
	"slices"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/rng"
)

// decided is the number of steps of the workflows that runDecide decides on.
const decided = 16

// runDecide measures deciders of workflows' steps: a decision, with what was worked out for the workflow before, and what
// that takes.
func runDecide(o Options, emit func(Result)) error {
	for _, shape := range []string{steps.ChainShape, steps.DAGShape} {
		startMemory()
		app, err := steps.Generate(1, steps.Generated{Steps: []int{decided, decided}, Shape: shape, Platform: steps.AWS})
		if err != nil {
			return err
		}
		m, err := app.Compile()
		if err != nil {
			return err
		}
		for _, d := range deciders(shape) {
			if err := o.decide(shape, d, m, emit); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
		if err := o.decisions("compiling it, "+shape, 1, emit, func() error {
			_, err := app.Compile()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// timed is a decider by name.
type timed struct {
	name string
	new  func() (steps.Decider, error)
}

func deciders(shape string) []timed {
	anew := rules.DefaultStepConf()
	anew.Search = rules.AmongAll
	all := []timed{
		{"Algorithm 1 anew", func() (steps.Decider, error) { return rules.NewStepConf(anew) }}, // among all configurations
		{"Algorithm 1", func() (steps.Decider, error) { return rules.NewStepConf(rules.DefaultStepConf()) }},
		{"replan", func() (steps.Decider, error) { return rules.NewReplan(rules.DefaultReplan()) }},
		{"lookahead", func() (steps.Decider, error) { return rules.NewLookahead(rules.DefaultLookahead()) }},
		{"COSE", func() (steps.Decider, error) { return rules.NewCOSE(rules.DefaultCOSE()) }},
	}
	if shape == steps.ChainShape {
		all = append(all, timed{"dp", func() (steps.Decider, error) { return rules.NewDP(rules.DefaultDP()) }})
	}
	return all
}

// decide measures the decisions of a request, and the first request of a new decider.
func (o Options) decide(shape string, t timed, m *steps.Model, emit func(Result)) error {
	d, err := t.new()
	if err != nil {
		return err
	}
	slo, miss := 1.5*m.Fastest, 10*m.Unit
	r := &recorder{Decider: d}
	var p steps.Player
	p.Play(m, r, rng.New(1, "bench decide"), slo, miss)
	if err := o.decisions(fmt.Sprintf("%s, %s", t.name, shape), len(r.moments), emit, func() error {
		d.Begin(m, slo, miss)
		for i := range r.moments {
			d.Decide(&r.moments[i], r.moments[i].Ready[0])
		}
		return nil
	}); err != nil {
		return err
	}
	return o.decisions(fmt.Sprintf("%s, %s, preparing", t.name, shape), 1, emit, func() error {
		fresh, err := t.new()
		if err == nil {
			fresh.Begin(m, slo, miss)
			fresh.Decide(&r.moments[0], r.moments[0].Ready[0])
		}
		return err
	})
}

// decisions emits a measurement of n decisions at a time.
func (o Options) decisions(what string, n int, emit func(Result), f func() error) error {
	s, err := o.measure(f)
	if err != nil {
		return err
	}
	s = s.scaled(float64(n))
	emit(o.fill(Result{Bench: "decide", What: what, Threads: 1, DecisionsPerSecond: s.perSecond()}, s))
	return nil
}

// recorder keeps the moments of a request, to show them again.
type recorder struct {
	steps.Decider
	moments []steps.Moment
}

// Decide implements [steps.Decider].
func (r *recorder) Decide(at *steps.Moment, step int) int {
	c := *at
	c.Ready, c.State, c.Choice = []int{step}, slices.Clone(at.State), slices.Clone(at.Choice)
	c.Begun, c.Done = slices.Clone(at.Begun), slices.Clone(at.Done)
	c.Warm = make([][]int, len(at.Warm))
	for s, n := range at.Warm {
		c.Warm[s] = slices.Clone(n)
	}
	r.moments = append(r.moments, c)
	return r.Decider.Decide(at, step)
}
