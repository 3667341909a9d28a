package suite

import (
	"math"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/table"
)

// Verdicts on a claim: it holds, it does not, it depends on something that the paper leaves open, or the data decide
// nothing.
const (
	Holds   = "holds"
	Fails   = "does not hold"
	Depends = "depends"
	Unknown = "not decided"
)

// Rule holds an estimate against the paper's number and says Holds, Fails or Unknown.
type Rule func(e table.Estimate) string

// Under holds where the whole interval is below x, and fails where it is above.
func Under(x float64) Rule {
	return func(e table.Estimate) string {
		switch {
		case e.High < x:
			return Holds
		case e.Low > x:
			return Fails
		}
		return Unknown
	}
}

// Over holds where the whole interval is above x, and fails where it is below.
func Over(x float64) Rule {
	return func(e table.Estimate) string {
		return Under(-x)(table.Estimate{At: -e.At, Low: -e.High, High: -e.Low})
	}
}

// Inside holds where the whole interval is between low and high, and fails where none of it is.
func Inside(low, high float64) Rule {
	return func(e table.Estimate) string { return All(Over(low)(e), Under(high)(e)) }
}

// Meets holds where the interval has something in common with low to high, bounds included, else it fails: for numbers
// that the paper calls "about" so much. A value without an interval is held against the range itself.
func Meets(low, high float64) Rule {
	return func(e table.Estimate) string {
		if math.IsNaN(e.Low) && math.IsNaN(e.High) {
			e.Low, e.High = e.At, e.At
		}
		switch {
		case math.IsNaN(e.At):
			return Unknown
		case e.Low > high || e.High < low:
			return Fails
		}
		return Holds
	}
}

// Near holds where the value is within a distance of x.
func Near(x, distance float64) Rule { return Meets(x-distance, x+distance) }

// Reaches holds where an effect is as large as x in the direction of x: it fails where the whole interval falls
// short, or is unknown, and is not decided where the interval includes zero.
func Reaches(x float64) Rule {
	return func(e table.Estimate) string {
		if x < 0 {
			return Reaches(-x)(table.Estimate{At: -e.At, Low: -e.High, High: -e.Low})
		}
		switch {
		case !(e.High >= x): // also for NaN
			return Fails
		case e.Low <= 0:
			return Unknown
		}
		return Holds
	}
}

// Of is what a comparison's verdict says of "a is better than b".
func Of(verdict string) string {
	switch verdict {
	case eval.Better:
		return Holds
	case eval.Worse:
		return Fails
	}
	return Unknown
}

// If holds where the condition does, else it fails.
func If(condition bool) string {
	if condition {
		return Holds
	}
	return Fails
}

// All is what holds of several things together: the worst of them. With none it holds.
func All(verdicts ...string) string {
	out := Holds
	rank := map[string]int{Holds: 0, Depends: 1, Unknown: 2, Fails: 3}
	for _, v := range verdicts {
		if rank[v] > rank[out] {
			out = v
		}
	}
	return out
}
