package ppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// actor acts for all agents of a kind in several copies of the environment. It does not allocate once made.
type actor struct {
	kind   *envs.Kind
	e      nets.Engine
	head   head
	pass   choice.Pass
	seen   nets.Tensor // [groups, rows, observation]
	groups int         // 1, or one for each agent
	obs    int
	copies int
	mixed  []float32 // with what others see, [copies, agents, observation]; nil with mix none
	field  *field
	in     []float32 // as seen, where agents have weights of their own
	out    []float32 // [groups, rows, outputs]
	params []float32 // buffer of sync
}

func newActor(kind *envs.Kind, h head, e nets.Engine, arch nets.Arch, mix string, copies int) (*actor, error) {
	net, err := e.NewNet(arch)
	if err != nil {
		return nil, err
	}
	groups, obs := arch.AgentCount(), arch.Inputs()[0].Width
	rows := copies * kind.Agents / groups
	a := &actor{
		kind: kind, e: e, head: h, pass: choice.NewPass(net, rows), seen: e.NewTensor(groups, rows, obs), groups: groups,
		obs: obs, copies: copies, out: make([]float32, groups*rows*arch.Output().Width),
		params: make([]float32, nets.Size(net.Params())),
	}
	if mix == Mean {
		a.field, a.mixed = newField(kind), make([]float32, copies*kind.Agents*obs)
	}
	if groups > 1 {
		a.in = make([]float32, groups*rows*obs)
	}
	a.pass.Forward(a.seen) // makes the engine's memory before the first step
	return a, e.Err()
}

// run computes the outputs for what all agents of all copies see.
func (a *actor) run(o *envs.KindObservation) error {
	values := o.Values
	if a.field != nil {
		n, w := a.kind.Agents, a.obs/2
		for i := range a.copies {
			mine := envs.KindObservation{Values: values[i*n*w : (i+1)*n*w], Active: o.Active[i*n : (i+1)*n]}
			a.field.begin(&mine)
			for j := range n {
				a.field.see(&mine, j, a.mixed[(i*n+j)*2*w:(i*n+j+1)*2*w])
			}
		}
		values = a.mixed
	}
	if a.groups > 1 {
		for i := range a.copies {
			for g := range a.groups {
				copy(a.in[(g*a.copies+i)*a.obs:(g*a.copies+i+1)*a.obs], values[(i*a.groups+g)*a.obs:])
			}
		}
		values = a.in
	}
	a.seen.Set(values)
	a.pass.Forward(a.seen).Get(a.out)
	return a.e.Err()
}

// act acts for the agents of one copy, which see o, into act: [agents, width]. d is what the copy's agents do as the
// rollout stores it.
func (a *actor) act(copy int, o *envs.KindObservation, s *rng.Stream, act []float32, d decision) error {
	outputs, width, choices := a.head.sizes()
	components := len(act) / a.kind.Agents
	for j, here := range o.Active {
		mine := act[j*components : (j+1)*components]
		if !here {
			clear(mine)
			continue
		}
		g, at := 0, copy*a.kind.Agents+j
		if a.groups > 1 {
			g, at = j, j*a.copies+copy
		}
		logp, err := a.head.act(g, a.out[at*outputs:(at+1)*outputs], o, j, s, mine, d.action[j*width:(j+1)*width],
			d.mask[j*choices:(j+1)*choices])
		if err != nil {
			return fmt.Errorf("environment %d: %s %d: %w", copy, a.kind.Name, j, err)
		}
		d.logp[j] = float32(logp)
	}
	return nil
}

// of is the part of one copy's agents.
func (d *decision) of(copy, agents int) decision {
	n := len(d.logp) / agents // copies
	width, choices := len(d.action)/n, len(d.mask)/n
	return decision{
		action: d.action[copy*width : (copy+1)*width], mask: d.mask[copy*choices : (copy+1)*choices],
		logp: d.logp[copy*agents : (copy+1)*agents],
	}
}

// sync takes over the parameters of a net on engine train.
func (a *actor) sync(train nets.Engine, from nets.Net) error {
	return learning.CopyParams(train, from, a.e, a.pass.Net, a.params)
}

// newDecision returns memory for rows agents.
func newDecision(rows, width, choices int) decision {
	return decision{
		action: make([]float32, rows*width), mask: make([]bool, rows*choices), logp: make([]float32, rows),
	}
}
