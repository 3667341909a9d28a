package bench

import (
	"fmt"
	"slices"
	"time"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// runEnv measures steps with random actions, resets included, of one environment or of all.
func runEnv(o Options, emit func(Result)) error {
	list := catalog.Default().Envs
	if o.EnvID != "" {
		e, err := catalog.Default().Env(o.EnvID)
		if err != nil {
			return err
		}
		list = []catalog.Env{e}
	}
	for _, entry := range list {
		env, err := entry.New(entry.Config(), workload.Default())
		if err != nil {
			return fmt.Errorf("%s: %w", entry.ID, err)
		}
		startMemory()
		s, err := o.stepRate(env)
		if err != nil {
			return fmt.Errorf("%s: %w", entry.ID, err)
		}
		emit(o.fill(Result{Bench: "env", Env: entry.ID, Agents: env.Spec().Agents(), StepsPerSecond: s.perSecond()}, s))
	}
	return nil
}

// episodes is how many workload seeds are played in turn: some environments work something out for each, and keep it.
const episodes = 8

// stepRate steps env with actions sampled beforehand, so that sampling is not measured. Where the environment masks
// actions, the legal ones are known only in each step: sampling is measured too then. Before it measures it plays all
// episodes once, or as many as there is time for.
func (o Options) stepRate(env envs.Env) (sample, error) {
	spec := env.Spec()
	obs, out := envs.NewObservation(spec), envs.NewOutcome(spec)
	stream := rng.NewStream(1, "bench actions")
	sampler, err := envs.NewActionSampler(spec)
	if err != nil {
		return sample{}, err
	}
	played, masked := 0, false
	step := func(act *envs.Action) error {
		if err := env.Step(act, obs, out); err != nil {
			return err
		}
		if out.Terminated || out.Truncated {
			played++
			return env.Reset(1+uint64(played%episodes), nil, obs)
		}
		return nil
	}
	if err := env.Reset(1, nil, obs); err != nil {
		return sample{}, err
	}
	var acts [64]*envs.Action
	for i := range acts {
		for _, k := range obs.Kinds {
			masked = masked || slices.Contains(k.Mask, false)
		}
		acts[i] = envs.NewAction(spec)
		if err := sampler.Sample(stream, obs, acts[i]); err != nil {
			return sample{}, err
		}
		if err := step(acts[i]); err != nil {
			return sample{}, err
		}
	}
	n := 0
	next := func() error {
		n++
		act := acts[n%len(acts)]
		if masked {
			if err := sampler.Sample(stream, obs, act); err != nil {
				return err
			}
		}
		return step(act)
	}
	for began := time.Now(); played < episodes && time.Since(began) < o.time(); {
		if err := next(); err != nil {
			return sample{}, err
		}
	}
	return o.measure(next)
}

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
