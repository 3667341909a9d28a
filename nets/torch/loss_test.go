//go:build libtorch

package torch

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

// lossCase is a loss, its args, and its value for one agent computed by a loop.
type lossCase struct {
	loss   nets.Loss
	args   [][]float64
	shapes [][]int
	value  func(agent int) float64
}

const lossAgents, lossBatch, lossWidth = 2, 4, 3

func lossCases() map[string]lossCase {
	const n = lossAgents * lossBatch
	whole, column := []int{lossAgents, lossBatch, lossWidth}, []int{lossAgents, lossBatch, 1}
	x, y := draws("x", n*lossWidth), draws("y", n*lossWidth)
	mean := func(agent int, f func(i int) float64) float64 {
		sum := 0.0
		for i := agent * lossBatch * lossWidth; i < (agent+1)*lossBatch*lossWidth; i++ {
			sum += f(i)
		}
		return sum / (lossBatch * lossWidth)
	}
	huber := func(d float64) float64 {
		if d = math.Abs(d); d <= 0.5 {
			return d * d / 2
		}
		return 0.5 * (d - 0.25)
	}
	all := map[string]lossCase{
		"squared error": {nets.SquaredError{}, [][]float64{x, y}, [][]int{whole, whole},
			func(a int) float64 { return mean(a, func(i int) float64 { return (x[i] - y[i]) * (x[i] - y[i]) }) }},
		"huber": {nets.Huber{Delta: 0.5}, [][]float64{x, y}, [][]int{whole, whole},
			func(a int) float64 { return mean(a, func(i int) float64 { return huber(x[i] - y[i]) }) }},
		"ascent": {nets.Ascent{}, [][]float64{x}, [][]int{whole},
			func(a int) float64 { return -mean(a, func(i int) float64 { return x[i] }) }},
		"penalty": {nets.Penalty{Coef: 0.3}, [][]float64{x}, [][]int{whole},
			func(a int) float64 { return 0.3 * mean(a, func(i int) float64 { return x[i] * x[i] }) }},
	}
	choice, advantage := []float64{0, 1, 2, 1, 0, 0, 2, 1}, draws("advantage", n)
	mask := []float64{1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1}
	old := make([]float64, n)
	objective := func(agent int, gain func(row int, logp float64) float64) float64 {
		sum := 0.0
		for row := agent * lossBatch; row < (agent+1)*lossBatch; row++ {
			var z, h float64
			for k := range lossWidth {
				z += mask[row*lossWidth+k] * math.Exp(x[row*lossWidth+k])
			}
			if z == 0 {
				continue
			}
			for k := range lossWidth {
				if mask[row*lossWidth+k] != 0 {
					logp := x[row*lossWidth+k] - math.Log(z)
					h -= math.Exp(logp) * logp
				}
			}
			logp := x[row*lossWidth+int(choice[row])] - math.Log(z)
			sum -= gain(row, logp) + 0.2*h
		}
		return sum / lossBatch
	}
	for i := range old {
		old[i] = -1 + 0.5*draws("old", n)[i]
	}
	args := [][]float64{x, choice, advantage, mask, old}
	shapes := [][]int{whole, column, column, whole, column}
	all["policy gradient"] = lossCase{nets.PolicyGradient{Entropy: 0.2}, args[:4], shapes[:4],
		func(a int) float64 {
			return objective(a, func(row int, logp float64) float64 { return advantage[row] * logp })
		}}
	all["clipped surrogate"] = lossCase{nets.ClippedSurrogate{Clip: 0.1, Entropy: 0.2}, args, shapes,
		func(a int) float64 {
			return objective(a, func(row int, logp float64) float64 {
				r := math.Exp(logp - old[row])
				return min(r*advantage[row], min(max(r, 0.9), 1.1)*advantage[row])
			})
		}}
	all["custom"] = lossCase{nets.Custom{Name: "cubes",
		Func: func(value, grad []float64, args [][]float64, shapes [][]int) {
			per := shapes[0][1] * shapes[0][2]
			for i, v := range args[0] {
				value[i/per] += v * v * v
				grad[i] = 3 * v * v
			}
		}}, [][]float64{x}, [][]int{whole}, func(a int) float64 {
		return lossBatch * lossWidth * mean(a, func(i int) float64 { return x[i] * x[i] * x[i] })
	}}
	return all
}

