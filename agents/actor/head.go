package actor

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Heads: what a network's outputs are, for each agent.
const (
	// Interval: a number u in [0, 1] for each component of a Box. The action is low + u·(high − low).
	Interval = "interval"
	// Squashed: the mean of each component, then a number for its deviation ([nets.SquashedGaussian]). The action is
	// drawn, or the mean, squashed to (−1, 1) and spread over the Box.
	Squashed = "squashed"
	// Gaussian: the mean of each component of a Box. The array log_std, [groups, components], holds ln σ; see [Kind.Bounds].
	Gaussian = "gaussian"
	// Softmax: a logit for each choice, component after component. Each is drawn among what is legal after those before
	// it, or is the most likely.
	Softmax = "softmax"
	// Gumbel: as Softmax, drawn by Gumbel noise on the logits. Components don't depend on each other.
	Gumbel = "gumbel"
	// Values: a value for each choice. The action is always the best legal choice.
	Values = "values"
	// Held: no network. The array action, [agents, components], is the action.
	Held = "held"
)

// head makes an agent's action of what the network gives.
type head interface {
	// act writes the action of an agent with weights of a group, who sees its part of o. It draws from draws, or takes
	// the most likely action where that is nil. It may change y.
	act(group int, y []float32, o *envs.KindObservation, agent int, draws *rng.Stream, act []float32) error
	// smooth is output i before rounding, in the environment's units, and its derivative by the network's.
	smooth(i int, y float32) (value, slope float32)
}

func newHead(k *Kind, on *envs.Kind, groups int, logStd []float32) (head, error) {
	box, continuous := on.Action.(envs.Box)
	wants := k.Head == Interval || k.Head == Squashed || k.Head == Gaussian
	if continuous != wants {
		return nil, fmt.Errorf("head %q does not give actions of %v", k.Head, on.Action)
	}
	switch k.Head {
	case Interval, Squashed:
		s, err := NewSpread(box)
		if k.Head == Squashed {
			return squashed{s}, err
		}
		return interval{s}, err
	case Gaussian:
		return newGaussianHead(k, box, groups, logStd)
	case Softmax, Values:
		c := NewChoices(on)
		return &softmax{c, k.Head == Softmax, make([]bool, c.Total)}, nil
	case Gumbel:
		if on.MaskAfter != nil {
			return nil, fmt.Errorf("what is legal depends on earlier components of the action, but here they are chosen " +
				"independently")
		}
		return &gumbel{NewChoices(on)}, nil
	}
	return nil, fmt.Errorf("head is %q, want one of %v", k.Head, []string{Interval, Squashed, Gaussian, Softmax, Gumbel, Values,
		Held})
}

// Spread takes numbers of an interval to the ranges of a Box.
type Spread envs.Box

// NewSpread fails where a component has no finite range.
func NewSpread(b envs.Box) (Spread, error) {
	for i := range b.Low {
		if r := float64(b.High[i]) - float64(b.Low[i]); !(r >= 0) || math.IsInf(r, 0) {
			return Spread{}, fmt.Errorf("action component %d ranges over [%g, %g], want finite bounds", i, b.Low[i], b.High[i])
		}
	}
	return Spread(b), nil
}

// Unit writes the environment's action for u in [0, 1]. Whole-numbered components are rounded to the nearest whole number.
func (s *Spread) Unit(u, out []float32) {
	for i, x := range u {
		out[i] = s.whole(i, s.Low[i]+float32(x*(s.High[i]-s.Low[i])))
	}
}

// Centred is Unit for u in (−1, 1).
func (s *Spread) Centred(u, out []float32) {
	for i, x := range u {
		out[i] = s.whole(i, s.Low[i]+float32(0.5*float32(x+1)*(s.High[i]-s.Low[i])))
	}
}

func (s *Spread) whole(i int, y float32) float32 {
	if s.Integer != nil && s.Integer[i] {
		y = float32(math.Round(float64(y)))
	}
	return min(max(y, s.Low[i]), s.High[i])
}

type interval struct{ Spread }

func (h interval) act(_ int, y []float32, _ *envs.KindObservation, _ int, _ *rng.Stream, act []float32) error {
	if err := check.Finite("component", y); err != nil {
		return err
	}
	h.Unit(y, act)
	return nil
}

func (h interval) smooth(i int, y float32) (value, slope float32) {
	slope = h.High[i] - h.Low[i]
	return h.Low[i] + float32(y*slope), slope
}

