package quantile

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Solution is the result of a quantile regression.
type Solution struct {
	// Coefficients are those of the columns; a column that the others make is 0.
	Coefficients []float64
	// Loss is Σ ρ(y − Xβ), with ρ(r) = ω·r above 0 and (ω−1)·r below.
	Loss float64
	// Gap is the loss less the value of a feasible solution of the dual problem: no coefficients have a loss below
	// Loss − Gap.
	Gap float64
}

// tolerance is the gap, relative to the loss, at which the iteration ends.
const tolerance = 1e-11

// Solve returns the coefficients β with the least Σ ρ(y − Xβ) at level ω in (0, 1). x holds the rows of X one after the
// other, columns numbers each.
//
// The dual problem is: maximise y·a with Xᵀa = (1−ω)·Xᵀ1 and 0 ≤ a ≤ 1. It is solved together with the regression by
// Mehrotra's predictor and corrector steps from a = 1−ω, which is feasible (Portnoy and Koenker, 1997). Each iteration
// costs one product of columns × columns over the rows.
func Solve(x []float64, columns int, y []float64, level float64) (*Solution, error) {
	n := len(y)
	switch {
	case !(level > 0 && level < 1):
		return nil, fmt.Errorf("quantile: level %g, want one between 0 and 1", level)
	case columns < 1 || len(x) != n*columns:
		return nil, fmt.Errorf("quantile: %d numbers for %d rows of %d columns", len(x), n, columns)
	case n < columns:
		return nil, fmt.Errorf("quantile: %d rows are too few for %d columns", n, columns)
	}
	for i, v := range x {
		if v-v != 0 {
			return nil, fmt.Errorf("quantile: row %d, column %d is %g, want a finite number", i/columns, i%columns, v)
		}
	}
	for i, v := range y {
		if v-v != 0 {
			return nil, fmt.Errorf("quantile: y of row %d is %g, want a finite number", i, v)
		}
	}
	kept, scale := independent(x, columns, n)
	if len(kept) == 0 {
		return nil, fmt.Errorf("quantile: all columns are zero")
	}
	p := newProblem(x, columns, y, level, kept, scale)
	lambda, err := p.iterate()
	if err != nil {
		return nil, err
	}
	s := &Solution{Coefficients: make([]float64, columns)}
	for j, c := range kept {
		s.Coefficients[c] = -lambda[j] / scale[j]
	}
	s.Loss = p.best
	s.Gap = p.best - p.bound
	return s, nil
}

func rho(r, level float64) float64 {
	if r >= 0 {
		return float64(level * r)
	}
	return float64((level - 1) * r)
}

func dot(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		s += float64(v * b[i])
	}
	return s
}

// independent returns the columns that are not sums of those before, and the length of each.
func independent(x []float64, columns, n int) (kept []int, scale []float64) {
	var basis [][]float64
	v := make([]float64, n)
	for c := range columns {
		var length float64
		for i := range n {
			v[i] = x[i*columns+c]
			length += float64(v[i] * v[i])
		}
		length = math.Sqrt(length)
		if length == 0 {
			continue
		}
		for range 2 { // twice is enough (Kahan)
			for _, b := range basis {
				d := dot(b, v)
				for i := range v {
					v[i] -= float64(d * b[i])
				}
			}
		}
		rest := math.Sqrt(dot(v, v))
		if rest < 1e-9*length {
			continue
		}
		b := make([]float64, n)
		for i := range v {
			b[i] = v[i] / rest
		}
		basis, kept, scale = append(basis, b), append(kept, c), append(scale, length/math.Sqrt(float64(n)))
	}
	return kept, scale
}

// problem is the linear program with its iterates. Rows are requests, columns the kept ones, scaled.
type problem struct {
	n, k  int
	x, y  []float64
	level float64
	b     []float64 // (1−ω)·Xᵀ1
	unit  float64   // Σ|y|, a scale of the loss

	a, s, z, w  []float64 // the dual's variables, 1−a, and the negative and positive parts of the residuals
	lambda      []float64 // −β
	best, bound float64
}

