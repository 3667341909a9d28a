package eval

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
)

// shown is a number as tables and figures show it: with its 95 % interval, or with its range over training seeds where
// these are too few for one.
type shown struct {
	report.Estimate
	few bool
}

// shown is the mean.
func (e *Estimate) shown(few bool) shown {
	if few {
		return shown{report.Between(e.Mean, slices.Min(e.BySeed), slices.Max(e.BySeed)), true}
	}
	return shown{report.Between(e.Mean, e.MeanLo, e.MeanHi), false}
}

// differs is the difference of a comparison, with the interval that decides its verdict: it holds for all baselines at once.
func (s *Summary) differs(c *Comparison) shown {
	return shown{report.Between(c.Difference, c.SimultaneousLo, c.SimultaneousHi), false}
}

// improves is the probability of improvement of a comparison.
func (s *Summary) improves(c *Comparison) shown {
	if s.few(c.A) || s.few(c.B) {
		return shown{report.Between(c.Improvement, c.ImprovementSeedsLo, c.ImprovementSeedsHi), true}
	}
	return shown{report.Between(c.Improvement, c.ImprovementLo, c.ImprovementHi), false}
}

// of is the shown estimate of a policy by a metric.
func (s *Summary) of(p *PolicyResult, metric string) shown {
	e := p.Metrics[metric]
	return e.shown(s.few(p.Name))
}

func (x shown) aligned(f report.Format) string { return f.Aligned(x.Estimate, x.few) }

func (x shown) cell(f report.Format) string { return f.Cell(x.Estimate, x.few) }

// ends are the bounds alone.
func (x shown) ends(f report.Format) string { return f.Ends(x.Estimate, x.few) }

func (x shown) onAxis() chart.Range { return chart.Range(x.Estimate) }

// kind says what the bounds are, for programs.
func (x shown) kind() string {
	if x.few {
		return "range over training seeds"
	}
	return "95 % interval"
}

// lines is what stands in one metric's block: estimates in the order of policies, policy a's comparisons with the
// others, and how to write both, in one power of ten.
type lines struct {
	estimates  []shown
	diff       []Comparison
	diffs      []shown // in the order of diff
	write      report.Format
	writeDiffs report.Format
}

func (s *Summary) lines(a string, m Metric) lines {
	l := lines{diff: s.against(a, m.Name)}
	var levels, diffs []report.Estimate
	for i := range s.Policies {
		x := s.of(&s.Policies[i], m.Name)
		l.estimates, levels = append(l.estimates, x), append(levels, x.Estimate)
	}
	for i := range l.diff {
		x := s.differs(&l.diff[i])
		l.diffs, diffs = append(l.diffs, x), append(diffs, x.Estimate)
	}
	power := report.Power(levels)
	l.write, l.writeDiffs = report.Fit(levels, power, false), report.Fit(diffs, power, true)
	return l
}

// with returns the place of the comparison with policy b, −1 where there is none.
func (l *lines) with(b string) int {
	return slices.IndexFunc(l.diff, func(c Comparison) bool { return c.B == b })
}

// TextWidth is where [Text] wraps sentences.
const TextWidth = 100

// Text returns the evaluation for a terminal of [TextWidth] columns.
func Text(s *Summary) string { return TextAt(s, TextWidth) }

// TextAt returns the evaluation for a terminal of so many columns: one sentence first, prices at equal violations, a block
// of lines per metric, the first compared policy's differences beside the means, those of further ones below, then the
// verdicts in words and what they hold of. Sentences wrap, tables do not.
func TextAt(s *Summary, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n%s\n\n", wrap(s.Summary+".", width), wrap(s.heading(), width), wrap(s.who(), width))
	if s.Load != nil {
		for _, w := range s.Load.Warnings {
			fmt.Fprintf(&b, "%s\n\n", wrap("Load: "+w+".", width))
		}
	}
	for _, o := range s.Out {
		fmt.Fprintf(&b, "%s\n\n", wrap(o.String()+".", width))
	}
	if rows := s.frontierRows(); len(rows) > 0 {
		fmt.Fprintf(&b, "%s\n%s\n", s.frontierTitle(), report.Columns(rows, true))
	}
	compared := s.compared()
	if len(compared) == 0 {
		compared = []string{""}
	}
	for i, a := range compared {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(report.Columns(s.blocks(a, i == 0), true))
	}
	for _, lines := range [][]string{s.verdictLines(), s.conclusions(), s.notes()} {
		for i := range lines {
			lines[i] = wrap(lines[i], width)
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(lines, "\n"))
		}
	}
	return b.String()
}

