package memory

import (
	"fmt"
	"math"
)

// Pieces is StepConf's eq. 1 with its dependence on the jobs γ of an instance. With x = min(MB/M, q) cores for q
// processes (or cores that the code can use) it is
//
//	case 2:  A·γ/(x + B) + F          code of one core in each process, or less memory than one core's
//	case 1:  (A·γ + B)·exp(−C·x) + F  code of several cores, from M on
//
// The paper's a/δ of case 2 is A here, and b/δ is B.
type Pieces struct {
	M         float64 `json:"m"` // MB with which an instance has one whole core (m_s)
	Multicore bool    `json:"multicore"`
	// Inverse is case 2, Exponential case 1 (zero where Multicore is false).
	Inverse     Inversely     `json:"inverse"`
	Exponential Exponentially `json:"exponential"`
}

// Inversely are the numbers of case 2, all ≥ 0: A and F in seconds, B in cores.
type Inversely struct{ A, B, F float64 }

// Exponentially are the numbers of case 1, all ≥ 0: A, B and F in seconds, C per core.
type Exponentially struct{ A, B, C, F float64 }

// Job is a measured run of an instance: γ jobs with so much memory and q processes (or usable cores).
type Job struct{ Jobs, MB, Q, Seconds float64 }

// Seconds returns the mean time in seconds of an instance with some jobs, mb megabytes and q processes.
func (p Pieces) Seconds(jobs, mb, q float64) float64 {
	x := min(mb/p.M, q)
	if p.Multicore && mb >= p.M {
		e := p.Exponential
		return float64((float64(e.A*jobs)+e.B)*math.Exp(-e.C*x)) + e.F
	}
	return float64(p.Inverse.A*jobs)/(x+p.Inverse.B) + p.Inverse.F
}

// FitPieces fits eq. 1 to measured runs by least squares of relative errors, or of plain ones with [Options.Plain].
// Each case is fitted to its own runs. Its parameter that is not linear is searched over its range, and the others
// follow from a linear problem with coefficients ≥ 0. A case with fewer than two runs is an error that says which
// sizes to measure.
func FitPieces(runs []Job, multicore bool, o Options) (Pieces, error) {
	p := Pieces{M: o.SingleCore, Multicore: multicore}
	if p.M == 0 {
		p.M = SingleCore
	}
	var low, high []Job
	for i, r := range runs {
		if !(r.Jobs > 0 && r.MB > 0 && r.Q > 0 && r.Seconds > 0) {
			return p, fmt.Errorf("memory: run %d is %+v, want positive numbers", i, r)
		}
		if multicore && r.MB >= p.M {
			high = append(high, r)
		} else {
			low = append(low, r)
		}
	}
	switch {
	case len(low) < 2:
		return p, fmt.Errorf("memory: %d runs below %g MB are too few for the inverse case of eq. 1: measure two sizes there",
			len(low), p.M)
	case multicore && len(high) < 2:
		return p, fmt.Errorf("memory: %d runs from %g MB on are too few for the exponential case of eq. 1: measure two sizes there",
			len(high), p.M)
	}
	b := minimise(1e-6, 10, func(b float64) float64 { return p.columns(low, b, false).solve(o.Plain).sse })
	s := p.columns(low, b, false).solve(o.Plain)
	p.Inverse = Inversely{A: s.x[0], B: b, F: s.x[1]}
	if multicore {
		c := minimise(1e-3, 20, func(c float64) float64 { return p.columns(high, c, true).solve(o.Plain).sse })
		s := p.columns(high, c, true).solve(o.Plain)
		p.Exponential = Exponentially{A: s.x[0], B: s.x[2], C: c, F: s.x[1]}
	}
	return p, nil
}

// design is a linear least-squares problem of up to three columns.
type design struct {
	rows [][3]float64
	y    []float64
	n    int // columns
}

// columns makes the linear problem of a case for a value of its parameter that is not linear.
func (p Pieces) columns(runs []Job, at float64, exponential bool) design {
	d := design{n: 2}
	if exponential {
		d.n = 3
	}
	for _, r := range runs {
		x := min(r.MB/p.M, r.Q)
		if exponential {
			e := math.Exp(-at * x)
			d.rows = append(d.rows, [3]float64{float64(r.Jobs * e), 1, e})
		} else {
			d.rows = append(d.rows, [3]float64{r.Jobs / (x + at), 1, 0})
		}
		d.y = append(d.y, r.Seconds)
	}
	return d
}

// solution has the coefficients and the sum of squares.
type solution struct {
	x   [3]float64
	sse float64
}

// solve returns the coefficients ≥ 0 with the least sum of squares: the best over which of them are zero.
func (d design) solve(plain bool) solution {
	best := solution{sse: math.Inf(1)}
	weight := make([]float64, len(d.y))
	var sums [3][4]float64 // the normal equations
	for i, row := range d.rows {
		weight[i] = 1
		if !plain {
			weight[i] = 1 / float64(d.y[i]*d.y[i])
		}
		for j, v := range row {
			f := float64(weight[i] * v)
			for k, u := range row {
				sums[j][k] += float64(f * u)
			}
			sums[j][3] += float64(f * d.y[i])
		}
	}
	for used := 1; used < 1<<d.n; used++ {
		x, ok := normal(sums, used)
		if !ok {
			continue
		}
		s := solution{x: x}
		for i, row := range d.rows {
			e := float64(row[0]*x[0]) + float64(row[1]*x[1]) + float64(row[2]*x[2]) - d.y[i]
			s.sse += float64(float64(weight[i]*e) * e)
		}
		if s.sse < best.sse {
			best = s
		}
	}
	return best
}

// normal solves the normal equations of the columns whose bits are set. It fails where they are singular or where a
// coefficient is negative.
func normal(a [3][4]float64, used int) (x [3]float64, ok bool) {
	for j := range 3 {
		if used>>j&1 == 1 {
			continue
		}
		for k := range 3 {
			a[j][k], a[k][j] = 0, 0
		}
		a[j][j], a[j][3] = 1, 0
	}
	for j := range 3 { // no pivoting: the matrix is symmetric and, where it is usable, positive definite
		if !(a[j][j] > 1e-14) {
			return x, false
		}
		for k := j + 1; k < 3; k++ {
			f := a[k][j] / a[j][j]
			for l := j; l < 4; l++ {
				a[k][l] -= float64(f * a[j][l])
			}
		}
	}
	for j := 2; j >= 0; j-- {
		v := a[j][3]
		for k := j + 1; k < 3; k++ {
			v -= float64(a[j][k] * x[k])
		}
		if x[j] = v / a[j][j]; x[j] < 0 || x[j]-x[j] != 0 {
			return x, false
		}
	}
	return x, true
}
