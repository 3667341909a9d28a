package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval"
)

// Markdown is suite.md: a page that shows everything.
func Markdown(res *Result, tables []Table, figures []Figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s. The paper: %s.\n\n", res.Suite, capital(res.Doc), res.Paper)
	fmt.Fprintf(&b, "`%s` makes this page, its tables and its figures again (revision %s).\n", res.Command, res.Revision)
	if res.Quick {
		b.WriteString("This is a quick run: fewer seeds than the full one has, and less of what takes long.\n")
	}
	fmt.Fprintf(&b, "\nValues are interquartile means over %d workload seeds with 95 %% bootstrap intervals; differences are means of paired differences.\n", len(res.Seeds))
	if len(res.Claims) > 0 {
		b.WriteString("\n## What the paper says, and what was found\n\n")
		rows := [][]string{{"the paper", "here", "verdict"}}
		for _, c := range res.Claims {
			rows = append(rows, []string{c.Claim, c.Found, "**" + c.Verdict + "**"})
		}
		eval.Pipes(&b, rows)
	}
	for _, n := range res.Notes {
		fmt.Fprintf(&b, "\n- %s", n)
	}
	if len(res.Notes) > 0 {
		b.WriteString("\n")
	}
	if len(res.Rows) > 0 {
		b.WriteString("\n## The figures' numbers\n\n")
		eval.Pipes(&b, res.rowTexts())
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "\n![%s](%s.png)\n\n%s Data: [%s.csv](%s.csv).\n", strings.ReplaceAll(f.Name, "_", " "), f.Name, f.Caption, f.Name, f.Name)
	}
	for i := range tables {
		tables[i].markdown(&b)
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

// rowTexts are the rows for people; columns that nobody fills are left out.
func (res *Result) rowTexts() [][]string {
	out := [][]string{{"figure", "quantity", "unit", "paper", "ours (95 %)", "ratio", "note"}}
	for i := range res.Rows {
		r := &res.Rows[i]
		out = append(out, []string{r.Figure, r.Quantity, r.Unit, r.paper(), r.estimate().String(), r.ratio(), r.Note})
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

func (t *Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", t.Title)
	var head []string
	for _, c := range t.Columns {
		name := c.Name
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		head = append(head, name)
	}
	rows := [][]string{head}
	for _, row := range t.Rows {
		var out []string
		for _, cell := range row {
			out = append(out, shown(cell))
		}
		rows = append(rows, out)
	}
	eval.Pipes(b, rows)
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", t.Note)
	}
	fmt.Fprintf(b, "\nData: [%s.csv](%s.csv).\n", t.Name, t.Name)
}

// verdicts writes the comparisons, a table per setting and policy.
func (res *Result) verdicts(b *strings.Builder) {
	if len(res.Comparisons) == 0 {
		return
	}
	b.WriteString("\n## Verdicts\n\nMean difference a − b under the same workload (95 %), p after Holm's correction over the rivals of a setting, and what a is.\n\n")
	rows := [][]string{{"setting", "metric", "a", "b", "difference", "p (Holm)", "a is"}}
	for _, c := range res.Comparisons {
		word := c.Verdict
		if word != eval.Undecided {
			word = "**" + word + "**"
		}
		d := Estimate{float64(c.Difference), float64(c.Lo), float64(c.Hi)}
		rows = append(rows, []string{c.Setting, c.Metric, c.A, c.B, d.String(), probability(c.PHolm), word})
	}
	eval.Pipes(b, rows)
}
