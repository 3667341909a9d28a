package maddpg

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// TrainedPolicy is a trained policy: actors with frozen weights and frozen observation statistics. Continuous actions
// are deterministic; choices are drawn from the softmax of the logits unless a deterministic action is asked for. Its
// only changing state is the random stream of these draws. Its name is attmf, mf, maddpg, ddpg or iddpg.
type TrainedPolicy struct {
	frozen.Policy
	prob         problem
	acting       *acting
	shift, scale []float32 // [agents, obs], nil where observations are not standardised
	clip         float32
	hot          []float32
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// Act implements [envs.Policy].
func (p *TrainedPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o, a := &obs.Kinds[0], act.Kinds[0]
	x := p.acting.x
	copy(x, o.Values)
	if p.shift != nil {
		for i := range x {
			x[i] = min(max(float32((x[i]-p.shift[i])*p.scale[i]), -p.clip), p.clip)
		}
	}
	if p.prob.agents == len(o.Active) {
		p.acting.hide(o.Active)
	}
	p.acting.run()
	w, k := p.prob.actionCodec.width(), p.prob.actionCodec.components()
	for j := range p.prob.kind.Agents {
		y, out := p.acting.out[j*w:(j+1)*w], a[j*k:(j+1)*k]
		if !o.Active[j] {
			clear(out)
			continue
		}
		if m := check.NotFinite(y); m >= 0 {
			return fmt.Errorf("maddpg: policy: actor of %s %d gives %g", p.prob.kind.Name, j, y[m])
		}
		if !p.prob.discrete() {
			p.prob.stretch(y, out)
			continue
		}
		if !deterministic {
			for m := range y {
				y[m] += gumbel(&p.Draws)
			}
		}
		forbid(y, o.MaskOf(j, w))
		p.prob.choose(y, p.hot, out)
	}
	return nil
}

// Name is the learner's name in the table of agents and in policy files.
const Name = "maddpg"

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: 1.
	Format int `json:"format"`
	// Name labels results: attmf, mf, maddpg, ddpg or iddpg.
	Name string `json:"name"`
	// Single says that one actor sees and controls all agents.
	Single bool `json:"single,omitempty"`
	// Actor is the architecture, as nets.EncodeArch writes it. Its parameters are the array "actor".
	Actor json.RawMessage `json:"actor"`
	// Action says how outputs become actions.
	Action actionCodec `json:"action"`
	// ObservationClip is 0 where observations are not standardised. Else the actor sees (x − "shift")·"scale", clipped
	// to ± this value; both arrays are [agents, width].
	ObservationClip float64 `json:"observation_clip,omitempty"`
}

const (
	format     = 1
	arrayActor = "actor"
	arrayShift = "shift"
	arrayScale = "scale"
)

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	f, err := l.file()
	if err != nil {
		return nil, err
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}

// file writes the present actor as a policy file.
func (l *Learner) file() (*agents.PolicyFile, error) {
	f := &agents.PolicyFile{Agent: Name, EnvID: l.ctx.Spec.ID, Arrays: map[string]agents.Array{}}
	arch, err := nets.EncodeArch(l.acting.net.Arch())
	if err != nil {
		return nil, err
	}
	d := description{Format: format, Name: l.c.label(), Single: l.c.Mix == Single, Actor: arch, Action: l.p.actionCodec}
	agents.PutTensor(f.Arrays, arrayActor, l.update.actor.Params())
	if err := l.ctx.Train.Err(); err != nil {
		return nil, fmt.Errorf("maddpg: reading the actor: %w", err)
	}
	if l.std != nil {
		d.ObservationClip = l.c.ObservationClip
		shape := []int{l.p.agents, l.p.obs}
		shift, scale := agents.Array{Shape: shape}, agents.Array{Shape: shape}
		for i := range l.p.agents {
			m, s := l.std.agent(i).Affine()
			shift.Data, scale.Data = append(shift.Data, m...), append(scale.Data, s...)
		}
		f.Arrays[arrayShift], f.Arrays[arrayScale] = shift, scale
	}
	f.Description, err = json.Marshal(d)
	return f, err
}

// OpenPolicy builds a policy from a file, on the engine act. The environment must have the spaces that the policy was
// trained with. Where its weights are shared it acts for any number of agents on any graph; else the environment must
// have the same agents and neighbours.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := openPolicy(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("maddpg: policy: %w", err)
	}
	return p, nil
}

func openPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*TrainedPolicy, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format {
		return nil, fmt.Errorf("description has format %d, want %d", d.Format, format)
	}
	mix := ""
	if d.Single {
		mix = Single
	}
	prob, err := newProblem(mix, spec)
	if err != nil {
		return nil, err
	}
	if !prob.equal(d.Action) {
		return nil, fmt.Errorf("trained for the actions %+v, the environment has %+v", d.Action, prob.actionCodec)
	}
	arch, err := nets.DecodeArch(d.Actor)
	if err != nil {
		return nil, err
	}
	if arch, err = place(arch, d.Single, &prob); err != nil {
		return nil, err
	}
	if err := frozen.Fits(f, arrayActor, arch); err != nil {
		return nil, err
	}
	net, err := act.NewNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, arrayActor, net.Params()); err != nil {
		return nil, err
	}
	t := &TrainedPolicy{
		Policy: frozen.New(f, d.Name, "maddpg: policy", frozen.Sum(f, slices.Sorted(maps.Keys(f.Arrays))...)),
		prob:   prob, clip: float32(d.ObservationClip), hot: make([]float32, prob.actionCodec.width()),
	}
	if d.ObservationClip > 0 {
		for _, a := range []struct {
			name string
			dst  *[]float32
		}{{arrayShift, &t.shift}, {arrayScale, &t.scale}} {
			if *a.dst, err = statistic(f, a.name, arch, prob.agents, prob.obs); err != nil {
				return nil, err
			}
		}
	}
	if t.acting, err = newActing(&t.prob, act, net, 1); err != nil {
		return nil, err
	}
	return t, nil
}

// place returns a trained actor's architecture for the environment of p. An actor whose weights all agents share acts
// for any number of agents on any graph: the widths of observation and action are all that its parameters depend on.
// One with weights per agent, and one that controls all agents (single), belong to the graph they were trained on.
func place(arch nets.Arch, single bool, p *problem) (nets.Arch, error) {
	trained := arch.AgentCount()
	in, out := arch.Inputs(), arch.Output().Width
	if single && (len(in) != 1 || in[0].Width != p.obs || out != p.act) {
		n := p.kind.Agents
		return nil, fmt.Errorf("mix: single controls all agents at once; this one takes %v and gives %d numbers, the "+
			"environment has %d observations and %d actions of %d agents (%s); only agent.shared: true with another mix "+
			"acts for any number of agents", in, out, p.obs, p.act, n, p.kind.Name)
	}
	if len(in) != 1 || in[0].Width != p.obs || out != p.act {
		return nil, fmt.Errorf("actor takes %v and gives %d numbers per agent, the environment has observations of %d and "+
			"actions of %d per agent (%s)", in, out, p.obs, p.act, p.kind.Name)
	}
	switch m := arch.(type) {
	case nets.MLP:
		if m.Shared {
			m.Agents = p.agents
		}
		arch = m
	case nets.MeanField:
		switch near := p.neighbours(); {
		case m.Mix == nets.Joint:
			return nil, fmt.Errorf("actor sees the observations of all agents, want one with mix %s or %s", nets.Attention,
				nets.Mean)
		case m.Shared:
			m.Agents, m.Neighbours = p.agents, near
		case trained == p.agents && !slices.EqualFunc(m.Neighbours, near, slices.Equal):
			return nil, fmt.Errorf("trained with separate weights for %d agents on another graph: agents %v were each "+
				"other's neighbours, here %v are; only a policy trained with agent.shared: true acts on any graph", trained,
				m.Neighbours, near)
		}
		arch = m
	}
	if arch.AgentCount() != p.agents {
		return nil, fmt.Errorf("trained with separate weights for %d agents, the environment has %d (%s); only a policy "+
			"trained with agent.shared: true acts for any number of agents", trained, p.agents, p.kind.Name)
	}
	return arch, arch.Validate()
}

// statistic reads an array of the observations' statistics for n agents, [n, width]. Where weights are shared all rows
// of the file are equal, so that any number of agents can have them.
func statistic(f *agents.PolicyFile, name string, arch nets.Arch, n, width int) ([]float32, error) {
	x := f.Arrays[name].Data
	if arch.Groups() > 1 || len(x) == n*width {
		if len(x) != n*width {
			return nil, fmt.Errorf("array %q has %d numbers, want %d", name, len(x), n*width)
		}
		return x, nil
	}
	if len(x) == 0 || len(x)%width != 0 {
		return nil, fmt.Errorf("array %q has %d numbers, want rows of %d", name, len(x), width)
	}
	for i := width; i < len(x); i += width {
		if !slices.Equal(x[i:i+width], x[:width]) {
			return nil, fmt.Errorf("array %q has one row per agent, want equal rows with shared weights", name)
		}
	}
	return slices.Repeat(x[:width], n), nil
}
