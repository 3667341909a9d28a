package simppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs/state"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "simppo"

// Learner is mean-field PPO with weights by function.
type Learner struct {
	*ppo.Learner
	c         Config
	ctx       agents.Context
	functions functions
}

var _ agents.Learner = (*Learner)(nil)

// NewLearner returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment has several kinds of agents, or one that sees no vector.
func NewLearner(c Config, ctx agents.Context) (*Learner, error) {
	l, err := build(c, ctx)
	if err != nil {
		return nil, fmt.Errorf("simppo: %w", err)
	}
	return l, nil
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	k, err := check.Vector(ctx.Spec)
	if err != nil {
		return nil, err
	}
	inside, err := ppo.New(c.ppo(), ctx)
	if err != nil {
		return nil, err
	}
	l := &Learner{Learner: inside, c: c, ctx: ctx, functions: of(k)}
	if err := l.Hold(l.functions.held); err != nil {
		return nil, err
	}
	// All functions begin as the first: only then is the mean of what they learn near each of them.
	s := agents.NewState()
	if err := l.Learner.Save(s); err != nil {
		return nil, err
	}
	return l, l.take(s, make([]int, k.Agents))
}

// take takes over weights: function i has those of function from[i] in s, or the mean of all where that is −1.
func (l *Learner) take(s *agents.State, from []int) error {
	t := agents.NewState()
	for name, a := range s.Weights {
		rows, err := ppo.Rows(a, from)
		if err != nil {
			return fmt.Errorf("simppo: weights %q: %w", name, err)
		}
		t.Weights[name] = rows
	}
	return l.Learner.Adopt(t)
}

// functionsBlob is a state's entry for the functions.
const functionsBlob = "simppo.functions"

// parts is what a checkpoint holds beside the learner inside.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs[functionsBlob] = &l.functions
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return saved.SaveBeside(l.Learner, l.parts(), s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error { return saved.LoadBeside(l.Learner, l.parts(), s) }

// Adopt implements [agents.Learner]: functions that the other run knows take its weights, bit for bit; a new one begins
// with the mean of all that the other run knows. With learn: new the former do not learn.
func (l *Learner) Adopt(s *agents.State) error {
	b, err := s.GetBlob(functionsBlob)
	if err != nil {
		return fmt.Errorf("simppo: %w", err)
	}
	var other functions
	if err := state.Load(b, Name+": "+functionsBlob, &other); err != nil {
		return err
	}
	from := l.functions.from(other.names)
	held, fresh := make([]bool, len(from)), 0
	for i, f := range from {
		if held[i] = l.c.Learn == New && f >= 0; f < 0 {
			fresh++
		}
	}
	if l.c.Learn == New && fresh == 0 {
		return fmt.Errorf("simppo: learn is new, but the run whose weights are taken knows all of %v: nothing would learn; "+
			"want learn: all", l.functions.names)
	}
	if err := l.take(s, from); err != nil {
		return err
	}
	copy(l.functions.held, held)
	return nil
}