type squashed struct{ Spread }

func (h squashed) act(_ int, y []float32, _ *envs.KindObservation, _ int, _ *rng.Stream, act []float32) error {
	if err := check.Finite("component", y); err != nil {
		return err
	}
	h.Centred(y, act)
	return nil
}

func (h squashed) smooth(i int, y float32) (value, slope float32) {
	slope = (h.High[i] - h.Low[i]) / 2
	return h.Low[i] + float32((y+1)*slope), slope
}

// How the action of a Gaussian stays within its bounds.
const (
	// Clip cuts it at them.
	Clip = "clip"
	// Squash lets tanh bend it into them.
	Squash = "tanh"
)

// Normal draws each component u of a continuous action from a normal law with the network's output as its mean. Its
// deviation does not depend on what is seen. The environment's action follows from u by the bounds: see [Normal.Bounded].
type Normal struct {
	Box envs.Box
	// Bounds is [Clip] or [Squash].
	Bounds string
	// LogStd is ln σ, [groups][components].
	LogStd [][]float64
}

// NewNormal returns a law with the same deviations for all.
func NewNormal(b envs.Box, groups int, bounds string, logStd float64) *Normal {
	n := &Normal{Box: b, Bounds: bounds}
	for range groups {
		std := make([]float64, b.Width())
		for i := range std {
			std[i] = logStd
		}
		n.LogStd = append(n.LogStd, std)
	}
	return n
}

// Bounded is component i of the environment's action: u where it has no bounds, cut at one bound where it has one.
// Between two bounds −1 stands for the lower one and 1 for the upper one. Whole-numbered components are rounded.
func (a *Normal) Bounded(i int, u float64) float32 {
	low, high := float64(a.Box.Low[i]), float64(a.Box.High[i])
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		if a.Bounds == Squash {
			e := portable.Exp(-2 * math.Abs(u))
			u = math.Copysign((1-e)/(1+e), u)
		}
		u = (low+high)/2 + float64(u*((high-low)/2))
	}
	if a.Box.Integer != nil && a.Box.Integer[i] {
		u = math.Round(u)
	}
	return min(max(float32(u), a.Box.Low[i]), a.Box.High[i])
}

// Draw draws component i with mean mu: u, and the deviation σ.
func (a *Normal) Draw(group, i int, mu float32, s *rng.Stream) (u float32, std float64) {
	std = portable.Exp(a.LogStd[group][i])
	return float32(float64(mu) + float64(std*s.Norm())), std
}

type gaussian struct{ *Normal }

// newGaussianHead takes the deviations from a policy file.
func newGaussianHead(k *Kind, box envs.Box, groups int, logStd []float32) (head, error) {
	n := box.Width()
	if (k.Bounds != Clip && k.Bounds != Squash) || len(logStd) != groups*n {
		return nil, fmt.Errorf("bounds are %q and array %q has %d numbers, want %s or %s, and %d", k.Bounds,
			k.Array("log_std"), len(logStd), Clip, Squash, groups*n)
	}
	a := NewNormal(box, groups, k.Bounds, 0)
	for i, v := range logStd {
		if v-v != 0 {
			return nil, fmt.Errorf("array %q holds %g, want finite numbers", k.Array("log_std"), v)
		}
		a.LogStd[i/n][i%n] = float64(v)
	}
	return gaussian{a}, nil
}

func (h gaussian) act(group int, y []float32, _ *envs.KindObservation, _ int, draws *rng.Stream, act []float32) error {
	if err := check.Finite("component", y); err != nil {
		return err
	}
	for i, u := range y {
		if draws != nil {
			u, _ = h.Draw(group, i, u, draws)
		}
		act[i] = h.Bounded(i, float64(u))
	}
	return nil
}

// smooth is what Bounded makes of u before it rounds, and its derivative.
func (h gaussian) smooth(i int, y float32) (value, slope float32) {
	low, high, u, d := float64(h.Box.Low[i]), float64(h.Box.High[i]), float64(y), 1.0
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		d = (high - low) / 2
		if h.Bounds == Squash {
			u = math.Tanh(u)
			d *= 1 - float64(u*u)
		}
		u = (low+high)/2 + float64(u*((high-low)/2))
	}
	if u < low || u > high {
		u, d = min(max(u, low), high), 0
	}
	return float32(u), float32(d)
}

// Choices picks the components of an action one after another, each over what is legal after those before it.
type Choices struct {
	// N is the number of choices of each component, Total their sum.
	N     []int
	Total int
	// P has the probabilities of the last drawn action, component after component.
	P []float64

	kind *envs.Kind
}

