package table

import (
	"fmt"
	"math"
	"strings"
)

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

// Aligned writes a number and its interval, padded so that columns align.
func (f Format) Aligned(v Estimate) string {
	padded := func(x float64) string { return fmt.Sprintf("%*s", f.width, f.Number(x)) }
	if !Finite(v.At) {
		return padded(v.At)
	}
	return fmt.Sprintf("%s [%s, %s]", padded(v.At), padded(v.Low), padded(v.High))
}

// Cell writes a number and its interval without padding.
func (f Format) Cell(v Estimate) string {
	if !Finite(v.At) {
		return missing
	}
	return fmt.Sprintf("%s [%s, %s]", f.Number(v.At), f.Number(v.Low), f.Number(v.High))
}

// AlignedRange is Aligned for a range in place of an interval: "0.12 (0.09 to 0.16)".
func (f Format) AlignedRange(v Estimate) string {
	padded := func(x float64) string { return fmt.Sprintf("%*s", f.width, f.Number(x)) }
	if !Finite(v.At) {
		return padded(v.At)
	}
	return fmt.Sprintf("%s (%s to %s)", padded(v.At), padded(v.Low), padded(v.High))
}

// CellRange is Cell for a range in place of an interval.
func (f Format) CellRange(v Estimate) string {
	if !Finite(v.At) {
		return missing
	}
	return fmt.Sprintf("%s (%s to %s)", f.Number(v.At), f.Number(v.Low), f.Number(v.High))
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
