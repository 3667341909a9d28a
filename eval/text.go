package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/table"
)

// lines is what stands in one metric's block: estimates in the order of policies, policy a's comparisons with the
// others, and how to write both, in one power of ten.
type lines struct {
	estimates  []shown
	diff       []Comparison
	diffs      []shown // in the order of diff
	write      table.Format
	writeDiffs table.Format
}

func (s *Summary) lines(a string, m Metric) lines {
	l := lines{diff: s.against(a, m.Name)}
	var levels, diffs []table.Estimate
	for i := range s.Policies {
		x := s.of(&s.Policies[i], m.Name)
		l.estimates, levels = append(l.estimates, x), append(levels, x.Estimate)
	}
	for i := range l.diff {
		x := s.differs(&l.diff[i])
		l.diffs, diffs = append(l.diffs, x), append(diffs, x.Estimate)
	}
	power := table.Power(levels)
	l.write, l.writeDiffs = table.Fit(levels, power, false), table.Fit(diffs, power, true)
	return l
}

// with returns the place of the comparison with policy b, −1 where there is none.
func (l *lines) with(b string) int {
	return slices.IndexFunc(l.diff, func(c Comparison) bool { return c.B == b })
}

// Text returns the evaluation for a terminal: one sentence first, then a block of lines per metric, the first compared
// policy's differences beside the means, those of further ones below, then the verdicts in words and what they hold of.
func Text(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n%s\n\n", s.Summary, s.heading(), s.who())
	for _, w := range s.loadLines() {
		fmt.Fprintf(&b, "Load: %s.\n\n", w)
	}
	compared := s.compared()
	if len(compared) == 0 {
		compared = []string{""}
	}
	for i, a := range compared {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(table.Columns(s.blocks(a, i == 0), true))
	}
	for _, words := range [][]string{s.verdictLines(), s.conclusions(), s.notes()} {
		if len(words) > 0 {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(words, "\n"))
		}
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

// blocks are the rows of one table: for each metric a line that names it and a line per policy, with the estimates
// where they are wanted, and the differences of policy a from the others.
func (s *Summary) blocks(a string, estimates bool) [][]string {
	head := []string{""}
	if estimates {
		head = append(head, "mean [95 %]")
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
				row = append(row, l.estimates[i].aligned(l.write))
			}
			k := l.with(p.Name)
			switch {
			case k >= 0:
				c := &l.diff[k]
				row = append(row, l.diffs[k].aligned(l.writeDiffs),
					table.PValue(float64(c.PHolm)), table.Probability(float64(c.Improvement)), c.Verdict)
			case !estimates:
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// title is a metric with its unit, as scaled, and an arrow to where it is better.
func title(m Metric, write table.Format) string {
	return strings.TrimSpace(label(m.Name, write.Unit(m.Unit)) + " " + arrow(m.Better))
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

// label is a quantity with its unit, where that says more.
func label(name, unit string) string {
	if unit == "" || unit == "1" || unit == name {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, unit)
}