func TestLossesAreTheirEquations(t *testing.T) {
	for name, c := range lossCases() {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, nets.Float64)
			var args []nets.Tensor
			for i, v := range c.args {
				args = append(args, made(e, v, c.shapes[i]...))
			}
			value, grad := e.NewTensor(lossAgents), e.NewTensor(c.shapes[0]...)
			e.Loss(c.loss, value, grad, args...)
			ok(t, e)
			var want []float64
			for a := range lossAgents {
				want = append(want, c.value(a))
			}
			near(t, "value", values(value), want, 1e-14)
		})
	}
}

func TestIllegalLogitsDoNotMatter(t *testing.T) {
	c := lossCases()["policy gradient"]
	e := newEngine(t, nets.Float32)
	run := func(x []float64) (value, grad []float64) {
		args := []nets.Tensor{made(e, x, c.shapes[0]...)}
		for i, v := range c.args[1:] {
			args = append(args, made(e, v, c.shapes[i+1]...))
		}
		v, g := e.NewTensor(lossAgents), e.NewTensor(c.shapes[0]...)
		e.Loss(c.loss, v, g, args...)
		ok(t, e)
		return values(v), values(g)
	}
	value, grad := run(c.args[0])
	wild := append([]float64(nil), c.args[0]...)
	for i, legal := range c.args[3] {
		if legal == 0 {
			wild[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[i%3]
			if grad[i] != 0 {
				t.Errorf("gradient %g by an illegal logit", grad[i])
			}
		}
	}
	v, g := run(wild)
	near(t, "value", v, value, 0)
	near(t, "gradient", g, grad, 0)
}

func TestLossesReportMisuse(t *testing.T) {
	e := newEngine(t, nets.Float32)
	other := newEngine(t, nets.Float32)
	x, v, col := e.NewTensor(2, 4, 3), e.NewTensor(2), e.NewTensor(2, 4, 1)
	bad := e.NewTensor(2, 4, 1)
	bad.Set([]float32{0, 0, 0, 0, 3, 0, 0, 0})
	ones := e.NewTensor(2, 4, 3)
	ones.Set([]float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	for _, c := range []struct {
		loss        nets.Loss
		value, grad nets.Tensor
		args        []nets.Tensor
		says        string
	}{
		{nil, v, x, []nets.Tensor{x}, "no loss"},
		{nets.Ascent{}, v, x, nil, "ascent has no args"},
		{nets.Ascent{}, v, col, []nets.Tensor{x}, "the gradient has shape [2 4 1], want [2 4 3]"},
		{nets.Ascent{}, col, x, []nets.Tensor{x}, "the value has shape [2 4 1]"},
		{nets.Ascent{}, v, x, []nets.Tensor{x, x}, "2 args, want 1"},
		{nets.SquaredError{}, v, x, []nets.Tensor{x, col}, "arg 1 has shape [2 4 1], want [2 4 3]"},
		{nets.SquaredError{}, v, x, []nets.Tensor{x, other.NewTensor(2, 4, 3)}, "want a tensor of this engine"},
		{nets.Huber{}, v, x, []nets.Tensor{x, x}, "delta is 0"},
		{nets.PolicyGradient{}, v, x, []nets.Tensor{x, x, col, x}, "arg 1 has shape [2 4 3]"},
		{nets.PolicyGradient{}, v, x, []nets.Tensor{x, bad, col, ones}, "agent 1 in sample 0 is 3"},
		{nets.ClippedSurrogate{Clip: -1}, v, x, []nets.Tensor{x, col, col, ones, col}, "clip is -1"},
		{nets.Custom{Name: "mine"}, v, x, []nets.Tensor{x}, "mine: no function"},
		{unknownLoss{}, v, x, []nets.Tensor{x}, "not computed by this engine"},
	} {
		e.Loss(c.loss, c.value, c.grad, c.args...)
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "nets/torch: Loss") {
			t.Errorf("%T: error %v, want one that says %q", c.loss, err, c.says)
		}
	}
}

type unknownLoss struct{}

func (unknownLoss) LossName() string     { return "unknown" }
func (unknownLoss) Args() []nets.LossArg { return nil }
func (unknownLoss) Validate() error      { return nil }
