package optiserve

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/baselines/variants/problems"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// paperNear is the thesis' share of problems at 95 % of the ideal or more.
const paperNear = 89.64

// reference is the heuristic that the thesis' program evaluated: the best of the four strategies, with its defects.
const reference = 0

// fig55 are the scores of the heuristics.
type fig55 struct {
	apps       []string
	heuristics []problems.Heuristic
	// score by spread, heuristic, application and objective.
	score *report.Cube[problems.Score]
	// sized are the scores, tight bounds, of answers with the best sizes for their variants: by heuristic and application.
	sized *report.Cube[problems.Score]
}

// problems draws per problems of each application for each seed, with both spreads, and judges the heuristics.
func (s size) problems(ctx context.Context, o *suite.Options) (*fig55, error) {
	models := s.models
	f := &fig55{heuristics: problems.Heuristics()}
	for _, m := range models {
		f.apps = append(f.apps, m.App.Name)
	}
	objectives := variants.Objectives()
	heuristics, apps := report.Axis{Name: "heuristic", Len: len(f.heuristics)}, report.Axis{Name: "application", Len: len(models)}
	f.score = report.NewCube[problems.Score](len(o.Seeds), report.Axis{Name: "spread", Len: len(problems.Spreads())}, heuristics, apps,
		report.Axis{Name: "objective", Len: len(objectives)})
	f.sized = report.NewCube[problems.Score](len(o.Seeds), heuristics, apps)
	n := len(problems.Spreads()) * len(models) * len(o.Seeds)
	return f, o.Each(ctx, "judging heuristics", n, func(i int) error {
		spread, a, seed := i%2, i/2%len(models), i/2/len(models)
		cases, err := problems.Draw(ctx, models[a], problems.Spreads()[spread], s.per, o.Seeds[seed])
		if err != nil {
			return err
		}
		for h, heuristic := range f.heuristics {
			all, choices, err := problems.Answers(cases, heuristic)
			if err != nil {
				return err
			}
			if problems.Spreads()[spread] == problems.Tight {
				if f.sized.At(h, a)[seed], err = problems.Resized(ctx, cases, choices); err != nil {
					return err
				}
			}
			for k, objective := range objectives {
				f.score.At(spread, h, a, k)[seed] = all.Only(cases, objective)
			}
		}
		return nil
	})
}

// over sums the scores of a seed over applications and objectives; -1 is all of them.
func (f *fig55) over(spread, heuristic, app, objective, seed int) problems.Score {
	var out problems.Score
	for a := range f.apps {
		for k := range variants.Objectives() {
			if (app < 0 || a == app) && (objective < 0 || k == objective) {
				out.Add(f.score.At(spread, heuristic, a, k)[seed])
			}
		}
	}
	return out
}

// estimate is a quantity of the scores over the seeds.
func (f *fig55) estimate(r *suite.Report, spread, heuristic, app, objective int, of func(problems.Score) float64) report.Estimate {
	return scored(r, lists.Make(f.score.Seeds(), func(s int) float64 { return of(f.over(spread, heuristic, app, objective, s)) }))
}

func missed(s problems.Score) float64 { return 100 * float64(s.Missed) / float64(s.Cases) }

func (f *fig55) report(r *suite.Report) {
	p := paperNear
	for s, spread := range problems.Spreads() {
		for h, heuristic := range f.heuristics {
			row := suite.Row{Figure: "5.5", Quantity: fmt.Sprintf("near the ideal: %s, %s bounds", heuristic.Name, spread), Unit: "%"}
			if h == reference {
				row.Paper = &p
			}
			r.Row(row.With(f.estimate(r, s, h, -1, -1, problems.Score.Share)))
		}
		r.Row(suite.Row{Figure: "5.5", Quantity: fmt.Sprintf("the same, of answered problems: %s, %s bounds",
			f.heuristics[reference].Name, spread), Unit: "%", Paper: &p,
			Note: "the authors' program leaves out problems without a feasible answer"}.With(
			f.estimate(r, s, reference, -1, -1, problems.Score.Answered)))
	}
	for h, heuristic := range f.heuristics {
		near := lists.Make(f.sized.Seeds(), func(s int) float64 {
			var sum problems.Score
			for a := range f.apps {
				sum.Add(f.sized.At(h, a)[s])
			}
			return sum.Share()
		})
		r.Measured(suite.Row{Figure: "5.5", Quantity: fmt.Sprintf("its variants with the best sizes: %s, tight bounds", heuristic.Name),
			Unit: "%", Note: "what is missing to 100 % is lost by the choice of variants alone"}, [][]float64{near})
	}
	t := report.Table{Name: "fig55-near", Title: "Problems at 95 % of the ideal or more, by application",
		Note: "Missed: the search ended without a configuration that keeps the constraints, although there is one. Mean: of " +
			"ideal over answer (time, cost) or answer over ideal (accuracy), 0 where missed. The figure has each objective.",
		Columns: report.Head("bounds", "application", "heuristic", "near [%]", "missed [%]", "mean [%]")}
	for s, spread := range problems.Spreads() {
		for a, app := range f.apps {
			for h, heuristic := range f.heuristics {
				t.Rows = append(t.Rows, []any{string(spread), app, heuristic.Name, f.estimate(r, s, h, a, -1, problems.Score.Share),
					f.estimate(r, s, h, a, -1, missed), f.estimate(r, s, h, a, -1, problems.Score.Mean)})
			}
		}
	}
	r.Table(t)
	f.figure(r)
}