func newProblem(x []float64, columns int, y []float64, level float64, kept []int, scale []float64) *problem {
	n, k := len(y), len(kept)
	p := &problem{n: n, k: k, x: make([]float64, n*k), y: y, level: level, b: make([]float64, k),
		a: make([]float64, n), s: make([]float64, n), z: make([]float64, n), w: make([]float64, n),
		lambda: make([]float64, k), best: math.Inf(1), bound: math.Inf(-1)}
	for i := range n {
		for j, c := range kept {
			v := x[i*columns+c] / scale[j]
			p.x[i*k+j] = v
			p.b[j] += float64((1 - level) * v)
		}
		p.unit += math.Abs(y[i])
		p.a[i], p.s[i] = 1-level, level
	}
	return p
}

func (p *problem) row(i int) []float64 { return p.x[i*p.k : (i+1)*p.k] }

// iterate returns −β. It ends where the gap is small, or no step makes it smaller any more: then best and bound say how
// large it is.
func (p *problem) iterate() ([]float64, error) {
	n := p.n
	q, dz, dw, da := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	if err := p.start(ones); err != nil {
		return nil, err
	}
	best := make([]float64, p.k)
	stalled := 0
	for range 200 {
		if p.measure() {
			copy(best, p.lambda)
			stalled = 0
		} else if stalled++; stalled > 8 {
			break
		}
		if p.best-p.bound <= tolerance*max(p.best, 1e-6*p.unit, math.SmallestNonzeroFloat64) {
			break
		}
		var mu float64
		for i := range n {
			mu += float64(p.a[i]*p.z[i]) + float64(p.s[i]*p.w[i])
			q[i] = 1 / (p.z[i]/p.a[i] + p.w[i]/p.s[i])
		}
		mu /= float64(2 * n)
		chol, ok := p.factor(q)
		if !ok {
			break // as near as floating point allows: the gap says how near
		}
		// Predictor: straight to the optimum.
		p.direction(chol, q, 0, nil, nil, da, dz, dw)
		primal, dual := p.lengths(da, dz, dw)
		var ahead float64
		for i := range n {
			ahead += float64((p.a[i] + float64(primal*da[i])) * (p.z[i] + float64(dual*dz[i])))
			ahead += float64((p.s[i] - float64(primal*da[i])) * (p.w[i] + float64(dual*dw[i])))
		}
		ahead /= float64(2 * n)
		center := mu * math.Pow(ahead/mu, 3)
		// Corrector: with the products that the predictor left out.
		cz, cw := make([]float64, n), make([]float64, n)
		for i := range n {
			cz[i], cw[i] = float64(da[i]*dz[i]), float64(-da[i]*dw[i])
		}
		dl := p.direction(chol, q, center, cz, cw, da, dz, dw)
		primal, dual = p.lengths(da, dz, dw)
		const back = 0.99995
		primal, dual = min(1, back*primal), min(1, back*dual)
		for i := range n {
			p.a[i] += float64(primal * da[i])
			p.s[i] -= float64(primal * da[i])
			p.z[i] += float64(dual * dz[i])
			p.w[i] += float64(dual * dw[i])
		}
		for j := range dl {
			p.lambda[j] += float64(dual * dl[j])
		}
	}
	return best, nil
}

// start sets λ by least squares, and z and w to the parts of the residuals, both above zero.
func (p *problem) start(ones []float64) error {
	chol, ok := p.factor(ones)
	if !ok {
		return fmt.Errorf("quantile: the columns are not independent")
	}
	rhs := mat.NewVecDense(p.k, nil)
	for i, v := range p.y {
		for j, x := range p.row(i) {
			rhs.SetVec(j, rhs.AtVec(j)-float64(x*v))
		}
	}
	var l mat.VecDense
	if err := chol.SolveVecTo(&l, rhs); err != nil {
		return fmt.Errorf("quantile: %w", err)
	}
	var size float64
	for j := range p.lambda {
		p.lambda[j] = l.AtVec(j)
	}
	for i, v := range p.y {
		size += math.Abs(-v-dot(p.row(i), p.lambda)) / float64(p.n)
	}
	size = max(size, 1e-6*p.unit/float64(p.n), 1e-300)
	for i, v := range p.y {
		r := -v - dot(p.row(i), p.lambda)
		p.z[i], p.w[i] = max(r, 0)+size, max(-r, 0)+size
	}
	return nil
}

