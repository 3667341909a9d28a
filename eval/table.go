package eval

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs"
)

// Markdown returns the table of estimates and the verdicts as a Markdown page.
func Markdown(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %d workload seeds (%s)\n\n", s.Env, len(s.Seeds), s.Split)
	head, rows := s.estimates()
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	fmt.Fprintf(&b, "\nCells: IQM [95 %% interval]. %s.\n\n", capital(s.Statistic))
	if len(s.Comparisons) > 0 {
		head, rows := s.verdicts()
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, r := range rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
		}
	}
	return b.String()
}

// Text returns the same for a terminal.
func Text(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d workload seeds (%s), IQM [95 %% interval]\n\n", s.Env, len(s.Seeds), s.Split)
	columns(&b, s.estimates)
	if len(s.Comparisons) > 0 {
		b.WriteString("\npaired differences [95 % interval]\n\n")
		columns(&b, s.verdicts)
		for _, scope := range s.scopes() {
			fmt.Fprintf(&b, "\nscope: %s", scope)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *Summary) scopes() []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range s.Comparisons {
		line := c.A + ": " + c.Scope
		if !seen[line] {
			seen[line] = true
			out = append(out, line)
		}
	}
	return out
}

// estimates returns the head and the rows of the table of estimates.
func (s *Summary) estimates() (head []string, rows [][]string) {
	head = []string{"policy", "kind"}
	for _, m := range s.Metrics {
		head = append(head, fmt.Sprintf("%s (%s) %s", m.Name, m.Unit, arrow(m.Better)))
	}
	for _, p := range s.Policies {
		row := []string{p.Name, string(p.Kind)}
		for _, m := range s.Metrics {
			e := p.Estimates[m.Name]
			d := digits(e.IQM, e.Hi-e.Lo)
			row = append(row, fmt.Sprintf("%.*f [%.*f, %.*f]", d, e.IQM, d, e.Lo, d, e.Hi))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func (s *Summary) verdicts() (head []string, rows [][]string) {
	head = []string{"comparison", "metric", "difference", "p (Holm)", "verdict"}
	for _, c := range s.Comparisons {
		d := digits(c.Difference, c.Hi-c.Lo)
		rows = append(rows, []string{
			c.A + " − " + c.B, c.Metric, fmt.Sprintf("%+.*f [%+.*f, %+.*f]", d, c.Difference, d, c.Lo, d, c.Hi),
			fmt.Sprintf("%.2g", c.PHolm), c.Verdict,
		})
	}
	return head, rows
}

// columns writes a table with columns aligned, counting characters, not bytes.
func columns(b *strings.Builder, table func() ([]string, [][]string)) {
	head, rows := table()
	width := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, r := range all {
		for i, cell := range r {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for k, r := range all {
		for i, cell := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i == len(r)-1 {
				pad = ""
			}
			fmt.Fprintf(b, "%s%s  ", cell, pad)
		}
		b.WriteString("\n")
		if k == 0 {
			for i := range r {
				fmt.Fprintf(b, "%s  ", strings.Repeat("─", width[i]))
			}
			b.WriteString("\n")
		}
	}
}

// digits is the number of decimals that shows an interval's width to two figures, and a value without one to four.
func digits(x, width float64) int {
	if !(width > 0) || math.IsInf(width, 0) {
		if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			return 0
		}
		return min(max(3-int(math.Floor(math.Log10(math.Abs(x)))), 0), 6)
	}
	return min(max(1-int(math.Floor(math.Log10(width))), 0), 6)
}

func arrow(b envs.Better) string {
	switch b {
	case envs.Lower:
		return "↓"
	case envs.Higher:
		return "↑"
	}
	return ""
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
