package suite

import (
	"cmp"
	"strings"
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
