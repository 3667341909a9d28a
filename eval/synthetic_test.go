package eval

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// synthetic is a comparison as the sizing environment would leave it: three training seeds of a learned policy, three
// heuristics and an oracle, 20 workloads, 12 quantities of all sizes, one of them without a better direction.
// Workloads differ by far more than policies.
func synthetic() *Played {
	spec := &envs.Spec{ID: "stoker/Synthetic-v1", Step: envs.Timing{Unit: "window", Fixed: 30e6},
		Constraint: "violated", Objective: "cost",
		Info: []envs.Quantity{
			{Name: "cost", Unit: "USD", Better: envs.Lower, Bounds: envs.AtLeast(0), AssumesService: true},
			{Name: "violated", Unit: "share of windows", Better: envs.Lower, Bounds: envs.Share()},
			{Name: "latency", Unit: "s", Better: envs.Lower, Bounds: envs.AtLeast(0)},
			{Name: "latency_p95", Unit: "s", Better: envs.Lower, Bounds: envs.AtLeast(0)},
			{Name: "success", Unit: "share", Better: envs.Higher, Bounds: envs.Share()},
			{Name: "successes", Unit: "requests", Better: envs.Higher},
			{Name: "load", Unit: "requests/s"},
			{Name: "cores", Unit: "cores", Better: envs.Lower},
			{Name: "memory", Unit: "MB", Better: envs.Lower},
			{Name: "price", Unit: "USD/request", Better: envs.Lower},
			{Name: "refused", Unit: "share of windows", Better: envs.Lower},
		},
		Samples: []envs.Quantity{{Name: "latency", Unit: "s", Better: envs.Lower}},
	}
	p := &Played{Spec: spec}
	// What each costs and how often it misses, relative to the first.
	players := []struct {
		name       string
		kind       catalog.Kind
		seeds      int
		cost, miss float64
	}{
		{"attmf", catalog.Learned, 3, 1, 0.06}, {"fixed", catalog.Heuristic, 1, 1.6, 0.3},
		{"autoscaler", catalog.Heuristic, 1, 1.08, 0.08},
		{"random", catalog.Heuristic, 1, 1.3, 0.2}, {"oracle", catalog.Oracle, 1, 0.8, 0.02},
	}
	for s := range 20 {
		p.Seeds = append(p.Seeds, uint64(s+1))
	}
	draw := rng.NewStream(1, "synthetic")
	for _, who := range players {
		con := Contestant{Name: who.name, Kind: who.kind}
		var eps [][]envs.Episode
		for v := range who.seeds {
			version := Version{}
			if who.kind == catalog.Learned {
				version = Version{TrainingSeed: uint64(v + 1), Source: "runs/" + who.name}
			}
			con.Versions = append(con.Versions, version)
			trained := 0.02 * draw.Norm()
			var row []envs.Episode
			for _, seed := range p.Seeds {
				load := 20 + 10*rng.New(seed, "load").Norm()/3
				cost := load / 20 * (who.cost + trained + 0.02*draw.Norm()) * 0.4
				miss := max(0, who.miss+0.02*draw.Norm())
				latency := 0.3 + 2*miss + 0.02*draw.Norm()
				row = append(row, envs.Episode{Seed: seed, Return: -100*cost - 200*miss, Info: []float64{
					cost, miss, latency, 3 * latency, 1 - miss/3, math.Round(load * 3600 * (1 - miss/3)), load, 40 * cost,
					65536 * cost, cost / load / 36000, 0,
				}})
			}
			eps = append(eps, row)
		}
		p.Contestants = append(p.Contestants, con)
		p.Episodes = append(p.Episodes, eps)
		p.Steps = append(p.Steps, syntheticSteps(draw, who.cost, who.miss))
		var samples SampleSet
		for range 20000 {
			samples = append(samples, 0.05+0.2*(1+who.miss)*math.Exp(0.8*draw.Norm()))
		}
		p.Samples = append(p.Samples, []SampleSet{samples})
	}
	return p
}

func syntheticSteps(draw *rng.Stream, cost, miss float64) []StepRow {
	var out []StepRow
	for seed := uint64(1); seed <= 2; seed++ {
		for n := range 60 {
			load := 20 + 10*math.Sin(float64(n)/9+float64(seed))
			violated := 0.0
			if draw.Float64() < miss {
				violated = 1
			}
			c := cost * (load + draw.Norm()) / 1200
			out = append(out, StepRow{Seed: seed, Step: n, Time: 30 * float64(n+1), Reward: -c,
				Info: []float64{c, violated, 0.3 + miss*draw.Float64(), 1, 1, 600, load, 16 * cost, 26000 * cost, c / 600, 0}})
		}
	}
	return out
}

// syntheticCurves are three runs of attmf.
func syntheticCurves() []Curve {
	draw := rng.NewStream(2, "curves")
	var out []Curve
	for _, run := range []string{"runs/attmf-s1", "runs/attmf-s2", "runs/attmf-s3"} {
		c := Curve{Group: "attmf", Run: run, Metric: "eval/mean_reward"}
		for k := range 21 {
			c.Steps = append(c.Steps, int64(k)*2500)
			c.Values = append(c.Values, -40-60*math.Exp(-float64(k)/5)+2*draw.Norm())
		}
		out = append(out, c)
	}
	return out
}

func summarise(t testing.TB, p *Played) *Summary {
	t.Helper()
	metrics := must.Get(Metrics(p.Spec, nil))(t)
	plots := must.Get(NewPlots(p.Spec, []string{"cost", "violated"}, []string{"load", "cost", "latency", "violated"}))(t)
	by := must.Get(NewCriteria(p.Spec, "", "", 0.1))(t)
	s := must.Get(Summarise(p, Analysis{Metrics: metrics, Plots: plots, Criteria: by, Resamples: 1000, Seed: 1}))(t)
	s.Workload, s.Split = map[string]any{"path": "synthetic"}, "test"
	s.Command, s.Version, s.Revision = []string{"stoker", "eval", "runs/attmf"}, "v0", "0000000"
	return s
}
