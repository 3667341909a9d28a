package onnx

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// ppo adds a network for each kind of agents: means of continuous actions, or scores of choices.
func (p *policy) ppo() error {
	if graphs.Describes(p.file) {
		return p.graph()
	}
	var d struct {
		Kinds []struct {
			Name, Mix, Bounds string
			Network           rawArch
		}
	}
	if err := p.describe(&d); err != nil {
		return err
	}
	if len(d.Kinds) != len(p.spec.Kinds) {
		return fmt.Errorf("description has %d kinds of agents, the environment has %d", len(d.Kinds), len(p.spec.Kinds))
	}
	for i, k := range d.Kinds {
		v, err := p.vectors(i)
		if err != nil {
			return err
		}
		x, w := v.seen, v.kind.Observation.Width()
		if k.Mix == ppo.Mean {
			x, w = p.others(v), 2*w
		}
		a := actor{k.Network.Arch, k.Name + ".network", v.kind.Agents, w, outputs(v.kind)}
		y, err := p.network(v.prefix+"network", a, x)
		if err != nil {
			return err
		}
		if v.kind.Action.MaskWidth() > 0 {
			p.give(v, p.choose(v, y), y, scoresOfChoices)
			continue
		}
		b, err := box(v.kind)
		if err != nil {
			return err
		}
		action, scores := p.numbers(b, p.bounded(b, y, k.Bounds == ppo.Squash), model.Double)
		p.give(v, action, scores, scoresOfNumbers)
	}
	return nil
}

// others appends to each agent's observation the mean observation of the other agents that are present; zeros for an
// agent that is alone or absent. Sums are in float64.
func (p *policy) others(v *vectors) string {
	p.under = v.prefix + "others/"
	defer func() { p.under = "" }()
	here, x := p.cast(v.here, model.Double), p.cast(v.seen, model.Double)
	x = p.do("Mul", x, here)
	others := p.do("Sub", p.sum(here, 1), p.double(1)) // how many
	mean := p.do("Div", p.do("Sub", p.sum(x, 1), x), p.do("Max", others, p.double(1)))
	some := p.do("And", v.here, p.do("GreaterOrEqual", others, p.double(1)))
	return p.concat(2, v.seen, p.do("Where", some, p.cast(mean, model.Float), p.number(0)))
}

// simppo adds ppo's policy for the functions of the environment.
func (p *policy) simppo() error {
	var d struct {
		Functions []string
		Policy    json.RawMessage
	}
	if err := p.describe(&d); err != nil {
		return err
	}
	inside := *p.file
	inside.Agent, inside.Description = "ppo", d.Policy
	// Statistics of observations are the same for all functions: they have no rows to choose.
	statistics := map[string]agents.Array{}
	inside.Arrays = map[string]agents.Array{}
	for name, a := range p.file.Arrays {
		if strings.HasPrefix(name, "normalise.") {
			statistics[name] = a
		} else {
			inside.Arrays[name] = a
		}
	}
	k := &p.spec.Kinds[0]
	from := make([]int, k.Agents)
	for i := range from {
		name := fmt.Sprint(i)
		if k.Names != nil {
			name = k.Names[i]
		}
		from[i] = slices.Index(d.Functions, name)
	}
	regrouped, err := ppo.Regroup(&inside, from)
	if err != nil {
		return err
	}
	maps.Copy(regrouped.Arrays, statistics)
	p.file = regrouped
	return p.ppo()
}

// sac adds tanh of the means, stretched to the bounds.
func (p *policy) sac() error {
	var d struct{ Actor rawArch }
	if err := p.describe(&d); err != nil {
		return err
	}
	v, err := p.vectors(0)
	if err != nil {
		return err
	}
	b, err := box(v.kind)
	if err != nil {
		return err
	}
	a := actor{d.Actor.Arch, "actor", v.kind.Agents, v.kind.Observation.Width(), 2 * b.Width()}
	y, err := p.network("actor", a, v.seen)
	if err != nil {
		return err
	}
	p.under = "action/"
	mean := p.do("Tanh", p.slice(y, 2, 0, int64(b.Width())))
	u := p.do("Mul", p.do("Add", mean, p.number(1)), p.number(0.5))
	action, scores := p.numbers(b, p.spread(b, u), model.Float)
	p.give(v, action, scores, scoresOfNumbers)
	return nil
}

