package stepconf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// decider is a way to decide.
type decider struct {
	name string
	new  func() (steps.Decider, error)
}

// fixed are the numbers of instances of what does not choose them: the paper does not say how many there are. Rows and
// claims are of the first.
var fixed = []int{16, 8, 4}

// everyone has all deciders of the paper: StepConf first, then those that do not choose the instances, for each number.
func everyone() []decider {
	all := []decider{
		{"StepConf", func() (steps.Decider, error) { return rules.NewStepConf(rules.DefaultStepConf()) }},
		{"StepConf-Inter", func() (steps.Decider, error) { return rules.NewStepConf(rules.DefaultInter()) }},
		{"Oracle", func() (steps.Decider, error) { return rules.NewOracle(rules.DefaultOracle()) }},
		{"replan", func() (steps.Decider, error) { return rules.NewReplan(rules.DefaultReplan()) }},
	}
	for _, p := range fixed {
		all = append(all,
			decider{named("Vanilla", p), func() (steps.Decider, error) {
				c := rules.DefaultVanilla()
				c.Instances = p
				return rules.NewVanilla(c)
			}},
			decider{named("Orion", p), func() (steps.Decider, error) { c := rules.DefaultOrion(); c.Instances = p; return rules.NewOrion(c) }},
			decider{named("COSE", p), func() (steps.Decider, error) { c := rules.DefaultCOSE(); c.Instances = p; return rules.NewCOSE(c) }},
			decider{named("StepConf-Intra", p), func() (steps.Decider, error) { c := rules.DefaultIntra(); c.Instances = p; return rules.NewStepConf(c) }})
	}
	return all
}

// named is a decider's name with its number of instances.
func named(name string, instances int) string { return fmt.Sprintf("%s, p = %d", name, instances) }

// find is the place of a decider in everyone.
func find(all []decider, name string) int {
	return slices.IndexFunc(all, func(d decider) bool { return d.name == name })
}

// workflows are the paper's three.
var workflows = []string{"ml", "vp", "dag"}

// world is a workflow on a platform.
type world struct{ workflow, platform string }

func (x world) String() string { return x.workflow + " on " + x.platform }

// worlds are where requests are played. On the paper's cluster the instances of steps that run together share 96 cores,
// which predictions know nothing of: they are for one step alone. On AWS there is room for all.
var worlds = []world{{"ml", steps.AWS}, {"vp", steps.AWS}, {"dag", steps.AWS}, {"ml", steps.Knative},
	{"vp", steps.Knative}, {"dag", steps.Knative}}

// Limits are factors on the fastest time of a workflow. The paper shows four for each workflow and does not say how tight
// they are: four holds ours, which are part of the sweep that gives the curves.
var (
	factors = []float64{1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4, 6, 8}
	four    = []float64{1.2, 1.5, 2, 3}
)

// sweep has requests under every limit, decided by everyone. All face the same draws.
type sweep struct {
	worlds   []world
	models   []*steps.Model
	deciders []decider
	requests int // of each seed
	seeds    int
	// all by workflow, decider and factor.
	all *report.Cube[summary]
}

// summary is what some requests came to.
type summary struct {
	seconds, usd float64   // means
	missed       float64   // share later than the limit
	over         []float64 // each request's time over the limit
	// Shares of the time on the critical path.
	mapping, transfer float64
	decisions         float64 // on the critical path
	cold              float64 // instances
}

func (n size) play(ctx context.Context, o *suite.Options) (*sweep, error) {
	w := &sweep{worlds: n.worlds, deciders: everyone(), requests: n.requests, seeds: len(o.Seeds)}
	var err error
	w.models, err = lists.Try(w.worlds, func(x world) (*steps.Model, error) { return preset(x.workflow, x.platform) })
	if err != nil {
		return nil, err
	}
	w.all = report.NewCube[summary](w.seeds, report.Axis{Name: "workflow", Len: len(w.models)},
		report.Axis{Name: "decider", Len: len(w.deciders)}, report.Axis{Name: "limit", Len: len(factors)})
	// A part is a decider on a workflow: what it works out for the workflow serves all limits.
	return w, o.Each(ctx, "requests", len(w.models)*len(w.deciders), func(i int) error {
		workflow, decider := i/len(w.deciders), i%len(w.deciders)
		d, err := w.deciders[decider].new()
		if err != nil {
			return err
		}
		var p steps.Player
		for f, factor := range factors {
			for s, seed := range o.Seeds {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				w.all.At(workflow, decider, f)[s] = requestsOf(&p, w.models[workflow], d, factor,
					rng.New(seed, "stepconf/requests").With(uint64(slices.Index(workflows, w.worlds[workflow].workflow))), n.requests)
			}
		}
		return nil
	})
}