// heading says what was done.
func (s *Summary) heading() string {
	out := fmt.Sprintf("%s, %d workload seeds", s.Env, len(s.Seeds))
	if s.Traces > 0 {
		out += fmt.Sprintf(" of %d traces", s.Traces)
	}
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
		head = append(head, a+" − it [95 %, all at once]", "p (Holm)", "P(better)", a+" is")
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
					report.PValue(float64(c.PHolm)), report.Probability(float64(c.Improvement)), c.Verdict)
			case !estimates:
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// title is a metric with its unit, as scaled, and an arrow to where it is better.
func title(m Metric, write report.Format) string {
	return strings.TrimSpace(label(m.Name, write.Unit(m.Unit)) + " " + arrow(m.Better))
}

// arrow shows where a metric is better.
func arrow(b envs.Better) string {
	return map[envs.Better]string{envs.Lower: "↓", envs.Higher: "↑"}[b]
}

// label is a quantity with its unit, where that says more.
func label(name, unit string) string {
	if words.Unit(name, unit) == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, unit)
}

// wrap breaks a line between words so that none is longer than width, where words allow it; what goes on is indented by
// two more than the line.
func wrap(text string, width int) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var out strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			out.WriteString(indent)
			used = len(indent)
		case used+1+n > width && width > 0:
			next := ""
			if indent != "" {
				next = indent + "  "
			}
			out.WriteString("\n" + next)
			used = len(next)
		default:
			out.WriteString(" ")
			used++
		}
		out.WriteString(word)
		used += n
	}
	return out.String()
}

// frontierTitle says what the table of frontierRows holds.
func (s *Summary) frontierTitle() string {
	f := s.Frontier
	return fmt.Sprintf("%s where at most so much is %s [95 %%]", label(words.Of(f.Objective), f.Unit), words.Of(f.Limit))
}

// frontierRows are the prices at equal violations: a row per method, a column per level.
func (s *Summary) frontierRows() [][]string {
	if s.Frontier == nil {
		return nil
	}
	var rows [][]string
	head := []string{""}
	for _, m := range s.Methods {
		row := []string{"  " + m.Name}
		if m.Kind == catalog.Oracle {
			row[0] += " (bound)"
		}
		for _, at := range s.Frontier.Levels {
			if at.Family != m.Name {
				continue
			}
			if len(rows) == 0 {
				head = append(head, fmt.Sprintf("at most %g", float64(at.Level)))
			}
			row = append(row, at.Text())
		}
		rows = append(rows, row)
	}
	return append([][]string{head}, rows...)
}

// Markdown returns the evaluation as a page to stand beside the figures that it shows: estimates and verdicts with a
// row per metric and a column per policy.
func Markdown(s *Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n%s.\n\n", s.heading(), s.Summary, s.who())
	for _, o := range s.Out {
		fmt.Fprintf(&b, "%s.\n\n", o)
	}
	if rows := s.frontierRows(); len(rows) > 0 {
		fmt.Fprintf(&b, "## At equal violations\n\n%s.\n\n", s.frontierTitle())
		report.Markdown(&b, rows)
		b.WriteString("\n")
	}
	b.WriteString("## Estimates\n\nMean [95 % interval]; ↓ lower is better, ↑ higher is better.\n\n")
	rows := [][]string{append([]string{"metric"}, s.names()...)}
	for _, m := range s.Metrics {
		l := s.lines("", m)
		row := []string{title(m, l.write)}
		for _, e := range l.estimates {
			row = append(row, e.cell(l.write))
		}
		rows = append(rows, row)
	}
	report.Markdown(&b, rows)
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

// markdownVerdicts writes policy a's comparisons: a row per metric, a column per baseline.
func (s *Summary) markdownVerdicts(b *strings.Builder, a string) {
	fmt.Fprintf(b, "## Verdicts on %s\n\nBy %s.\n\n", a, s.criteria())
	rows := [][]string{{"against", "verdict", "why"}}
	for _, v := range s.Verdicts {
		if v.A == a {
			rows = append(rows, []string{v.B, bold(v.Verdict), v.Why})
		}
	}
	report.Markdown(b, rows)
	fmt.Fprintf(b, "\nBy single metrics: difference of the means %s − other under the same workload [95 %% interval for all baselines at once], p "+
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
				equal(report.PValue(float64(c.PHolm))), bold(c.Verdict)))
		}
		rows = append(rows, row)
	}
	report.Markdown(b, rows)
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
