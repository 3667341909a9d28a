package stepconf

import (
	"context"
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

// Of Fig. 3: steps of a task an instance, each of so many seconds.
var durations = []float64{1, 2, 5}

// Of Fig. 4: a step of so many tasks of a second each with one core.
const fig4Tasks = 240

var fig4Sizes = []int{512, 1024, 2048, 4096}

// instances are the numbers that Figs. 3 and 4 show.
var instances = []int{1, 5, 10, 15, 20, 25, 30, 35, 40, 42, 45, 50, 55, 60}

// limits are platforms with and without the limit on what an inline Map runs together.
var limits = []struct {
	name     string
	together int
}{{"at most 40 together", 40}, {"no limit", 0}}

// mapped has mapping delays and times of single steps.
type mapped struct {
	fig3 [][][][]float64 // mean mapping delay in seconds by limit, duration, instances and seed
	fig4 [][][]float64   // mean time by size, instances and seed
}

// lab is a workflow of one step on AWS, with its own limit.
func lab(s steps.StepConfig, together int) (*steps.Model, error) {
	s.Name = "step"
	p := steps.Lambda()
	p.Together = together
	return steps.App{Name: "lab", Workflow: workflow.Graph{Name: "lab", Nodes: []workflow.Node{{Name: "step"}}}, Platform: steps.Own, Own: p,
		Steps: []steps.StepConfig{s}}.Compile()
}

func measureMapping(ctx context.Context, o *suite.Options, runs int) (*mapped, error) {
	g := &mapped{}
	for range limits {
		var byDuration [][][]float64
		for range durations {
			byDuration = append(byDuration, values(len(instances), len(o.Seeds)))
		}
		g.fig3 = append(g.fig3, byDuration)
	}
	for range fig4Sizes {
		g.fig4 = append(g.fig4, values(len(instances), len(o.Seeds)))
	}
	return g, o.Each(ctx, "mapping", len(instances), func(i int) error {
		var p steps.Player
		for l, limit := range limits {
			for d, duration := range durations {
				m, err := lab(steps.StepConfig{Tasks: instances[i], Law: steps.Law{A: 1e-9, Fixed: duration}}, limit.together)
				if err != nil {
					return err
				}
				option, err := m.Pack(0, 2048, instances[i], 1)
				if err != nil {
					return err
				}
				for s, seed := range o.Seeds {
					for run := range runs {
						x := p.Measure(m, 0, option, 0, rng.New(seed, "stepconf/fig3").With(uint64(run)))
						g.fig3[l][d][i][s] += x.Mapping / float64(runs)
					}
				}
			}
		}
		m, err := lab(steps.StepConfig{Tasks: fig4Tasks, Law: steps.Law{A: 1, Fixed: 0.2}}, limits[0].together)
		if err != nil {
			return err
		}
		for k, mb := range fig4Sizes {
			option, err := m.Pack(0, mb, instances[i], 1)
			if err != nil {
				return err
			}
			for s, seed := range o.Seeds {
				for run := range runs {
					g.fig4[k][i][s] += p.Measure(m, 0, option, 0, rng.New(seed, "stepconf/fig4").With(uint64(run))).Seconds / float64(runs)
				}
			}
		}
		return nil
	})
}

// values are n values for each seed.
func values(n, seeds int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, seeds)
	}
	return out
}

// at is the index of a number of instances.
func at(n int) int {
	for i, k := range instances {
		if k == n {
			return i
		}
	}
	return -1
}

// knee is how much longer the mapping of 60 instances takes than that of 30, by seed.
func (g *mapped) knee(limit, duration int) []float64 {
	return ratio(g.fig3[limit][duration], at(60), at(30))
}

