package firm

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "firm"

// Learner is Firm: a DDPG for all functions, of whom the culprits of each window move.
type Learner struct {
	*maddpg.Learner
	c        Config
	ctx      agents.Context
	culprits *culprits
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong, or the
// environment does not show what Firm chooses by: the agents' order, each one's last configuration and its p95.
func New(c Config, ctx agents.Context) (*Learner, error) {
	l, err := build(c, ctx)
	if err != nil {
		return nil, fmt.Errorf("firm: %w", err)
	}
	return l, nil
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	who, err := newCulprits(ctx.Spec, c.Move, ctx.Copies)
	if err != nil {
		return nil, err
	}
	inside, err := maddpg.NewFiltered(c.ddpg(), ctx, who)
	if err != nil {
		return nil, err
	}
	return &Learner{Learner: inside, c: c, ctx: ctx, culprits: who}, nil
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	for i := range l.ctx.Copies {
		if v.Terminated[i] || v.Truncated[i] || v.ResetStep[i] {
			l.culprits.forget(i)
		}
	}
	return l.Learner.Observe(v)
}

// parts is what a checkpoint holds beside the learner inside.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs["firm.before"] = l.culprits
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return saved.SaveBeside(l.Learner, l.parts(), s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error { return saved.LoadBeside(l.Learner, l.parts(), s) }

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	inside, err := l.Learner.Policy()
	if err != nil {
		return nil, err
	}
	f, err := file(&l.c, inside)
	if err != nil {
		return nil, fmt.Errorf("firm: %w", err)
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}
