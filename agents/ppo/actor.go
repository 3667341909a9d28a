package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// head turns what a network gives for an agent into an action, and differentiates its probability. g is the number of
// the agent's weights.
type head interface {
	// sizes are the network's outputs, and the numbers of a stored action and of a mask.
	sizes() (outputs, width, choices int)
	// act writes an agent's action as the environment takes it and as the rollout stores it, and what was legal, and
	// returns ln π. It draws from s; where s is nil it takes the most likely action.
	act(g int, out []float32, seen *envs.KindObservation, agent int, s *rng.Stream, act, stored []float32,
		mask []bool) (logp float64, err error)
	// sample returns ln π and the entropy for a stored action.
	sample(g int, out []float64, stored []float32, mask []bool) (logp, entropy float64)
	// gradient writes ∂L/∂out of the last sample to dst, for L = −slope·ln π − bonus·H.
	gradient(g int, dst []float64, slope, bonus float64)
}

// newHead returns the head of a kind's actions; groups is the number of sets of weights.
func newHead(c *Config, id string, k *envs.Kind, groups int) (head, error) {
	switch a := k.Action.(type) {
	case envs.Discrete:
		return newChoices(k, []int{a.N}), nil
	case envs.MultiDiscrete:
		return newChoices(k, a.N), nil
	case envs.Box:
		return newGaussian(a, groups, c.Bounds, c.LogStd), nil
	}
	return nil, fmt.Errorf("%s: action space of %s is %v, want Discrete, MultiDiscrete or Box", id, k.Name, k.Action)
}

// choices is a softmax for each component of an action, over what is legal after the components before it:
//
//	ln π(a) = Σ_c ln softmax(z_c)[a_c],   H = Σ_c −Σ_k π_k ln π_k
//	∂L/∂z_ck = −slope·([k = a_c] − π_k) + bonus·π_k(ln π_k + H_c)
type choices struct {
	kind  *envs.Kind
	n     []int
	total int
	// Of the last sample: probabilities and their logarithms, entropies and choices of the components.
	p, ln []float64
	h     []float64
	taken []int
}

func newChoices(k *envs.Kind, n []int) *choices {
	c := &choices{kind: k, n: n, h: make([]float64, len(n)), taken: make([]int, len(n))}
	for _, n := range n {
		c.total += n
	}
	c.p, c.ln = make([]float64, c.total), make([]float64, c.total)
	return c
}

func (c *choices) sizes() (outputs, width, choices int) { return c.total, len(c.n), c.total }

// least keeps logarithms finite.
const least = 1e-300

var lnLeast = portable.Log(least)

func (c *choices) act(_ int, out []float32, seen *envs.KindObservation, agent int, s *rng.Stream, act, stored []float32,
	mask []bool) (logp float64, err error) {
	if err := choice.Finite(out); err != nil {
		return 0, err
	}
	from := 0
	for i, n := range c.n {
		scores, legal, p := out[from:from+n], mask[from:from+n], c.p[from:from+n]
		if c.kind.MaskAfter == nil {
			c.see(seen, agent, from, legal)
		} else if err := c.kind.MaskAfter(seen, agent, act[:i], legal); err != nil {
			return 0, err
		}
		choice.Softmax(p, scores, legal)
		var a int
		if s == nil {
			a = choice.Best(scores, legal)
		} else {
			a = choice.Draw(p, s.Float64())
		}
		if a == choice.None {
			return 0, fmt.Errorf("no choice of component %d is legal after %v", i, act[:i])
		}
		act[i], stored[i] = float32(a), float32(a)
		logp += portable.Log(max(p[a], least))
		from += n
	}
	return logp, nil
}

// see writes which choices from a number on are legal. Without a mask all are.
func (c *choices) see(o *envs.KindObservation, agent, from int, legal []bool) {
	if whole := o.MaskOf(agent, c.total); whole != nil {
		copy(legal, whole[from:])
		return
	}
	for i := range legal {
		legal[i] = true
	}
}

func (c *choices) sample(_ int, out []float64, stored []float32, mask []bool) (logp, entropy float64) {
	from := 0
	for i, n := range c.n {
		p := c.p[from : from+n]
		choice.Softmax(p, out[from:from+n], mask[from:from+n])
		c.taken[i], c.h[i] = int(stored[i]), 0
		for k, x := range p {
			if x == 0 { // illegal, or too unlikely for a number
				c.ln[from+k] = lnLeast
				continue
			}
			c.ln[from+k] = portable.Log(x)
			c.h[i] -= float64(x * c.ln[from+k])
		}
		logp += c.ln[from+c.taken[i]]
		entropy += c.h[i]
		from += n
	}
	return logp, entropy
}

