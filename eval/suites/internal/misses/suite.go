// Package misses is the suite misses: what deciders of workflows' steps cost at equal misses. Every rule and planner of
// [steps.ID], and each policy of the zoo that was trained there, plays the same requests at several settings of its
// quantile or of the price of a miss; costs are read at 1 and 5 % of late requests (package atmiss).
//
// Generated workflows are those kept for tests, from number [steps.FirstUnseen] on. The figures of StepConf's paper are
// suite stepconf.
package misses

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/atmiss"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Suite returns the suite misses. A workload seed draws generated workflows and their requests.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "misses",
		Doc:   "steps of workflows: what StepConf, its rivals, planners and learned policies cost at 1 and 5 % of late requests",
		Paper: "StepConf, IEEE TC; the comparison is this project's", Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct {
	worlds   []world
	factors  []float64 // SLOs over the fastest time
	each     int       // generated workflows of a seed
	requests int       // of a workflow and seed
}

// world is what requests are of.
type world struct {
	name  string
	chain bool
	env   steps.EnvConfig
}

// apps is how far the numbers of two requests of a generated workflow are apart.
const apps = 100_000

// generated are workflows of a shape that are kept for tests.
func generated(name, shape string, least, most int) world {
	c := steps.DefaultEnv()
	c.First, c.Apps, c.Shape, c.Steps = steps.FirstUnseen, apps, shape, []int{least, most}
	return world{name, shape == steps.ChainShape, c}
}

// preset is one of the paper's workflows.
func preset(name string) world {
	c := steps.DefaultEnv()
	c.Workflow = name
	return world{name, false, c}
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	s := size{
		worlds: []world{generated("chains of 8", steps.ChainShape, 8, 8), generated("graphs of 8 to 12", steps.DAGShape, 8, 12),
			preset("ml"), preset("vp"), preset("dag")},
		factors: []float64{1.2, 1.5, 2, 3}, each: 4, requests: 15,
	}
	if o.Quick {
		s.worlds, s.factors = s.worlds[:2], []float64{1.2, 2}
	}
	return play(ctx, &o, r, s)
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, s size) error {
	var said []string
	for _, w := range s.worlds {
		f := newFigures(w.name)
		for _, factor := range s.factors {
			res, notes, err := compare(ctx, o, s, w, factor)
			if err != nil {
				return fmt.Errorf("%s at %g: %w", w.name, factor, err)
			}
			for _, n := range notes {
				if !slices.Contains(said, n) {
					said = append(said, n)
					r.Note("%s", n)
				}
			}
			rows(r, w.name, factor, res)
			f.add(factor, res)
		}
		for _, part := range f {
			r.Figure(*part)
		}
	}
	r.Note("cost is the price of a request over that of a plan near the cheapest one that keeps the SLO at P90, which is made " +
		"before the first step")
	r.Note("intervals are of the bootstrap over workflows with their requests where workflows are generated, else over requests; "+
		"the same requests for all (%d of each workflow and seed)", s.requests)
	return nil
}

// compare plays all methods in a world under one limit.
func compare(ctx context.Context, o *suite.Options, s size, w world, factor float64) (*atmiss.Result, []string, error) {
	methods := planners(w.chain)
	trained, notes, err := learned(w.limited(factor))
	if err != nil {
		return nil, nil, err
	}
	methods = append(methods, trained...)
	res, err := s.atEqualMisses(ctx, o, w, factor, methods, reference, nil)
	return res, notes, err
}

// limited is a world's environment under a limit. The price of a miss is 1, which methods multiply.
func (w *world) limited(factor float64) steps.EnvConfig {
	c := w.env
	c.SLO, c.Miss = []float64{factor, factor}, []float64{1, 1}
	return c
}

// atEqualMisses plays methods in a world under a limit, and compares their costs with one's at levels of late requests.
func (s *size) atEqualMisses(ctx context.Context, o *suite.Options, w world, factor float64, methods []atmiss.Method, with string,
	levels []float64) (*atmiss.Result, error) {
	seeds, groups := s.requestsOf(o, w)
	curves, err := atmiss.Play(ctx, atmiss.Request{
		NewEnv: func() (envs.Env, error) { return steps.New(w.limited(factor), steps.Given{}) }, Methods: methods, Seeds: seeds,
		Cost: "excess", Plus: 1, Run: func(ctx context.Context, q eval.Request) (*eval.Played, error) {
			return o.Play(ctx, fmt.Sprintf("%s at %g", w.name, factor), q)
		},
	})
	if err != nil {
		return nil, err
	}
	return atmiss.Compare(curves, with, atmiss.Options{Groups: groups, Levels: levels})
}

