// Package saved writes and reads what learners and policies keep. A learner lists its tensors, optimisers, counters and
// parts once, as [Parts]; saving, loading, and adopting another run's weights follow. A policy lists its fields as a
// [state.Stater]; [CopyPolicy] is its CopyFrom.
//
// Not here: the bytes of one part (envs/state), files (checkpoints), and what the state means (each learner).
package saved

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
)

// Parts lists all that a learner saves, by name. The replay is saved beside it.
type Parts struct {
	// Agent is the learner's name: it begins errors.
	Agent string
	// Engine holds the tensors; nil where there are none.
	Engine nets.Engine
	// Weights are what another run can adopt, Optimiser the other tensors.
	Weights, Optimiser map[string]nets.Tensor
	// Blobs are everything that is neither a tensor nor a count.
	Blobs map[string]state.Stater
	// Counters are readable in a checkpoint's manifest.
	Counters map[string]*int64

	adams map[string]nets.Optimizer
}

// New returns an empty list.
func New(agent string, e nets.Engine) *Parts {
	return &Parts{
		Agent: agent, Engine: e, Weights: map[string]nets.Tensor{}, Optimiser: map[string]nets.Tensor{},
		Blobs: map[string]state.Stater{}, Counters: map[string]*int64{}, adams: map[string]nets.Optimizer{},
	}
}

// Adam adds an optimiser: its moments, and the number of its steps as the counter NAME_updates.
func (p *Parts) Adam(name string, o nets.Optimizer) {
	m, v := o.Moments()
	p.Optimiser[name+".first_moment"], p.Optimiser[name+".second_moment"] = m, v
	p.adams[name] = o
}

// Net adds a network that learns: its weights, and its optimiser as [Parts.Adam] does.
func (p *Parts) Net(name string, n interface{ Params() nets.Tensor }, o nets.Optimizer) {
	p.Weights[name] = n.Params()
	p.Adam(name, o)
}

// Save writes all parts to s.
func (p *Parts) Save(s *agents.State) error {
	for name, t := range p.Weights {
		agents.PutTensor(s.Weights, name, t)
	}
	for name, t := range p.Optimiser {
		agents.PutTensor(s.Optimiser, name, t)
	}
	for name, n := range p.Counters {
		s.Counters[name] = *n
	}
	for name, o := range p.adams {
		s.Counters[updates(name)] = o.Steps()
	}
	for name, b := range p.Blobs {
		x, err := state.Append(nil, p.kind(name), b)
		if err != nil {
			return err
		}
		s.Blobs[name] = x
	}
	if err := p.engineErr(); err != nil {
		return fmt.Errorf("%s: saving: %w", p.Agent, err)
	}
	return nil
}

// Load restores all parts from s. An error names the part that is missing, damaged or of another size; nothing has
// changed then.
func (p *Parts) Load(s *agents.State) error { return p.change(func() error { return p.load(s) }) }

// Adopt takes the weights alone, and the blobs named. Where it fails nothing has changed.
func (p *Parts) Adopt(s *agents.State, blobs ...string) error {
	return p.change(func() error {
		if err := p.tensors("weights", p.Weights, s.Weights); err != nil {
			return err
		}
		return p.blobs(s, blobs)
	})
}

// change does what changes the parts. Where that fails it restores them.
func (p *Parts) change(do func() error) error {
	before := agents.NewState()
	if err := p.Save(before); err != nil {
		return err
	}
	err := errors.Join(do(), p.engineErr())
	if err != nil {
		return errors.Join(err, p.load(before))
	}
	return nil
}

func (p *Parts) load(s *agents.State) error {
	if err := p.tensors("weights", p.Weights, s.Weights); err != nil {
		return err
	}
	if err := p.tensors("optimiser", p.Optimiser, s.Optimiser); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
		n, err := p.count(s, name)
		if err != nil {
			return err
		}
		*p.Counters[name] = n
	}
	for _, name := range slices.Sorted(maps.Keys(p.adams)) {
		n, err := p.count(s, updates(name))
		if err != nil {
			return err
		}
		p.adams[name].SetSteps(n)
	}
	return p.blobs(s, slices.Sorted(maps.Keys(p.Blobs)))
}

func (p *Parts) tensors(what string, dst map[string]nets.Tensor, src map[string]agents.Array) error {
	for _, name := range slices.Sorted(maps.Keys(dst)) {
		if err := agents.GetTensor(src, name, dst[name]); err != nil {
			return fmt.Errorf("%s: %s: %w", p.Agent, what, err)
		}
	}
	return nil
}

func (p *Parts) blobs(s *agents.State, names []string) error {
	for _, name := range names {
		b, err := s.GetBlob(name)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Agent, err)
		}
		if err := state.Load(b, p.kind(name), p.Blobs[name]); err != nil {
			return err
		}
	}
	return nil
}

// MaxCount bounds what a state counts, so that counting on from a forged one cannot overflow.
const MaxCount = 1 << 60

func (p *Parts) count(s *agents.State, name string) (int64, error) {
	n, ok := s.Counters[name]
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: state has no counter %q, it has %v", p.Agent, name, slices.Sorted(maps.Keys(s.Counters)))
	case n < 0 || n > MaxCount:
		return 0, fmt.Errorf("%s: counter %q of the state is %d, want 0 to %d", p.Agent, name, n, int64(MaxCount))
	}
	return n, nil
}

func (p *Parts) engineErr() error {
	if p.Engine == nil {
		return nil
	}
	return p.Engine.Err()
}

// kind names a blob, so that one learner's is not taken for another's.
func (p *Parts) kind(blob string) string { return p.Agent + ": " + blob }

func updates(adam string) string { return adam + "_updates" }

// Inside is a learner around which another one is built.
type Inside interface {
	Save(s *agents.State) error
	Load(s *agents.State) error
	Adopt(s *agents.State) error
}

// SaveBeside writes a learner, and the parts that the one around it has beside it.
func SaveBeside(inside Inside, p *Parts, s *agents.State) error {
	return errors.Join(inside.Save(s), p.Save(s))
}

// LoadBeside restores what [SaveBeside] wrote. Where it fails nothing has changed.
func LoadBeside(inside Inside, p *Parts, s *agents.State) error {
	return p.Beside(func() error { return p.Load(s) }, func() error { return inside.Load(s) })
}

// AdoptBeside is [Parts.Adopt] for both. Where it fails nothing has changed.
func AdoptBeside(inside Inside, p *Parts, s *agents.State, blobs ...string) error {
	return p.Beside(func() error { return p.Adopt(s, blobs...) }, func() error { return inside.Adopt(s) })
}

// Beside does what changes the parts, then what changes the learner inside. Where either fails the parts are as before.
func (p *Parts) Beside(own, inside func() error) error {
	before := agents.NewState()
	if err := p.Save(before); err != nil {
		return err
	}
	err := own()
	if err == nil {
		err = inside()
	}
	if err != nil {
		return errors.Join(err, p.Load(before))
	}
	return nil
}

// Finite refuses a loaded state in which a listed number is not finite; what names them.
func Finite(c *state.Codec, what string, numbers ...float64) {
	if !c.Loaded() {
		return
	}
	for i, x := range numbers {
		if x-x != 0 {
			c.Fail(fmt.Errorf("%s %d is %g, want a finite number", what, i, x))
			return
		}
	}
}
