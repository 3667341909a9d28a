package gnn

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// fig3Evidence is what the claims about Fig. 3 are measured from.
type fig3Evidence struct {
	*readings
	verdicts []suite.Comparison
}

type fig3Part = suite.Part[*fig3Evidence]

// nobody is the finding where no trained policy plays.
const nobody = "no trained policy plays"

// fig3Claims are the paper's about Fig. 3. The numbers and words of its values are the table published, those of the
// learned policy's leads the table leads; each policy that plays for the paper's is a reading of its own.
var fig3Claims = []suite.Statement[*fig3Evidence]{
	{Claim: "Fig. 3: up to 70 % load all slowdowns are below 5", Parts: valuesAt(70, false)},
	{Claim: "Fig. 3: at 130 % Tetris degrades to about 6, SJF to 7, Packer to over 12", Parts: valuesAt(130, false)},
	{Claim: "Fig. 3: at 190 % SJF and Tetris* are at 8 to 9, Packer above 20", Parts: valuesAt(190, false)},
	{Claim: "Fig. 3: the learned curve stays below 4 at 130 %", Parts: valuesAt(130, true), None: nobody},
	{Claim: "Fig. 3: the learned curve stays below 5 at 190 %", Parts: valuesAt(190, true), None: nobody},
	{
		Claim: "it is 33 % below the best rule and 67 % below Packer at 130 %, 40 % below Tetris* and 60 % below SJF at " +
			"190 %",
		Parts: []fig3Part{
			{Measure: leadsFound},
			{Measure: sjfFound, Lead: ". The numbers do not fit each other: 60 % below SJF at a slowdown of 5 needs SJF at " +
				"12.5, and it is stated at 8 to 9 (here "},
		},
		None: nobody,
	},
}

// fig3Learned is asked only where a trained policy plays.
var fig3Learned = []suite.Statement[*fig3Evidence]{
	{Claim: "the learned policy is below every rule at high load", Parts: []fig3Part{{Measure: highLoad}}, None: nobody},
}

// valuesAt holds the published values at a load against ours: the rules', or the learned policies'.
func valuesAt(load float64, learned bool) []fig3Part {
	where := func(e *fig3Evidence, _ suite.Rule) []suite.Finding {
		if learned && len(e.find(learnedName)) == 0 {
			return nil
		}
		_, at := e.at(0, load)
		return []suite.Finding{{Text: fmt.Sprintf("at load %.0f %%: ", at)}}
	}
	values := func(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
		for _, v := range published {
			if v.load != load || (v.policy == learnedName) != learned {
				continue
			}
			for _, i := range e.find(v.policy) {
				f, _ := e.at(i, load)
				x := f.estimate(i, "slowdown")
				word, name := v.rule()(x), f.players[i].Name
				found := suite.Finding{Verdict: word,
					Text: fmt.Sprintf("%s %s, where the paper has %s (%s)", name, x, v.says(), word)}
				if learned {
					found.Reading = name
				}
				out = append(out, found)
			}
		}
		return out
	}
	return []fig3Part{{Measure: where}, {Measure: values}}
}

func leadsFound(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
	for _, v := range leads {
		for _, i := range e.find(learnedName) {
			f, _ := e.at(i, v.load)
			x := f.r.Estimate(lead(f, i, v.rival))
			word, name := suite.Reaches(v.percent)(x), f.players[i].Name
			out = append(out, suite.Finding{
				Text:    fmt.Sprintf("%s at %g %% %s %% below %s (%s)", name, v.load, x, v.rival, word),
				Verdict: word, Reading: name,
			})
		}
	}
	return out
}

func sjfFound(e *fig3Evidence, _ suite.Rule) []suite.Finding {
	sjf := e.find(sjfName)[0]
	f, _ := e.at(sjf, 190)
	return []suite.Finding{{Text: fmt.Sprintf("%s)", f.estimate(sjf, "slowdown"))}}
}

// highLoad says which rules each learned policy is better than.
func highLoad(e *fig3Evidence, _ suite.Rule) (out []suite.Finding) {
	for _, i := range e.find(learnedName) {
		f, load := e.at(i, 190)
		for _, v := range e.verdicts {
			if v.Setting != f.name || v.A != f.players[i].Name {
				continue
			}
			word := v.Verdict
			if word == eval.Undecided {
				word = "neither better nor worse beyond chance"
			}
			text := fmt.Sprintf("%s is %s than %s", v.A, word, v.B)
			if len(out) == 0 {
				text = fmt.Sprintf("at load %.0f %%: ", load) + text
			}
			out = append(out, suite.Finding{Text: text, Verdict: suite.Of(v.Verdict), Reading: v.A})
		}
	}
	return out
}
