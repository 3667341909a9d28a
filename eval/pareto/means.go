package pareto

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
)

// Mean is what a family costs over several results, such as workflows or traces: the geometric mean of its price over
// that of the first family at equal violations.
type Mean struct {
	Family string        `json:"family"`
	Level  report.Number `json:"level"`
	// Ratio has Student's t interval over the results, on the logarithms; its ends are NaN where fewer than two count.
	Ratio Number `json:"ratio"`
	// Of the results that have the family, Counted enter Ratio; in Unreached the family violates more than the level at
	// every setting, in FirstUnreached the first family does. Of those counted, in Below all settings of one of the two
	// violate far less: its cheapest setting counts, but one that was not played may cost less.
	Counted        int `json:"counted"`
	Unreached      int `json:"unreached"`
	FirstUnreached int `json:"first_unreached"`
	Below          int `json:"below"`
	// Of those counted, the family costs more in Dearer and less in Cheaper by an interval that leaves 1 out.
	Dearer  int `json:"dearer"`
	Cheaper int `json:"cheaper"`
}

// Means are those of every family but the first and every level, in the order of the results; there are none where the
// results have other first families.
func Means(results []Named) []Mean {
	var out []Mean
	var logs [][]float64
	for _, r := range results {
		if r.Families()[0] != results[0].Families()[0] {
			return nil
		}
		price := map[report.Number]float64{} // of the first family
		for _, at := range r.Levels {
			if at.Family == r.Levels[0].Family {
				price[at.Level] = float64(at.Price.Mean)
				continue
			}
			k := slices.IndexFunc(out, func(m Mean) bool { return m.Family == at.Family && m.Level == at.Level })
			if k < 0 {
				k = len(out)
				out, logs = append(out, Mean{Family: at.Family, Level: at.Level}), append(logs, nil)
			}
			m := &out[k]
			switch {
			case math.IsNaN(float64(at.Price.Mean)):
				m.Unreached++
			case math.IsNaN(price[at.Level]):
				m.FirstUnreached++
			default:
				m.Counted++
				if at.RatioBelow {
					m.Below++
				}
				logs[k] = append(logs[k], math.Log(float64(at.Ratio.Mean)))
				if at.Ratio.Decided(1) && at.Ratio.Mean > 1 {
					m.Dearer++
				} else if at.Ratio.Decided(1) {
					m.Cheaper++
				}
			}
		}
	}
	for k := range out {
		iv := stats.MeanInterval(logs[k])
		number := func(x float64) report.Number { return report.Number(math.Exp(x)) }
		out[k].Ratio = Number{number(iv.Point), number(iv.Low), number(iv.High)}
	}
	return out
}

func meanRows(means []Mean) [][]string {
	rows := [][]string{{"family", "level", "ratio", "ratio_lo", "ratio_hi", "counted", "dearer", "cheaper", "unreached",
		"first_unreached", "below"}}
	for _, m := range means {
		rows = append(rows, report.Cells(m.Family, m.Level, m.Ratio.Mean, m.Ratio.Lo, m.Ratio.Hi, m.Counted, m.Dearer, m.Cheaper,
			m.Unreached, m.FirstUnreached, m.Below))
	}
	return rows
}

// MeansText is the means for a terminal.
func MeansText(results []Named) string {
	r, first := results[0], results[0].Families()[0]
	rows := [][]string{{"at most", "family", "mean ratio", "folders", "dearer", "cheaper", "not reached", "not by " + first, "no setting near"}}
	for _, m := range Means(results) {
		rows = append(rows, report.Cells(m.Level, m.Family, m.Ratio.Estimate().String(), m.Counted, m.Dearer, m.Cheaper, m.Unreached,
			m.FirstUnreached, m.Below))
	}
	if len(rows) == 1 {
		return "no mean ratios: the folders differ in the first family, or it is alone\n"
	}
	return fmt.Sprintf("%s over that of %s at equal %s: geometric mean over the folders in which both reach the level\n\n", r.Objective, first,
		r.Limit) + report.Columns(rows, false)
}
