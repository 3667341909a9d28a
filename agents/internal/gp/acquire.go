package gp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// normal is the standard normal density and distribution at z.
func normal(z float64) (density, below float64) {
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi), math.Erfc(-z/math.Sqrt2) / 2
}

// Expected is the expected improvement E[max(0, f − best)] of a normal f (Jones, Schonlau and Welch, 1998, eq. 15), and
// its derivatives by f's mean and standard deviation. A margin ξ is part of best.
func Expected(mean, sd, best float64) (value, byMean, bySD float64) {
	if sd <= 0 {
		if mean > best {
			return mean - best, 1, 0
		}
		return 0, 0, 0
	}
	density, below := normal((mean - best) / sd)
	return max((mean-best)*below+sd*density, 0), below, density
}

// Feasible is the probability that a normal g is at most 0, and its derivatives by g's mean and standard deviation.
func Feasible(mean, sd float64) (value, byMean, bySD float64) {
	if sd <= 0 {
		if mean <= 0 {
			return 1, 0, 0
		}
		return 0, 0, 0
	}
	density, below := normal(-mean / sd)
	return below, -density / sd, density * mean / (sd * sd)
}

// Normal is a normal law.
type Normal struct{ Mean, SD float64 }

// Pair is one outcome of two objectives.
type Pair [2]float64

// Front returns the pairs that no other pair is at least as large as in both objectives, ascending in the first. Pairs
// that do not exceed the reference in both are left out.
func Front(pairs []Pair, reference Pair) []Pair {
	var out []Pair
	for i, p := range pairs {
		keep := p[0] > reference[0] && p[1] > reference[1]
		for j, o := range pairs {
			if !keep {
				break
			}
			better := o[0] >= p[0] && o[1] >= p[1]
			keep = !better || o == p && j >= i
		}
		if keep {
			out = append(out, p)
		}
	}
	for i := range out { // insertion sort: fronts are short
		for j := i; j > 0 && out[j][0] < out[j-1][0]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// Hypervolume is the expected growth of the area between a front and a reference point when a pair of independent
// normal objectives is added, both to be maximised (Emmerich, Yang, Deutz, Wang and Fonseca, 2016), and its derivatives
// by mean and standard deviation of each: [objective][mean, sd]. The front is as [Front] returns it.
//
// Between two neighbours of the front the first objective gains E[(u − a)⁺] − E[(u − a′)⁺] and the second E[(v − b)⁺],
// where b is the height of the front there; the sum over these strips is exact.
func Hypervolume(front []Pair, reference Pair, u, v Normal) (value float64, by [2][2]float64) {
	low := reference[0]
	for i := 0; i <= len(front); i++ {
		width, dMean, dSD := Expected(u.Mean, u.SD, low)
		height := reference[1]
		if i < len(front) {
			height = front[i][1]
			w, m, s := Expected(u.Mean, u.SD, front[i][0])
			width, dMean, dSD = max(width-w, 0), dMean-m, dSD-s
			low = front[i][0]
		}
		h, hMean, hSD := Expected(v.Mean, v.SD, height)
		value += width * h
		by[0][0] += dMean * h
		by[0][1] += dSD * h
		by[1][0] += width * hMean
		by[1][1] += width * hSD
	}
	return value, by
}

// NoisyEI is the noisy expected improvement of one candidate under constraints (Letham, Karrer, Ottoni and Bakshy,
// 2019, eqs. 4 to 6), the quantity that BoTorch's qNoisyExpectedImprovement estimates: the mean over joint posterior
// draws of all functions at the observed rows of
//
//	E[max(0, f(x) − best) | draw] · Π P(g(x) ≤ limit | draw)
//
// where best is the draw's largest f among the rows at which each of its g is at most its limit. A draw without such a
// row has for best its smallest f, so that what is feasible improves on every row. The draws are Sobol points,
// scrambled and taken to the normal law; given a draw, the candidate's own law is normal, and its expectation is exact.
type NoisyEI struct {
	models   []*noisy // the objective, then the constraints
	best     []float64
	feasible int // draws with a feasible row
}

// Constraint is a function that is to stay at or below a limit.
type Constraint struct {
	*Model
	Limit float64
}

// noisy is a model conditioned on draws of its own function at its rows. With A = K + τ·I the posterior there has the
// covariance S = τ·I − τ²·A⁻¹ = L·Lᵀ, and its covariance with the function at x is τ·A⁻¹·k(x). So given a draw with
// deviates z the mean at x is k(x)ᵀ(α + τ·A⁻¹·L⁻ᵀ·z), and the variance falls by |τ·L⁻¹·A⁻¹·k(x)|².
type noisy struct {
	*Query
	limit   float64
	weights []float64 // draws × rows: k(x)ᵀ·weights is the mean at x given each draw
	reduce  []float64 // rows × rows: kᵀ·reduce·k is what the rows take from the variance
	values  []float64 // draws × rows: the function at the rows
	rk      []float64 // reduce·k
	means   []float64 // of the draws, at the last point
	pull    []float64
	sd      float64
}

// NewNoisyEI returns the acquisition function of an objective, to be maximised, and of constraints, all
// conditioned on the same rows, from a number of draws.
func NewNoisyEI(objective *Model, constraints []Constraint, draws int, stream *rng.Stream) (*NoisyEI, error) {
	if draws < 1 {
		return nil, fmt.Errorf("gp: %d draws, want 1 or more", draws)
	}
	a := &NoisyEI{best: make([]float64, draws)}
	all := append([]Constraint{{Model: objective}}, constraints...)
	if len(all) > maxModels {
		return nil, fmt.Errorf("gp: %d constraints, want %d at most", len(constraints), maxModels-1)
	}
	n := objective.rows
	z := Scrambled(draws, n*len(all), stream)
	for i, u := range z {
		z[i] = portable.NormQuantile(u)
	}
	for k, m := range all {
		if m.rows != n {
			return nil, errors.New("gp: objective and constraints are conditioned on different rows")
		}
		d, err := newNoisy(m.Model, z, k*n, n*len(all), draws)
		if err != nil {
			return nil, err
		}
		d.limit = m.Limit
		a.models = append(a.models, d)
	}
	for s := range draws {
		a.best[s] = a.incumbent(s, n)
	}
	return a, nil
}

// incumbent is what a candidate has to exceed in a draw.
func (a *NoisyEI) incumbent(s, n int) float64 {
	best, least := math.Inf(-1), math.Inf(1)
	for i := range n {
		f := a.models[0].values[s*n+i]
		least = min(least, f)
		ok := true
		for _, c := range a.models[1:] {
			ok = ok && c.values[s*n+i] <= c.limit
		}
		if ok {
			best = max(best, f)
		}
	}
	if math.IsInf(best, -1) {
		return least
	}
	a.feasible++
	return best
}

func newNoisy(m *Model, z []float64, at, width, draws int) (*noisy, error) {
	n := m.rows
	d := &noisy{Query: m.Query(), weights: make([]float64, draws*n), reduce: make([]float64, n*n), values: make([]float64,
		draws*n), rk: make([]float64, n), means: make([]float64, draws), pull: make([]float64, n)}
	inverse := m.inverted()
	for i := range n {
		for j := range i + 1 {
			d.reduce[i*n+j], d.reduce[j*n+i] = inverse[i*n+j], inverse[i*n+j]
		}
	}
	tau := m.params.Noise + m.jitter
	for s := range draws {
		copy(d.weights[s*n:], m.alpha)
		copy(d.values[s*n:(s+1)*n], m.y)
	}
	if tau == 0 {
		return d, nil // what was observed is the function itself
	}
	full := append([]float64(nil), d.reduce...)
	lower := make([]float64, n*n)
	for i := range n {
		for j := range n {
			lower[i*n+j] = -tau * tau * full[i*n+j]
		}
		lower[i*n+i] += tau
	}
	if err := Factor(lower, n); err != nil {
		return nil, fmt.Errorf("%w (the posterior at %d rows)", err, n)
	}
	t := triangular(lower, n)
	general := func(data []float64, rows int) blas64.General {
		return blas64.General{Rows: rows, Cols: n, Stride: n, Data: data}
	}
	// half is L⁻¹·τ·A⁻¹; reduce becomes A⁻¹ + halfᵀ·half.
	half := append([]float64(nil), full...)
	blas64.Trsm(blas.Left, blas.NoTrans, tau, t, general(half, n))
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, general(half, n), general(half, n), 1, general(d.reduce, n))
	for s := range draws {
		deviates := z[s*width+at : s*width+at+n]
		w, v := d.weights[s*n:(s+1)*n], d.values[s*n:(s+1)*n]
		// weights = α + halfᵀ·z; values = y − τ·α + L·z, the posterior mean at the rows and the deviation.
		blas64.Gemv(blas.Trans, 1, general(half, n), vector(deviates), 1, vector(w))
		for i := range v {
			v[i] -= tau * m.alpha[i]
		}
		blas64.Gemv(blas.NoTrans, 1, general(lower, n), vector(deviates), 1, vector(v))
	}
	return d, nil
}

// Draws is the number of draws with a feasible row. Where it is 0, maximise the probability of feasibility instead.
func (a *NoisyEI) Draws() int { return a.feasible }

func (d *noisy) at(x []float64) {
	d.covariances(x)
	n := len(d.k)
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: len(d.means), Cols: n, Stride: n, Data: d.weights}, vector(d.k), 0,
		vector(d.means))
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: n, Cols: n, Stride: n, Data: d.reduce}, vector(d.k), 0,
		vector(d.rk))
	// At a row nothing is left but rounding.
	d.sd = math.Sqrt(max(d.m.params.Signal-dot(d.k, d.rk), 0))
	if d.sd*d.sd < 1e-12*d.m.params.Signal {
		d.sd = 0
	}
}

