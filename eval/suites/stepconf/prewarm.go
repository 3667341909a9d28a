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
	// scores by world, way, quantity and seed.
	scores [][][][]float64
}

// quantities of Fig. 23, with their factors.
var quantities = []struct {
	name, head string
	factor     float64
}{{"mapping", "mapping [% of the steps' time]", 100}, {"time", "time [s]", 1}, {"cost", "cost [USD per thousand]", 1000},
	{"missed", "missed [%]", 100}, {"mapping_cost", "of it mapping", 1000}, {"cold_cost", "of it cold starts", 1000},
	{"prewarm_cost", "of it prewarming", 1000}, {"prewarmed", "prewarmed instances", 1}}

func measurePrewarming(ctx context.Context, o *suite.Options, n size) (*warmed, error) {
	g, requests := &warmed{worlds: n.worlds, scores: make([][][][]float64, len(n.worlds))}, n.requests
	var seeds []uint64 // of the episodes: a request each
	for _, s := range o.Seeds {
		for i := range requests {
			seeds = append(seeds, s*1000+uint64(i))
		}
	}
	for k, x := range g.worlds {
		for _, way := range ways {
			c := steps.DefaultEnv()
			c.Workflow, c.Platform, c.SLO, c.Prewarm = x.workflow, x.platform, []float64{2, 2}, way.prewarm
			if way.free {
				c.Idle = 0
			}
			rival, err := eval.Rival("StepConf", "stepconf", nil)
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
			byQuantity, err := g.read(played, len(o.Seeds), requests)
			if err != nil {
				return nil, err
			}
			g.scores[k] = append(g.scores[k], byQuantity)
		}
	}
	return g, nil
}

// read has the mean of each quantity by seed.
func (g *warmed) read(p *eval.Played, seeds, requests int) ([][]float64, error) {
	var out [][]float64
	for _, q := range quantities {
		all, err := p.Scores(0, eval.Metric{Name: q.name})
		if err != nil {
			return nil, err
		}
		bySeed := make([]float64, seeds)
		for i, x := range all[0] {
			bySeed[i/requests] += q.factor * x / float64(requests)
		}
		out = append(out, bySeed)
	}
	return out, nil
}

// fall is by how much mapping's share is lower with prewarming, as a share of it in percent, and by how much requests are
// dearer in percent; by seed.
func (g *warmed) fall(world, way int) (mapping, dearer []float64) {
	without, with := g.scores[world][0], g.scores[world][way]
	for s := range without[0] {
		mapping = append(mapping, 100*(1-with[0][s]/without[0][s]))
		dearer = append(dearer, 100*(with[2][s]/without[2][s]-1))
	}
	return mapping, dearer
}

func (g *warmed) report(r *suite.Report) {
	head := []string{"workflow", "prewarming"}
	for _, q := range quantities {
		head = append(head, q.head)
	}
	t := report.Table{Name: "prewarming", Title: "Prewarming (Fig. 23)", Note: "StepConf, limits of twice the fastest time, every request " +
		"alone on a cold platform. Costs in USD per thousand requests; the whole step is billed, mapping included, as printed.",
		Columns: report.Head(head...)}
	fig := report.Figure{Name: "fig23", Caption: "Share of the steps' time that passes until their last instances have started, and what " +
		"a request costs, without and with prewarming.", Columns: report.Head("workflow", "prewarming", "mapping [%]", "low", "high",
		"cost [USD per thousand]", "cost low", "cost high")}
	top := chart.NewPanel("", "", "mapping (% of the time)")
	under := chart.NewPanel("", "1 to 3: ml, vp, dag on AWS; 4 to 6: on Knative", "cost over that without")
	for k, x := range g.worlds {
		name := x.String()
		for i, way := range ways {
			row := []any{name, way.name}
			for q := range quantities {
				row = append(row, estimate(r, g.scores[k][i][q]))
			}
			t.Rows = append(t.Rows, row)
			share, cost := estimate(r, g.scores[k][i][0]), estimate(r, g.scores[k][i][2])
			fig.Rows = append(fig.Rows, []any{name, way.name, share.At, share.Low, share.High, cost.At, cost.Low, cost.High})
			at := chart.Exactly(float64(k+1) + 0.15*float64(i-1))
			top.Cross(chart.Styles(i), at, chart.Range{At: share.At, Low: share.Low, High: share.High})
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
	for _, p := range []*chart.Panel{top, under} {
		p.RangeX(0.5, float64(len(g.worlds))+0.5)
		p.WholeX()
	}
	top.RangeY(0, 1)
	c := &chart.Figure{Title: "Mapping without and with prewarming", Panels: []*chart.Panel{top, under}, Columns: 1,
		Width: 13 * vg.Centimeter, Height: 5.5 * vg.Centimeter, Under: fmt.Sprintf("StepConf, limit 2 ×, %d seeds; intervals: 95 %% over "+
			"seeds", len(g.scores[0][0][0]))}
	for i, way := range ways {
		c.Key = append(c.Key, chart.Entry{Text: way.name, Style: chart.Styles(i), Dot: true})
	}
	fig.Chart = c
	r.Figure(fig)
	r.Table(t)
}