func (c *choices) gradient(_ int, dst []float64, slope, bonus float64) {
	from := 0
	for i, n := range c.n {
		for k, p := range c.p[from : from+n] {
			dst[from+k] = float64(slope*p) + float64(bonus*p*(c.ln[from+k]+c.h[i]))
		}
		dst[from+c.taken[i]] -= slope
		from += n
	}
}

// gaussian draws each component u of a continuous action from a normal distribution with the network's output μ as its
// mean. Its deviation σ is learned, and does not depend on what is seen:
//
//	ln π(u) = Σ −½((u − μ)/σ)² − ln σ − ½ ln 2π,   H = Σ ln σ + ½ ln 2πe
//	∂ ln π/∂μ = (u − μ)/σ²,   ∂ ln π/∂ ln σ = ((u − μ)/σ)² − 1,   ∂H/∂ ln σ = 1
//
// The environment's action follows from u by the bounds: see [gaussian.bounded]. The probabilities are those of u. For
// tanh the ratio π/π_old is that of the actions too, since the factor of the change of variables cancels.
type gaussian struct {
	box    envs.Box
	bounds string
	logStd [][]float64 // [groups][components]
	// grad is ∂L/∂ ln σ, the sum of what gradient has added.
	grad [][]float64
	// Of the last sample: (u − μ)/σ.
	z []float64
}

func newGaussian(b envs.Box, groups int, bounds string, logStd float64) *gaussian {
	n := b.Width()
	g := &gaussian{box: b, bounds: bounds, z: make([]float64, n)}
	for range groups {
		std := make([]float64, n)
		for i := range std {
			std[i] = logStd
		}
		g.logStd, g.grad = append(g.logStd, std), append(g.grad, make([]float64, n))
	}
	return g
}

func (a *gaussian) sizes() (outputs, width, choices int) { return len(a.z), len(a.z), 0 }

var halfLog2Pi = portable.Log(2*math.Pi) / 2

func (a *gaussian) act(g int, out []float32, _ *envs.KindObservation, _ int, s *rng.Stream, act, stored []float32,
	_ []bool) (logp float64, err error) {
	if i := check.NotFinite(out); i >= 0 {
		return 0, fmt.Errorf("the network gives %g for component %d: training has diverged; a smaller rate, or clip, help",
			out[i], i)
	}
	for i, mu := range out {
		z := 0.0
		stored[i] = mu
		if s != nil {
			std := portable.Exp(a.logStd[g][i])
			stored[i] = float32(float64(mu) + float64(std*s.Norm()))
			z = float64(float64(stored[i])-float64(mu)) / std
		}
		act[i] = a.bounded(i, float64(stored[i]))
		logp -= float64(z*z/2) + a.logStd[g][i] + halfLog2Pi
	}
	return logp, nil
}

// bounded is component i of the environment's action: u where it has no bounds, cut at one bound where it has one.
// Between two bounds −1 stands for the lower one and 1 for the upper one. Whole-numbered components are rounded.
func (a *gaussian) bounded(i int, u float64) float32 {
	low, high := float64(a.box.Low[i]), float64(a.box.High[i])
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		if a.bounds == Squash {
			e := portable.Exp(-2 * math.Abs(u))
			u = math.Copysign((1-e)/(1+e), u)
		}
		u = (low+high)/2 + float64(u*((high-low)/2))
	}
	if a.box.Integer != nil && a.box.Integer[i] {
		u = math.Round(u)
	}
	return min(max(float32(u), a.box.Low[i]), a.box.High[i])
}

func (a *gaussian) sample(g int, out []float64, stored []float32, _ []bool) (logp, entropy float64) {
	for i, mu := range out {
		ln := a.logStd[g][i]
		a.z[i] = (float64(stored[i]) - mu) / portable.Exp(ln)
		logp -= float64(a.z[i]*a.z[i]/2) + ln + halfLog2Pi
		entropy += ln + halfLog2Pi + 0.5
	}
	return logp, entropy
}

func (a *gaussian) gradient(g int, dst []float64, slope, bonus float64) {
	for i, z := range a.z {
		dst[i] = -float64(slope * z / portable.Exp(a.logStd[g][i]))
		a.grad[g][i] -= float64(slope*(float64(z*z)-1)) + bonus
	}
}

// std is the mean deviation.
func (a *gaussian) std() float64 {
	sum, n := 0.0, 0
	for _, group := range a.logStd {
		for _, x := range group {
			sum, n = sum+portable.Exp(x), n+1
		}
	}
	return sum / float64(n)
}

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
