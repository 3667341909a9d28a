package stepconf

import (
	"context"
	"fmt"
	"slices"

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

// delays are the curves of Fig. 3 by limit and duration: without the limit the delay does not depend on the duration.
var delays = []struct{ limit, duration int }{{0, 0}, {0, 1}, {0, 2}, {1, 0}}

// mapped has mapping delays and times of single steps.
type mapped struct {
	fig3 *report.Cube[float64] // mean mapping delay in seconds by limit, duration and instances
	fig4 *report.Cube[float64] // mean time by size and instances
}

// lab measures workflows of one step on AWS. After an error it measures nothing more, and all is zero.
type lab struct {
	player steps.Player
	err    error
}

// step is a workflow of one step, with its own limit on the instances that run together.
func (l *lab) step(s steps.StepConfig, together int) (m *steps.Model) {
	s.Name = "step"
	p := steps.Lambda()
	p.Together = together
	if l.err == nil {
		m, l.err = steps.App{Name: "lab", Workflow: workflow.Graph{Name: "lab", Nodes: []workflow.Node{{Name: "step"}}},
			Platform: steps.Own, Own: p, Steps: []steps.StepConfig{s}}.Compile()
	}
	return m
}

// pack is the step's option with some instances of a size and some processes in each.
func (l *lab) pack(m *steps.Model, mb, instances, processes int) (option int) {
	if l.err == nil {
		option, l.err = m.Pack(0, mb, instances, processes)
	}
	return option
}

// measure runs the step once, with so many warm instances.
func (l *lab) measure(m *steps.Model, option, warm int, key rng.Key) (r steps.Measured) {
	if l.err == nil {
		r = l.player.Measure(m, 0, option, warm, key)
	}
	return r
}

func (s size) mapping(ctx context.Context, o *suite.Options) (*mapped, error) {
	runs := s.runs
	of := report.Axis{Name: "instances", Len: len(instances)}
	g := &mapped{
		fig3: report.NewCube[float64](len(o.Seeds), report.Axis{Name: "limit", Len: len(limits)},
			report.Axis{Name: "duration", Len: len(durations)}, of),
		fig4: report.NewCube[float64](len(o.Seeds), report.Axis{Name: "size", Len: len(fig4Sizes)}, of),
	}
	return g, o.Each(ctx, "mapping", len(instances), func(i int) error {
		var lab lab
		for l, limit := range limits {
			for d, duration := range durations {
				m := lab.step(steps.StepConfig{Tasks: instances[i], Law: steps.Law{A: 1e-9, Fixed: duration}}, limit.together)
				option := lab.pack(m, 2048, instances[i], 1)
				for s, seed := range o.Seeds {
					for run := range runs {
						x := lab.measure(m, option, 0, rng.New(seed, "stepconf/fig3").With(uint64(run)))
						g.fig3.At(l, d, i)[s] += x.Mapping / float64(runs)
					}
				}
			}
		}
		m := lab.step(steps.StepConfig{Tasks: fig4Tasks, Law: steps.Law{A: 1, Fixed: 0.2}}, limits[0].together)
		for k, mb := range fig4Sizes {
			option := lab.pack(m, mb, instances[i], 1)
			for s, seed := range o.Seeds {
				for run := range runs {
					x := lab.measure(m, option, 0, rng.New(seed, "stepconf/fig4").With(uint64(run)))
					g.fig4.At(k, i)[s] += x.Seconds / float64(runs)
				}
			}
		}
		return lab.err
	})
}

// at is the index of a number of instances.
func at(n int) int { return slices.Index(instances, n) }

// knee is how much longer the mapping of 60 instances takes than that of 30, by seed.
func (g *mapped) knee(limit, duration int) []float64 {
	return report.Ratio(g.fig3.At(limit, duration, at(60)), g.fig3.At(limit, duration, at(30)))
}

func (g *mapped) report(r *suite.Report) {
	for _, c := range delays {
		measured(r, suite.Row{Figure: "3", Quantity: fmt.Sprintf("mapping delay of 60 instances over that of 30, %g s each, %s",
			durations[c.duration], limits[c.limit].name), Unit: "1", Note: "the paper: small below 30, rising rapidly above 40"},
			g.knee(c.limit, c.duration))
	}
	g.figure3(r)
	g.figure4(r)
}

func (g *mapped) figure3(r *suite.Report) {
	fig := report.NewFigure("fig3", "Mean mapping delay of a step over its instances, with and without the limit of 40 that run "+
		"together. Without it the delay rises along the stairs of the cold starts and has no knee.",
		chart.Figure{Title: "Mapping delay", Columns: 1, Width: 13 * vg.Centimeter, Height: 8 * vg.Centimeter,
			Under: "cold starts begin 15 ms apart; dotted: 40 instances; bands: 95 % over seeds"},
		"limit", "duration [s]", "instances", "mapping [s]", "low", "high")
	p := fig.Panel("", "instances of the step (p)", "mapping delay (s)")
	for k, c := range delays {
		limit, duration := limits[c.limit].name, durations[c.duration]
		text := fmt.Sprintf("%s, %g s each", limit, duration)
		if c.limit == 1 {
			text = limit + ", any duration"
		}
		fig.Band(p, chart.Styles(k), report.Floats(instances),
			func(i int) report.Estimate { return estimate(r, g.fig3.At(c.limit, c.duration, i)) },
			func(i int, e report.Estimate) []any { return []any{limit, duration, instances[i], e} })
		fig.Key(chart.Entry{Line: true}, text)
	}
	var formula []float64
	for _, k := range instances {
		formula = append(formula, steps.Mapping(k, 0))
		fig.Row("formula", "", k, steps.Mapping(k, 0), "", "")
	}
	p.Line(chart.Bound(), report.Floats(instances), formula, false)
	fig.Chart.Key = append(fig.Chart.Key, chart.Entry{Text: "mapping: formula", Style: chart.Bound(), Line: true})
	p.LevelX(40)
	r.Figure(*fig)
}

func (g *mapped) figure4(r *suite.Report) {
	fig := report.NewFigure("fig4", "Mean time of a step of 240 tasks over its instances, by their memory: from 40 on more "+
		"instances do not help.", chart.Figure{Title: "Time of a step", Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7.5 * vg.Centimeter, Under: "a task takes 1 s with one core; at most 40 instances together; bands: 95 % over seeds"},
		"memory [MB]", "instances", "time [s]", "low", "high")
	p := fig.Panel("", "instances of the step (p)", "time of the step (s)")
	p.LogY()
	for k, mb := range fig4Sizes {
		fig.Key(chart.Entry{Line: true}, fmt.Sprintf("%d MB", mb))
		fig.Band(p, chart.Styles(k), report.Floats(instances), func(i int) report.Estimate { return estimate(r, g.fig4.At(k, i)) },
			func(i int, e report.Estimate) []any { return []any{mb, instances[i], e} })
	}
	p.LevelX(40)
	r.Figure(*fig)
}