// requestsOf are the environment's seeds of a world's requests, and the group of each: its workflow where there are several.
func (s *size) requestsOf(o *suite.Options, w world) (seeds []uint64, groups []int) {
	for _, seed := range o.Seeds {
		if w.env.Workflow == steps.AllGenerated || w.env.Workflow == steps.AllTPCH {
			for k := range uint64(s.each) {
				for n := range uint64(s.requests) {
					app := seed*uint64(s.each) + k
					seeds, groups = append(seeds, app+apps*n), append(groups, int(app))
				}
			}
			continue
		}
		for n := range uint64(s.each * s.requests) {
			seeds, groups = append(seeds, seed+apps*n), append(groups, len(groups))
		}
	}
	return seeds, groups
}

// reference is the method that the others are compared with.
const reference = "stepconf"

// quantiles and prices (of a miss, in units of a workflow's price) are the settings that methods play at.
var (
	quantiles = []float64{0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.94, 0.96, 0.975, 0.985, 0.995}
	few       = []float64{0.5, 0.7, 0.9, 0.95, 0.99} // of methods that are far off
	prices    = []float64{0.1, 0.3, 0.6, 1, 2, 4, 8, 16, 40, 100, 400}
	foreseen  = []float64{1, 1000} // hindsight can be late only where nothing is in time
)

// planners are the rules and planners that play; dp does on chains only.
func planners(chain bool) []atmiss.Method {
	byQuantile := func(name string, values []float64, config func(q float64) any) atmiss.Method {
		return atmiss.Baseline(name, name, "quantile", values, config)
	}
	byPrice := func(name string, values []float64, config func(miss float64) any) atmiss.Method {
		return atmiss.Baseline(name, name, "miss", values, config)
	}
	like := func(c rules.StepConfConfig) func(q float64) any {
		return func(q float64) any { c := c; c.Quantile = q; return &c }
	}
	all := []atmiss.Method{
		byQuantile("stepconf", quantiles, like(rules.DefaultStepConf())),
		byQuantile("stepconf-inter", few, like(rules.DefaultInter())),
		byQuantile("stepconf-intra", few, like(rules.DefaultIntra())),
		byQuantile("vanilla", few, func(q float64) any { c := rules.DefaultVanilla(); c.Quantile = q; return &c }),
		byQuantile("orion", few, func(q float64) any { c := rules.DefaultOrion(); c.Quantile = q; return &c }),
		byQuantile("cose", few, func(q float64) any { c := rules.DefaultCOSE(); c.Quantile = q; return &c }),
		byQuantile("steps-oracle", quantiles, func(q float64) any { return &rules.OracleConfig{Quantile: q} }),
		byQuantile("replan", quantiles, func(q float64) any { c := rules.DefaultReplan(); c.Quantile = q; return &c }),
		byPrice("steps-lookahead", prices, func(x float64) any { return &rules.LookaheadConfig{Miss: x} }),
	}
	if chain {
		all = append(all, byPrice("dp", prices, func(x float64) any { c := rules.DefaultDP(); c.Miss = x; return &c }))
	}
	return append(all, byPrice("hindsight", foreseen, func(x float64) any { return &rules.HindsightConfig{Miss: x} }))
}

// prefix is how the names of the zoo's policies begin that configure steps.
const prefix = "steps"

// learned are the zoo's policies for a world, and why others cannot play there.
func learned(c steps.EnvConfig) (all []atmiss.Method, why []string, err error) {
	zoo, err := eval.ShippedLike(prefix)
	for _, t := range zoo {
		m, reason := shown(t, c)
		if reason != "" {
			why = append(why, fmt.Sprintf("%s does not play: %s", t.Source, reason))
			continue
		}
		all = append(all, m)
	}
	return all, why, err
}

// shown is a policy as a method: the price of a miss that it is shown is what trades cost against misses.
func shown(t *eval.Trained, c steps.EnvConfig) (m atmiss.Method, why string) {
	own, ok := t.Experiment.Env.Config.(*steps.EnvConfig)
	if !ok {
		return m, "it was trained in " + t.Experiment.Env.Name
	}
	world := *own
	world.Workflow, world.First, world.Apps, world.Steps, world.Shape = c.Workflow, c.First, c.Apps, c.Steps, c.Shape
	world.SLO, world.Oracle, world.Platform = c.SLO, c.Oracle, c.Platform
	world.Requests, world.Rate = c.Requests, c.Rate // a policy of streams plays requests alone too
	newEnv := func(miss float64) (envs.Env, error) {
		w := world
		w.Miss = []float64{miss, miss}
		return catalog.Default().NewEnv(t.Experiment.Env.Name, &w, workload.Default())
	}
	return atmiss.Method{Name: t.Source, Setting: "miss", Values: prices, Make: func(miss float64) (eval.Contestant, error) {
		return t.Contestant(func() (envs.Env, error) { return newEnv(miss) }), nil
	}}, t.Misfit(func() (envs.Env, error) { return newEnv(1) })
}

