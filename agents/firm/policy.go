package firm

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/frozen"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
)

// TrainedPolicy is a trained policy: an actor with frozen weights, and who moves in a window. It draws nothing. Its
// changing state is the percentiles of the window before.
type TrainedPolicy struct {
	frozen.Policy
	actor    agents.Policy
	culprits *culprits
	low      []float32 // of each component of an action
	high     []float32
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: firm/2.
	Format string `json:"format"`
	// Move is how many functions move in a window, Low and High bound their actions, as shares of the range.
	Move int     `json:"move"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Actor is the description of the actor, as package actor has it. Its arrays are this file's.
	Actor json.RawMessage `json:"actor"`
}

const format = "firm/2"

// file writes the policy of the learner inside as Firm's.
func file(c *Config, inside agents.Policy) (*agents.PolicyFile, error) {
	in, err := inside.Export()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(description{format, c.Move, c.NoiseLow, c.NoiseHigh, in.Description})
	if err != nil {
		return nil, err
	}
	return &agents.PolicyFile{Agent: Name, EnvID: in.EnvID, Description: text, Arrays: in.Arrays}, nil
}

// OpenPolicy builds a policy from a file, on the engine act, for any workflow whose functions see and do as many numbers
// as those that the policy was trained for.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := open(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("firm: policy: %w", err)
	}
	return p, nil
}

func open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*TrainedPolicy, error) {
	var d description
	if f.Agent != Name {
		return nil, fmt.Errorf("made by agent %q, want %q", f.Agent, Name)
	}
	if err := frozen.Describe(f, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format || d.Move < 1 || !(d.Low >= 0 && d.Low < d.High && d.High <= 1) {
		return nil, fmt.Errorf("description has format %q, moves %d functions within [%g, %g], want %q, at least 1, and a part "+
			"of [0, 1]", d.Format, d.Move, d.Low, d.High, format)
	}
	inside := *f
	inside.Agent, inside.Description = maddpg.Name, d.Actor
	wants, err := actor.Open(&inside, spec, act)
	if err != nil {
		return nil, err
	}
	who, err := newCulprits(spec, d.Move, 1)
	if err != nil {
		return nil, err
	}
	p := &TrainedPolicy{
		Policy: frozen.New(f, Name, "firm: policy", frozen.Sum(f, slices.Sorted(maps.Keys(f.Arrays))...)),
		actor:  wants, culprits: who,
	}
	box, ok := spec.Kinds[0].Action.(envs.Box)
	if !ok {
		return nil, fmt.Errorf("action space is %v, want Box", spec.Kinds[0].Action)
	}
	for i, low := range box.Low {
		reach := box.High[i] - low
		p.low = append(p.low, low+float32(float32(d.Low)*reach))
		p.high = append(p.high, low+float32(float32(d.High)*reach))
	}
	return p, nil
}

// Act implements [envs.Policy].
func (p *TrainedPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if err := p.actor.Act(obs, act, deterministic); err != nil {
		return fmt.Errorf("firm: %w", err)
	}
	a := act.Kinds[0]
	for i, x := range a {
		c := i % len(p.low)
		a[i] = min(max(x, p.low[c]), p.high[c])
	}
	return p.culprits.Filter(0, &obs.Kinds[0], a)
}

// Reset implements [envs.Policy].
func (p *TrainedPolicy) Reset(seed uint64) error {
	p.culprits.forget(0)
	return p.Policy.Reset(seed)
}

// Follow takes over the percentiles of the window before from an earlier policy of the same functions, as
// [github.com/stoker-rl/stoker/agents/online.Follower] says.
func (p *TrainedPolicy) Follow(before envs.Policy) error {
	b, ok := before.(*TrainedPolicy)
	if !ok || len(b.culprits.before) != len(p.culprits.before) {
		return fmt.Errorf("firm: follow a %T, want a policy of the same functions", before)
	}
	copy(p.culprits.before, b.culprits.before)
	return nil
}

// State implements [state.Stater].
func (p *TrainedPolicy) State(c *state.Codec) {
	p.Policy.State(c)
	c.Part(p.culprits)
}

// CopyFrom implements [envs.Policy].
func (p *TrainedPolicy) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

const policyKind = "firm: policy"

// AppendBinary implements [envs.Policy].
func (p *TrainedPolicy) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, policyKind, p) }

// UnmarshalBinary implements [envs.Policy].
func (p *TrainedPolicy) UnmarshalBinary(b []byte) error { return state.Load(b, policyKind, p) }

// insight is that of the actor, whose actions are kept within bounds. Which functions move in a window is a rule, not a
// network: outputs are what the actor wants for every function, whether it moves or not.
type insight struct {
	agents.Insight
	low, high []float32
	out       []float32
	weights   []float32
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent].
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	actor, ok := p.actor.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("firm: insight: a %T gives no gradients of its decisions", p.actor)
	}
	in, err := actor.Insight(act, rows)
	if err != nil {
		return nil, fmt.Errorf("firm: %w", err)
	}
	return &insight{Insight: in, low: p.low, high: p.high}, nil
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	out, err := x.Insight.Forward(seen)
	x.out = append(x.out[:0], out...)
	for i, y := range x.out {
		c := i % len(x.low)
		x.out[i] = min(max(y, x.low[c]), x.high[c])
	}
	return x.out, err
}

// Gradient implements [agents.Insight]: it is zero at a bound.
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	x.weights = append(x.weights[:0], weights...)
	for i := range x.weights[:min(len(weights), len(x.out))] {
		if c := i % len(x.low); x.out[i] <= x.low[c] || x.out[i] >= x.high[c] {
			x.weights[i] = 0
		}
	}
	return x.Insight.Gradient(x.weights)
}