// At returns the value at a point, and adds its gradient to g unless that is nil.
func (a *NoisyEI) At(x, g []float64) float64 {
	for _, d := range a.models {
		d.at(x)
		clear(d.pull)
	}
	share := 1 / float64(len(a.best))
	var value float64
	var slopes [2][maxModels]float64 // of one draw: by mean, by sd
	var bySD [maxModels]float64
	var parts [maxModels]float64
	for s, best := range a.best {
		product := share
		for k, d := range a.models {
			if k == 0 {
				parts[k], slopes[0][k], slopes[1][k] = Expected(d.means[s], d.sd, best)
			} else {
				parts[k], slopes[0][k], slopes[1][k] = Feasible(d.means[s]-d.limit, d.sd)
			}
			product *= parts[k]
		}
		value += product
		if g == nil {
			continue
		}
		for k, d := range a.models {
			others := share
			for j := range a.models {
				if j != k {
					others *= parts[j]
				}
			}
			n := len(d.pull)
			blas64.Axpy(others*slopes[0][k], vector(d.weights[s*n:(s+1)*n]), vector(d.pull))
			bySD[k] += others * slopes[1][k]
		}
	}
	if g == nil {
		return value
	}
	for k, d := range a.models {
		if d.sd > 0 {
			blas64.Axpy(-bySD[k]/d.sd, vector(d.rk), vector(d.pull))
		}
		d.Query.pull(d.pull, g)
	}
	return value
}

// maxModels bounds an objective and its constraints.
const maxModels = 8