// NewChoices returns the picker of a kind's actions.
func NewChoices(k *envs.Kind) *Choices {
	return &Choices{N: envs.Choices(k.Action), Total: k.Action.MaskWidth(), P: make([]float64, k.Action.MaskWidth()), kind: k}
}

// Pick writes an agent's choices by the scores y, and what was legal to mask, [Total]. It draws from the softmax of the
// scores or, where s is nil, takes the first of the largest.
func (c *Choices) Pick(y []float32, o *envs.KindObservation, agent int, s *rng.Stream, act []float32, mask []bool) error {
	if err := check.Finite("choice", y); err != nil {
		return err
	}
	from := 0
	for i, n := range c.N {
		scores, legal := y[from:from+n], mask[from:from+n]
		if c.kind.MaskAfter == nil {
			c.see(o, agent, from, legal)
		} else if err := c.kind.MaskAfter(o, agent, act[:i], legal); err != nil {
			return err
		}
		var a int
		if s == nil {
			a = choice.Best(scores, legal)
		} else {
			p := c.P[from : from+n]
			choice.Softmax(p, scores, legal)
			a = choice.Draw(p, s.Float64())
		}
		if a == choice.None {
			if i == 0 {
				return fmt.Errorf("no choice is legal")
			}
			return fmt.Errorf("no choice of component %d is legal after %v", i, act[:i])
		}
		act[i] = float32(a)
		from += n
	}
	return nil
}

// see writes which choices from a number on are legal. Without a mask all are.
func (c *Choices) see(o *envs.KindObservation, agent, from int, legal []bool) {
	if whole := o.MaskOf(agent, c.Total); whole != nil {
		copy(legal, whole[from:])
		return
	}
	for i := range legal {
		legal[i] = true
	}
}

// logits are the outputs of heads that score choices.
func (*Choices) smooth(_ int, y float32) (value, slope float32) { return y, 1 }

type softmax struct {
	*Choices
	draws bool
	mask  []bool
}

func (h *softmax) act(_ int, y []float32, o *envs.KindObservation, agent int, draws *rng.Stream, act []float32) error {
	if !h.draws {
		draws = nil
	}
	return h.Pick(y, o, agent, draws, act, h.mask)
}

type gumbel struct{ *Choices }

func (h *gumbel) act(_ int, y []float32, o *envs.KindObservation, agent int, draws *rng.Stream, act []float32) error {
	if err := check.Finite("choice", y); err != nil {
		return err
	}
	if draws != nil {
		for i := range y {
			y[i] += Noise(draws)
		}
	}
	Forbid(y, o.MaskOf(agent, h.Total))
	for i, n := range h.N {
		act[i] = float32(choice.Best(y[:n], nil))
		y = y[n:]
	}
	return nil
}

// Noise draws from the standard Gumbel law, −ln(−ln u).
func Noise(s *rng.Stream) float32 { return float32(-math.Log(s.Exp())) }

// Illegal is added to the scores of choices that a mask forbids. It is far below any logit, but finite, so that
// differences stay defined where a component has no legal choice.
const Illegal = -1e9

// Forbid makes the scores that the mask doesn't allow so low that no other one is lower.
func Forbid(scores []float32, mask []bool) {
	for i, ok := range mask {
		if !ok {
			scores[i] += Illegal
		}
	}
}

// heldPolicy does the same whatever it sees. Its changing state is that of a policy that never draws.
type heldPolicy struct {
	frozen.Policy
	action []float32 // [agents, components]
	width  int
}

var _ agents.Policy = (*heldPolicy)(nil)

func openHeld(base frozen.Policy, k *Kind, on *envs.Kind) (agents.Policy, error) {
	p := &heldPolicy{Policy: base, action: base.File.Arrays[k.Array(held)].Data, width: on.Action.Width()}
	if p.width == 0 || len(p.action) != on.Agents*p.width {
		return nil, fmt.Errorf("array %q has %d numbers, want %d", k.Array(held), len(p.action), on.Agents*p.width)
	}
	for i := range on.Agents {
		if err := on.Action.Contains(p.action[i*p.width : (i+1)*p.width]); err != nil {
			return nil, fmt.Errorf("action of %s %d: %w", on.Name, i, err)
		}
	}
	return p, nil
}

// Act implements [envs.Policy].
func (p *heldPolicy) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
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
