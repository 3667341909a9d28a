package optiserve

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/baselines/variants/problems"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

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
		for _, m := range s.models {
			other, err := inFamily(m, family)
			if err != nil {
				return nil, err
			}
			byFamily[i] = append(byFamily[i], other)
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
