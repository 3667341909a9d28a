package eval

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval/table"
)

// Markdown returns the evaluation as a page to stand beside the figures that it shows: estimates and verdicts with a
// row per metric and a column per policy.
func Markdown(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n%s.\n\n", s.heading(), s.Summary, s.who())
	if rows := s.frontierRows(); len(rows) > 0 {
		fmt.Fprintf(&b, "## At equal violations\n\n%s.\n\n", s.frontierTitle())
		table.Markdown(&b, rows)
		b.WriteString("\n")
	}
	b.WriteString("## Estimates\n\nMean [95 % interval]; ↓ lower is better, ↑ higher is better.\n\n")
	head := []string{"metric"}
	for _, p := range s.Policies {
		head = append(head, p.Name)
	}
	rows := [][]string{head}
	for _, m := range s.Metrics {
		l := s.lines("", m)
		row := []string{title(m, l.write)}
		for _, e := range l.estimates {
			row = append(row, e.cell(l.write))
		}
		rows = append(rows, row)
	}
	table.Markdown(&b, rows)
	b.WriteString("\n")
	for _, a := range s.compared() {
		s.markdownVerdicts(&b, a)
	}
	for _, n := range s.notes() {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	if len(s.compared()) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "How: %s. %d resamples.\n", s.Statistic, s.Resamples)
	s.markdownFigures(&b)
	return b.String()
}

// markdownVerdicts writes policy a's comparisons: a row per metric, a column per rival.
func (s *Summary) markdownVerdicts(b *strings.Builder, a string) {
	fmt.Fprintf(b, "## Verdicts on %s\n\nBy %s.\n\n", a, s.criteria())
	rows := [][]string{{"against", "verdict", "why"}}
	for _, v := range s.Verdicts {
		if v.A == a {
			rows = append(rows, []string{v.B, bold(v.Verdict), v.Why})
		}
	}
	table.Markdown(b, rows)
	fmt.Fprintf(b, "\nBy single metrics: difference of the means %s − other under the same workload [95 %% interval for all rivals at once], p "+
		"after Holm's correction, and what %s is.\n\n", a, a)
	head := []string{"metric"}
	for _, c := range s.against(a, s.Metrics[0].Name) {
		head = append(head, c.B)
	}
	rows = [][]string{head}
	for _, m := range s.Metrics {
		l := s.lines(a, m)
		row := []string{title(m, l.write)}
		for i := range l.diff {
			c := &l.diff[i]
			row = append(row, fmt.Sprintf("%s, p %s: %s", l.diffs[i].cell(l.writeDiffs),
				equal(table.PValue(float64(c.PHolm))), bold(c.Verdict)))
		}
		rows = append(rows, row)
	}
	table.Markdown(b, rows)
	b.WriteString("\n")
}

// bold marks a verdict that decides.
func bold(verdict string) string {
	if verdict == Better || verdict == Worse {
		return "**" + verdict + "**"
	}
	return verdict
}

// equal puts an equals sign before a number that has no sign of its own.
func equal(p string) string {
	if strings.HasPrefix(p, "<") {
		return strings.Replace(p, "<", "< ", 1)
	}
	return "= " + p
}

func (s *Summary) markdownFigures(b *strings.Builder) {
	pngs := slices.DeleteFunc(slices.Clone(s.Figures), func(f string) bool { return path.Ext(f) != ".png" })
	if len(pngs) == 0 {
		return
	}
	b.WriteString("\n## Figures\n\nThe data of each is the CSV file beside it; `stoker plot FOLDER` draws all of " +
		"them again.\n")
	for _, f := range pngs {
		fmt.Fprintf(b, "\n![%s](%s)\n", strings.ReplaceAll(strings.TrimSuffix(f, ".png"), "_", " "), f)
	}
}
