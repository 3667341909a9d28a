package eval

import (
	"fmt"
	"math"
	"strings"
)

// scaled writes numbers of one kind alike: in the same power of a thousand and with the same decimals.
type scaled struct {
	power    int // of ten, a multiple of 3
	decimals int
	width    int // characters of the longest, sign included
	signed   bool
}

// spread is a number with its interval.
type spread struct{ at, lo, hi float64 }

// powerOf is the power of a thousand to split off: 0 unless the largest value is below 0.001, or a million and more.
func powerOf(values []spread) int {
	most := largest(values)
	if most == 0 || most >= 1e-3 && most < 1e6 {
		return 0
	}
	return 3 * int(math.Floor(math.Log10(most)/3))
}

func largest(values []spread) float64 {
	most := 0.0
	for _, v := range values {
		for _, x := range []float64{v.at, v.lo, v.hi} {
			if finite(x) {
				most = max(most, math.Abs(x))
			}
		}
	}
	return most
}

// fitted returns how to write values so that each interval's width has two figures, and nothing more than five.
func fitted(values []spread, power int, signed bool) scaled {
	f := scaled{power: power, signed: signed}
	unit := math.Pow10(power)
	for _, v := range values {
		f.decimals = max(f.decimals, digits(v.at/unit, (v.hi-v.lo)/unit))
	}
	if most := largest(values) / unit; most > 0 {
		f.decimals = min(f.decimals, max(0, 4-int(math.Floor(math.Log10(most)))))
	}
	for _, v := range values {
		for _, x := range []float64{v.at, v.lo, v.hi} {
			f.width = max(f.width, len(f.bare(x)))
		}
	}
	return f
}

// digits is the number of decimals that shows an interval's width to two figures, and a value without one to four.
func digits(x, width float64) int {
	if !(width > 0) || !finite(width) {
		if x == 0 || !finite(x) {
			return 0
		}
		return max(3-int(math.Floor(math.Log10(math.Abs(x)))), 0)
	}
	return max(1-int(math.Floor(math.Log10(width))), 0)
}

// bare writes one number without padding.
func (f scaled) bare(x float64) string {
	if !finite(x) {
		return "n/a"
	}
	x /= math.Pow10(f.power)
	format := "%.*f"
	if f.signed {
		format = "%+.*f"
	}
	s := fmt.Sprintf(format, f.decimals, x)
	if strings.Trim(s, "+-0.") == "" { // no sign of zero
		s = strings.TrimLeft(s, "+-")
	}
	return s
}

func (f scaled) padded(x float64) string { return fmt.Sprintf("%*s", f.width, f.bare(x)) }

// row writes a number and its interval, padded so that columns align.
func (f scaled) row(v spread) string {
	if !finite(v.at) {
		return fmt.Sprintf("%*s", f.width, "n/a")
	}
	return fmt.Sprintf("%s [%s, %s]", f.padded(v.at), f.padded(v.lo), f.padded(v.hi))
}

// cell writes the same without padding.
func (f scaled) cell(v spread) string {
	if !finite(v.at) {
		return "n/a"
	}
	return fmt.Sprintf("%s [%s, %s]", f.bare(v.at), f.bare(v.lo), f.bare(v.hi))
}

// unit is the unit with the power of ten that was split off.
func (f scaled) unit(unit string) string {
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

var superscript = map[rune]rune{'-': '⁻', '0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹'}

// probability writes a p value.
func probability(p Number) string {
	switch x := float64(p); {
	case !finite(x):
		return "n/a"
	case x < 0.001:
		return "<0.001"
	case x < 0.0995:
		return fmt.Sprintf("%.3f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// share writes a probability of improvement.
func share(p Number) string {
	if !finite(float64(p)) {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", float64(p))
}
