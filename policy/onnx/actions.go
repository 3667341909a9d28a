package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// units say what actions in [0, 1] stand for on the platform, by agent and column: low at 0 and high at 1, rounded to
// the nearest whole number (halves to the even one) or down, then multiplied by scale. There may be more columns than
// the action has components: those are constant.
type units struct {
	columns   []column
	low, high [][]float64 // [agents][columns], before scale
}

// column is one of the platform's numbers.
type column struct {
	name, unit string
	down       bool
	scale      float64
}

// numbers adds the last steps of continuous actions: y, of type t, is the action before it is rounded. It returns
// actions and scores, in float32.
func (p *policy) numbers(box envs.Box, y string, t model.Type) (action, scores string) {
	p.under = "action/"
	defer func() { p.under = "" }()
	n := box.Width()
	low, high := p.floats("low", []int{n}, box.Low), p.floats("high", []int{n}, box.High)
	bounded := func(y string) string {
		if t != model.Float {
			y = p.cast(y, model.Float)
		}
		return p.within(y, low, high)
	}
	scores = bounded(y)
	if !slices.Contains(box.Integer, true) {
		return scores, scores
	}
	one, half := p.number(1), p.number(0.5)
	if t == model.Double {
		one, half = p.double(1), p.double(0.5)
	}
	whole := p.round(y, one, half)
	if slices.Contains(box.Integer, false) {
		whole = p.do("Where", p.bools("integer", []int{n}, box.Integer), whole, y)
	}
	return bounded(whole), scores
}

// platform turns actions in [0, 1] into the platform's units. Products and sums are in float64, as the environment's
// are.
func (p *policy) platform(action string, components int) string {
	if p.units == nil {
		return action
	}
	p.under = "units/"
	defer func() { p.under = "" }()
	agents, n := len(p.units.low), len(p.units.columns)
	var low, span, scale []float64
	var down []bool
	for i := range agents {
		for j, l := range p.units.low[i] {
			low, span = append(low, l), append(span, p.units.high[i][j]-l)
		}
	}
	for _, c := range p.units.columns {
		scale, down = append(scale, c.scale), append(down, c.down)
	}
	if n > components {
		action = p.do("Pad", action, p.ints(0, 0, 0, 0, 0, int64(n-components)))
	}
	x := p.do("Mul", p.cast(action, model.Double), p.doubles("span", []int{agents, n}, span))
	x = p.do("Add", x, p.doubles("low", []int{agents, n}, low))
	x = p.do("Where", p.bools("down", []int{n}, down), p.do("Floor", x), p.do("Round", x))
	return p.cast(p.do("Mul", x, p.doubles("scale", []int{n}, scale)), model.Float)
}

// spread is low + u·(high − low) for u in [0, 1], in float32.
func (p *policy) spread(b envs.Box, u string) string {
	n := b.Width()
	reach := make([]float32, n)
	for i, low := range b.Low {
		reach[i] = b.High[i] - low
	}
	return p.do("Add", p.do("Mul", u, p.floats("reach", []int{n}, reach)), p.floats("low", []int{n}, b.Low))
}

// bounded is [actor.Normal.Bounded]: u in float64, where −1 stands for the lower bound and 1 for the upper one of a component that has
// both.
func (p *policy) bounded(b envs.Box, u string, squash bool) string {
	n := b.Width()
	mid, half, both := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range n {
		low, high := float64(b.Low[i]), float64(b.High[i])
		if both[i] = !math.IsInf(low, 0) && !math.IsInf(high, 0); both[i] {
			mid[i], half[i] = (low+high)/2, (high-low)/2
		} else {
			half[i] = 1
		}
	}
	u = p.cast(u, model.Double)
	if squash && slices.Contains(both, true) {
		tanh := p.do("Tanh", u)
		if slices.Contains(both, false) {
			tanh = p.do("Where", p.bools("both", []int{n}, both), tanh, u)
		}
		u = tanh
	}
	return p.do("Add", p.do("Mul", u, p.doubles("half", []int{n}, half)), p.doubles("mid", []int{n}, mid))
}

// actionDoc says what the components of a kind's actions are.
func (p *policy) actionDoc(k *envs.Kind) string {
	var parts []string
	if p.units != nil {
		for _, c := range p.units.columns {
			parts = append(parts, c.name+" ("+c.unit+")")
		}
	} else {
		for c := range k.Action.Width() {
			text := component(k, c)
			if c < len(k.ActionUnits) && k.ActionUnits[c] != "" {
				text += " (" + k.ActionUnits[c] + ")"
			}
			parts = append(parts, text)
		}
	}
	return "what is decided: " + strings.Join(parts, ", ")
}

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
func (b *builder) first(x string) string {
	return b.op("ArgMax", []model.Attribute{
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