func (g *mapped) report(r *suite.Report) {
	for l, limit := range limits {
		for d, duration := range durations {
			if l == 1 && d > 0 {
				continue // without the limit the delay does not depend on the duration
			}
			measured(r, suite.Row{Figure: "3", Quantity: fmt.Sprintf("mapping delay of 60 instances over that of 30, %g s each, %s", duration,
				limit.name), Unit: "1", Note: "the paper: small below 30, rising rapidly above 40"}, g.knee(l, d))
		}
	}
	r.Figure(g.figure3(r))
	r.Figure(g.figure4(r))
}

func (g *mapped) figure3(r *suite.Report) suite.Figure {
	fig := suite.Figure{Name: "fig3", Caption: "Mean mapping delay of a step over its instances, with and without the limit of 40 that run " +
		"together. Without it the delay rises along the stairs of the cold starts and has no knee.",
		Columns: report.Head("limit", "duration [s]", "instances", "mapping [s]", "low", "high")}
	p := chart.NewPanel("", "instances of the step (p)", "mapping delay (s)")
	c := &chart.Figure{Title: "Mapping delay", Panels: []*chart.Panel{p}, Columns: 1, Width: 13 * vg.Centimeter,
		Height: 8 * vg.Centimeter, Under: "cold starts begin 15 ms apart; dotted: 40 instances; bands: 95 % over seeds"}
	n := 0
	for l, limit := range limits {
		for d, duration := range durations {
			if l == 1 && d > 0 {
				continue // without the limit the delay does not depend on the duration
			}
			e := g.line(r, g.fig3[l][d])
			for i, x := range e {
				fig.Rows = append(fig.Rows, []any{limit.name, duration, instances[i], x.At, x.Low, x.High})
			}
			text := fmt.Sprintf("%s, %g s each", limit.name, duration)
			if l == 1 {
				text = limit.name + ", any duration"
			}
			suite.Line(p, chart.Styles(n), floats(instances), e)
			c.Key = append(c.Key, chart.Entry{Text: text, Style: chart.Styles(n), Line: true})
			n++
		}
	}
	var formula []float64
	for _, k := range instances {
		formula = append(formula, steps.Mapping(k, 0))
		fig.Rows = append(fig.Rows, []any{"formula", "", k, steps.Mapping(k, 0), "", ""})
	}
	p.Line(chart.Bound(), floats(instances), formula, false)
	c.Key = append(c.Key, chart.Entry{Text: "mapping: formula", Style: chart.Bound(), Line: true})
	p.LevelX(40)
	fig.Chart = c
	return fig
}

func (g *mapped) figure4(r *suite.Report) suite.Figure {
	fig := suite.Figure{Name: "fig4", Caption: "Mean time of a step of 240 tasks over its instances, by their memory: from 40 on more " +
		"instances do not help.", Columns: report.Head("memory [MB]", "instances", "time [s]", "low", "high")}
	p := chart.NewPanel("", "instances of the step (p)", "time of the step (s)")
	p.LogY()
	c := &chart.Figure{Title: "Time of a step", Panels: []*chart.Panel{p}, Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7.5 * vg.Centimeter, Under: "a task takes 1 s with one core; at most 40 instances together; bands: 95 % over seeds"}
	for k, mb := range fig4Sizes {
		e := g.line(r, g.fig4[k])
		for i, x := range e {
			fig.Rows = append(fig.Rows, []any{mb, instances[i], x.At, x.Low, x.High})
		}
		suite.Line(p, chart.Styles(k), floats(instances), e)
		c.Key = append(c.Key, chart.Entry{Text: fmt.Sprintf("%d MB", mb), Style: chart.Styles(k), Line: true})
	}
	p.LevelX(40)
	fig.Chart = c
	return fig
}

func (g *mapped) line(r *suite.Report, byInstances [][]float64) []report.Estimate {
	var out []report.Estimate
	for _, bySeed := range byInstances {
		out = append(out, estimate(r, bySeed))
	}
	return out
}

func floats(n []int) []float64 {
	out := make([]float64, len(n))
	for i, k := range n {
		out[i] = float64(k)
	}
	return out
}
