package calibrate

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// simulated returns rows that were not measured but simulated under a configuration, of random resources in the range
// of the published ones.
func simulated(t *testing.T, c sizing.Config, n int) []Measured {
	t.Helper()
	b := must.Get(NewBench(c, 10))(t)
	s := rng.NewStream(1, "simulated rows")
	var rows []Measured
	for k := range n {
		row := Measured{Users: 10, Functions: make([]MeasuredFunction, 6)}
		for f, name := range []string{"starter", "rgb", "resize", "update", "resnet", "mobilenet"} {
			row.Functions[f].Name = name
			for i := range 4 {
				row.Functions[f].Action[i] = 0.2 + 0.8*s.Float64()
			}
		}
		b.Configure(row)
		must.Do(t, b.Measure(1<<50|uint64(k)))
		ranges := b.env.Range()
		for f := range row.Functions {
			m := &row.Functions[f]
			z := ranges.Decode(b.Action()[4*f : 4*f+4])
			m.CPU, m.Memory, m.Replicas = z.CPU, z.Memory, z.Replicas
			m.P75, m.P95, m.UsedCPU = b.function(f, p75), b.function(f, p95), b.function(f, usedCPU)
		}
		row.Latency, row.P95, row.Price = b.Info("latency"), b.Info("latency_p95"), b.Info("price")
		row.Successes = int(b.Info("successes"))
		row.Requests = row.Successes + int(b.Info("failed"))
		rows = append(rows, row)
	}
	return rows
}

// Against its own simulations the environment has no error: medians are 1 and quartiles those of the floor.
func TestCompareWithItself(t *testing.T) {
	c := sizing.Default()
	r := must.Get(Compare(c, simulated(t, c, 300), 2))(t)
	near := func(what string, x, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(x-want) <= tolerance) {
			t.Errorf("%s is %.3f, want %.3f ± %g", what, x, want, tolerance)
		}
	}
	near("price", r.Price, 0, 0)
	near("median ratio of the latency", r.Latency.Median, 1, 0.02)
	near("its lower quartile", r.Latency.Lower, r.LatencyFloor.Lower, 0.03)
	near("its upper quartile", r.Latency.Upper, r.LatencyFloor.Upper, 0.03)
	near("feasible share", r.Feasible[0], r.Feasible[1], 0.05)
	near("same verdict", r.Agree, r.AgreeFloor, 0.05)
	near("successes", r.MeanSuccesses[0], r.MeanSuccesses[1], 0.5)
	for _, f := range r.Functions {
		near(f.Function+": median ratio of p75", f.P75.Median, 1, 0.05)
		near(f.Function+": median ratio of used CPU", f.CPU.Median, 1, 0.05)
		near(f.Function+": exponent of replicas", f.Fits[0].C, f.Fits[1].C, 0.1)
	}
	if _, err := Compare(c, nil, 1); err == nil {
		t.Error("a comparison with no rows is not refused")
	}
}

// The loss that laws are fitted by is least at the laws that made the rows. The mean squared difference is not: it is
// lower under laws that feel less of how many requests share an instance, since their latencies scatter less. Laws
// fitted by it had replicas' exponents a third too small.
func TestLossesFindTheLaws(t *testing.T) {
	c := sizing.Default()
	rows := simulated(t, c, 150)
	// both returns the functions' mean of the loss, and the mean squared difference of ln p75.
	both := func(change func(*perfmodel.Law)) (loss, squared float64) {
		t.Helper()
		trial := c
		for _, m := range rows[0].Functions {
			l := must.Get(perfmodel.FaaSConf(m.Name))(t)
			change(&l)
			trial.Laws = append(trial.Laws, sizing.FunctionLaw{Function: m.Name, Law: l})
		}
		got := must.Get(losses(trial, rows))(t)
		for _, x := range got {
			loss += x / float64(len(got))
		}
		r := must.Get(Compare(trial, rows, 1))(t)
		for _, f := range r.Functions {
			for i, x := range f.Simulated {
				d := math.Log(x / f.Measured[i])
				squared += d * d / float64(len(rows)*len(r.Functions))
			}
		}
		return loss, squared
	}
	truth, squared := both(func(*perfmodel.Law) {})
	for name, change := range map[string]func(*perfmodel.Law){
		"more crowding": func(l *perfmodel.Law) { l.Crowding *= 1.7 },
		"more work":     func(l *perfmodel.Law) { l.Work *= 1.15 },
		"less work":     func(l *perfmodel.Law) { l.Work /= 1.15 },
	} {
		if got, _ := both(change); got <= truth {
			t.Errorf("%s: loss %.4f, at the laws of the rows %.4f", name, got, truth)
		}
	}
	got, less := both(func(l *perfmodel.Law) { l.Crowding, l.Overhead = l.Crowding/4, l.Overhead*1.5 })
	if got <= truth {
		t.Errorf("less crowding: loss %.4f, at the laws of the rows %.4f", got, truth)
	}
	if less >= squared {
		t.Errorf("less crowding: mean squared difference %.4f, at the laws of the rows %.4f: the squared difference "+
			"would do as the loss", less, squared)
	}
}

// FitLaws takes a step towards the laws that made the rows.
func TestFitLaws(t *testing.T) {
	c := sizing.Default()
	c.Laws = []sizing.FunctionLaw{{Function: "update"}}
	l := must.Get(perfmodel.FaaSConf("update"))(t)
	l.Work *= 2
	c.Laws[0].Law = l
	laws := must.Get(FitLaws(sizing.Default(), simulated(t, c, 40), 30, func(int, []float64) {}))(t)
	if ratio := laws[3].Alone(1000) / l.Alone(1000); ratio < 0.7 || ratio > 1.4 {
		t.Errorf("update takes %.2f of the time that it has in the rows, from 0.5 at first", ratio)
	}
	if _, err := FitLaws(c, nil, 1, nil); err == nil {
		t.Error("a fit to no rows is not refused")
	}
}

// Rows of the same function's configuration are neighbours, in both orders, and no others.
func TestNeighbours(t *testing.T) {
	row := func(cpu, replicas int, concurrency, p75 float64) Measured {
		return Measured{Functions: []MeasuredFunction{
			{CPU: cpu, Replicas: replicas, Action: [4]float64{3: concurrency}, P75: p75},
		}}
	}
	rows := []Measured{row(1000, 3, 0.5, 2), row(1020, 3, 0.52, 4), row(1000, 4, 0.5, 9), row(1100, 3, 0.5, 9),
		row(1000, 3, 0.7, 9)}
	ratios, pairs := Neighbours(rows, func(k, f int) float64 { return rows[k].Functions[f].P75 })
	if len(pairs) != 1 || pairs[0] != 1 || ratios[0] != (Quartiles{0.875, 1.25, 1.625}) {
		t.Errorf("%v over %v pairs, want the quartiles of 1/2 and 2 over one", ratios, pairs)
	}
}

func TestSplit(t *testing.T) {
	rows := make([]Measured, 100)
	for i := range rows {
		rows[i].Users = i
	}
	fitted, held := Split(rows)
	if len(fitted) != 60 || len(held) != 40 || fitted[40].Users != 80 || held[0].Users != 40 {
		t.Errorf("%d fitted, %d held out, from %d on", len(fitted), len(held), held[0].Users)
	}
}
