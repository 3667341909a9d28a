package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/eval/stats"
)

// Number is a number that may be missing: JSON cannot write NaN or an infinity, so it becomes null.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if !Finite(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements [json.Unmarshaler]: null becomes NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Estimate is a value with its 95 % interval; Low and High are NaN where there is none.
type Estimate struct{ At, Low, High float64 }

// None is the estimate of nothing.
func None() Estimate { return Estimate{math.NaN(), math.NaN(), math.NaN()} }

// Point is a value without an interval.
func Point(x float64) Estimate { return Estimate{x, math.NaN(), math.NaN()} }

// Between is a value with the ends of its interval.
func Between(at, low, high Number) Estimate {
	return Estimate{float64(at), float64(low), float64(high)}
}

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

// Count writes a number of things, as in "1 arm" and "2 arms".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// List joins words with commas; without any it is what to say then.
func List(words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, ", ")
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

// Format writes the numbers of one table alike: in the same power of a thousand and with the same decimals.
type Format struct {
	power    int // of ten, a multiple of 3
	decimals int
	width    int // characters of the longest number, its sign included
	signed   bool
}

// Power is the power of ten to split off values: 0 unless the largest is below 0.001, or a million and more.
func Power(values []Estimate) int {
	most := largest(values)
	if most == 0 || most >= 1e-3 && most < 1e6 {
		return 0
	}
	return 3 * int(math.Floor(math.Log10(most)/3))
}

// largest is the largest magnitude among values and bounds that are finite.
func largest(values []Estimate) float64 {
	most := 0.0
	for _, v := range values {
		for _, x := range []float64{v.At, v.Low, v.High} {
			if Finite(x) {
				most = max(most, math.Abs(x))
			}
		}
	}
	return most
}

// Fit is how to write values so that each interval's width has two figures, and no number more than five. Signed writes
// a plus before positive numbers.
func Fit(values []Estimate, power int, signed bool) Format {
	f := Format{power: power, signed: signed}
	unit := math.Pow10(power)
	for _, v := range values {
		f.decimals = max(f.decimals, -Estimate{v.At / unit, 0, (v.High - v.Low) / unit}.place())
	}
	if most := largest(values) / unit; most > 0 {
		f.decimals = min(f.decimals, max(0, 4-int(math.Floor(math.Log10(most)))))
	}
	for _, v := range values {
		for _, x := range []float64{v.At, v.Low, v.High} {
			f.width = max(f.width, len(f.Number(x)))
		}
	}
	return f
}

// Number writes one number without padding.
func (f Format) Number(x float64) string {
	if !Finite(x) {
		return missing
	}
	format := "%.*f"
	if f.signed {
		format = "%+.*f"
	}
	return unsignedZero(fmt.Sprintf(format, f.decimals, x/math.Pow10(f.power)))
}

// Aligned writes a number and its interval, padded so that columns align; a range in place of an interval stands in round
// brackets: "0.12 (0.09 to 0.16)".
func (f Format) Aligned(v Estimate, ranged bool) string { return f.write(v, f.width, ranged) }

// Cell writes a number and its interval, or its range, without padding.
func (f Format) Cell(v Estimate, ranged bool) string { return f.write(v, 0, ranged) }

func (f Format) write(v Estimate, width int, ranged bool) string {
	padded := func(x float64) string { return fmt.Sprintf("%*s", width, f.Number(x)) }
	if !Finite(v.At) {
		return padded(v.At)
	}
	return padded(v.At) + " " + ends(padded(v.Low), padded(v.High), ranged)
}

// Ends are the bounds alone, in the brackets of an interval or of a range.
func (f Format) Ends(v Estimate, ranged bool) string {
	return ends(f.Number(v.Low), f.Number(v.High), ranged)
}

func ends(low, high string, ranged bool) string {
	if ranged {
		return "(" + low + " to " + high + ")"
	}
	return "[" + low + ", " + high + "]"
}

// Unit is the unit with the power of ten that was split off; the unit 1 is not written.
func (f Format) Unit(unit string) string {
	if unit == "1" {
		unit = ""
	}
	if f.power == 0 {
		return unit
	}
	power := []rune(fmt.Sprint(f.power))
	for i, r := range power {
		power[i] = superscript[r]
	}
	return strings.TrimSpace("10" + string(power) + " " + unit)
}

var superscript = map[rune]rune{
	'-': '⁻', '0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹',
}
