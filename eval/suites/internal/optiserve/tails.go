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
	// by application, load and plan; measured by seed too
	bound    []float64
	usd, p95 [][][]float64
	measured [][][][]variants.Measured
	seeds    int
}

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
	t := &tails{plans: planners, seeds: min(s.sweep, len(o.Seeds))}
	var models []*variants.Model
	for _, i := range s.tails {
		models = append(models, s.models[i])
	}
	var err error
	if t.loads, err = tailLoads(o); err != nil {
		return nil, err
	}
	n := len(models)
	t.bound, t.usd, t.p95 = make([]float64, n), make([][][]float64, n), make([][][]float64, n)
	t.measured = make([][][][]variants.Measured, n)
	for _, m := range models {
		t.apps = append(t.apps, m.App.Name)
	}
	return t, o.Each(ctx, "tails", n, func(i int) error {
		m, err := varying(models[i])
		if err != nil {
			return err
		}
		return t.app(ctx, o, i, m)
	})
}

// varying returns the application with run times that vary.
func varying(m *variants.Model) (*variants.Model, error) {
	app := *m.App
	app.Functions = nil
	for f, name := range m.Flow.Functions() {
		fn := variants.Function{Name: name}
		for v, info := range m.Variants[f] {
			from, to := m.VariantOptions(f, v)
			x := redrawn(m.Options[f][from:to], info, families[0])
			x.CV = tailCV
			fn.Variants = append(fn.Variants, x)
		}
		app.Functions = append(app.Functions, fn)
	}
	return app.Compile()
}

func (t *tails) app(ctx context.Context, o *suite.Options, i int, m *variants.Model) error {
	low, high := m.AccuracyRange()
	accuracy := (low + high) / 2
	fastest, err := m.Solve(ctx, variants.Problem{Objective: variants.Time, Accuracy: accuracy})
	if err != nil {
		return err
	}
	p := variants.Problem{Objective: variants.Cost, Latency: tailOver * fastest.Seconds, Accuracy: accuracy}
	tail := p
	tail.Percentile = 95
	t.bound[i] = p.Latency
	exact, err := m.Solve(ctx, p)
	if err != nil {
		return err
	}
	heuristic, err := rules.PRCP(m, p, rules.Corrected())
	if err != nil && !errors.Is(err, rules.ErrMissed) {
		return err
	}
	onP95, err := m.Solve(ctx, tail)
	if err != nil {
		return err
	}
	t.usd[i], t.p95[i] = make([][]float64, len(t.loads)), make([][]float64, len(t.loads))
	t.measured[i] = make([][][]variants.Measured, len(t.loads))
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
	for _, plan := range append(plans, margin) {
		d, err := m.Distribution(plan.Choice, workflow.Grid{})
		if err != nil {
			return err
		}
		t.usd[i][j], t.p95[i][j] = append(t.usd[i][j], plan.USD), append(t.p95[i][j], d.Quantile(0.95))
		var bySeed []variants.Measured
		for _, seed := range o.Seeds[:t.seeds] {
			period.Seed = seed
			measured, err := x.Measure(plan.Choice, period)
			if err != nil {
				return err
			}
			bySeed = append(bySeed, measured)
		}
		t.measured[i][j] = append(t.measured[i][j], bySeed)
	}
	return nil
}

func (t *tails) report(r *suite.Report) {
	out := report.Table{Name: "tails", Title: "Plans of the least cost that are to keep a 95th percentile",
		Note: fmt.Sprintf("The bound is %g times the least mean time; runs vary by %g; half of the accuracy's range. Measured: "+
			"arrivals of %g requests a second in the mean, as a Poisson process and as a day of Azure Functions' 2019 trace has them; cold starts "+
			"of the default platform, %d seeds. A mean model plans for the "+
			"mean; the last plan is the slowest on the exact front whose p95, measured on other draws of the load, keeps the bound.", tailOver,
			tailCV, tailRate, t.seeds),
		Columns: report.Head("application", "load", "plan", "bound [s]", "cost [USD per million]", "p95 by the model [s]",
			"p95 measured [s]", "cold requests [%]", "cost measured [USD per million]")}
	for i, app := range t.apps {
		for j, load := range t.loads {
			for k, plan := range t.plans {
				of := func(value func(variants.Measured) float64) report.Estimate {
					return scored(r, report.Each(t.seeds, func(s int) float64 { return value(t.measured[i][j][k][s]) }))
				}
				out.Rows = append(out.Rows, []any{app, load.name, plan, t.bound[i], t.usd[i][j][k], t.p95[i][j][k],
					of(func(m variants.Measured) float64 { return m.P95.Value }),
					of(func(m variants.Measured) float64 { return 100 * m.ColdRequests }),
					of(func(m variants.Measured) float64 { return m.USD.Value })})
			}
		}
	}
	r.Table(out)
}
