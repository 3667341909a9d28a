package spsa

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// quadratic is an environment with a known slope. In window t an action x gives
//
//	Φ(x) = −½ Σ_ij H_ij (x−x*)_i (x−x*)_j + cubic·Σ_ij (x−x*)_i (x−x*)_j² + common·N(t) + own·N(t, x)
//
// N(t) is the same for all actions of a window, as a workload is; N(t, x) differs from action to action, as the results
// of one workload under two schedules may.
type quadratic struct {
	clock
	o quadraticOptions
}

type quadraticOptions struct {
	prices, baselines  int // components
	best               []float64
	h                  [][]float64
	cubic, common, own float64
	length             int
	bound              float32 // of prices: ±bound, infinite where 0
	most               float32 // baselines lie in [0, most]
	broken             bool    // gives NaN
}

func newQuadratic(o quadraticOptions) *quadratic {
	n := o.prices + o.baselines
	box := envs.Unbounded(n)
	box.Integer = make([]bool, n)
	for i := range n {
		if o.bound > 0 {
			box.Low[i], box.High[i] = -o.bound, o.bound
		}
		if i >= o.prices {
			box.Low[i], box.High[i], box.Integer[i] = 0, o.most, true
		}
	}
	q := &quadratic{o: o, clock: clock{over: true, spec: envs.Spec{
		ID: "test/Quadratic-v1", Doc: "A noisy quadratic.", MaxSteps: o.length, Step: envs.Timing{Unit: "window", Fixed: 1},
		Kinds: []envs.Kind{{Name: "provider", Agents: 1, Observation: envs.NewBox(1, 0, 1), Action: box}},
		Info: []envs.Quantity{
			{Name: "profit", Unit: "money", Better: envs.Higher, Reduce: envs.Mean},
			{Name: "loss", Unit: "money", Better: envs.Lower, Reduce: envs.Mean},
			{Name: "window", Unit: "windows", Better: envs.Neither, Reduce: envs.Last},
		},
	}}}
	return q
}

// plain is a quadratic of prices and baselines with curvature h on the diagonal and the optimum at best in every
// component.
func plain(prices, baselines int, h, best float64) quadraticOptions {
	n := prices + baselines
	o := quadraticOptions{prices: prices, baselines: baselines, length: 1 << 30, most: 64}
	for i := range n {
		row := make([]float64, n)
		row[i] = h
		o.h, o.best = append(o.h, row), append(o.best, best)
	}
	return o
}

// slope is ∂Φ/∂x_i without noise.
func (o *quadraticOptions) slope(x []float64, i int) float64 {
	s, squares := 0.0, 0.0
	for j := range x {
		d := x[j] - o.best[j]
		s -= o.h[i][j] * d
		squares += d * d
	}
	di, sum := x[i]-o.best[i], 0.0
	for j := range x {
		sum += x[j] - o.best[j]
	}
	return s + o.cubic*(squares+2*di*sum)
}

func (q *quadratic) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := q.check(act); err != nil {
		return err
	}
	key := rng.New(q.seed, "noise").With(uint64(q.window))
	value, sum, squares := float64(q.o.common*key.Norm()), 0.0, 0.0
	for i, x := range act.Kinds[0] {
		di := float64(x) - q.o.best[i]
		sum += di
		squares += float64(di * di)
		for j, y := range act.Kinds[0] {
			value -= float64(q.o.h[i][j]*float64(di*(float64(y)-q.o.best[j]))) / 2
		}
		key = key.With(uint64(math.Float32bits(x)))
	}
	value += float64(q.o.cubic*float64(sum*squares)) + float64(q.o.own*key.Norm())
	if q.o.broken {
		value = math.NaN()
	}
	q.tick(value, obs, out)
	out.Info[0], out.Info[1], out.Info[2] = value, -value, float64(q.window)
	return nil
}
