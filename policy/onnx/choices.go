package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy/onnx/model"
)

// component is the name of component c of a kind's actions.
func component(k *envs.Kind, c int) string {
	if c < len(k.Actions) {
		return k.Actions[c]
	}
	return fmt.Sprintf("action%d", c)
}

// tables are the shapes of a kind's dependent masks: table c says which choices of component c are legal after each
// tuple of choices before it.
func tables(k *envs.Kind) [][]int {
	n := envs.Choices(k.Action)
	var out [][]int
	for c := range n {
		out = append(out, n[:c+1])
	}
	return out
}

func tableDoc(k *envs.Kind, c int) string {
	var before []string
	for i := range c {
		before = append(before, component(k, i))
	}
	doc := "which choices of " + component(k, c) + " are legal"
	if c > 0 {
		doc += " after each choice of " + strings.Join(before, " and ")
	}
	return doc
}

// among is the first of the legal choices with the largest score, [batch, agents, 1]; legal is empty where all are.
func (p *policy) among(scores, legal string) string {
	if legal != "" {
		scores = p.do("Where", legal, scores, p.number(float32(math.Inf(-1))))
	}
	return p.first(scores)
}

// first is the index of the first of the largest numbers of each row.
func (p *policy) first(x string) string {
	return p.op("ArgMax", []model.Attribute{
		{Name: "axis", Value: int64(-1)}, {Name: "keepdims", Value: int64(1)}, {Name: "select_last_index", Value: int64(0)},
	}, x)
}

// choose adds the choices of all components by their scores, which stand one after another in scores.
func (p *policy) choose(v *vectors, scores string) string {
	p.under = "choose/"
	defer func() { p.under = "" }()
	n := envs.Choices(v.kind.Action)
	part := func(x string, from, to int) string {
		if x == "" || len(n) == 1 {
			return x
		}
		return p.slice(x, 2, int64(from), int64(to))
	}
	var chosen []string
	from := 0
	for c, n := range n {
		legal := part(v.mask, from, from+n)
		if v.legal != nil {
			if legal = v.legal[c]; c > 0 {
				legal = p.on("GatherND", "batch_dims", 2, legal, p.concat(2, slices.Clone(chosen)...))
			}
		}
		chosen = append(chosen, p.among(part(scores, from, from+n), legal))
		from += n
	}
	return p.cast(p.concat(2, chosen...), model.Float)
}

// choices adds the policy of an agent whose network scores choices: package choice's, or package graphs'.
func (p *policy) choices() error {
	if graphs.Describes(p.file) {
		return p.graph()
	}
	return p.choice()
}

// choice adds a network that scores the choices of each agent.
func (p *policy) choice() error {
	var d struct{ Network rawArch }
	if err := p.describe(&d); err != nil {
		return err
	}
	v, err := p.vectors(0)
	if err != nil {
		return err
	}
	k := v.kind
	a := actor{d.Network.Arch, "network", k.Agents, k.Observation.Width(), outputs(k)}
	scores, err := p.network("network", a, v.seen)
	if err != nil {
		return err
	}
	p.give(v, p.choose(v, scores), scores, scoresOfChoices)
	return nil
}

// rawArch reads an architecture from a description.
type rawArch struct{ nets.Arch }

// UnmarshalJSON implements [json.Unmarshaler].
func (r *rawArch) UnmarshalJSON(text []byte) (err error) {
	r.Arch, err = nets.DecodeArch(text)
	return err
}
