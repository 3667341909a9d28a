package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// lookahead holds the copies and buffers of a planner's search.
type lookahead struct {
	// states are the copies at the beginning of each window of the plan, by window and sample. try is the copy that a
	// trial steps, stage the one of a rehearsal.
	states [][]*sizing.Env
	try    *sizing.Env
	stage  *sizing.Env
	order  []int // of the samples: those first that ended the last trials
	qos    sizing.QoS
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	info   struct{ latency, successes, failed, refused, violated int }

	trial, best []sizing.Resources // of one window
	value       float64            // what the best costs from its window on, the mean over the samples
	planned     float64            // what the whole plan costs
	held        bool               // a trial holds its configuration to the end of the plan
	trials      int
}

func (s *lookahead) init(p *Oracle, e *sizing.Env) error {
	newEnv := func(to **sizing.Env) error {
		var err error
		*to, err = e.NewEnv()
		return err
	}
	if err := newEnv(&s.try); err != nil {
		return err
	}
	if err := newEnv(&s.stage); err != nil {
		return err
	}
	for range p.config.Horizon {
		row := make([]*sizing.Env, p.config.Samples)
		for k := range row {
			if err := newEnv(&row[k]); err != nil {
				return err
			}
		}
		s.states = append(s.states, row)
		p.plan = append(p.plan, make([]sizing.Resources, p.n))
	}
	for k := range p.config.Samples {
		s.order = append(s.order, k)
	}
	s.obs, s.act, s.out = envs.NewObservation(p.spec), envs.NewAction(p.spec), envs.NewOutcome(p.spec)
	for name, at := range map[string]*int{
		"latency": &s.info.latency, "successes": &s.info.successes, "failed": &s.info.failed,
		"refused": &s.info.refused, "violated": &s.info.violated,
	} {
		var err error
		if *at, err = p.spec.InfoIndex(name); err != nil {
			return err
		}
	}
	s.trial, s.best = make([]sizing.Resources, p.n), make([]sizing.Resources, p.n)
	return nil
}

// extend completes the plan up to the horizon or to the episode's end.
func (p *Oracle) extend() error {
	for h := range p.config.Horizon {
		ended, err := p.arrive(h)
		if err != nil {
			return err
		}
		if ended {
			return nil
		}
		if h < p.depth {
			continue
		}
		p.depth = h + 1
		p.value = math.Inf(1)
		if h > 0 {
			copy(p.trial, p.plan[h-1])
			if err := p.test(h); err != nil {
				return err
			}
		}
		if err := p.recall(h); err != nil {
			return err
		}
		copy(p.plan[h], p.best)
	}
	return nil
}

// arrive makes the copies at the beginning of window h from those before. It reports whether the episode ends there.
func (p *Oracle) arrive(h int) (bool, error) {
	if h == 0 {
		return false, nil
	}
	for k, s := range p.states[h] {
		if err := s.CopyFrom(p.states[h-1][k]); err != nil {
			return false, err
		}
		if err := p.step(s, p.plan[h-1]); err != nil {
			return false, err
		}
	}
	return p.out.Truncated, nil
}

// improve searches window h's configuration, step by step or, where recall is set, among those remembered: in this window
// alone, and held from it to the end of the plan. After a window that could not be kept the latter finds the way back,
// which no change of one window does.
func (p *Oracle) improve(h int, recall bool) error {
	if _, err := p.arrive(h); err != nil {
		return err
	}
	p.value = math.Inf(1)
	copy(p.trial, p.plan[h])
	if err := p.test(h); err != nil {
		return err
	}
	before := p.value
	if h == 0 {
		p.planned = p.value
	}
	one := p.sweep
	if recall {
		one = p.recall
	}
	if err := one(h); err != nil {
		return err
	}
	alone := p.value
	if recall && h+1 < p.depth {
		p.held = true
		err := p.recall(h)
		p.held = false
		if err != nil {
			return err
		}
	}
	if p.value < before {
		copy(p.plan[h], p.best)
	}
	if p.value < alone {
		for j := h + 1; j < p.depth; j++ {
			copy(p.plan[j], p.best)
		}
	}
	p.planned -= before - p.value
	return nil
}

// recall tries the remembered configurations in window h.
func (p *Oracle) recall(h int) error {
	for i := range p.memory {
		copy(p.trial, p.memory[i].resources)
		if err := p.test(h); err != nil {
			return err
		}
	}
	return nil
}

// test simulates the windows from h on with the trial configuration in h, and makes it the best where it costs less.
func (p *Oracle) test(h int) error {
	if p.trials >= p.config.Budget && !math.IsInf(p.value, 1) {
		return nil
	}
	samples := float64(len(p.order))
	sum := p.try.Hourly(p.trial)
	for j := h + 1; j < p.depth; j++ {
		sum += p.try.Hourly(p.after(j))
	}
	sum *= samples
	limit := p.value * samples
	for i, k := range p.order {
		if sum >= limit {
			return nil
		}
		missed, err := p.run(h, k, limit-sum)
		if err != nil {
			return err
		}
		if sum += missed; sum >= limit {
			// The next trial fails soonest where this one did.
			copy(p.order[1:i+1], p.order[:i])
			p.order[0] = k
			return nil
		}
	}
	p.value = sum / samples
	copy(p.best, p.trial)
	return nil
}

// after is the configuration of a trial in a later window.
func (p *Oracle) after(j int) []sizing.Resources {
	if p.held {
		return p.trial
	}
	return p.plan[j]
}

// run simulates a trial in one sample and returns what its missed windows cost. It stops where they reach the limit.
func (p *Oracle) run(h, k int, limit float64) (float64, error) {
	if err := p.try.CopyFrom(p.states[h][k]); err != nil {
		return 0, err
	}
	var sum float64
	var w window
	rs := p.trial
	for j := h; j < p.depth; j++ {
		if j > h {
			rs = p.after(j)
		}
		if err := p.step(p.try, rs); err != nil {
			return 0, err
		}
		w = window{}
		p.add(&w)
		sum += float64(p.weight * p.loss(&w))
		if sum >= limit || p.out.Truncated || p.fresh {
			return sum, nil
		}
	}
	// Requests in progress at the plan's end show their result later: otherwise the cheapest plan would be the one that
	// leaves most work.
	p.try.Mute()
	if err := p.step(p.try, rs); err != nil {
		return 0, err
	}
	p.add(&w)
	return sum + float64(p.weight*p.loss(&w)), nil
}

// step steps a copy.
func (p *Oracle) step(e *sizing.Env, rs []sizing.Resources) error {
	for f, r := range rs {
		p.rng.Encode(r, p.action(p.act, f))
	}
	p.trials++
	return e.Step(p.act, p.obs, p.out)
}
