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
	app, title, x, y, key string
	curves                []curve
}

type curve struct {
	name string
	x, y []float64
}

// points of a curve.
const points = 25

func tradeoffs(ctx context.Context, o *suite.Options, models []*variants.Model) (*fig56, error) {
	f := &fig56{panels: make([]panel, 3)}
	app3, app4, app6 := models[2], models[3], models[5]
	err := o.Each(ctx, "trade-offs", 4, func(i int) (err error) {
		switch i {
		case 0:
			f.panels[0], err = overBudget(ctx, app3)
		case 1:
			f.panels[1], err = overAccuracy(ctx, app4)
		case 2:
			f.panels[2], err = overLatency(ctx, app6)
		default:
			if f.app4, err = app4.Solve(ctx, variants.Problem{Objective: variants.Cost, Latency: app4Latency, Accuracy: 1}); err == nil {
				f.app6, err = app6.Solve(ctx, variants.Problem{Objective: variants.Time, Budget: app6USD, Accuracy: 1})
			}
		}
		return err
	})
	return f, err
}

// trace adds the curve of the best values over a bound from one value to another. The greatest accuracy has no value where
// nothing keeps the bounds.
func (p *panel) trace(ctx context.Context, m *variants.Model, name string, from, to float64, problem func(x float64) variants.Problem) error {
	c := curve{name: name}
	for i := range points {
		x := from + (to-from)*float64(i)/(points-1)
		q := problem(x)
		plan, err := m.Solve(ctx, q)
		if out := (*variants.Infeasible)(nil); q.Objective == variants.Accuracy && errors.As(err, &out) {
			continue
		} else if err != nil {
			return err
		}
		c.x, c.y = append(c.x, x), append(c.y, q.Value(plan.Outcome))
	}
	p.curves = append(p.curves, c)
	return nil
}

// overBudget is the least time over the budget, for several accuracies.
func overBudget(ctx context.Context, m *variants.Model) (panel, error) {
	p := panel{app: m.App.Name, title: m.App.Name + ": least time", x: "budget (USD per million)", y: "time (s)",
		key: "accuracy at least"}
	low, high := m.AccuracyRange()
	for _, share := range []float64{0, 0.5, 1} {
		accuracy := low + share*(high-low)
		cheapest, err := m.Solve(ctx, variants.Problem{Objective: variants.Cost, Accuracy: accuracy})
		if err != nil {
			return p, err
		}
		fastest, err := m.Solve(ctx, variants.Problem{Objective: variants.Time, Accuracy: accuracy})
		if err != nil {
			return p, err
		}
		err = p.trace(ctx, m, fmt.Sprintf("%s %.3g", p.key, accuracy), cheapest.USD, fastest.USD, func(budget float64) variants.Problem {
			return variants.Problem{Objective: variants.Time, Budget: budget, Accuracy: accuracy}
		})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// overAccuracy is the least cost over the accuracy, for several latencies.
func overAccuracy(ctx context.Context, m *variants.Model) (panel, error) {
	p := panel{app: m.App.Name, title: m.App.Name + ": least cost", x: "accuracy at least",
		y: "cost (USD per million)", key: "time at most"}
	low, high := m.AccuracyRange()
	fastest, err := m.Solve(ctx, variants.Problem{Objective: variants.Time, Accuracy: high})
	if err != nil {
		return p, err
	}
	for _, factor := range []float64{1.02, 1.5, 3} {
		latency := fastest.Seconds * factor
		err := p.trace(ctx, m, fmt.Sprintf("%s %.3g s", p.key, latency), low, high, func(accuracy float64) variants.Problem {
			return variants.Problem{Objective: variants.Cost, Latency: latency, Accuracy: accuracy}
		})
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// overLatency is the greatest accuracy over the latency, for several budgets.
func overLatency(ctx context.Context, m *variants.Model) (panel, error) {
	p := panel{app: m.App.Name, title: m.App.Name + ": greatest accuracy", x: "time at most (s)", y: "accuracy",
		key: "budget"}
	_, high := m.AccuracyRange()
	fastest, err := m.Solve(ctx, variants.Problem{Objective: variants.Time})
	if err != nil {
		return p, err
	}
	cheapest, err := m.Solve(ctx, variants.Problem{Objective: variants.Cost, Accuracy: high})
	if err != nil {
		return p, err
	}
	for _, factor := range []float64{0.7, 1.05, 2} {
		budget := cheapest.USD * factor
		err := p.trace(ctx, m, fmt.Sprintf("%s %.4g USD", p.key, budget), fastest.Seconds, cheapest.Seconds,
			func(latency float64) variants.Problem {
				return variants.Problem{Objective: variants.Accuracy, Latency: latency, Budget: budget}
			})
		if err != nil {
			return p, err
		}
	}
	return p, nil
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
