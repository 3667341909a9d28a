package onnx

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy/onnx/model"
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

// box is the action space of a kind.
func box(k *envs.Kind) (envs.Box, error) {
	b, ok := k.Action.(envs.Box)
	if !ok {
		return envs.Box{}, fmt.Errorf("action space of %s is %v, want a Box", k.Name, k.Action)
	}
	return b, nil
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

// bounded is [ppo]'s: u in float64, where −1 stands for the lower bound and 1 for the upper one of a component that has
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
