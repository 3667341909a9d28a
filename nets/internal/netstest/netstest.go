// Package netstest compares an engine's gradients with central finite differences, in the manner of
// testing/fstest: [Gradients] takes any engine of package nets through the networks of [Archs] and the losses
// of [Losses], and says how far apart the two are. [GraphGradients] does so for the networks over graphs of
// [Graphs], whose cases also say how far apart two engines are ([RunGraph]), and what all engines owe misuse
// and empty batches of those networks ([GraphMisuses], [EmptyGraphs]).
//
// Not here: whether engines agree with each other over whole updates (the tests of nets/engines), and what an
// engine does on misuse of other networks, which is its own package's affair.
package netstest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Archs are networks of every kind in all their forms, for three agents and odd in their sizes, by name. Their
// activations are smooth but for "mlp relu".
func Archs() map[string]nets.Arch {
	ports := []nets.Port{{Name: "state", Width: 2}, {Name: "action", Width: 1}}
	mlp := func(change func(*nets.MLP)) nets.MLP {
		m := nets.MLP{Agents: 3, In: ports, Hidden: []int{5, 4}, Out: 2, Activation: nets.Tanh}
		if change != nil {
			change(&m)
		}
		return m
	}
	shared := func(m *nets.MLP) { m.Shared = true }
	norm := func(m *nets.MLP) { m.Norm, m.Shared = nets.LayerNorm, true }
	out := map[string]nets.Arch{
		"mlp tanh":          mlp(nil),
		"mlp relu":          mlp(func(m *nets.MLP) { m.Activation = nets.ReLU }),
		"mlp shared":        mlp(shared),
		"mlp one port":      mlp(func(m *nets.MLP) { m.In = ports[:1] }),
		"mlp no hidden":     mlp(func(m *nets.MLP) { m.Hidden = nil }),
		"mlp sigmoid":       mlp(func(m *nets.MLP) { m.Final = nets.Sigmoid }),
		"mlp final tanh":    mlp(func(m *nets.MLP) { m.Final = nets.Tanh }),
		"mlp norm":          mlp(func(m *nets.MLP) { m.Norm = nets.LayerNorm }),
		"mlp norm shared":   mlp(norm),
		"mlp one agent":     mlp(func(m *nets.MLP) { m.Agents, m.Shared = 1, true }),
		"gumbel":            nets.GumbelSoftmax{Agents: 3, Segments: []int{3, 1, 2}, Temperature: 0.7},
		"squashed action":   nets.SquashedGaussian{Agents: 3, Actions: 2},
		"squashed log-prob": nets.SquashedGaussian{Agents: 3, Actions: 2, LogProb: true},
		"soft value":        nets.SoftValue{Agents: 3},
	}
	for name, f := range fields() { // one hidden layer is enough here
		f.MLP = mlp(func(m *nets.MLP) { m.Hidden = []int{4} })
		out[name] = f
		f.Shared = true
		out[name+" shared"] = f
	}
	f := fields()["attention self exp"]
	f.MLP = mlp(norm)
	out["attention norm"] = f
	f = fields()["joint others"]
	f.MLP = mlp(norm)
	f.Shared = true
	out["joint others shared norm"] = f
	return out
}

// fields are the ways in which agents see each other: with an agent that sees nobody, or with agents that see
// themselves (self); with a port for the others' actions (others).
func fields() map[string]nets.MeanField {
	out := map[string]nets.MeanField{}
	for _, others := range []string{"", " others"} {
		joint := nets.MeanField{Mix: nets.Joint, Others: others != ""}
		out["joint"+others] = joint
		for self, list := range map[string][][]int{"": {{1}, {0, 2}, {}}, " self": {{0, 1}, {2, 0, 1}, {1}}} {
			mean := nets.MeanField{Mix: nets.Mean, Others: others != "", Neighbours: list}
			out["mean"+others+self] = mean
			for _, score := range []string{nets.Exp, nets.Squared} {
				attention := mean
				attention.Mix, attention.Score, attention.Keys = nets.Attention, score, 4
				out["attention"+others+self+" "+score] = attention
			}
		}
	}
	return out
}

// Loss is a loss with a way to draw its args.
type Loss struct {
	nets.Loss
	// Args draws tensors for three agents on the engine, the same for the same stream.
	Args func(e nets.Engine, s *rng.Stream) []nets.Tensor
}

const lossAgents, lossBatch, lossChoices = 3, 5, 4

// Losses are those of [nets.Losses] by name, and a user's own. In the policies' args some choices are illegal,
// and one sample has no legal choice.
func Losses() map[string]Loss {
	out := map[string]Loss{"custom": {quartic, drawArgs([]nets.LossArg{nets.ArgAlike, nets.ArgAlike})}}
	for _, l := range nets.Losses() {
		out[fmt.Sprintf("%s%+v", l.LossName(), l)] = Loss{l, drawArgs(l.Args())}
	}
	return out
}

