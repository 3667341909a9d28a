package gnn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
)

// deepRMClaims holds what is said of Fig. 3 against what was played.
type deepRMClaims struct {
	*readings
	verdicts []suite.Comparison
}

func (c *deepRMClaims) report(r *suite.Report) error {
	for _, x := range []struct {
		claim string
		load  float64
		who   func(policy string) bool
	}{
		{"Fig. 3: up to 70 % load all slowdowns are below 5", 70, func(p string) bool { return p != learnedName }},
		{"Fig. 3: at 130 % Tetris degrades to about 6, SJF to 7, Packer to over 12", 130, func(p string) bool { return p != learnedName }},
		{"Fig. 3: at 190 % SJF and Tetris* are at 8 to 9, Packer above 20", 190, func(p string) bool { return p != learnedName }},
		{"Fig. 3: the learned curve stays below 4 at 130 %", 130, func(p string) bool { return p == learnedName }},
		{"Fig. 3: the learned curve stays below 5 at 190 %", 190, func(p string) bool { return p == learnedName }},
	} {
		out, err := c.values(r, x.load, x.who)
		if err != nil {
			return err
		}
		out.Claim = x.claim
		r.Claim(out)
	}
	out, err := c.leads(r)
	if err != nil {
		return err
	}
	r.Claim(out)
	return c.best(r)
}

// values holds a load's values against ours.
func (c *deepRMClaims) values(r *suite.Report, load float64, who func(string) bool) (suite.Claim, error) {
	var (
		out   suite.Claim
		found []string
		each  verdicts
	)
	for _, v := range published {
		if v.load != load || !who(v.policy) {
			continue
		}
		for _, i := range c.find(v.policy) {
			f, _ := c.at(i, load)
			x, err := f.values(i, "slowdown", 1)
			if err != nil {
				return out, err
			}
			e := r.Estimate(stats.Scores{x})
			word := v.verdict(e)
			if v.policy == learnedName {
				each.add(i, word)
			} else {
				each.add(0, word) // the rules make one statement together
			}
			found = append(found, fmt.Sprintf("%s %s, where the paper has %s (%s)", f.players[i].Name, e, v.says(), word))
		}
	}
	if len(found) == 0 {
		return suite.Claim{Found: nobody, Verdict: suite.Unknown}, nil
	}
	_, at := c.at(0, load)
	out.Verdict = each.all()
	out.Found = fmt.Sprintf("at load %.0f %%: %s", at, strings.Join(found, "; "))
	return out, nil
}

// nobody is what is found where no trained policy plays.
const nobody = "no trained policy plays"

// leads holds the leads of the prose against ours.
func (c *deepRMClaims) leads(r *suite.Report) (suite.Claim, error) {
	out := suite.Claim{Claim: "it is 33 % below the best rule and 67 % below Packer at 130 %, 40 % below Tetris* and 60 % below SJF at 190 %"}
	var (
		found []string
		each  verdicts
	)
	for _, v := range leads {
		for _, i := range c.find(learnedName) {
			f, _ := c.at(i, v.load)
			s, err := lead(f, i, v.rival)
			if err != nil {
				return out, err
			}
			e := r.Estimate(s)
			word := reaches(e, v.percent)
			each.add(i, word)
			found = append(found, fmt.Sprintf("%s at %g %% %s %% below %s (%s)", f.players[i].Name, v.load, e, v.rival, word))
		}
	}
	if out.Verdict = each.all(); len(found) == 0 {
		found = []string{nobody}
	}
	f, _ := c.at(c.find(sjfName)[0], 190)
	sjf, err := f.values(f.find(sjfName), "slowdown", 1)
	if err != nil {
		return out, err
	}
	out.Found = strings.Join(found, "; ") + fmt.Sprintf(". The numbers do not fit each other: 60 %% below SJF at a slowdown of 5 needs SJF at 12.5, and it is stated at 8 to 9 (here %s)", r.Estimate(stats.Scores{sjf}))
	return out, nil
}

// best says whom the learned policies beat.
func (c *deepRMClaims) best(r *suite.Report) error {
	if len(c.find(learnedName)) == 0 {
		return nil
	}
	out := suite.Claim{Claim: "the learned policy is below every rule at high load"}
	var (
		found []string
		each  verdicts
	)
	_, load := c.at(0, 190)
	for _, v := range c.verdicts {
		if strings.Contains(v.Setting, fmt.Sprintf("load %.0f %%", load)) {
			each.add(c.readings[0].fields[0].find(v.A), verdictOf(v.Verdict))
			found = append(found, fmt.Sprintf("%s is %s than %s", v.A, orEqual(v.Verdict), v.B))
		}
	}
	out.Verdict = each.all()
	out.Found = fmt.Sprintf("at load %.0f %%: %s", load, strings.Join(found, "; "))
	r.Claim(out)
	return nil
}

// verdicts are what a statement comes to under each of several policies.
type verdicts map[int]string

// add adds a part of the statement for policy i.
func (v *verdicts) add(i int, word string) {
	if *v == nil {
		*v = verdicts{}
	}
	if old, ok := (*v)[i]; ok {
		word = both(old, word)
	}
	(*v)[i] = word
}

// all is the verdict: where policies differ it depends, where there is none it is not decided.
func (v verdicts) all() string {
	out := ""
	for _, word := range v {
		if out != "" && out != word {
			return suite.Depends
		}
		out = word
	}
	return cmp.Or(out, suite.Unknown)
}

// orEqual words a verdict.
func orEqual(v string) string {
	if v == eval.Undecided {
		return "neither better nor worse beyond chance"
	}
	return v
}

// verdictOf is what a comparison says of "a is better than b".
func verdictOf(v string) string {
	switch v {
	case eval.Better:
		return suite.Holds
	case eval.Worse:
		return suite.Fails
	}
	return suite.Unknown
}

// both is what holds of a statement with two parts.
func both(a, b string) string {
	for _, v := range []string{suite.Fails, suite.Unknown, suite.Depends} {
		if a == v || b == v {
			return v
		}
	}
	return suite.Holds
}

// reaches says whether an effect is as large as published, in the published direction: no where its whole interval falls short, not decided where it
// reaches from nothing to the published size.
func reaches(e suite.Estimate, published float64) string {
	if published < 0 {
		return reaches(suite.Estimate{At: -e.At, Lo: -e.Hi, Hi: -e.Lo}, -published)
	}
	switch {
	case !(e.Hi >= published): // also for NaN
		return suite.Fails
	case e.Lo <= 0:
		return suite.Unknown
	}
	return suite.Holds
}