// figure draws the shares by application and objective; its data has the quartiles that the thesis draws as boxes.
func (f *fig55) figure(r *suite.Report) {
	fig := report.NewFigure("fig55", "Problems, drawn with tight bounds, in which an answer reaches 95 % of the ideal, "+
		"with 95 % intervals over seeds. The data has percentiles of the share of the ideal; 0 is no feasible answer.",
		chart.Figure{Title: "Answers at 95 % of the exact optimum or more", Columns: 3, Width: 7 * vg.Centimeter,
			Height: 5.5 * vg.Centimeter, Under: "tight bounds; intervals: 95 % over seeds"},
		"application", "objective", "heuristic", "near", "low", "high", "p5", "p25", "p50", "p75", "p95")
	shown := []int{reference, 3, 6, 7}
	for _, h := range shown {
		fig.Key(chart.Entry{Dot: true}, f.heuristics[h].Name)
	}
	for k, objective := range variants.Objectives() {
		p := fig.Panel(map[variants.Objective]string{variants.Time: "least time", variants.Cost: "least cost",
			variants.Accuracy: "greatest accuracy"}[objective], "application", "near the ideal (%)")
		for a, app := range f.apps {
			for i, h := range shown {
				var all []float64
				for _, s := range f.score.At(0, h, a, k) {
					all = append(all, s.Of...)
				}
				slices.Sort(all)
				e := f.estimate(r, 0, h, a, k, problems.Score.Share)
				row := []any{app, string(objective), f.heuristics[h].Name, e}
				for _, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
					row = append(row, all[min(len(all)-1, int(q*float64(len(all))))])
				}
				fig.Row(row...)
				p.Cross(chart.Styles(i), chart.Exactly(float64(a+1)+0.16*(float64(i)-1.5)), chart.Range(e))
			}
		}
		p.RangeY(0, 103)
		p.RangeX(0.5, float64(len(f.apps))+0.5)
		p.WholeX()
	}
	r.Figure(*fig)
}

// families are the laws that the weights are tried on. Each family has the same times at the smallest and the largest
// size.
var families = []string{"exponential", "gentle", "knee"}

// sweep are shares of near answers by family, normalised or not, and weight, over all applications.
type sweep struct {
	near  *report.Cube[float64]
	swept []float64
}

// weights judges BCR_max over the weight of eq. 4.7 and families of laws, on tight problems.
func (s size) weights(ctx context.Context, o *suite.Options) (*sweep, error) {
	seeds := min(s.sweep, len(o.Seeds))
	w := &sweep{swept: s.swept, near: report.NewCube[float64](seeds, report.Axis{Name: "family", Len: len(families)},
		report.Axis{Name: "terms", Len: 2}, report.Axis{Name: "weight", Len: len(s.swept)})}
	var byFamily [3][]*variants.Model
	for i, family := range families {
		var err error
		byFamily[i], err = lists.Try(s.models, func(m *variants.Model) (*variants.Model, error) { return inFamily(m, family) })
		if err != nil {
			return nil, err
		}
	}
	return w, o.Each(ctx, "varying the weight", len(families)*seeds, func(i int) error {
		f, seed := i%len(families), i/len(families)
		sums := map[[2]int]*problems.Score{}
		for _, m := range byFamily[f] {
			cases, err := problems.Draw(ctx, m, problems.Tight, s.per, o.Seeds[seed])
			if err != nil {
				return err
			}
			for n := range 2 {
				for k, weight := range w.swept {
					h := problems.Heuristic{Name: "BCR_max", Options: rules.Corrected()}
					h.Options.Strategy, h.Options.Weight, h.Options.Normalise = rules.Max, weight, n == 1
					score, err := problems.Judge(cases, h)
					if err != nil {
						return err
					}
					if sums[[2]int{n, k}] == nil {
						sums[[2]int{n, k}] = &problems.Score{}
					}
					sums[[2]int{n, k}].Add(score)
				}
			}
		}
		for at, score := range sums {
			w.near.At(f, at[0], at[1])[seed] = score.Share()
		}
		return nil
	})
}