// quartic is a user's loss, Σ(x − y)⁴.
var quartic = nets.Custom{Name: "quartic", Func: func(value, grad []float64, args [][]float64, shapes [][]int) {
	per := len(grad) / shapes[0][0]
	for i, x := range args[0] {
		d := x - args[1][i]
		value[i/per] += d * d * d * d
		grad[i] = 4 * d * d * d
	}
}}

// drawArgs draws args of some kinds: [agents, batch, choices] where some are of choices, else of two features.
func drawArgs(kinds []nets.LossArg) func(nets.Engine, *rng.Stream) []nets.Tensor {
	return func(e nets.Engine, s *rng.Stream) (out []nets.Tensor) {
		width := 2
		var choices, mask nets.Tensor
		if slices.Contains(kinds, nets.ArgMask) {
			width = lossChoices
			choices, mask = drawChoices(e, s)
		}
		for _, kind := range kinds {
			switch kind {
			case nets.ArgAlike:
				out = append(out, drawn(e, s, 1, lossAgents, lossBatch, width))
			case nets.ArgColumn:
				out = append(out, drawn(e, s, 1, lossAgents, lossBatch, 1))
			case nets.ArgChoice:
				out = append(out, choices)
			case nets.ArgMask:
				out = append(out, mask)
			case nets.ArgLogProb:
				out = append(out, drawLogProbs(e, s))
			}
		}
		return out
	}
}

// drawChoices draws choices and masks in which they are legal, but for one sample without legal choices.
func drawChoices(e nets.Engine, s *rng.Stream) (choices, masks nets.Tensor) {
	const rows, n = lossAgents * lossBatch, lossChoices
	choice, mask := make([]float64, rows), make([]float64, rows*n)
	for row := range choice {
		choice[row] = float64(s.IntN(n))
		for k := range n {
			if float64(k) == choice[row] || s.Float64() < 0.6 {
				mask[row*n+k] = 1
			}
		}
	}
	clear(mask[7*n:][:n])
	choices, masks = e.NewTensor(lossAgents, lossBatch, 1), e.NewTensor(lossAgents, lossBatch, n)
	choices.Set64(choice)
	masks.Set64(mask)
	return choices, masks
}

// drawLogProbs draws logarithms of an old policy's probabilities.
func drawLogProbs(e nets.Engine, s *rng.Stream) nets.Tensor {
	old := drawn(e, s, 0.5, lossAgents, lossBatch, 1)
	v := numbers(old)
	for i := range v {
		v[i] -= 1.2
	}
	old.Set64(v)
	return old
}

// Gradient is how far an engine's gradient is from finite differences.
type Gradient struct {
	Of string // a name of [Archs] or [Losses]
	By string // parameters, an input's name, or the first arg
	N  int    // numbers compared
	// Error is the largest difference, in parts of the largest number of the gradient (or of 1e-3, where that
	// is all but zero).
	Error float64
}

func (g Gradient) String() string {
	return fmt.Sprintf("%s by %s: %.2g of the largest", g.Of, g.By, g.Error)
}

