package memory

import (
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
