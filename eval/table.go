package eval

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/envs"
)

func (e Estimate) spread() spread { return spread{float64(e.IQM), float64(e.Lo), float64(e.Hi)} }

func (c *Comparison) spread() spread {
	return spread{float64(c.Difference), float64(c.Lo), float64(c.Hi)}
}

// lines is what stands in one metric's block: estimates in the order of policies, policy a's comparisons with the others, and how
// to write both, in one power of ten.
type lines struct {
	estimates  []spread
	diff       []Comparison
	write      scaled
	writeDiffs scaled
}

func (s *Summary) lines(a string, m Metric) lines {
	l := lines{diff: s.against(a, m.Name)}
	for _, p := range s.Policies {
		l.estimates = append(l.estimates, p.Metrics[m.Name].spread())
	}
	var diffs []spread
	for i := range l.diff {
		diffs = append(diffs, l.diff[i].spread())
	}
	power := powerOf(l.estimates)
	l.write, l.writeDiffs = fitted(l.estimates, power, false), fitted(diffs, power, true)
	return l
}

// with returns the comparison with policy b, nil where there is none.
func (l *lines) with(b string) *Comparison {
	if i := slices.IndexFunc(l.diff, func(c Comparison) bool { return c.B == b }); i >= 0 {
		return &l.diff[i]
	}
	return nil
}

// Text returns the evaluation for a terminal: a block of lines per metric, the first compared policy's verdicts beside the
// estimates, those of further ones below, then each verdict in words and what it holds of.
func Text(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", s.heading(), s.who())
	compared := s.compared()
	if len(compared) == 0 {
		compared = []string{""}
	}
	for i, a := range compared {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(columns(s.blocks(a, i == 0)))
	}
	if words := append(s.conclusions(), s.notes()...); len(words) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(words, "\n"))
	}
	return b.String()
}

// heading says what was done.
func (s *Summary) heading() string {
	out := fmt.Sprintf("%s, %d workload seeds", s.Env, len(s.Seeds))
	if s.Split != "" {
		out += " (" + s.Split + ")"
	}
	if s.Stochastic {
		return out + ", stochastic policies"
	}
	return out + ", deterministic policies"
}

// who lists the policies by kind.
func (s *Summary) who() string {
	var parts []string
	for _, k := range kinds {
		var names []string
		for _, p := range s.Policies {
			if p.Kind != k {
				continue
			}
			name := p.Name
			if n := len(p.TrainingSeeds); n > 1 {
				name = fmt.Sprintf("%s (%d training seeds)", name, n)
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			parts = append(parts, string(k)+": "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// blocks are the rows of one table: for each metric a line that names it and a line per policy, with the estimates where they
// are wanted, and the differences of policy a from the others.
func (s *Summary) blocks(a string, estimates bool) [][]string {
	head := []string{""}
	if estimates {
		head = append(head, "IQM [95 %]")
	}
	if a != "" {
		head = append(head, a+" − it [95 %]", "p (Holm)", "P(better)", a+" is")
	}
	rows := [][]string{head}
	for _, m := range s.Metrics {
		l := s.lines(a, m)
		rows = append(rows, []string{title(m, l.write)})
		for i, p := range s.Policies {
			row := []string{"  " + p.Name}
			if estimates {
				row = append(row, l.write.row(l.estimates[i]))
			}
			c := l.with(p.Name)
			switch {
			case c != nil:
				row = append(row, l.writeDiffs.row(c.spread()), probability(c.PHolm), share(c.Improvement), c.Verdict)
			case !estimates:
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// title is a metric with its unit, as scaled, and an arrow to where it is better.
func title(m Metric, write scaled) string {
	return strings.TrimSpace(label(m.Name, write.unit(m.Unit)) + " " + arrow(m.Better))
}

// arrow shows where a metric is better.
func arrow(b envs.Better) string {
	switch b {
	case envs.Lower:
		return "↓"
	case envs.Higher:
		return "↑"
	}
	return ""
}

// columns writes rows under a ruled head with columns aligned, counting characters, not bytes.
func columns(rows [][]string) string {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			if len(r) > 1 { // a row of one cell is a heading and may reach over the others
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var b strings.Builder
	for k, r := range rows {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if k == 0 {
			total := 2 * (len(width) - 1)
			for _, w := range width {
				total += w
			}
			b.WriteString(strings.Repeat("─", total) + "\n")
		}
	}
	return b.String()
}
