package suite

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/eval"
)

// Text is a result for a terminal: the rows, what became of the paper's claims, verdicts against rivals, and notes.
func Text(res *Result) string {
	var b strings.Builder
	quick := ""
	if res.Quick {
		quick = ", quick"
	}
	fmt.Fprintf(&b, "%s: %s; workload seeds %s%s\n\n", res.Suite, res.Doc, ranges(res.Seeds), quick)
	columns(&b, res.rowTexts())
	if rows := res.verdictLines(); len(rows) > 0 {
		b.WriteString("\n")
		columns(&b, append([][]string{{"setting", "metric", "verdicts"}}, rows...))
	}
	for _, c := range res.Claims {
		fmt.Fprintf(&b, "\nthe paper  %s\nhere       %s\nso it      %s\n", c.Claim, c.Found, c.Verdict)
	}
	if len(res.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// verdictLines are the verdicts in words, a line for each setting, metric and policy.
func (res *Result) verdictLines() [][]string {
	var out [][]string
	for i := 0; i < len(res.Comparisons); {
		first, by := res.Comparisons[i], map[string][]string{}
		for ; i < len(res.Comparisons) && res.Comparisons[i].Setting == first.Setting && res.Comparisons[i].Metric == first.Metric && res.Comparisons[i].A == first.A; i++ {
			c := res.Comparisons[i]
			by[c.Verdict] = append(by[c.Verdict], c.B)
		}
		var parts []string
		for _, v := range []struct{ verdict, words string }{{eval.Better, "better than "}, {eval.Worse, "worse than "}, {eval.Undecided, "undecided against "}} {
			if len(by[v.verdict]) > 0 {
				parts = append(parts, v.words+strings.Join(by[v.verdict], ", "))
			}
		}
		out = append(out, []string{first.Setting, first.Metric, first.A + " is " + strings.Join(parts, "; ")})
	}
	return out
}

// columns writes rows with their columns aligned.
func columns(b *strings.Builder, rows [][]string) {
	var width []int
	for _, row := range rows {
		for k, cell := range row {
			if k == len(width) {
				width = append(width, 0)
			}
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for k, cell := range row {
			line += cell + strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
