package suite

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/eval"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// place is the power of ten of the last digit worth writing: two figures of an interval's width, four of a value without one.
func (e Estimate) place() int {
	if w := e.Hi - e.Lo; w > 0 && finite(w) {
		return int(math.Floor(math.Log10(w))) - 1
	}
	if e.At == 0 || !finite(e.At) {
		return 0
	}
	return int(math.Floor(math.Log10(math.Abs(e.At)))) - 3
}

// String writes the value and its interval as "671,000 (660,000 to 682,000)", to two figures of the interval's width.
func (e Estimate) String() string {
	if !finite(e.At) {
		return "n/a"
	}
	at := e.place()
	if !finite(e.Lo) || !finite(e.Hi) {
		return rounded(e.At, at)
	}
	return fmt.Sprintf("%s (%s to %s)", rounded(e.At, at), rounded(e.Lo, at), rounded(e.Hi, at))
}

// rounded writes x to a power of ten, its thousands apart.
func rounded(x float64, place int) string {
	if !finite(x) {
		return "n/a"
	}
	if unit := math.Pow10(place); place > 0 {
		x = math.Round(x/unit) * unit
	}
	s := strconv.FormatFloat(x, 'f', max(0, -place), 64)
	if strings.Trim(s, "-0.") == "" { // no sign of zero
		s = strings.TrimPrefix(s, "-")
	}
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

// plain writes a number without an interval: four figures, whole numbers whole, no zeros behind the last figure.
func plain(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return rounded(x, 0)
	}
	s := rounded(x, Estimate{At: x, Lo: x, Hi: x}.place())
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func (r *Row) estimate() Estimate { return Estimate{float64(r.Ours), float64(r.Lo), float64(r.Hi)} }

func (r *Row) paper() string {
	if r.Paper == nil {
		return ""
	}
	return plain(*r.Paper)
}

func (r *Row) ratio() string {
	if !finite(float64(r.Ratio)) {
		return ""
	}
	return rounded(float64(r.Ratio), -2)
}

// probability writes a p value.
func probability(p eval.Number) string {
	switch x := float64(p); {
	case !finite(x):
		return "n/a"
	case x < 0.001:
		return "< 0.001"
	case x < 0.0995:
		return fmt.Sprintf("%.3f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// shown is a table's cell for people.
func shown(cell any) string {
	switch x := cell.(type) {
	case float64:
		if !finite(x) {
			return "n/a"
		}
		return plain(x)
	case int:
		return rounded(float64(x), 0)
	default:
		return fmt.Sprint(x)
	}
}

// fields are a table's cell for programs.
func fields(cell any) []string {
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	switch x := cell.(type) {
	case float64:
		return []string{number(x)}
	case Estimate:
		return []string{number(x.At), number(x.Lo), number(x.Hi)}
	default:
		return []string{fmt.Sprint(x)}
	}
}
