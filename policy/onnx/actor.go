package onnx

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// kind adds the policy of one kind of agents that see vectors.
func (p *policy) kind(i int, k *actor.Kind) error {
	v, y, err := p.network(i, k)
	if err != nil {
		return err
	}
	switch k.Head {
	case actor.Softmax, actor.Values:
		p.give(v, p.choose(v, y), y, scoresOfChoices)
		return nil
	case actor.Gumbel:
		scores := y
		if v.mask != "" { // as the agent does it: without a legal choice the largest score still wins
			y = p.do("Add", y, p.do("Where", v.mask, p.number(0), p.number(actor.Illegal)))
			v.mask = ""
		}
		p.give(v, p.choose(v, y), scores, scoresOfChoices)
		return nil
	}
	b, ok := v.kind.Action.(envs.Box)
	if !ok {
		return fmt.Errorf("head %q does not give actions of %v", k.Head, v.kind.Action)
	}
	t := model.Float
	switch k.Head {
	case actor.Interval:
		y = p.spread(b, y)
	case actor.Squashed:
		p.under = "action/"
		mean := p.do("Tanh", p.slice(y, 2, 0, int64(b.Width())))
		y = p.spread(b, p.do("Mul", p.do("Add", mean, p.number(1)), p.number(0.5)))
	case actor.Gaussian:
		y, t = p.bounded(b, y, k.Bounds == actor.Squash), model.Double
	default:
		return fmt.Errorf("head is %q, which gives no actions of %v", k.Head, b)
	}
	action, scores := p.numbers(b, y, t)
	p.give(v, action, scores, scoresOfNumbers)
	return nil
}

// network adds a kind's inputs and its network, whose outputs are [batch, agents, outputs].
func (p *policy) network(i int, k *actor.Kind) (*vectors, string, error) {
	v, err := p.vectors(i)
	if err != nil {
		return nil, "", err
	}
	on := v.kind
	file, k, err := k.Regrouped(p.file, on)
	if err != nil {
		return nil, "", err
	}
	arch, err := k.Placed(on)
	if err != nil {
		return nil, "", err
	}
	n, w, x := on.Agents, on.Observation.Width(), v.seen
	if k.Joint { // one agent that sees and does what all do
		n, w = 1, n*w
		x = p.reshape(x, 0, 1, int64(w))
	}
	if k.Clip > 0 {
		shift, scale, err := k.Statistics(file, arch, on)
		if err != nil {
			return nil, "", err
		}
		p.under = v.prefix + "standardise/"
		x = p.affine(x, p.floats("shift", []int{n, w}, shift), p.floats("scale", []int{n, w}, scale), float32(k.Clip))
		p.under = ""
	}
	if _, sees := arch.(nets.MeanField); sees || k.Clip > 0 && !k.Joint {
		x = p.do("Where", v.here, x, p.number(0))
	}
	if k.Mix == actor.Mean {
		x = p.others(v, x)
	}
	y, err := p.builder.network(v.prefix+"network", arch, file.Arrays[k.Array("network")].Data, x)
	if err != nil {
		return nil, "", fmt.Errorf("array %q: %w", k.Array("network"), err)
	}
	if k.Joint {
		y = p.reshape(y, 0, int64(on.Agents), int64(arch.Output().Width/on.Agents))
	}
	return v, y, nil
}

// others appends to what each agent sees the mean over the other agents that are present; zeros for an agent that is
// alone or absent. Sums are in float64.
func (p *policy) others(v *vectors, seen string) string {
	p.under = v.prefix + "others/"
	defer func() { p.under = "" }()
	here, x := p.cast(v.here, model.Double), p.cast(seen, model.Double)
	x = p.do("Mul", x, here)
	others := p.do("Sub", p.sum(here, 1), p.double(1)) // how many
	mean := p.do("Div", p.do("Sub", p.sum(x, 1), x), p.do("Max", others, p.double(1)))
	some := p.do("And", v.here, p.do("GreaterOrEqual", others, p.double(1)))
	return p.concat(2, seen, p.do("Where", some, p.cast(mean, model.Float), p.number(0)))
}

// held adds one action for all that is seen.
func (p *policy) held(k *actor.Kind) error {
	v, err := p.vectors(0)
	if err != nil {
		return err
	}
	a, w := p.file.Arrays[k.Array("action")].Data, v.kind.Action.Width()
	if len(a) != v.kind.Agents*w {
		return fmt.Errorf("array %q has %d numbers, want %d", k.Array("action"), len(a), v.kind.Agents*w)
	}
	if v.kind.Action.MaskWidth() > 0 {
		return fmt.Errorf("a held action of %v has no scores, want a Box", v.kind.Action)
	}
	each := p.do("Where", v.here, p.floats("held", []int{1, v.kind.Agents, w}, a), p.number(0))
	p.give(v, each, each, scoresOfNumbers)
	return nil
}
