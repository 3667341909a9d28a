package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs/state"
)

// State lists everything that the pricer needs to continue bit for bit.
func (p *Pricer) State(c *state.Codec) {
	state.Value(c, &p.window)
	state.Value(c, &p.worlds)
	state.Value(c, &p.gradient)
	state.Value(c, &p.step)
	state.Value(c, &p.phase)
	state.Value(c, &p.plus)
	for _, row := range [5][]float64{p.x, p.first, p.second, p.estimate, p.delta} {
		state.Fixed(c, row)
	}
	state.Value(c, p.stream)
	if c.Loaded() {
		c.Fail(p.check())
	}
}

// check reports what is wrong with a loaded pricer.
func (p *Pricer) check() error {
	switch {
	case p.window < 0 || p.window > saved.MaxCount || p.worlds < 0 || p.worlds > saved.MaxCount:
		return fmt.Errorf("window %d and %d estimates, want 0 to %d", p.window, p.worlds, int64(saved.MaxCount))
	case !(p.gradient >= 0 && p.gradient <= math.MaxFloat64 && p.step >= 0 && p.step <= 1):
		return fmt.Errorf("gradient %g and step %g, want finite ones from 0, the step at most 1", p.gradient, p.step)
	case p.phase < 0 || p.phase >= p.cycle():
		return fmt.Errorf("window %d of a move, want 0 to %d", p.phase, p.cycle()-1)
	case p.plus-p.plus != 0:
		return fmt.Errorf("profit %g, want a finite one", p.plus)
	}
	for i, name := range p.space.names {
		for _, m := range []struct {
			what string
			x    float64
		}{
			{"action", p.x[i]}, {"first moment", p.first[i]}, {"second moment", p.second[i]}, {"estimate", p.estimate[i]},
		} {
			if m.x-m.x != 0 {
				return fmt.Errorf("%s %g of %s, want a finite number", m.what, m.x, name)
			}
		}
		switch d := p.delta[i]; {
		case p.second[i] < 0:
			return fmt.Errorf("second moment %g of %s, want 0 or more", p.second[i], name)
		case d != 0 && d != 1 && d != -1:
			return fmt.Errorf("perturbation %g of %s, want -1, 0 or 1", d, name)
		case p.x[i] != p.space.clip(i, p.x[i]):
			return fmt.Errorf("%s %g, want at least %g and at most %g", name, p.x[i], p.space.low[i], p.space.high[i])
		}
	}
	return nil
}

// State lists the learner's own number; see parts for the rest.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, &l.realised)
	c.Check(!math.IsNaN(l.realised), "sum of the objective is NaN")
}

// parts is what a checkpoint holds.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs["pricer"], p.Blobs["objective"] = l.pricer, l
	p.Counters["summed_windows"] = &l.steps
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return l.parts().Save(s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	if err := l.parts().Load(s); err != nil {
		return err
	}
	l.acted, l.moved = false, false
	return nil
}

// Adopt implements [agents.Learner]: the search starts at the other run's action, with its own steps and perturbations.
func (l *Learner) Adopt(s *agents.State) error {
	mine := agents.NewState()
	p := l.parts()
	if err := p.Save(mine); err != nil {
		return err
	}
	if err := p.Adopt(s, "pricer"); err != nil {
		return err
	}
	x := append([]float64(nil), l.pricer.x...)
	if err := p.Load(mine); err != nil {
		return err
	}
	l.pricer.begin(x)
	return nil
}
