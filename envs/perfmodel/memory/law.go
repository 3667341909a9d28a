// Package memory has laws of a function's execution time over its memory size, and fits them to measurements.
//
// On platforms that give CPU in proportion to memory, the memory size is what a configuration chooses. A [Law] gives
// the mean execution time in seconds for a size in MB. The forms are OptiServe's exponential (its eq. 3.1), StepConf's
// two cases (its eq. 1), the inverse with a knee, and the measured table itself. [Fit] fits one form by least squares
// of relative errors, or of plain ones as the papers do; [Choose] fits all and takes the one that predicts left-out
// sizes best, and reports every one. [Read] reads measurements from a CSV file, [Parrotfish] chooses which sizes to
// measure.
//
// What a run costs is in package bill, the distribution of delays in package quantile. Sizing's laws over CPU limits,
// with requests that share an instance, are in package perfmodel.
package memory

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Law is the mean execution time of a function over its memory size.
type Law interface {
	// Seconds returns the mean execution time with mb megabytes of memory.
	Seconds(mb float64) float64
	// Form returns the form of the law.
	Form() Form
	// String writes the law with its numbers.
	fmt.Stringer
}

// Form names a family of laws.
type Form string

// The forms.
const (
	// Exponential is A + B·exp(-C·m): OptiServe, eq. 3.1.
	Exponential Form = "exponential"
	// Knee is A + B/min(m, K): proportional to the CPU up to the size K that gives the last core that the code uses.
	Knee Form = "knee"
	// Single is A + B/(min(m/M, Q) + C): StepConf, eq. 1, case 2, for code of one core.
	Single Form = "single"
	// Multi is A + B·exp(-C·min(m/M, Q)): StepConf, eq. 1, case 1, for code of several cores.
	Multi Form = "multi"
	// Table is the measured means, with straight lines in log time over log size between them.
	Table Form = "table"
)

// Forms returns all forms.
func Forms() []Form { return []Form{Exponential, Knee, Single, Multi, Table} }

// SingleCore is the memory size in MB with which AWS Lambda gives one whole core.
const SingleCore = 1769

// Exp is the law of form [Exponential].
type Exp struct {
	A float64 `json:"a"` // seconds, ≥ 0
	B float64 `json:"b"` // seconds, ≥ 0
	C float64 `json:"c"` // per MB, > 0
}

// Seconds implements [Law].
func (l Exp) Seconds(mb float64) float64 { return l.A + float64(l.B*math.Exp(-l.C*mb)) }

// Form implements [Law].
func (Exp) Form() Form { return Exponential }

// String implements [Law].
func (l Exp) String() string {
	return fmt.Sprintf("%.4g s + %.4g s · exp(-%.4g · MB)", l.A, l.B, l.C)
}

// Inverse is the law of form [Knee].
type Inverse struct {
	A float64 `json:"a"` // seconds, ≥ 0
	B float64 `json:"b"` // MB·seconds, ≥ 0
	K float64 `json:"k"` // MB: more memory changes nothing
}

// Seconds implements [Law].
func (l Inverse) Seconds(mb float64) float64 { return l.A + l.B/min(mb, l.K) }

// Form implements [Law].
func (Inverse) Form() Form { return Knee }

// String implements [Law].
func (l Inverse) String() string {
	return fmt.Sprintf("%.4g s + %.4g MB·s / min(MB, %.4g)", l.A, l.B, l.K)
}

// Step is StepConf's law, eq. 1, for one number of jobs in an instance: of form [Single] or [Multi]. The paper's
// a·γ + b in case 1 and a·γ/δ in case 2 are B here: jobs in an instance scale B. The coefficients of the two cases have
// names of their own; the paper writes a_{i,2} in both.
type Step struct {
	Case Form    `json:"case"`
	A    float64 `json:"a"` // seconds, ≥ 0 (φ)
	B    float64 `json:"b"` // seconds, ≥ 0
	C    float64 `json:"c"` // a_{i,2} of case 1, > 0; b_{i,2}/δ of case 2, ≥ 0
	M    float64 `json:"m"` // MB with which an instance has one whole core (m_s)
	Q    float64 `json:"q"` // cores that the code can use (q)
}

// Seconds implements [Law].
func (l Step) Seconds(mb float64) float64 {
	x := min(mb/l.M, l.Q)
	if l.Case == Multi {
		return l.A + float64(l.B*math.Exp(-l.C*x))
	}
	return l.A + l.B/(x+l.C)
}

// Form implements [Law].
func (l Step) Form() Form { return l.Case }

