package onnx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// policy is a trained policy on its way to a model.
type policy struct {
	*builder
	file *agents.PolicyFile
	spec *envs.Spec
	// units says what continuous actions stand for on the platform; nil where actions are in its units already.
	units *units
}

// writers adds the policy of each agent that there is, by the agent's name.
var writers = map[string]func(*policy) error{
	"maddpg":    (*policy).maddpg,
	"firm":      (*policy).firm,
	"ppo":       (*policy).ppo,
	"simppo":    (*policy).simppo,
	"sac":       (*policy).sac,
	"dqn":       (*policy).choices,
	"reinforce": (*policy).choices,
	"spsa":      (*policy).held,
}

// Agents lists the agents whose policies can be written.
func Agents() []string { return slices.Sorted(maps.Keys(writers)) }

// write adds the policy's inputs, operators and outputs.
func (p *policy) write() error {
	add, ok := writers[p.file.Agent]
	if !ok {
		return fmt.Errorf("policies of agent %q cannot be written, want one of %v", p.file.Agent, Agents())
	}
	return add(p)
}

// describe reads the policy's description.
func (p *policy) describe(into any) error {
	if err := json.Unmarshal(p.file.Description, into); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	return nil
}

// actor is a network that a description holds: its weights are an array, and it sees and gives so many numbers for each
// of so many agents.
type actor struct {
	nets.Arch
	array           string
	agents, in, out int
}

// network adds an actor; under names its operators.
func (p *policy) network(under string, a actor, x string) (string, error) {
	if a.Arch == nil {
		return "", fmt.Errorf("description has no network for array %q", a.array)
	}
	if g := a.Groups(); g != 1 && g != a.agents {
		return "", fmt.Errorf("the network has weights of %d agents, the environment has %d agents", g, a.agents)
	}
	if in := a.Inputs(); len(in) != 1 || in[0].Width != a.in || a.Output().Width != a.out {
		return "", fmt.Errorf("the network takes %v and gives %d numbers for an agent, the environment has %d and %d", in,
			a.Output().Width, a.in, a.out)
	}
	y, err := p.builder.network(under, a.Arch, p.file.Arrays[a.array].Data, x)
	if err != nil {
		return "", fmt.Errorf("array %q: %w", a.array, err)
	}
	return y, nil
}

// outputs is the number of scores that a network gives for an agent of a kind: one for each choice or component.
func outputs(k *envs.Kind) int {
	if n := k.Action.MaskWidth(); n > 0 {
		return n
	}
	return k.Action.Width()
}

// vectors are the inputs of a kind of agents that see vectors.
type vectors struct {
	kind *envs.Kind
	// prefix begins the names of the kind's inputs and outputs.
	prefix string
	// seen is what agents see, [batch, agents, width], standardised where the policy does that.
	seen string
	// raw is what the caller gives, here says who is present, [batch, agents, 1].
	raw, here string
	// mask is [batch, agents, choices], empty where there is none; legal are the tables of dependent masks.
	mask  string
	legal []string
}

// prefix begins the names of a kind's inputs and outputs: nothing where there is one kind alone.
func prefix(s *envs.Spec, kind int) string {
	if len(s.Kinds) == 1 {
		return ""
	}
	return s.Kinds[kind].Name + "."
}

// batch is the dimension of observations that are decided together.
func batch() model.Dim { return model.Dim{Name: "batch"} }

// vectors adds the inputs of a kind.
func (p *policy) vectors(kind int) (*vectors, error) {
	k := &p.spec.Kinds[kind]
	w := k.Observation.Width()
	if w == 0 {
		return nil, fmt.Errorf("%s see %v, want vectors", k.Name, k.Observation)
	}
	v := &vectors{kind: k, prefix: prefix(p.spec, kind)}
	fixed := func(sizes ...int) []model.Dim { return append([]model.Dim{batch()}, model.Fixed(sizes...)...) }
	v.raw = p.input(v.prefix+"observation", "what each "+k.Name+" sees, as it is", model.Float, fixed(k.Agents, w)...)
	active := p.input(v.prefix+"active", "which "+k.Name+"s are present", model.Bool, fixed(k.Agents)...)
	v.here = p.unsqueeze(active, 2)
	switch n := k.Action.MaskWidth(); {
	case n > 0 && k.MaskAfter != nil:
		for c, shape := range tables(k) {
			v.legal = append(v.legal, p.input(v.prefix+"legal."+component(k, c), tableDoc(k, c), model.Bool,
				fixed(append([]int{k.Agents}, shape...)...)...))
		}
	case n > 0:
		v.mask = p.input(v.prefix+"mask", "which choices are legal, component by component", model.Bool,
			fixed(k.Agents, n)...)
	}
	var err error
	v.seen, err = p.standardised(kind, v)
	return v, err
}

// standardised adds the statistics of observations, [package normalise]'s arrays, where the policy has them.
func (p *policy) standardised(kind int, v *vectors) (string, error) {
	name := func(what string) string { return fmt.Sprintf("normalise.%d.%s", kind, what) }
	clip, ok := p.file.Arrays[name("clip")]
	if !ok {
		return v.raw, nil
	}
	w := v.kind.Observation.Width()
	shift, scale := p.file.Arrays[name("shift")].Data, p.file.Arrays[name("scale")].Data
	if len(clip.Data) != 1 || len(shift) != w || len(scale) != w {
		return "", fmt.Errorf("arrays %q, %q and %q have %d, %d and %d numbers, want %d, %d and 1", name("shift"),
			name("scale"), name("clip"), len(shift), len(scale), len(clip.Data), w, w)
	}
	p.under = "normalise/"
	defer func() { p.under = "" }()
	x := p.affine(v.raw, p.floats("shift", []int{w}, shift), p.floats("scale", []int{w}, scale), clip.Data[0])
	return p.do("Where", v.here, x, v.raw), nil
}

// affine is (x − shift)·scale within ±clip.
func (p *policy) affine(x, shift, scale string, clip float32) string {
	x = p.do("Mul", p.do("Sub", x, shift), scale)
	return p.within(x, p.number(-clip), p.number(clip))
}

// give names a kind's outputs: actions [batch, agents, components], in the platform's units, and scores [batch, agents,
// scores].
func (p *policy) give(v *vectors, action, scores, about string) {
	k := v.kind
	columns, width := k.Action.Width(), outputs(k)
	action = p.platform(action, columns)
	if p.units != nil {
		columns = len(p.units.columns)
	}
	of := func(n int) []model.Dim { return []model.Dim{batch(), {Size: k.Agents}, {Size: n}} }
	p.output(v.prefix+"action", p.do("Where", v.here, action, p.number(0)), p.actionDoc(k), model.Float, of(columns)...)
	p.output(v.prefix+"scores", scores, about, model.Float, of(width)...)
}

// What scores are.
const (
	scoresOfChoices = "the network's score of each choice, legal or not"
	scoresOfNumbers = "the action as the environment takes it, before it is rounded to whole numbers"
)
