package eval

import (
	"slices"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// shown is a number as tables and figures show it: with its 95 % interval, or with its range over training seeds where
// these are too few for one.
type shown struct {
	table.Estimate
	few bool
}

// shown is the mean.
func (e *Estimate) shown(few bool) shown {
	if few {
		return shown{table.Estimate{At: float64(e.Mean), Low: float64(slices.Min(e.BySeed)),
			High: float64(slices.Max(e.BySeed))}, true}
	}
	return shown{table.Estimate{At: float64(e.Mean), Low: float64(e.MeanLo), High: float64(e.MeanHi)}, false}
}

// differs is the difference of a comparison, with the interval that decides its verdict: it holds for all rivals at once.
func (s *Summary) differs(c *Comparison) shown {
	return shown{table.Estimate{At: float64(c.Difference), Low: float64(c.SimultaneousLo), High: float64(c.SimultaneousHi)},
		false}
}

// improves is the probability of improvement of a comparison.
func (s *Summary) improves(c *Comparison) shown {
	if s.few(c.A) || s.few(c.B) {
		return shown{table.Estimate{At: float64(c.Improvement), Low: float64(c.ImprovementSeedsLo),
			High: float64(c.ImprovementSeedsHi)}, true}
	}
	return shown{table.Estimate{At: float64(c.Improvement), Low: float64(c.ImprovementLo),
		High: float64(c.ImprovementHi)}, false}
}

// of is the shown estimate of a policy by a metric.
func (s *Summary) of(p *PolicyResult, metric string) shown {
	e := p.Metrics[metric]
	return e.shown(s.few(p.Name))
}

func (x shown) aligned(f table.Format) string {
	if x.few {
		return f.AlignedRange(x.Estimate)
	}
	return f.Aligned(x.Estimate)
}

func (x shown) cell(f table.Format) string {
	if x.few {
		return f.CellRange(x.Estimate)
	}
	return f.Cell(x.Estimate)
}

// ends are the bounds alone, in the brackets of an interval or of a range.
func (x shown) ends(f table.Format) string {
	low, high := f.Number(x.Low), f.Number(x.High)
	if x.few {
		return "(" + low + " to " + high + ")"
	}
	return "[" + low + ", " + high + "]"
}

func (x shown) onAxis() chart.Range { return chart.Range{At: x.At, Low: x.Low, High: x.High} }

// kind says what the bounds are, for programs.
func (x shown) kind() string {
	if x.few {
		return "range over training seeds"
	}
	return "95 % interval"
}

// fields are the number and its bounds for programs.
func (x shown) fields() []string {
	return []string{table.Exact(x.At), table.Exact(x.Low), table.Exact(x.High)}
}
