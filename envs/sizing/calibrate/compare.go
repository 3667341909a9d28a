package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Users returns the load of FaaSConf's static scenarios: users in a closed loop without thinking time, 10 more a second.
func Users(n int) workload.Config {
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	w.Users = workload.UsersConfig{Count: n, SpawnRate: 10, ThinkLaw: workload.Constant}
	return w
}

// Bench measures configurations one window at a time, each on a fresh deployment.
type Bench struct {
	env  *sizing.Env
	obs  *envs.Observation
	act  *envs.Action
	out  *envs.Outcome
	info map[string]int
}

// NewBench returns a bench under a configuration, of which workflow, laws, platform and noise matter.
func NewBench(c sizing.Config, users int) (*Bench, error) {
	c.Windows, c.Warmup, c.Protocol, c.Features, c.Users = 1, 0, sizing.Fresh, sizing.PaperFeatures, nil
	e, err := sizing.New(c, Users(users))
	if err != nil {
		return nil, err
	}
	s := e.Spec()
	b := &Bench{env: e, obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s), info: make(map[string]int)}
	for i, q := range s.Info {
		b.info[q.Name] = i
	}
	return b, nil
}

// Measure deploys the action in Action under a seed.
func (b *Bench) Measure(seed uint64) error {
	if err := b.env.Reset(seed, nil, b.obs); err != nil {
		return err
	}
	return b.env.Step(b.act, b.obs, b.out)
}

// Action is what the next Measure deploys.
func (b *Bench) Action() []float32 { return b.act.Kinds[0] }

// Info returns a quantity of the last measurement.
func (b *Bench) Info(name string) float64 { return b.out.Info[b.info[name]] }

// function returns a feature of a function, counted from behind the last action.
func (b *Bench) function(f, feature int) float64 {
	k := &b.env.Spec().Kinds[0]
	return float64(b.obs.Kinds[0].Values[f*k.Observation.Width()+k.Action.Width()+feature])
}

// Features behind the last action.
const (
	usedCPU = 0
	p75     = 4
	p95     = 5
)

// Quartiles are those of a sample.
type Quartiles struct{ Lower, Median, Upper float64 }

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

// Comparison is simulation against measurement, row by row.
type Comparison struct {
	Rows int
	// P75, P95 and CPU are the functions' ratios simulated/measured; Latency and LatencyP95 those end to end.
	Functions           []string
	P75, P95, CPU       []Quartiles
	Latency, LatencyP95 Quartiles
	// Successes and Failures are the differences simulated - measured, and the means of both.
	Successes, Failures         Quartiles
	MeanSuccesses, MeanFailures [2]float64
	// Feasible is the share of rows that keep the thresholds, simulated and measured; Agree the share on which both say the same.
	Feasible [2]float64
	Agree    float64
	// Price is the largest difference in USD/h.
	Price float64
	// Fits are the regressions of the simulated latencies, in the form of [perfmodel.Fit].
	Fits []perfmodel.Fit
	// Loss is the mean squared difference of ln p75 per function, differences beyond 1 counted as 1.
	Loss []float64
}

// Compare measures every row's configuration in the simulation, row k under seed k, and holds it against the row.
func Compare(c sizing.Config, rows []perfmodel.Measured) (*Comparison, error) {
	if len(rows) == 0 {
		return nil, errors.New("calibrate: there are no rows to compare with")
	}
	b, err := NewBench(c, rows[0].Users)
	if err != nil {
		return nil, err
	}
	n := len(rows[0].Functions)
	if k := b.env.Spec().Kinds[0]; n != k.Agents || k.Action.Width() != 4 {
		return nil, fmt.Errorf("calibrate: the rows have %d functions with 4 numbers each, the environment %d with %d", n, k.Agents, k.Action.Width())
	}
	r := &Comparison{Rows: len(rows), Loss: make([]float64, n)}
	ratio := make([][3][]float64, n)
	regress := make([]regression, n)
	var latency, latency95, successes, failures []float64
	q := b.env.QoS()
	share := 1 / float64(len(rows))
	for k, row := range rows {
		for f, m := range row.Functions {
			for j, a := range m.Action {
				b.Action()[4*f+j] = float32(a)
			}
		}
		if err := b.Measure(uint64(k)); err != nil {
			return nil, err
		}
		q = b.env.QoS()
		for f, m := range row.Functions {
			y := b.function(f, p75)
			for i, x := range [3]float64{y / m.P75, b.function(f, p95) / m.P95, b.function(f, usedCPU) / m.UsedCPU} {
				ratio[f][i] = append(ratio[f][i], x)
			}
			d := min(max(math.Log(y/m.P75), -1), 1)
			r.Loss[f] += d * d * share
			rs := b.env.Range()
			z := rs.Decode(b.Action()[4*f : 4*f+4])
			regress[f].add(z, y)
		}
		r.Price = max(r.Price, math.Abs(b.Info("price")-row.Price))
		latency = append(latency, b.Info("latency")/row.Latency)
		latency95 = append(latency95, b.Info("latency_p95")/row.P95)
		ok, failed := b.Info("successes"), b.Info("failed")
		successes = append(successes, ok-float64(row.Successes))
		failures = append(failures, failed-float64(row.Requests-row.Successes))
		r.MeanSuccesses[0] += ok * share
		r.MeanSuccesses[1] += float64(row.Successes) * share
		r.MeanFailures[0] += failed * share
		r.MeanFailures[1] += float64(row.Requests-row.Successes) * share
		simulated, measured := b.Info("violated") == 0, row.Latency <= q.Latency && row.Successes >= q.Count
		if simulated {
			r.Feasible[0] += share
		}
		if measured {
			r.Feasible[1] += share
		}
		if simulated == measured {
			r.Agree += share
		}
	}
	for f := range n {
		r.Functions = append(r.Functions, rows[0].Functions[f].Name)
		r.P75 = append(r.P75, QuartilesOf(ratio[f][0]))
		r.P95 = append(r.P95, QuartilesOf(ratio[f][1]))
		r.CPU = append(r.CPU, QuartilesOf(ratio[f][2]))
		r.Fits = append(r.Fits, regress[f].fit(r.Functions[f]))
	}
	r.Latency, r.LatencyP95 = QuartilesOf(latency), QuartilesOf(latency95)
	r.Successes, r.Failures = QuartilesOf(successes), QuartilesOf(failures)
	return r, nil
}

// String is a table.
func (r *Comparison) String() string {
	s := fmt.Sprintf("%d rows; ratios simulated/measured: median (quartiles)\n%-10s %-18s %-18s %-18s %-30s\n", r.Rows,
		"function", "p75", "p95", "CPU used", "ln p75: 1, cpu, replicas, concurrency; residual")
	for f, name := range r.Functions {
		x := r.Fits[f]
		s += fmt.Sprintf("%-10s %-18v %-18v %-18v %5.2f %5.2f %5.2f %5.2f; %.2f\n", name, r.P75[f], r.P95[f], r.CPU[f], x.A, x.B, x.C, x.D, x.Residual)
	}
	return s + fmt.Sprintf("end to end: mean %v, p95 %v\nsuccesses: %.1f, measured %.1f, difference %v\nfailures: %.1f, measured %.1f, difference %v\n"+
		"feasible: %.3f, measured %.3f, same verdict on %.3f; price off by at most %g\n", r.Latency, r.LatencyP95,
		r.MeanSuccesses[0], r.MeanSuccesses[1], r.Successes, r.MeanFailures[0], r.MeanFailures[1], r.Failures,
		r.Feasible[0], r.Feasible[1], r.Agree, r.Price)
}