// preset compiles one of the paper's workflows for a platform.
func preset(name, platform string) (*steps.Model, error) {
	app, err := steps.Preset(name)
	if err != nil {
		return nil, err
	}
	app.Platform = platform
	return app.Compile()
}

// requestsOf plays some requests under a limit.
func requestsOf(p *steps.Player, m *steps.Model, d steps.Decider, factor float64, key rng.Key, n int) (out summary) {
	limit := factor * m.Fastest
	for i := range n {
		r := p.Play(m, d, key.With(uint64(i)), limit, 0)
		out.seconds += r.Seconds / float64(n)
		out.usd += r.USD / float64(n)
		if r.Seconds > limit {
			out.missed++
		}
		out.over = append(out.over, r.Seconds/limit)
		out.mapping += r.Mapping / r.Seconds / float64(n)
		out.transfer += r.Transfer / r.Seconds / float64(n)
		out.decisions += float64(r.Decisions) / float64(n)
		out.cold += float64(r.Cold) / float64(n)
	}
	out.missed /= float64(n)
	return out
}

// by has a quantity by seed, of a workflow, decider and factor.
func (w *sweep) by(workflow, decider, factor int, of func(*summary) float64) []float64 {
	return w.all.Of(of, workflow, decider, factor)
}

// place is a factor's index.
func place(factor float64) int { return slices.Index(factors, factor) }

// estimate is a quantity over seeds.
func (w *sweep) estimate(r *suite.Report, workflow, decider, factor int, of func(*summary) float64) report.Estimate {
	return estimate(r, w.by(workflow, decider, factor, of))
}

// table has everything that was played.
func (w *sweep) table(r *suite.Report) report.Table {
	t := report.Table{Name: "requests", Title: "Every decider under every limit",
		Note: fmt.Sprintf("%d requests of each seed; limits are factors on the fastest time of the workflow, %s.", w.requests,
			w.fastest()),
		Columns: report.Head("workflow", "limit / fastest", "decider", "time [s]", "cost [USD per thousand]", "missed [%]",
			"mapping [% of time]", "cold instances")}
	for k := range w.models {
		for f, factor := range factors {
			for d, who := range w.deciders {
				of := func(q func(*summary) float64) report.Estimate { return w.estimate(r, k, d, f, q) }
				t.Rows = append(t.Rows, []any{w.worlds[k].String(), factor, who.name, of(seconds), of(usdPer1000), of(missed), of(mapping),
					of(func(x *summary) float64 { return x.cold })})
			}
		}
	}
	return t
}

func (w *sweep) fastest() string {
	var parts []string
	for k, m := range w.models {
		parts = append(parts, fmt.Sprintf("%s %.3g s", w.worlds[k].String(), m.Fastest))
	}
	return strings.Join(parts, ", ")
}

func seconds(s *summary) float64    { return s.seconds }
func usdPer1000(s *summary) float64 { return 1000 * s.usd }
func missed(s *summary) float64     { return 100 * s.missed }
func mapping(s *summary) float64    { return 100 * s.mapping }

// estimate is the interquartile mean of one value for each seed, with its interval: the value itself where all are equal.
func estimate(r *suite.Report, bySeed []float64) report.Estimate {
	if x := bySeed[0]; slices.Min(bySeed) == slices.Max(bySeed) {
		return report.Estimate{At: x, Low: x, High: x}
	}
	return r.Estimate([][]float64{bySeed})
}

// measured adds a row with the estimate of one value for each seed.
func measured(r *suite.Report, row suite.Row, bySeed []float64) {
	r.Row(row.With(estimate(r, bySeed)))
}
