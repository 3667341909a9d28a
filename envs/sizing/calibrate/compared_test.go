// Package calibrate fits the sizing environment to FaaSConf's published measurements: the laws of its functions, and
// the QoS thresholds that the paper does not give.
//
// [Compare] simulates the configurations of the published rows under the same protocol and compares the results with
// the rows, and two simulations of a row with each other. [Neighbours] estimates how much repeated measurements differ.
// [FitLaws] searches for the laws with which the simulation agrees best with half of the rows ([Split]). [Thresholds]
// is an experiment on the environment alone. The results are constants in envs/perfmodel and envs/sizing; the tests of
// this package check them, and compute them again under -update. The laws need the published file, in the folder named
// by STOKER_DATA. The factor of the default trace needs the oracle, and is therefore computed in
// agents/baselines/sizing.
package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// Quartiles are the quartiles of a sample.
type Quartiles struct {
	Lower  float64 `json:"lower"`
	Median float64 `json:"median"`
	Upper  float64 `json:"upper"`
}

func (q Quartiles) String() string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", q.Median, q.Lower, q.Upper)
}

// QuartilesOf returns the quartiles of x, which it sorts.
func QuartilesOf(x []float64) Quartiles {
	slices.Sort(x)
	at := func(p float64) float64 {
		i := int(p * float64(len(x)-1))
		lo, hi := x[i], x[min(i+1, len(x)-1)]
		return lo + (p*float64(len(x)-1)-float64(i))*(hi-lo)
	}
	return Quartiles{at(0.25), at(0.5), at(0.75)}
}

// Comparison compares the simulation with the measurements, row by row.
type Comparison struct {
	Rows int `json:"rows"`
	// Times is the number of simulations of each row, each under another seed. Below, each simulation counts as a row.
	Times     int                  `json:"times"`
	Functions []FunctionComparison `json:"functions"`
	// Latency and P95 are the ratios simulated/measured of the end-to-end latency's mean and 95th percentile, and
	// LatencyFloor and P95Floor the ratios of one simulation of a row to the next. The floors are what an exact simulator
	// would reach if the measurements have as much noise as the simulation.
	Latency      Quartiles `json:"latency"`
	LatencyFloor Quartiles `json:"latency_floor"`
	P95          Quartiles `json:"p95"`
	P95Floor     Quartiles `json:"p95_floor"`
	// Successes and Failures are the differences simulated - measured; MeanSuccesses and MeanFailures are the means of
	// both, simulated first.
	Successes     Quartiles  `json:"successes"`
	Failures      Quartiles  `json:"failures"`
	MeanSuccesses [2]float64 `json:"mean_successes"`
	MeanFailures  [2]float64 `json:"mean_failures"`
	// Feasible is the fraction of rows that meet the thresholds, simulated and measured. Agree is the fraction of rows on
	// which both agree, AgreeFloor the fraction on which two simulations of a row agree.
	Feasible   [2]float64 `json:"feasible"`
	Agree      float64    `json:"agree"`
	AgreeFloor float64    `json:"agree_floor"`
	// Price is the largest difference in USD/h.
	Price float64 `json:"price"`
	// Measured and Simulated are the mean end-to-end latencies, row by row, with Times values for each row.
	Measured  []float64 `json:"-"`
	Simulated []float64 `json:"-"`
}

// FunctionComparison is a function's part of a [Comparison].
type FunctionComparison struct {
	Function string `json:"function"`
	// P75, P95 and CPU are ratios simulated/measured of latencies and used CPU; the floors are those of [Comparison].
	P75      Quartiles `json:"p75"`
	P75Floor Quartiles `json:"p75_floor"`
	P95      Quartiles `json:"p95"`
	P95Floor Quartiles `json:"p95_floor"`
	CPU      Quartiles `json:"cpu"`
	// Fits are the regressions of p75, simulated and measured, and Fits95 those of p95.
	Fits   [2]Fit `json:"fits"`
	Fits95 [2]Fit `json:"fits95"`
	// Measured and Simulated are the values of p75, as in [Comparison].
	Measured  []float64 `json:"-"`
	Simulated []float64 `json:"-"`
}

// functionSums collects the data of a FunctionComparison.
type functionSums struct {
	p75, p95, cpu, floor75, floor95 []float64
	fit75, fit95                    [2]regression
	last                            [2]float64
}

