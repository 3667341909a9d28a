package optiserve

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// What the thesis says of Fig. 5.6: App4 with an accuracy of 1 within 40 s from about 1,420 USD a million executions, App6
// with an accuracy of 1 for 3,108 USD in no less than 30 s.
const (
	app4Latency, app4USD = 40.0, 1420.0
	app6USD, app6Seconds = 3108.0, 30.0
)

// fig56 are exact trade-offs.
type fig56 struct {
	panels     []panel
	app4, app6 variants.Plan // the answers to the thesis' two questions
}

// panel is one of the figure's: the best value of an objective over a bound, a curve for each value of another.
type panel struct {
	app, title, x, y string
	curves           []curve
}

type curve struct {
	name string
	x, y []float64
}

func (s size) tradeoffs(ctx context.Context, o *suite.Options) (*fig56, error) {
	f := &fig56{panels: make([]panel, 3)}
	app3, app4, app6 := s.models[2], s.models[3], s.models[5]
	err := o.Each(ctx, "trade-offs", 4, func(i int) error {
		t := &tracer{ctx: ctx, points: s.points}
		switch i {
		case 0:
			t.overBudget(app3)
		case 1:
			t.overAccuracy(app4)
		case 2:
			t.overLatency(app6)
		default:
			t.model = app4
			f.app4 = t.solve(variants.Problem{Objective: variants.Cost, Latency: app4Latency, Accuracy: 1})
			t.model = app6
			f.app6 = t.solve(variants.Problem{Objective: variants.Time, Budget: app6USD, Accuracy: 1})
			return t.err
		}
		f.panels[i] = t.panel
		return t.err
	})
	return f, err
}

// tracer works out a panel of an application. After an error nothing more is solved.
type tracer struct {
	ctx    context.Context
	points int
	model  *variants.Model
	panel
	err error
}

func (t *tracer) solve(p variants.Problem) (plan variants.Plan) {
	if t.err == nil {
		plan, t.err = t.model.Solve(t.ctx, p)
	}
	return plan
}

// begin begins the panel of an application.
func (t *tracer) begin(m *variants.Model, what, x, y string) {
	t.model, t.panel = m, panel{app: m.App.Name, title: m.App.Name + ": " + what, x: x, y: y}
}

// trace adds the curve of the best values over a bound from one value to another. The greatest accuracy has no value where
// nothing keeps the bounds.
func (t *tracer) trace(name string, from, to float64, problem func(x float64) variants.Problem) {
	c := curve{name: name}
	for i := 0; i < t.points && t.err == nil; i++ {
		x := from + (to-from)*float64(i)/float64(t.points-1)
		q := problem(x)
		plan := t.solve(q)
		if out := (*variants.Infeasible)(nil); q.Objective == variants.Accuracy && errors.As(t.err, &out) {
			t.err = nil
			continue
		}
		c.x, c.y = append(c.x, x), append(c.y, q.Value(plan.Outcome))
	}
	t.curves = append(t.curves, c)
}

// overBudget is the least time over the budget, for several accuracies.
func (t *tracer) overBudget(m *variants.Model) {
	t.begin(m, "least time", "budget (USD per million)", "time (s)")
	low, high := m.AccuracyRange()
	for _, share := range []float64{0, 0.5, 1} {
		accuracy := low + share*(high-low)
		cheapest := t.solve(variants.Problem{Objective: variants.Cost, Accuracy: accuracy})
		fastest := t.solve(variants.Problem{Objective: variants.Time, Accuracy: accuracy})
		t.trace(fmt.Sprintf("accuracy at least %.3g", accuracy), cheapest.USD, fastest.USD, func(budget float64) variants.Problem {
			return variants.Problem{Objective: variants.Time, Budget: budget, Accuracy: accuracy}
		})
	}
}

// overAccuracy is the least cost over the accuracy, for several latencies.
func (t *tracer) overAccuracy(m *variants.Model) {
	t.begin(m, "least cost", "accuracy at least", "cost (USD per million)")
	low, high := m.AccuracyRange()
	fastest := t.solve(variants.Problem{Objective: variants.Time, Accuracy: high})
	for _, factor := range []float64{1.02, 1.5, 3} {
		latency := fastest.Seconds * factor
		t.trace(fmt.Sprintf("time at most %.3g s", latency), low, high, func(accuracy float64) variants.Problem {
			return variants.Problem{Objective: variants.Cost, Latency: latency, Accuracy: accuracy}
		})
	}
}

// overLatency is the greatest accuracy over the latency, for several budgets.
func (t *tracer) overLatency(m *variants.Model) {
	t.begin(m, "greatest accuracy", "time at most (s)", "accuracy")
	_, high := m.AccuracyRange()
	fastest := t.solve(variants.Problem{Objective: variants.Time})
	cheapest := t.solve(variants.Problem{Objective: variants.Cost, Accuracy: high})
	for _, factor := range []float64{0.7, 1.05, 2} {
		budget := cheapest.USD * factor
		t.trace(fmt.Sprintf("budget %.4g USD", budget), fastest.Seconds, cheapest.Seconds, func(latency float64) variants.Problem {
			return variants.Problem{Objective: variants.Accuracy, Latency: latency, Budget: budget}
		})
	}
}

func (f *fig56) report(r *suite.Report) {
	usd, seconds := app4USD, app6Seconds
	note := "another application of the same number of functions: this project's laws and graph"
	r.Row(suite.Row{Figure: "5.6", Quantity: "App4: least cost with an accuracy of 1 within 40 s", Unit: "USD per million executions",
		Paper: &usd, Ours: eval.Number(f.app4.USD), Note: note})
	r.Row(suite.Row{Figure: "5.6", Quantity: "App6: least time with an accuracy of 1 for 3,108 USD per million executions", Unit: "s",
		Paper: &seconds, Ours: eval.Number(f.app6.Seconds), Note: note})
	fig := report.NewFigure("fig56", "Exact trade-offs: the least time over the budget, the least cost over the "+
		"accuracy, the greatest accuracy over the time.",
		chart.Figure{Title: "What-if: exact trade-offs of three applications", Columns: 3, Width: 7.5 * vg.Centimeter,
			Height: 6 * vg.Centimeter, Under: "USD per million executions"}, "application", "panel", "curve", "x", "y")
	for _, p := range f.panels {
		q := fig.Panel(p.title, p.x, p.y)
		for i, k := range p.curves {
			q.Line(chart.Styles(i), k.x, k.y, p.y == "accuracy")
			fig.Chart.Key = append(fig.Chart.Key, chart.Entry{Text: p.app + ", " + k.name, Style: chart.Styles(i), Line: true})
			for j := range k.x {
				fig.Row(p.app, p.title, k.name, k.x[j], k.y[j])
			}
		}
	}
	r.Figure(*fig)
}