// String implements [Law].
func (l Step) String() string {
	x := fmt.Sprintf("min(MB/%.4g, %.4g)", l.M, l.Q)
	if l.Case == Multi {
		return fmt.Sprintf("%.4g s + %.4g s · exp(-%.4g · %s)", l.A, l.B, l.C, x)
	}
	return fmt.Sprintf("%.4g s + %.4g s / (%s + %.4g)", l.A, l.B, x, l.C)
}

// Measured is the law of form [Table]: sizes ascending, and the mean at each. Beyond the sizes the ends hold.
type Measured struct {
	MB   []float64 `json:"mb"`
	Mean []float64 `json:"seconds"`
}

// Seconds implements [Law].
func (l Measured) Seconds(mb float64) float64 {
	i, found := slices.BinarySearch(l.MB, mb)
	switch {
	case found:
		return l.Mean[i]
	case i == 0:
		return l.Mean[0]
	case i == len(l.MB):
		return l.Mean[i-1]
	}
	part := math.Log(mb/l.MB[i-1]) / math.Log(l.MB[i]/l.MB[i-1])
	return l.Mean[i-1] * math.Pow(l.Mean[i]/l.Mean[i-1], part)
}

// Form implements [Law].
func (Measured) Form() Form { return Table }

// String implements [Law].
func (l Measured) String() string { return fmt.Sprintf("the means measured at %d sizes", len(l.MB)) }

// Options say how laws are fitted.
type Options struct {
	// Plain minimises the squares of plain errors, as the papers' curve_fit does; without it relative errors count, since
	// times over sizes differ by a factor of ten.
	Plain bool
	// SingleCore is m_s of StepConf's laws in MB, 0 for AWS's 1769. Cores is q, the cores that the code uses, 0 for as
	// many as the largest size gives.
	SingleCore, Cores float64
}

// parameters is how many numbers each form has.
var parameters = map[Form]int{Exponential: 3, Knee: 3, Single: 3, Multi: 3, Table: 1}

// Fit fits a law of a form to the means of sizes by least squares. All forms but the table have one parameter that is
// not linear: it is searched over its range by a grid and then golden section, and for each value the others follow
// from a linear problem with coefficients ≥ 0, so that no start value is needed. It needs as many sizes as the form
// has parameters.
func Fit(form Form, sizes []Size, o Options) (Law, error) {
	n, ok := parameters[form]
	if !ok {
		return nil, fmt.Errorf("memory: no law %q, there are %v", form, Forms())
	}
	if len(sizes) < n {
		return nil, fmt.Errorf("memory: %d memory sizes are too few for the %s law, which has %d parameters: "+
			"measure at least %d sizes", len(sizes), form, n, n)
	}
	if form == Table {
		var l Measured
		for _, s := range sizes {
			l.MB, l.Mean = append(l.MB, s.MB), append(l.Mean, s.Mean)
		}
		return l, nil
	}
	first, last := sizes[0].MB, sizes[len(sizes)-1].MB
	m := o.SingleCore
	if m == 0 {
		m = SingleCore
	}
	q := o.Cores
	if q == 0 {
		q = last / m
	}
	// basis is what B is multiplied by, for a value of the parameter that is not linear; low and high are that one's
	// range.
	var basis func(c, mb float64) float64
	var low, high float64
	switch form {
	case Exponential:
		basis = func(c, mb float64) float64 { return math.Exp(-c * mb) }
		low, high = 0.01/last, 20/first
	case Knee:
		basis = func(c, mb float64) float64 { return 1 / min(mb, c) }
		low, high = first, last
	case Single:
		basis = func(c, mb float64) float64 { return 1 / (min(mb/m, q) + c) }
		low, high = 1e-6, 10*last/m
	case Multi:
		basis = func(c, mb float64) float64 { return math.Exp(-c * min(mb/m, q)) }
		low, high = 0.01*m/last, 20*m/first
	}
	c := minimise(low, high, func(c float64) float64 {
		_, _, sse := linear(sizes, o.Plain, func(mb float64) float64 { return basis(c, mb) })
		return sse
	})
	a, b, _ := linear(sizes, o.Plain, func(mb float64) float64 { return basis(c, mb) })
	switch form {
	case Exponential:
		return Exp{a, b, c}, nil
	case Knee:
		return Inverse{a, b, c}, nil
	default:
		return Step{Case: form, A: a, B: b, C: c, M: m, Q: q}, nil
	}
}