// Compare simulates every row's configuration a number of times and compares the results with the row.
func Compare(c sizing.Config, rows []Measured, times int) (*Comparison, error) {
	if len(rows) == 0 {
		return nil, errors.New("calibrate: there are no rows to compare with")
	}
	b, err := NewBench(c, rows[0].Users)
	if err != nil {
		return nil, err
	}
	n := len(rows[0].Functions)
	if k := b.env.Spec().Kinds[0]; n != k.Agents || k.Action.Width() != 4 {
		return nil, fmt.Errorf("calibrate: the rows have %d functions with 4 numbers each, want the environment's %d with %d",
			n, k.Agents, k.Action.Width())
	}
	r := &Comparison{Rows: len(rows), Times: times, Functions: make([]FunctionComparison, n)}
	sums := make([]functionSums, n)
	var latency, latency95, floor, floor95, successes, failures []float64
	share, shareFloor := 1/float64(len(rows)*times), 1/float64(len(rows)*max(1, times-1))
	for k, row := range rows {
		var last [2]float64
		var lastFeasible bool
		for i := range times {
			b.Configure(row)
			if err := b.Measure(seed(k, i)); err != nil {
				return nil, err
			}
			for f, m := range row.Functions {
				sums[f].add(b, f, m, i > 0)
				r.Functions[f].Measured = append(r.Functions[f].Measured, m.P75)
				r.Functions[f].Simulated = append(r.Functions[f].Simulated, b.function(f, p75))
			}
			r.Price = max(r.Price, math.Abs(b.Info("price")-row.Price))
			now := [2]float64{b.Info("latency"), b.Info("latency_p95")}
			latency, latency95 = append(latency, now[0]/row.Latency), append(latency95, now[1]/row.P95)
			r.Measured, r.Simulated = append(r.Measured, row.Latency), append(r.Simulated, now[0])
			ok, failed := b.Info("successes"), b.Info("failed")
			successes = append(successes, ok-float64(row.Successes))
			failures = append(failures, failed-float64(row.Requests-row.Successes))
			r.MeanSuccesses[0] += ok * share
			r.MeanSuccesses[1] += float64(row.Successes) * share
			r.MeanFailures[0] += failed * share
			r.MeanFailures[1] += float64(row.Requests-row.Successes) * share
			q := b.env.QoS()
			simulated, measured := b.Info("violated") == 0, row.Latency <= q.Latency && row.Successes >= q.Count
			r.Feasible[0] += one(simulated) * share
			r.Feasible[1] += one(measured) * share
			r.Agree += one(simulated == measured) * share
			if i > 0 {
				floor, floor95 = append(floor, now[0]/last[0]), append(floor95, now[1]/last[1])
				r.AgreeFloor += one(simulated == lastFeasible) * shareFloor
			}
			last, lastFeasible = now, simulated
		}
	}
	for f := range n {
		r.Functions[f].conclude(rows[0].Functions[f].Name, &sums[f], times)
	}
	r.Latency, r.P95 = QuartilesOf(latency), QuartilesOf(latency95)
	if times > 1 {
		r.LatencyFloor, r.P95Floor = QuartilesOf(floor), QuartilesOf(floor95)
	}
	r.Successes, r.Failures = QuartilesOf(successes), QuartilesOf(failures)
	return r, nil
}

// seed returns the seed of a row's i-th repetition.
func seed(row, i int) uint64 { return uint64(i)<<32 | uint64(row) }

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// add adds the bench's last measurement of function f. repeated says that the one before was of the same row.
func (s *functionSums) add(b *Bench, f int, m MeasuredFunction, repeated bool) {
	now := [2]float64{b.function(f, p75), b.function(f, p95)}
	s.p75, s.p95 = append(s.p75, now[0]/m.P75), append(s.p95, now[1]/m.P95)
	s.cpu = append(s.cpu, b.function(f, usedCPU)/m.UsedCPU)
	if repeated {
		s.floor75, s.floor95 = append(s.floor75, now[0]/s.last[0]), append(s.floor95, now[1]/s.last[1])
	}
	s.last = now
	ranges := b.env.Range()
	z := ranges.Decode(b.Action()[4*f : 4*f+4])
	s.fit75[0].add(z, now[0])
	s.fit75[1].add(z, m.P75)
	s.fit95[0].add(z, now[1])
	s.fit95[1].add(z, m.P95)
}

func (r *FunctionComparison) conclude(name string, s *functionSums, times int) {
	r.Function = name
	r.P75, r.P95, r.CPU = QuartilesOf(s.p75), QuartilesOf(s.p95), QuartilesOf(s.cpu)
	if times > 1 {
		r.P75Floor, r.P95Floor = QuartilesOf(s.floor75), QuartilesOf(s.floor95)
	}
	for i := range 2 {
		r.Fits[i], r.Fits95[i] = s.fit75[i].fit(name), s.fit95[i].fit(name)
	}
}