// rows adds what was read from the curves.
func rows(r *suite.Report, world string, factor float64, res *atmiss.Result) {
	at := fmt.Sprintf("%s, SLO %g × the fastest", world, factor)
	for _, x := range res.Readings {
		level := fmt.Sprintf("%g %% missed", 100*x.Level)
		if !report.Finite(x.Cost.Point) {
			r.Row(suite.Row{Figure: at, Quantity: "cost of " + x.Method + " at " + level, Unit: "1",
				Note: "every setting is late more often"}.With(report.None()))
			continue
		}
		row := func(quantity, unit string, factor float64, i stats.Interval) {
			r.Row(suite.Row{Figure: at, Quantity: quantity, Unit: unit, Note: unread(x)}.With(
				report.Estimate{At: factor * i.Point, Low: factor * i.Low, High: factor * i.High}))
		}
		row("cost of "+x.Method+" at "+level, "1", 1, x.Cost)
		if x.Method != res.Reference && report.Finite(x.Below.Point) {
			row(x.Method+" below "+res.Reference+" at "+level, "%", 100, x.Below)
		}
	}
}

// unread says in how many resamples a cost could not be read.
func unread(x atmiss.Reading) string {
	if x.Unread < 0.025 {
		return ""
	}
	return fmt.Sprintf("in %.0f %% of the resamples one of the two is late more often at every setting", 100*x.Unread)
}

// paper are the methods of the paper, which have a figure of their own; StepConf and its Oracle are in both.
var paper = []string{"stepconf-inter", "stepconf-intra", "vanilla", "orion", "cose"}

// figures draws the curves of a world, a panel for each limit: the paper's methods in one, the planners in another.
type figures [2]*report.Figure

func newFigures(world string) *figures {
	f := &figures{}
	for i, what := range []string{"StepConf and its paper's rivals", "planners"} {
		f[i] = newFigure([]string{"paper-", "planners-"}[i]+world, ": "+what+", ", world, "fastest")
	}
	return f
}

// newFigure begins a figure of a world's curves, whose limits are factors on what is named.
func newFigure(name, of, world, limit string) *report.Figure {
	return report.NewFigure(strings.ToLower(strings.ReplaceAll(name, " ", "-")),
		"What each method costs and how many requests are late, at each of its settings: "+world,
		chart.Figure{Title: "Cost against late requests" + of + world,
			Under:   "a point for each setting, 95 % intervals; below and to the left is better",
			Columns: 2, Width: 4.2 * vg.Inch, Height: 3.2 * vg.Inch},
		"SLO [of the "+limit+"]", "method", "setting", "value", "missed [1]", "cost [1]")
}

// The figures show costs up to most; what is late more seldom than in a share of least stands there.
const (
	least = 1e-3
	most  = 2.0
)

// add adds a panel to both.
func (f *figures) add(factor float64, res *atmiss.Result) {
	for i, part := range f {
		panel(part, fmt.Sprintf("SLO %g × the fastest", factor), 0.5, factor, res, func(m string) bool {
			return m == reference || m == "steps-oracle" || slices.Contains(paper, m) == (i == 0)
		})
	}
}

// panel adds a limit's curves to a figure, those of the methods that it shows, up to a share of late requests.
func panel(f *report.Figure, title string, late, factor float64, res *atmiss.Result, shows func(method string) bool) {
	methods := lists.Distinct(lists.From(res.Outcomes, func(o atmiss.Outcome) string { return o.Method }))
	first := len(f.Chart.Panels) == 0
	p := f.Panel(title, "late requests (share)", "cost over the plan's")
	p.LogX()
	p.RangeX(least, late)
	for k, m := range methods {
		if !shows(m) {
			continue
		}
		if first {
			f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: m, Style: chart.Styles(k), Line: true, Dot: true})
		}
		draw(f, p, chart.Styles(k), factor, m, res)
	}
}

// draw draws a method's curve.
func draw(f *report.Figure, p *chart.Panel, s chart.Style, factor float64, method string, res *atmiss.Result) {
	var x []float64
	var y []report.Estimate
	for _, o := range res.Outcomes {
		if o.Method != method {
			continue
		}
		f.Rows = append(f.Rows, []any{factor, o.Method, o.Setting, o.Value, report.Of(o.Missed), report.Of(o.Cost)})
		if o.Cost.Point > most || o.Missed.Point > 0.6 { // far off; the data has it
			continue
		}
		e := report.Of(o.Cost)
		e.High = min(e.High, most)
		x, y = append(x, max(o.Missed.Point, least)), append(y, e)
	}
	report.Line(p, s, x, y)
	for k := range x {
		p.Cross(s, chart.Exactly(x[k]), chart.Exactly(y[k].At))
	}
}
