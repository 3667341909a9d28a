package optiserve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
)

// Of the problems about tails: run times vary, requests come by themselves, and a percentile is bound.
const (
	tailCV   = 0.3  // coefficient of variation of a run's time
	tailRate = 0.02 // requests a second, in the mean
	tailOver = 3.0  // the bound over the least mean time
	tailHeld = 1000 // added to a seed for the draws on which a measured plan is found
)

// tails compares plans of the least cost that are to keep a 95th percentile.
type tails struct {
	apps  []string
	plans []string
	loads []tailLoad
	bound []float64 // by application
	// by application, load and plan
	told     *report.Cube[told]
	measured *report.Cube[variants.Measured]
}

// told is what the model says of a plan.
type told struct{ usd, p95 float64 }

// tailLoad is arrivals under which plans are measured.
type tailLoad struct {
	name string
	load variants.Load
}

// tailLoads returns Poisson arrivals and those of Azure's trace, scaled to the same mean: the embedded sample of 50 functions,
// or with --data the one of 100.
func tailLoads(o *suite.Options) ([]tailLoad, error) {
	poisson, err := variants.PoissonLoad(tailRate)
	if err != nil {
		return nil, err
	}
	trace := variants.DefaultLoad()
	trace.Workload.Mean = tailRate
	name := "Azure trace, 50 functions"
	if o.Data != "" {
		trace.Workload.Path, trace.Workload.Sample = filepath.Join(o.Data, "azure2019"), 100
		name = "Azure trace, 100 functions"
	}
	return []tailLoad{{"Poisson", poisson}, {name, trace}}, nil
}

// planners are the ways to a plan for a bound on the 95th percentile.
var planners = []string{"exact on means", "PRCP, corrected, on means", "exact on the model's p95", "exact on means, margin measured"}

// onTails plans for some applications and measures the plans.
func (s size) onTails(ctx context.Context, o *suite.Options) (*tails, error) {
	t := &tails{plans: planners}
	var models []*variants.Model
	for _, i := range s.tails {
		models = append(models, s.models[i])
	}
	var err error
	if t.loads, err = tailLoads(o); err != nil {
		return nil, err
	}
	n := len(models)
	t.bound = make([]float64, n)
	axes := []report.Axis{{Name: "application", Len: n}, {Name: "load", Len: len(t.loads)}, {Name: "plan", Len: len(planners)}}
	t.told, t.measured = report.NewCube[told](1, axes...), report.NewCube[variants.Measured](min(s.sweep, len(o.Seeds)), axes...)
	for _, m := range models {
		t.apps = append(t.apps, m.App.Name)
	}
	return t, o.Each(ctx, "tails", n, func(i int) error {
		m, err := remade(models[i], func(options []variants.Option, info variants.VariantInfo) variants.Variant {
			v := redrawn(options, info, families[0])
			v.CV = tailCV // run times vary
			return v
		})
		if err != nil {
			return err
		}
		return t.app(ctx, o, i, m)
	})
}

func (t *tails) app(ctx context.Context, o *suite.Options, i int, m *variants.Model) error {
	low, high := m.AccuracyRange()
	accuracy := (low + high) / 2
	by := &tracer{ctx: ctx, model: m}
	fastest := by.solve(variants.Problem{Objective: variants.Time, Accuracy: accuracy})
	p := variants.Problem{Objective: variants.Cost, Latency: tailOver * fastest.Seconds, Accuracy: accuracy}
	tail := p
	tail.Percentile = 95
	t.bound[i] = p.Latency
	exact, onP95 := by.solve(p), by.solve(tail)
	if by.err != nil {
		return by.err
	}
	heuristic, err := rules.PRCP(m, p, rules.Corrected())
	if err != nil && !errors.Is(err, rules.ErrMissed) {
		return err
	}
	for j := range t.loads {
		if err := t.under(ctx, o, i, j, m, tail, []variants.Plan{exact, heuristic, onP95}); err != nil {
			return fmt.Errorf("%s under %s: %w", m.App.Name, t.loads[j].name, err)
		}
	}
	return nil
}

// under measures plans of application i under load j, and the one that keeps the bound as measured on other draws.
func (t *tails) under(ctx context.Context, o *suite.Options, i, j int, m *variants.Model, tail variants.Problem,
	plans []variants.Plan) error {
	x, period, err := t.loads[j].load.Measurer(m)
	if err != nil {
		return err
	}
	period.Seed = o.Seeds[0] + tailHeld
	margin, _, err := x.Solve(ctx, tail, period)
	if err != nil {
		return err
	}
	for k, plan := range append(plans, margin) {
		d, err := m.Distribution(plan.Choice, workflow.Grid{})
		if err != nil {
			return err
		}
		t.told.At(i, j, k)[0] = told{plan.USD, d.Quantile(0.95)}
		measured := t.measured.At(i, j, k)
		for s := range measured {
			period.Seed = o.Seeds[s]
			if measured[s], err = x.Measure(plan.Choice, period); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tails) report(r *suite.Report) {
	out := report.Table{Name: "tails", Title: "Plans of the least cost that are to keep a 95th percentile",
		Note: fmt.Sprintf("The bound is %g times the least mean time; runs vary by %g; half of the accuracy's range. Measured: "+
			"arrivals of %g requests a second in the mean, as a Poisson process and as a day of Azure Functions' 2019 trace has them; cold starts "+
			"of the default platform, %d seeds. A mean model plans for the "+
			"mean; the last plan is the slowest on the exact front whose p95, measured on other draws of the load, keeps the bound.", tailOver,
			tailCV, tailRate, t.measured.Seeds()),
		Columns: report.Head("application", "load", "plan", "bound [s]", "cost [USD per million]", "p95 by the model [s]",
			"p95 measured [s]", "cold requests [%]", "cost measured [USD per million]")}
	for i, app := range t.apps {
		for j, load := range t.loads {
			for k, plan := range t.plans {
				of := func(value func(*variants.Measured) float64) report.Estimate {
					return scored(r, t.measured.Of(value, i, j, k))
				}
				model := t.told.At(i, j, k)[0]
				out.Rows = append(out.Rows, []any{app, load.name, plan, t.bound[i], model.usd, model.p95,
					of(func(m *variants.Measured) float64 { return m.P95.Value }),
					of(func(m *variants.Measured) float64 { return 100 * m.ColdRequests }),
					of(func(m *variants.Measured) float64 { return m.USD.Value })})
			}
		}
	}
	r.Table(out)
}
