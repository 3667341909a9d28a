package suite

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
)

// Claim is what a paper says and what was found.
type Claim struct {
	// Claim is the paper's statement, Found what was measured here.
	Claim string `json:"claim"`
	Found string `json:"found"`
	// Verdict is Holds, Fails, Depends or Unknown.
	Verdict string `json:"verdict"`
}

// Statement is a row of a paper's table of claims. D is the data that a suite's claims are measured from.
type Statement[D any] struct {
	// Claim is what the paper says.
	Claim string
	Parts []Part[D]
	// None is the finding where nothing could be measured.
	None string
}

// Part is one thing that a statement says.
type Part[D any] struct {
	// Rule is the paper's number and how it is meant; nil where verdicts are those of comparisons.
	Rule Rule
	// Measure measures the data and holds the values against the rule.
	Measure func(data D, rule Rule) []Finding
	// Minor parts cannot refute the statement: where one fails, the statement depends.
	Minor bool
	// Lead stands before the findings' texts, Sep between them; "; " where it is empty.
	Lead, Sep string
}

// Says is a statement of one part. [Statement.Led] and [Statement.Else] give it the texts that stand before what is found
// and in its place.
func Says[D any](claim string, rule Rule, measure func(data D, rule Rule) []Finding) Statement[D] {
	return Statement[D]{Claim: claim, Parts: []Part[D]{{Rule: rule, Measure: measure}}}
}

// Led is the statement with a lead before its first part's findings.
func (s Statement[D]) Led(lead string) Statement[D] {
	s.Parts[0].Lead = lead
	return s
}

// Else is the statement with the finding where nothing could be measured.
func (s Statement[D]) Else(none string) Statement[D] {
	s.None = none
	return s
}

// Finding is something that was measured for a claim.
type Finding struct {
	// Text words it; empty where the finding counts but is not worded.
	Text string
	// Verdict is Holds, Fails or Unknown; empty where the finding is worded but does not count.
	Verdict string
	// Reading names one of several ways to read the claim, or one of several policies. Where their verdicts differ, the
	// claim depends.
	Reading string
}

// Found is a finding with its text.
func Found(verdict, format string, args ...any) Finding {
	return Finding{Text: fmt.Sprintf(format, args...), Verdict: verdict}
}

// As is the finding as one of several readings of the claim.
func (f Finding) As(reading string) Finding {
	f.Reading = reading
	return f
}

// Judge evaluates a table of claims and adds them to the report. A claim holds where all findings of a reading do,
// and fails with any of them; see [Part] and [Finding] for when it depends.
func Judge[D any](r *Report, data D, statements []Statement[D]) {
	for _, s := range statements {
		found := ""
		readings, minor := map[string]string{}, Holds
		for _, p := range s.Parts {
			var texts []string
			for _, f := range p.Measure(data, p.Rule) {
				if f.Text != "" {
					texts = append(texts, f.Text)
				}
				switch {
				case f.Verdict == "":
				case p.Minor:
					minor = All(minor, f.Verdict)
				default:
					readings[f.Reading] = All(cmp.Or(readings[f.Reading], Holds), f.Verdict)
				}
			}
			if len(texts) > 0 {
				found += p.Lead + strings.Join(texts, cmp.Or(p.Sep, "; "))
			}
		}
		if len(readings) == 0 {
			found = s.None + found
		}
		r.Claim(Claim{Claim: s.Claim, Found: found, Verdict: combine(readings, minor)})
	}
}

// combine is the verdict on a claim from those of its readings, and of its minor parts.
func combine(readings map[string]string, minor string) string {
	out := ""
	for _, v := range readings {
		if out != "" && v != out {
			return Depends
		}
		out = v
	}
	if out == Holds && minor != Holds {
		return Depends
	}
	return cmp.Or(out, Unknown)
}

// Verdicts on a claim: it holds, it does not, it depends on something that the paper leaves open, or the data decide
// nothing.
const (
	Holds   = "holds"
	Fails   = "does not hold"
	Depends = "depends"
	Unknown = "not decided"
)

// Rule holds an estimate against the paper's number and says Holds, Fails or Unknown.
type Rule func(e report.Estimate) string

// Under holds where the whole interval is below x, and fails where it is above.
func Under(x float64) Rule {
	return func(e report.Estimate) string {
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
	return func(e report.Estimate) string {
		return Under(-x)(report.Estimate{At: -e.At, Low: -e.High, High: -e.Low})
	}
}

// Inside holds where the whole interval is between low and high, and fails where none of it is.
func Inside(low, high float64) Rule {
	return func(e report.Estimate) string { return All(Over(low)(e), Under(high)(e)) }
}

// Meets holds where the interval has something in common with low to high, bounds included, else it fails: for numbers
// that the paper calls "about" so much. A value without an interval is held against the range itself.
func Meets(low, high float64) Rule {
	return func(e report.Estimate) string {
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
// short, or nothing was measured, and is not decided where the interval includes zero, or there is none.
func Reaches(x float64) Rule {
	return func(e report.Estimate) string {
		if x < 0 {
			return Reaches(-x)(report.Estimate{At: -e.At, Low: -e.High, High: -e.Low})
		}
		switch {
		case math.IsNaN(e.High) && !math.IsNaN(e.At):
			return Unknown
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