// factor returns the Cholesky factors of Xᵀ·diag(q)·X. Near the optimum it is nearly singular: then its diagonal is
// raised a little.
func (p *problem) factor(q []float64) (*mat.Cholesky, bool) {
	m := mat.NewSymDense(p.k, nil)
	for i := range p.n {
		row := p.row(i)
		for a, v := range row {
			f := float64(q[i] * v)
			for b := a; b < p.k; b++ {
				m.SetSym(a, b, m.At(a, b)+float64(f*row[b]))
			}
		}
	}
	var chol mat.Cholesky
	for _, raise := range []float64{0, 1e-14, 1e-12} {
		var trace float64
		for j := range p.k {
			trace = max(trace, m.At(j, j))
		}
		for j := range p.k {
			m.SetSym(j, j, m.At(j, j)+float64(raise*trace))
		}
		if chol.Factorize(m) {
			return &chol, true
		}
	}
	return nil, false
}

// direction writes the Newton step towards products a·z = s·w = center, less the corrections cz and cw, and returns
// that of λ.
func (p *problem) direction(chol *mat.Cholesky, q []float64, center float64, cz, cw, da, dz, dw []float64) []float64 {
	rhs := mat.NewVecDense(p.k, nil)
	h := make([]float64, p.n)
	for j := range p.k {
		rhs.SetVec(j, p.b[j])
	}
	for i := range p.n {
		up, down := center, center
		if cz != nil {
			up, down = up-cz[i], down-cw[i]
		}
		// The residual of the equation c − Xλ = z − w is taken out too: it grows by rounding.
		r := -p.y[i] - dot(p.row(i), p.lambda) - p.z[i] + p.w[i]
		h[i] = up/p.a[i] - p.z[i] - (down/p.s[i] - p.w[i]) - r
		f := float64(q[i]*h[i]) + p.a[i]
		for j, x := range p.row(i) {
			rhs.SetVec(j, rhs.AtVec(j)-float64(f*x))
		}
	}
	var l mat.VecDense
	_ = chol.SolveVecTo(&l, rhs) // an ill-conditioned system gives a poor step, and the gap tells
	dl := make([]float64, p.k)
	for j := range dl {
		dl[j] = l.AtVec(j)
	}
	for i := range p.n {
		up, down := center, center
		if cz != nil {
			up, down = up-cz[i], down-cw[i]
		}
		da[i] = float64(q[i] * (dot(p.row(i), dl) + h[i]))
		dz[i] = (up-float64(p.z[i]*da[i]))/p.a[i] - p.z[i]
		dw[i] = (down+float64(p.w[i]*da[i]))/p.s[i] - p.w[i]
	}
	return dl
}

// lengths returns how far one may go until a variable is zero.
func (p *problem) lengths(da, dz, dw []float64) (primal, dual float64) {
	primal, dual = math.Inf(1), math.Inf(1)
	for i := range p.n {
		if da[i] < 0 {
			primal = min(primal, -p.a[i]/da[i])
		} else if da[i] > 0 {
			primal = min(primal, p.s[i]/da[i])
		}
		if dz[i] < 0 {
			dual = min(dual, -p.z[i]/dz[i])
		}
		if dw[i] < 0 {
			dual = min(dual, -p.w[i]/dw[i])
		}
	}
	return min(1, primal), min(1, dual)
}

// measure takes the loss of the present coefficients and the bound of the present a, whichever are better than before,
// and reports whether the coefficients were.
func (p *problem) measure() bool {
	var loss float64
	for i, v := range p.y {
		loss += rho(v+dot(p.row(i), p.lambda), p.level)
	}
	if d := p.dual(); d > p.bound {
		p.bound = d
	}
	if loss < p.best {
		p.best = loss
		return true
	}
	return false
}

// dual returns the dual's value of a, brought to feasibility: what rounding left of Xᵀa − b bounds how far any β of the
// size met can move it.
func (p *problem) dual() float64 {
	var value float64
	off := make([]float64, p.k)
	copy(off, p.b)
	for i, v := range p.y {
		a := min(1, max(0, p.a[i]))
		value += float64((a - (1 - p.level)) * v)
		for j, x := range p.row(i) {
			off[j] -= float64(a * x)
		}
	}
	for j := range off {
		value -= math.Abs(float64(off[j] * p.lambda[j]))
	}
	return value
}
