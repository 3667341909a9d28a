package choice

import (
	"encoding"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// State is a part that saves and restores itself as a blob.
type State interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Parts is what a learner saves, by name: with it a resumed run goes on bit for bit.
type Parts struct {
	Weights, Optimiser map[string]nets.Tensor
	Adams              map[string]nets.Optimizer
	Blobs              map[string]State
	Counters           map[string]*int64
}

// AddAdam adds an optimiser: its moments, and its steps as the counter NAME_updates.
func (p *Parts) AddAdam(name string, o nets.Optimizer) {
	m, v := o.Moments()
	p.Optimiser[name+".first_moment"], p.Optimiser[name+".second_moment"] = m, v
	p.Adams[name] = o
}

// NewParts returns an empty list.
func NewParts() *Parts {
	return &Parts{map[string]nets.Tensor{}, map[string]nets.Tensor{}, map[string]nets.Optimizer{}, map[string]State{}, map[string]*int64{}}
}

// Save writes all parts to s.
func (p *Parts) Save(s *agents.State, e nets.Engine) error {
	for name, t := range p.Weights {
		agents.PutTensor(s.Weights, name, t)
	}
	for name, t := range p.Optimiser {
		agents.PutTensor(s.Optimiser, name, t)
	}
	for name, n := range p.Counters {
		s.Counters[name] = *n
	}
	for name, o := range p.Adams {
		s.Counters[name+"_updates"] = o.Steps()
	}
	for name, b := range p.Blobs {
		x, err := b.AppendBinary(nil)
		if err != nil {
			return fmt.Errorf("saving %s: %w", name, err)
		}
		s.Blobs[name] = x
	}
	if err := e.Err(); err != nil {
		return fmt.Errorf("saving: %w", err)
	}
	return nil
}

// maxCount bounds what a state counts, so that counting on from a forged one can't overflow.
const maxCount = 1 << 60

// Load restores all parts from s; what is missing or of another size is an error that names it.
func (p *Parts) Load(s *agents.State) error {
	if err := p.Adopt(s); err != nil {
		return err
	}
	for name, t := range p.Optimiser {
		if err := agents.GetTensor(s.Optimiser, name, t); err != nil {
			return fmt.Errorf("optimiser: %w", err)
		}
	}
	for name, n := range p.Counters {
		if err := count(s, name, n); err != nil {
			return err
		}
	}
	for name, o := range p.Adams {
		var n int64
		if err := count(s, name+"_updates", &n); err != nil {
			return err
		}
		o.SetSteps(n)
	}
	for name, b := range p.Blobs {
		x, err := s.GetBlob(name)
		if err == nil {
			err = b.UnmarshalBinary(x)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Adopt takes the weights alone.
func (p *Parts) Adopt(s *agents.State) error {
	for name, t := range p.Weights {
		if err := agents.GetTensor(s.Weights, name, t); err != nil {
			return fmt.Errorf("weights: %w", err)
		}
	}
	return nil
}

func count(s *agents.State, name string, n *int64) error {
	x, ok := s.Counters[name]
	if !ok || x < 0 || x > maxCount {
		return fmt.Errorf("counter %q of the state is %d (there: %v), want 0 to %d", name, x, ok, int64(maxCount))
	}
	*n = x
	return nil
}