// inFamily returns the model with laws of another family.
func inFamily(m *variants.Model, family string) (*variants.Model, error) {
	if family == families[0] {
		return m, nil
	}
	return remade(m, func(options []variants.Option, info variants.VariantInfo) variants.Variant {
		return redrawn(options, info, family)
	})
}

// remade returns the application with other variants.
func remade(m *variants.Model, variant func([]variants.Option, variants.VariantInfo) variants.Variant) (*variants.Model, error) {
	app := *m.App
	app.Functions = nil
	for f, name := range m.Flow.Functions() {
		fn := variants.Function{Name: name}
		for v, info := range m.Variants[f] {
			from, to := m.VariantOptions(f, v)
			fn.Variants = append(fn.Variants, variant(m.Options[f][from:to], info))
		}
		app.Functions = append(app.Functions, fn)
	}
	return app.Compile()
}

// redrawn is a variant of the same sizes and accuracy that takes as long at the smallest and the largest of them. The first
// family is that of the options.
func redrawn(options []variants.Option, info variants.VariantInfo, family string) variants.Variant {
	law := variants.Law{Form: memory.Table}
	first, last := options[0], options[len(options)-1]
	span := last.MB - first.MB
	shape := func(mb float64) float64 { return math.Exp(-1.5 * (mb - first.MB) / span) }
	if family == "knee" {
		// The code uses one core for every two that the largest size has, or the one that it can.
		knee := max(memory.SingleCore, last.MB/2)
		shape = func(mb float64) float64 { return 1 / min(mb, knee) }
	}
	for _, o := range options {
		if law.MB = append(law.MB, o.MB); family == families[0] {
			law.Seconds = append(law.Seconds, o.Seconds)
			continue
		}
		share := (shape(o.MB) - shape(last.MB)) / (shape(first.MB) - shape(last.MB))
		law.Seconds = append(law.Seconds, last.Seconds+float64(share*(first.Seconds-last.Seconds)))
	}
	v := variants.Variant{Name: info.Name, Law: law, CV: first.CV, Memory: variants.Sizes(law.MB...)}
	if info.Accuracy > 0 {
		v.Accuracy = &info.Accuracy
	}
	return v
}

func (w *sweep) report(r *suite.Report) {
	t := report.Table{Name: "weights-near", Title: "Problems at 95 % of the ideal or more over the weight of eq. 4.7",
		Note: fmt.Sprintf("BCR_max, corrected, tight bounds, all applications, %d seeds. The laws of each family take as long at "+
			"the smallest and at the largest size. As printed, w is in USD per million executions (least time) or "+
			"milliseconds (least cost).", w.near.Seeds()),
		Columns: report.Head("laws", "terms", "w", "near [%]")}
	fig := report.NewFigure("weights", "BCR_max over the weight of eq. 4.7: as printed, and with terms divided by their ranges.",
		chart.Figure{Title: "What the weight of eq. 4.7 does", Columns: 2, Width: 8 * vg.Centimeter, Height: 5.5 * vg.Centimeter,
			Under: "bands: 95 % interval over seeds"}, "laws", "terms", "w", "near", "low", "high")
	fig.Key(chart.Entry{Line: true}, families...)
	for n, terms := range []string{"as printed", "normalised"} {
		p := fig.Panel(terms, "w", "near the ideal (%)")
		p.LogX()
		for f, family := range families {
			fig.Band(p, chart.Styles(f), w.swept, func(k int) report.Estimate { return scored(r, w.near.At(f, n, k)) },
				func(k int, e report.Estimate) []any {
					row := []any{family, terms, w.swept[k], e}
					t.Rows = append(t.Rows, row)
					return row
				})
		}
		p.RangeY(0, 100)
	}
	r.Table(t)
	r.Figure(*fig)
}
