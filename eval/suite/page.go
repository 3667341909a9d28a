package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/table"
)

// Text is a result for a terminal: the rows, verdicts against rivals, what became of the paper's claims, and notes.
func Text(res *Result) string {
	var b strings.Builder
	quick := ""
	if res.Quick {
		quick = ", quick"
	}
	fmt.Fprintf(&b, "%s: %s; workload seeds %s%s\n\n", res.Suite, res.Doc, ranges(res.Seeds), quick)
	b.WriteString(table.Columns(res.rowTexts(), false))
	if rows := res.verdictLines(); len(rows) > 0 {
		b.WriteString("\n" + table.Columns(append([][]string{{"setting", "metric", "verdicts"}}, rows...), false))
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
		for ; i < len(res.Comparisons); i++ {
			c := &res.Comparisons[i]
			if c.Setting != first.Setting || c.Metric != first.Metric || c.A != first.A {
				break
			}
			by[c.Verdict] = append(by[c.Verdict], c.B)
		}
		var parts []string
		for _, v := range []struct{ verdict, words string }{
			{eval.Better, "better than "}, {eval.Worse, "worse than "}, {eval.Undecided, "undecided against "},
		} {
			if len(by[v.verdict]) > 0 {
				parts = append(parts, v.words+strings.Join(by[v.verdict], ", "))
			}
		}
		out = append(out, []string{first.Setting, first.Metric, first.A + " is " + strings.Join(parts, "; ")})
	}
	return out
}

// Markdown is suite.md: a page that shows everything.
func Markdown(res *Result, tables []table.Table, figures []Figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s. The paper: %s.\n\n", res.Suite, capital(res.Doc), res.Paper)
	fmt.Fprintf(&b, "`%s` makes this page, its tables and its figures again (revision %s).\n", res.Command, res.Revision)
	if res.Quick {
		b.WriteString("This is a quick run: fewer seeds than the full one has, and less of what takes long.\n")
	}
	fmt.Fprintf(&b, "\nValues are interquartile means over %d workload seeds with 95 %% bootstrap intervals; "+
		"differences are means of paired differences.\n", len(res.Seeds))
	if len(res.Claims) > 0 {
		b.WriteString("\n## What the paper says, and what was found\n\n")
		rows := [][]string{{"the paper", "here", "verdict"}}
		for _, c := range res.Claims {
			rows = append(rows, []string{c.Claim, c.Found, "**" + c.Verdict + "**"})
		}
		table.Markdown(&b, rows)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "\n- %s", n)
	}
	if len(res.Notes) > 0 {
		b.WriteString("\n")
	}
	if len(res.Rows) > 0 {
		b.WriteString("\n## The figures' numbers\n\n")
		table.Markdown(&b, res.rowTexts())
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "\n![%s](%s.png)\n\n%s Data: [%s.csv](%s.csv).\n",
			strings.ReplaceAll(f.Name, "_", " "), f.Name, f.Caption, f.Name, f.Name)
	}
	for i := range tables {
		t := &tables[i]
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		t.Markdown(&b)
		if t.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", t.Note)
		}
		fmt.Fprintf(&b, "\nData: [%s.csv](%s.csv).\n", t.Name, t.Name)
	}
	res.verdicts(&b)
	return b.String()
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// rowTexts are the rows for people; columns that are empty throughout are left out.
func (res *Result) rowTexts() [][]string {
	out := [][]string{{"figure", "quantity", "unit", "paper", "ours (95 %)", "ratio", "note"}}
	for i := range res.Rows {
		r := &res.Rows[i]
		paper, ratio := "", ""
		if r.Paper != nil {
			paper = table.Plain(*r.Paper)
		}
		if table.Finite(float64(r.Ratio)) {
			ratio = table.Round(float64(r.Ratio), -2)
		}
		out = append(out, []string{r.Figure, r.Quantity, r.Unit, paper, r.estimate().String(), ratio, r.Note})
	}
	for k := len(out[0]) - 1; k >= 0; k-- {
		if !slices.ContainsFunc(out[1:], func(row []string) bool { return row[k] != "" }) {
			for i := range out {
				out[i] = slices.Delete(out[i], k, k+1)
			}
		}
	}
	return out
}

// verdicts writes the comparisons.
func (res *Result) verdicts(b *strings.Builder) {
	if len(res.Comparisons) == 0 {
		return
	}
	b.WriteString("\n## Verdicts\n\nMean difference a − b under the same workload (95 %), " +
		"p after Holm's correction over the rivals of a setting, and what a is.\n\n")
	rows := [][]string{{"setting", "metric", "a", "b", "difference", "p (Holm)", "a is"}}
	for i := range res.Comparisons {
		c := &res.Comparisons[i]
		word := c.Verdict
		if word != eval.Undecided {
			word = "**" + word + "**"
		}
		p := strings.Replace(table.PValue(float64(c.PHolm)), "<", "< ", 1)
		rows = append(rows, []string{c.Setting, c.Metric, c.A, c.B, c.Interval().String(), p, word})
	}
	table.Markdown(b, rows)
}