// String returns the comparison as a table.
func (r *Comparison) String() string {
	s := fmt.Sprintf("%d rows, %d times; ratios simulated/measured: median (quartiles); "+
		"ln p75 = A + B·ln cpu + C·ln replicas + D·ln concurrency\n"+
		"%-10s %-18s %-18s %-18s %-18s %-32s %s\n", r.Rows, r.Times, "function", "p75", "its floor", "p95", "CPU used",
		"A B C D; residual: simulated", "measured")
	for _, f := range r.Functions {
		s += fmt.Sprintf("%-10s %-18v %-18v %-18v %-18v", f.Function, f.P75, f.P75Floor, f.P95, f.CPU)
		for _, x := range f.Fits {
			s += fmt.Sprintf(" %5.2f %5.2f %5.2f %5.2f; %.2f  ", x.A, x.B, x.C, x.D, x.Residual)
		}
		s += "\n"
	}
	return s + fmt.Sprintf("end to end: mean %v, floor %v; p95 %v, floor %v\n"+
		"successes: %.1f, measured %.1f, difference %v\nfailures: %.1f, measured %.1f, difference %v\n"+
		"feasible: %.3f, measured %.3f, same verdict on %.3f, floor %.3f; price off by at most %g\n",
		r.Latency, r.LatencyFloor, r.P95, r.P95Floor, r.MeanSuccesses[0], r.MeanSuccesses[1], r.Successes, r.MeanFailures[0],
		r.MeanFailures[1], r.Failures,
		r.Feasible[0], r.Feasible[1], r.Agree, r.AgreeFloor, r.Price)
}

// regression accumulates the normal equations of [Fit].
type regression struct {
	xx [4][4]float64
	xy [4]float64
	yy float64
	n  float64
}

func (g *regression) add(z sizing.Resources, p75 float64) {
	x := [4]float64{1, math.Log(float64(z.CPU) / 1000), math.Log(float64(z.Replicas)), math.Log(float64(z.Concurrency))}
	y := math.Log(p75)
	for i := range x {
		for j := range x {
			g.xx[i][j] += x[i] * x[j]
		}
		g.xy[i] += x[i] * y
	}
	g.yy += y * y
	g.n++
}

// fit solves the normal equations by elimination.
func (g *regression) fit(function string) Fit {
	a, b := g.xx, g.xy
	for i := range a {
		for k := range a {
			if k == i {
				continue
			}
			m := a[k][i] / a[i][i]
			for j := range a {
				a[k][j] -= m * a[i][j]
			}
			b[k] -= m * b[i]
		}
	}
	var x [4]float64
	rest := g.yy
	for i := range x {
		x[i] = b[i] / a[i][i]
		rest -= x[i] * g.xy[i]
	}
	return Fit{Function: function, A: x[0], B: x[1], C: x[2], D: x[3], Residual: math.Sqrt(max(rest, 0) / g.n)}
}

// Near is the largest relative difference between the CPU limits of neighbours.
const Near = 0.03

// Neighbours returns, for each function, the quartiles of the ratio of a value between rows that give the function the
// same replicas and concurrency and nearly the same CPU ([Near]), in both orders, and the number of pairs. No
// configuration was measured twice, but a function's latency hardly depends on the other functions' resources. So these
// ratios estimate how much repeated measurements differ. value takes the indices of a row and of a function.
func Neighbours(rows []Measured, value func(row, function int) float64) (ratios []Quartiles, pairs []int) {
	type key struct{ replicas, concurrency int }
	for f := range rows[0].Functions {
		at := make(map[key][]int)
		for k, r := range rows {
			m := &r.Functions[f]
			z := key{m.Replicas, int(1 + 9*m.Action[3])}
			at[z] = append(at[z], k)
		}
		var x []float64
		for _, group := range at {
			for i, a := range group {
				for _, b := range group[:i] {
					if math.Abs(math.Log(float64(rows[a].Functions[f].CPU)/float64(rows[b].Functions[f].CPU))) <= Near {
						ratio := value(a, f) / value(b, f)
						x = append(x, ratio, 1/ratio)
					}
				}
			}
		}
		if len(x) == 0 {
			x = []float64{math.NaN()}
		}
		ratios, pairs = append(ratios, QuartilesOf(x)), append(pairs, len(x)/2)
	}
	return ratios, pairs
}