// linear returns a, b ≥ 0 with the least squares of a + b·basis(mb) - mean, and their sum.
func linear(sizes []Size, plain bool, basis func(mb float64) float64) (a, b, sse float64) {
	var s1, sx, sxx, sy, sxy float64
	weight := func(s Size) float64 {
		if plain {
			return 1
		}
		return 1 / float64(s.Mean*s.Mean)
	}
	for _, s := range sizes {
		w, x := weight(s), basis(s.MB)
		s1 += w
		sx += float64(w * x)
		sxx += float64(float64(w*x) * x)
		sy += float64(w * s.Mean)
		sxy += float64(float64(w*x) * s.Mean)
	}
	if d := float64(s1*sxx) - float64(sx*sx); d > 1e-12*float64(s1*sxx) {
		a, b = (float64(sxx*sy)-float64(sx*sxy))/d, (float64(s1*sxy)-float64(sx*sy))/d
	} else {
		a = -1
	}
	switch { // where one is negative it is 0 in the best of the quarter
	case a < 0:
		a, b = 0, max(0, sxy/sxx)
	case b < 0:
		a, b = sy/s1, 0
	}
	for _, s := range sizes {
		e := a + float64(b*basis(s.MB)) - s.Mean
		sse += float64(float64(weight(s)*e) * e)
	}
	return a, b, sse
}

// minimise returns where f is least in [low, high], with 0 < low: the best of a grid in the logarithm, then golden
// section between its neighbours.
func minimise(low, high float64, f func(float64) float64) float64 {
	const grid = 240
	at := func(i int) float64 { return float64(low * math.Pow(high/low, float64(i)/grid)) }
	best, least := 0, math.Inf(1)
	for i := range grid + 1 {
		if v := f(at(i)); v < least {
			best, least = i, v
		}
	}
	a, b := at(max(0, best-1)), at(min(grid, best+1))
	const golden = 0.6180339887498949
	x, y := b-float64(golden*(b-a)), a+float64(golden*(b-a))
	fx, fy := f(x), f(y)
	for b-a > 1e-10*b {
		if fx <= fy {
			b, y, fy = y, x, fx
			x = b - float64(golden*(b-a))
			fx = f(x)
		} else {
			a, x, fx = x, y, fy
			y = a + float64(golden*(b-a))
			fy = f(y)
		}
	}
	if c := (a + b) / 2; f(c) < least {
		return c
	}
	return at(best)
}

// Fitted is a fitted law with its errors.
type Fitted struct {
	Law Law
	// MAPE is the mean over sizes of |predicted - mean| / mean. LeftOut is the same where each size in turn was left out
	// of the fit that predicts it; NaN where too few sizes are left.
	MAPE, LeftOut float64
	// PerSize are the relative errors with sign at each size, of the fit to all.
	PerSize []float64
}

// Choose fits every one of forms, all where there are none, and returns them with the best at left-out sizes first. A
// law that cannot be judged so comes after those that can. Where two are equally good to a thousandth, the one named
// first in [Forms] wins.
func Choose(sizes []Size, o Options, forms ...Form) ([]Fitted, error) {
	if len(forms) == 0 {
		forms = Forms()
	}
	var out []Fitted
	var refused error
	for _, form := range forms {
		l, err := Fit(form, sizes, o)
		if err != nil {
			refused = err
			continue
		}
		f := Fitted{Law: l, LeftOut: leftOut(form, sizes, o)}
		for _, s := range sizes {
			e := l.Seconds(s.MB)/s.Mean - 1
			f.PerSize = append(f.PerSize, e)
			f.MAPE += math.Abs(e) / float64(len(sizes))
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, refused
	}
	slices.SortStableFunc(out, func(a, b Fitted) int { return cmp.Compare(rank(a), rank(b)) })
	return out, nil
}

func rank(f Fitted) float64 {
	if math.IsNaN(f.LeftOut) {
		return math.Inf(1)
	}
	return math.Round(f.LeftOut*1000) / 1000
}

// leftOut returns the mean relative error at sizes that the fit has not seen.
func leftOut(form Form, sizes []Size, o Options) float64 {
	var sum float64
	rest := make([]Size, 0, len(sizes)-1)
	for i, s := range sizes {
		rest = append(append(rest[:0], sizes[:i]...), sizes[i+1:]...)
		l, err := Fit(form, rest, o)
		if err != nil {
			return math.NaN()
		}
		sum += math.Abs(l.Seconds(s.MB)/s.Mean - 1)
	}
	return sum / float64(len(sizes))
}

// Few returns n of the sizes, spread evenly over them with both ends: what a cheaper measurement would have had.
func Few(sizes []Size, n int) []Size {
	if n >= len(sizes) {
		return sizes
	}
	out := make([]Size, 0, n)
	for i := range n {
		out = append(out, sizes[int(math.Round(float64(i)*float64(len(sizes)-1)/float64(max(1, n-1))))])
	}
	return out
}