// held adds one action for all that is seen.
func (p *policy) held() error {
	k := &p.spec.Kinds[0]
	v, err := p.vectors(0)
	if err != nil {
		return err
	}
	a := p.file.Arrays["action"].Data
	w := k.Action.Width()
	if len(a) != k.Agents*w {
		return fmt.Errorf("array %q has %d numbers, want %d", "action", len(a), k.Agents*w)
	}
	if k.Action.MaskWidth() > 0 {
		return fmt.Errorf("a held action of %v has no scores, want a Box", k.Action)
	}
	each := p.do("Where", v.here, p.floats("held", []int{1, k.Agents, w}, a), p.number(0))
	p.give(v, each, each, scoresOfNumbers)
	return nil
}

// maddpg adds the actor: u in [0, 1] of continuous actions, or logits of choices.
func (p *policy) maddpg() error {
	v, u, err := p.actor()
	if err != nil {
		return err
	}
	if v.kind.Action.MaskWidth() > 0 {
		scores := u
		if v.mask != "" { // as the agent does it: without a legal choice the largest score still wins
			u = p.do("Add", u, p.do("Where", v.mask, p.number(0), p.number(-1e9)))
			v.mask = ""
		}
		p.give(v, p.choose(v, u), scores, scoresOfChoices)
		return nil
	}
	b, err := box(v.kind)
	if err != nil {
		return err
	}
	action, scores := p.numbers(b, p.spread(b, u), model.Float)
	p.give(v, action, scores, scoresOfNumbers)
	return nil
}

// actor adds maddpg's network.
func (p *policy) actor() (v *vectors, u string, err error) {
	var d struct {
		Single bool
		Actor  rawArch
		Clip   float32 `json:"observation_clip"`
	}
	if err := p.describe(&d); err != nil {
		return nil, "", err
	}
	if v, err = p.vectors(0); err != nil {
		return nil, "", err
	}
	k := v.kind
	a, err := placed(d.Actor.Arch, k)
	if err != nil {
		return nil, "", err
	}
	n, w, out, x := k.Agents, k.Observation.Width(), outputs(k), v.seen
	if d.Single { // one agent that sees and does what all do
		n, w, out = 1, n*w, n*out
		x = p.reshape(x, 0, 1, int64(w))
	}
	if d.Clip > 0 {
		if x, err = p.byStatistics(a, x, n, w, d.Clip); err != nil {
			return nil, "", err
		}
	}
	if n == k.Agents {
		x = p.do("Where", v.here, x, p.number(0))
	}
	y, err := p.network("actor", actor{a, "actor", n, w, out}, x)
	if err != nil {
		return nil, "", err
	}
	if d.Single {
		y = p.reshape(y, 0, int64(k.Agents), int64(out/k.Agents))
	}
	return v, y, nil
}

// byStatistics standardises what n agents see by maddpg's own statistics.
func (p *policy) byStatistics(a nets.Arch, x string, n, w int, clip float32) (string, error) {
	p.under = "standardise/"
	defer func() { p.under = "" }()
	shift, err := p.statistic("shift", a.Groups(), n, w)
	if err != nil {
		return "", err
	}
	scale, err := p.statistic("scale", a.Groups(), n, w)
	if err != nil {
		return "", err
	}
	return p.affine(x, shift, scale, clip), nil
}

// placed is a trained actor's architecture for the agents of a kind: shared weights act for any number of agents on any
// graph.
func placed(a nets.Arch, k *envs.Kind) (nets.Arch, error) {
	switch m := a.(type) {
	case nil:
		return nil, fmt.Errorf("description has no actor")
	case nets.MLP:
		if m.Shared && m.Agents > 1 {
			m.Agents = k.Agents
		}
		return m, nil
	case nets.MeanField:
		if m.Shared {
			m.Agents = k.Agents
			if m.Mix != nets.Joint {
				m.Neighbours = k.Neighbours
			}
			if m.Mix != nets.Joint && k.Neighbours == nil {
				m.Neighbours = everyOther(k.Agents)
			}
		}
		return m, m.Validate()
	}
	return nil, fmt.Errorf("the actor is of kind %q, want %q or %q", a.Kind(), nets.MLP{}.Kind(), nets.MeanField{}.Kind())
}

// everyOther lists for each of n agents all others.
func everyOther(n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		out[i] = []int{}
		for j := range n {
			if j != i {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// statistic is an array of the observations' statistics: [width] where all agents share it, else [agents, width].
func (p *policy) statistic(array string, groups, n, w int) (string, error) {
	x := p.file.Arrays[array].Data
	switch {
	case groups == 1 && len(x) >= w && len(x)%w == 0 && len(x) != n*w:
		return p.floats(array, []int{w}, x[:w]), nil
	case len(x) == n*w:
		return p.floats(array, []int{n, w}, x), nil
	}
	return "", fmt.Errorf("array %q has %d numbers, want %d", array, len(x), n*w)
}