// Gradients compares every network's and every loss's gradient with central finite differences for each number,
// on an engine in float64. The differences are of fourth order, (8(f(x+h) − f(x−h)) − (f(x+2h) − f(x−2h)))/12h,
// whose own error at h = 5e-5 is some 1e-10: those of second order leave 1e-8 where squared scores bend most.
// Each network runs on a batch of two and one of one, and a hard choice is compared with the soft one's
// gradient, since it has none of its own. Of a network's numbers one in every so many is compared: 1 stands for all. An
// error of the engine ends it.
func Gradients(e nets.Engine, every int) ([]Gradient, error) {
	if d := e.Info().DType; d != nets.Float64.String() {
		return nil, fmt.Errorf("netstest: the engine computes in %s, want %v", d, nets.Float64)
	}
	var all []Gradient
	archs, losses := Archs(), Losses()
	for _, name := range slices.Sorted(maps.Keys(archs)) {
		for _, batch := range []int{2, 1} {
			gs, err := ofNet(e, name, archs[name], batch, every)
			if err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
			all = append(all, gs...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(losses)) {
		for seed := range uint64(4) {
			g, err := ofLoss(e, name, losses[name], seed)
			if err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
			all = append(all, g)
		}
	}
	g, err := ofHardChoice(e, archs["gumbel"].(nets.GumbelSoftmax))
	if err != nil {
		return nil, fmt.Errorf("netstest: hard choice: %w", err)
	}
	return append(all, g), nil
}

// Worst is the gradient with the largest error; one that is not a number is worse than all.
func Worst(all []Gradient) Gradient {
	return slices.MaxFunc(all, func(a, b Gradient) int {
		switch {
		case math.IsNaN(a.Error) && !math.IsNaN(b.Error):
			return 1
		case a.Error > b.Error:
			return 1
		case a.Error < b.Error || math.IsNaN(b.Error):
			return -1
		}
		return 0
	})
}

// subject is a network with drawn parameters and inputs.
type subject struct {
	net  nets.Net
	work nets.Work
	in   []nets.Tensor
	// by is the gradient w.r.t. the output, and so that of the objective Σ by·out.
	by nets.Tensor
}

func newSubject(e nets.Engine, a nets.Arch, batch int) (subject, error) {
	s := rng.NewStream(uint64(batch), "netstest")
	n, err := e.NewNet(a)
	if err != nil {
		return subject{}, err
	}
	x := subject{net: n, work: n.NewWork(batch), by: drawn(e, s, 1, a.AgentCount(), batch, a.Output().Width)}
	e.Copy(n.Params(), drawn(e, s, 0.7, n.Params().Shape()...))
	for _, port := range a.Inputs() {
		x.in = append(x.in, drawn(e, s, 1, a.AgentCount(), batch, port.Width))
	}
	return x, e.Err()
}

// back goes forward and backward once.
func (x subject) back() {
	x.net.Forward(x.work, x.in...)
	x.net.ZeroGrads()
	x.net.Backward(x.work, x.by, nets.Both)
}

func ofNet(e nets.Engine, name string, a nets.Arch, batch, every int) ([]Gradient, error) {
	x, err := newSubject(e, a, batch)
	if err != nil {
		return nil, err
	}
	by := numbers(x.by)
	objective := func() float64 {
		sum := 0.0
		for i, v := range numbers(x.net.Forward(x.work, x.in...)) {
			sum += v * by[i]
		}
		return sum
	}
	x.back()
	name = fmt.Sprintf("%s, batch %d", name, batch)
	var out []Gradient
	for i, in := range x.in {
		g := numbers(x.work.GradIn(i))
		out = append(out, measure(name, a.Inputs()[i].Name, g, differences(in, every, objective), every))
	}
	if nets.Size(x.net.Params()) > 0 {
		out = append(out, measure(name, "parameters", numbers(x.net.Grads()), differences(x.net.Params(), every, objective), every))
	}
	return out, e.Err()
}

func ofLoss(e nets.Engine, name string, l Loss, seed uint64) (Gradient, error) {
	args := l.Args(e, rng.NewStream(seed, name))
	value, grad := e.NewTensor(args[0].Shape()[0]), drawn(e, rng.NewStream(seed, "what was there"), 1, args[0].Shape()...)
	sum := func() float64 {
		e.Loss(l.Loss, value, grad, args...)
		total := 0.0
		for _, v := range numbers(value) {
			total += v
		}
		return total
	}
	sum()
	g := numbers(grad)
	return measure(fmt.Sprintf("%s, seed %d", name, seed), "first arg", g, differences(args[0], 1, sum), 1), e.Err()
}

func ofHardChoice(e nets.Engine, soft nets.GumbelSoftmax) (Gradient, error) {
	var logits [2][]float64
	for i := range logits {
		soft.Hard = i == 1
		x, err := newSubject(e, soft, 2)
		if err != nil {
			return Gradient{}, err
		}
		x.back()
		logits[i] = numbers(x.work.GradIn(0))
	}
	return measure("gumbel, hard", "logits", logits[1], logits[0], 1), e.Err()
}

// measure compares one in so many of the numbers got with those wanted.
func measure(of, by string, got, want []float64, every int) Gradient {
	g := Gradient{Of: of, By: by, N: len(want)}
	scale := 1e-3
	for _, v := range want {
		scale = max(scale, math.Abs(v)) // NaN stays
	}
	for i, v := range want {
		g.Error = max(g.Error, math.Abs(got[i*every]-v)/scale)
	}
	return g
}

// differences is the finite difference of f by one in so many of t's numbers; see [Gradients].
func differences(t nets.Tensor, every int, f func() float64) (out []float64) {
	x := numbers(t)
	for i := 0; i < len(x); i += every {
		out = append(out, differenceAt(t, x, i, 5e-5, f))
	}
	t.Set64(x)
	return out
}

// differenceAt is that by number i of t, whose numbers are x, in steps of h. It leaves a step in t.
func differenceAt(t nets.Tensor, x []float64, i int, h float64, f func() float64) float64 {
	v := x[i]
	at := func(d float64) float64 {
		x[i] = v + d
		t.Set64(x)
		return f()
	}
	d := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
	x[i] = v
	return d
}

// drawn is a tensor of normal numbers times scale.
func drawn(e nets.Engine, s *rng.Stream, scale float64, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	x := make([]float64, nets.Size(t))
	for i := range x {
		x[i] = scale * s.Norm()
	}
	t.Set64(x)
	return t
}

func numbers(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}
