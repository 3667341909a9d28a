package spsa

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Name is the learner's name in the table of agents and in policy files; label is the policy's name in results.
const (
	Name  = "spsa"
	label = "pba"
)

// Held is a policy that always takes one action.
type Held struct {
	file   *agents.PolicyFile
	action []float32 // [agents, width]
	width  int
	sum    uint64 // fingerprint of the file
}

var _ agents.Policy = (*Held)(nil)

// description is a policy file's JSON. The action is the array "action", of [agents, width].
type description struct {
	// Format is the version of this description: 1.
	Format int `json:"format"`
	// Windows is the number of moves that led to the action.
	Windows int64 `json:"windows"`
}

const (
	format      = 1
	arrayAction = "action"
)

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	a := make([]float32, len(l.pricer.x))
	l.pricer.Action(a)
	d, err := json.Marshal(description{Format: format, Windows: l.pricer.window})
	if err != nil {
		return nil, err
	}
	n := l.ctx.Spec.Kinds[0].Agents
	return OpenPolicy(&agents.PolicyFile{
		Agent: Name, EnvID: l.ctx.Spec.ID, Description: d,
		Arrays: map[string]agents.Array{arrayAction: {Shape: []int{n, len(a) / n}, Data: a}},
	}, l.ctx.Spec)
}

// OpenPolicy builds a policy from a file, for an environment whose action space contains the held action.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec) (*Held, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, fmt.Errorf("spsa: policy: %w", err)
	}
	if d.Format != format {
		return nil, fmt.Errorf("spsa: policy: description has format %d, want %d", d.Format, format)
	}
	k, err := check.OneKind(spec)
	if err != nil {
		return nil, fmt.Errorf("spsa: policy: %w", err)
	}
	a, w := f.Arrays[arrayAction].Data, k.Action.Width()
	if w == 0 || len(a) != k.Agents*w {
		return nil, fmt.Errorf("spsa: policy: array %q has %d numbers, want %d", arrayAction, len(a), k.Agents*w)
	}
	for i := range k.Agents {
		if err := k.Action.Contains(a[i*w : (i+1)*w]); err != nil {
			return nil, fmt.Errorf("spsa: policy: action of %s %d: %w", k.Name, i, err)
		}
	}
	return &Held{file: f, action: a, width: w, sum: frozen.Sum(f, arrayAction)}, nil
}

// Name implements [envs.Policy].
func (*Held) Name() string { return label }

// Export implements [agents.Policy]. The file belongs to the policy and must not be modified.
func (p *Held) Export() (*agents.PolicyFile, error) { return p.file, nil }

// Reset implements [envs.Policy].
func (*Held) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Held) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	for j, here := range obs.Kinds[0].Active {
		row := act.Kinds[0][j*p.width : (j+1)*p.width]
		if !here {
			clear(row)
			continue
		}
		copy(row, p.action[j*p.width:])
	}
	return nil
}

// State implements [state.Stater]: nothing changes, and a loaded state must have the same action.
func (p *Held) State(c *state.Codec) { c.Same("action", p.sum) }

// CopyFrom implements [envs.Policy]: src must hold the same action.
func (p *Held) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *Held) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, heldKind, p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Held) UnmarshalBinary(b []byte) error { return state.Load(b, heldKind, p) }

const heldKind = Name + ": policy"
