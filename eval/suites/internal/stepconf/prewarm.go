package stepconf

import (
	"context"
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// ways are prewarming's settings (Fig. 23). An idle prewarmed instance costs what AWS asks for one that is provisioned, or
// nothing, as for what a cloud keeps warm by itself.
var ways = []struct {
	name    string
	prewarm string
	free    bool
}{{"no prewarming", steps.NoPrewarm, false}, {"prewarming, idle instances billed", steps.ByStepConf, false},
	{"prewarming, idle instances free", steps.ByStepConf, true}}

// warmed are quantities of requests that StepConf decides, with and without prewarming.
type warmed struct {
	worlds []world
	// scores by world, way and quantity.
	scores *report.Cube[float64]
}

// quantities of Fig. 23, with their factors.
var quantities = []struct {
	name, head string
	factor     float64
}{{"mapping", "mapping [% of the steps' time]", 100}, {"time", "time [s]", 1}, {"cost", "cost [USD per thousand]", 1000},
	{"missed", "missed [%]", 100}, {"mapping_cost", "of it mapping", 1000}, {"cold_cost", "of it cold starts", 1000},
	{"prewarm_cost", "of it prewarming", 1000}, {"prewarmed", "prewarmed instances", 1}}

func (n size) prewarming(ctx context.Context, o *suite.Options) (*warmed, error) {
	requests, g := n.requests, &warmed{worlds: n.worlds, scores: report.NewCube[float64](len(o.Seeds),
		report.Axis{Name: "workflow", Len: len(n.worlds)}, report.Axis{Name: "prewarming", Len: len(ways)},
		report.Axis{Name: "quantity", Len: len(quantities)})}
	var seeds []uint64 // of the episodes: a request each
	for _, s := range o.Seeds {
		for i := range requests {
			seeds = append(seeds, s*1000+uint64(i))
		}
	}
	for k, x := range g.worlds {
		for i, way := range ways {
			c := steps.DefaultEnv()
			c.Workflow, c.Platform, c.SLO, c.Prewarm = x.workflow, x.platform, []float64{2, 2}, way.prewarm
			if way.free {
				c.Idle = 0
			}
			rival, err := eval.Baseline("StepConf", "stepconf", nil)
			if err != nil {
				return nil, err
			}
			played, err := o.Play(ctx, "prewarming, "+x.String(), eval.Request{
				NewEnv: func() (envs.Env, error) { return catalog.Default().NewEnv(steps.ID, &c, workload.Default()) },
				Seeds:  seeds, Contestants: []eval.Contestant{rival},
			})
			if err != nil {
				return nil, err
			}
			if err := read(g.scores.Select(k).Select(i), played, requests); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// read takes the mean of each quantity by seed.
func read(to *report.Cube[float64], p *eval.Played, requests int) error {
	for k, q := range quantities {
		all, err := p.Scores(0, eval.Metric{Name: q.name})
		if err != nil {
			return err
		}
		for i, x := range all[0] {
			to.At(k)[i/requests] += q.factor * x / float64(requests)
		}
	}
	return nil
}

// fall is by how much mapping's share is lower with prewarming, as a share of it in percent, and by how much requests are
// dearer in percent; by seed.
func (g *warmed) fall(world, way int) (mapping, dearer []float64) {
	without, with := g.scores.Select(world).Select(0), g.scores.Select(world).Select(way)
	mapping = lists.Make(without.Seeds(), func(s int) float64 { return 100 * (1 - with.At(0)[s]/without.At(0)[s]) })
	return mapping, report.Change(with.At(2), without.At(2))
}

func (g *warmed) report(r *suite.Report) {
	head := []string{"workflow", "prewarming"}
	for _, q := range quantities {
		head = append(head, q.head)
	}
	t := report.Table{Name: "prewarming", Title: "Prewarming (Fig. 23)", Note: "StepConf, limits of twice the fastest time, every request " +
		"alone on a cold platform. Costs in USD per thousand requests; the whole step is billed, mapping included, as printed.",
		Columns: report.Head(head...)}
	fig := report.NewFigure("fig23", "Share of the steps' time that passes until their last instances have started, and what "+
		"a request costs, without and with prewarming.", chart.Figure{Title: "Mapping without and with prewarming", Columns: 1,
		Width: 13 * vg.Centimeter, Height: 5.5 * vg.Centimeter, Under: fmt.Sprintf("StepConf, limit 2 ×, %d seeds; intervals: 95 %% over "+
			"seeds", g.scores.Seeds())}, "workflow", "prewarming", "mapping [%]", "low", "high", "cost [USD per thousand]", "cost low",
		"cost high")
	top := fig.Panel("", "", "mapping (% of the time)")
	under := fig.Panel("", "1 to 3: ml, vp, dag on AWS; 4 to 6: on Knative", "cost over that without")
	for k, x := range g.worlds {
		name := x.String()
		for i, way := range ways {
			row := []any{name, way.name}
			for q := range quantities {
				row = append(row, estimate(r, g.scores.At(k, i, q)))
			}
			t.Rows = append(t.Rows, row)
			share := estimate(r, g.scores.At(k, i, 0))
			fig.Row(name, way.name, share, estimate(r, g.scores.At(k, i, 2)))
			at := chart.Exactly(float64(k+1) + 0.15*float64(i-1))
			top.Cross(chart.Styles(i), at, chart.Range(share))
			_, dearer := g.fall(k, i)
			e := estimate(r, dearer)
			under.Cross(chart.Styles(i), at, chart.Range{At: 1 + e.At/100, Low: 1 + e.Low/100, High: 1 + e.High/100})
			if i == 1 {
				fall, _ := g.fall(k, i)
				measured(r, suite.Row{Figure: "23, " + name, Quantity: "mapping's share of the time lower with prewarming by", Unit: "%",
					Note: "the paper: a significant reduction"}, fall)
				measured(r, suite.Row{Figure: "23, " + name, Quantity: "requests dearer with prewarming, idle instances billed, by",
					Unit: "%"}, dearer)
			}
		}
	}
	for _, p := range fig.Chart.Panels {
		p.RangeX(0.5, float64(len(g.worlds))+0.5)
		p.WholeX()
	}
	top.RangeY(0, 1)
	for _, way := range ways {
		fig.Key(chart.Entry{Dot: true}, way.name)
	}
	r.Figure(*fig)
	r.Table(t)
}
