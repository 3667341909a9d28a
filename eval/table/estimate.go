package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/eval/stats"
)

// Estimate is a value with its 95 % interval; Low and High are NaN where there is none.
type Estimate struct{ At, Low, High float64 }

// None is the estimate of nothing.
func None() Estimate { return Estimate{math.NaN(), math.NaN(), math.NaN()} }

// Point is a value without an interval.
func Point(x float64) Estimate { return Estimate{x, math.NaN(), math.NaN()} }

// Of is a statistic's interval as an estimate.
func Of(i stats.Interval) Estimate { return Estimate{i.Point, i.Low, i.High} }

// Finite reports whether all of the numbers are finite.
func Finite(x ...float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// place is the power of ten of the last digit worth writing: two figures of the interval's width, four of a value
// without one.
func (e Estimate) place() int {
	if w := e.High - e.Low; w > 0 && Finite(w) {
		return int(math.Floor(math.Log10(w))) - 1
	}
	if e.At == 0 || !Finite(e.At) {
		return 0
	}
	return int(math.Floor(math.Log10(math.Abs(e.At)))) - 3
}

// String writes the value and its interval, as "671,000 (660,000 to 682,000)".
func (e Estimate) String() string {
	if !Finite(e.At) {
		return missing
	}
	at := e.place()
	if !Finite(e.Low, e.High) {
		return Round(e.At, at)
	}
	return fmt.Sprintf("%s (%s to %s)", Round(e.At, at), Round(e.Low, at), Round(e.High, at))
}

// missing is written in place of a number that is not finite.
const missing = "n/a"

// Round writes x rounded to a power of ten, with a comma between thousands and a true minus sign.
func Round(x float64, place int) string {
	if !Finite(x) {
		return missing
	}
	if unit := math.Pow10(place); place > 0 {
		x = math.Round(x/unit) * unit
	}
	s := unsignedZero(strconv.FormatFloat(x, 'f', max(0, -place), 64))
	whole, rest, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return sign + whole
}

// unsignedZero takes the sign from a zero.
func unsignedZero(s string) string {
	if strings.Trim(s, "+-0.") == "" {
		return strings.TrimLeft(s, "+-")
	}
	return s
}

// Plain writes a number without an interval: four figures, whole numbers whole, no zeros at the end.
func Plain(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return Round(x, 0)
	}
	s := Round(x, Estimate{x, x, x}.place())
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Exact writes a number for programs: all of its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// PValue writes a p value: three decimals below 0.1, two above.
func PValue(p float64) string {
	switch {
	case !Finite(p):
		return missing
	case p < 0.001:
		return "<0.001"
	case p < 0.0995:
		return fmt.Sprintf("%.3f", p)
	default:
		return fmt.Sprintf("%.2f", p)
	}
}

// Probability writes a probability with two decimals.
func Probability(p float64) string {
	if !Finite(p) {
		return missing
	}
	return fmt.Sprintf("%.2f", p)
}
