package eval

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// painter draws an evaluation's figures from the data in its folder. After an error nothing more is written.
type painter struct {
	dir    string
	s      *Summary
	styles []chart.Style // of s.Policies, the same in every figure
	err    error
	// save writes a figure under a name and returns the files.
	save func(f *chart.Figure, name string) ([]string, error)
}

func newPainter(dir string, s *Summary) *painter {
	return &painter{dir: dir, s: s, styles: styles(s.Policies),
		save: func(f *chart.Figure, name string) ([]string, error) {
			return f.Save(dir, name)
		}}
}

// drawAll draws every figure for which the folder has data, and notes them in the summary.
func (p *painter) drawAll() error {
	p.s.Figures = nil
	for _, draw := range []func(){
		p.frontier, p.curve, p.scatter, p.intervals, p.improvement, p.profile, p.distributions, p.series,
	} {
		if draw(); p.err != nil {
			return fmt.Errorf("drawing: %w", p.err)
		}
	}
	return nil
}

// read is a file of the folder's data, nil where there is none or it has no rows.
func (p *painter) read(name string) *report.File {
	t, err := report.ReadFile(p.dir, name)
	if p.err = err; t == nil || len(t.Rows) == 0 {
		return nil
	}
	return t
}

// data writes what a figure shows.
func (p *painter) data(name string, rows [][]string) {
	if p.err == nil {
		p.err = report.WriteFile(p.dir, name+".csv", rows)
	}
}

// styles gives each policy its look: an oracle is a bound, the others follow the palette in their order.
func styles(policies []PolicyResult) []chart.Style {
	out := make([]chart.Style, len(policies))
	n, bound := 0, false
	for i, p := range policies {
		if p.Kind == catalog.Oracle && !bound {
			out[i], bound = chart.Bound(), true
			continue
		}
		out[i] = chart.Styles(n)
		n++
	}
	return out
}

// finish writes below a figure's title what it is of, saves it and notes its files.
func (p *painter) finish(f *chart.Figure, name string) {
	if f.Under == "" {
		f.Under = under(p.s)
	}
	if p.err == nil {
		var files []string
		files, p.err = p.save(f, name)
		p.s.Figures = append(p.s.Figures, files...)
	}
}

// under says what all figures of an evaluation are of.
func under(s *Summary) string {
	out := s.Env
	if s.Split != "" {
		out += ", split " + s.Split
	}
	if n := len(s.Seeds); n > 0 {
		out += fmt.Sprintf(", %d workload seeds", n)
		if s.Traces > 0 {
			out += fmt.Sprintf(" of %d traces", s.Traces)
		}
	}
	return out
}

// names are the policies' names.
func (s *Summary) names() []string {
	return lists.From(s.Policies, func(p PolicyResult) string { return p.Name })
}

// key names every policy; entry says how.
func (p *painter) key(entry chart.Entry) []chart.Entry {
	var out []chart.Entry
	for i, name := range p.s.names() {
		entry.Text, entry.Style = name, p.styles[i]
		out = append(out, entry)
	}
	return out
}

// Widths of figures, in points: as wide as a README's column at most.
const (
	onePanel    = vg.Length(470)
	panelHeight = vg.Length(250)
	lowPanel    = vg.Length(130) // of several, one below the other
)

// label is a metric's label on an axis.
func (m Metric) label() string { return words.Label(m.Name, m.Unit) }

// level draws the known levels of a quantity by draw, which reports whether there was room, and adds those drawn to the
// key of f.
func level(f *chart.Figure, levels []envs.Level, m Metric, draw func(float64) bool) {
	for _, l := range levels {
		if l.Of != m.Name || !draw(l.Value) {
			continue
		}
		text := fmt.Sprintf("%s: %s %.4g %s", words.Of(m.Name), l.Doc, l.Value, words.Unit(m.Name, m.Unit))
		e := chart.Entry{Text: strings.TrimSpace(text), Style: chart.Limit(), Line: true}
		if !slices.ContainsFunc(f.Key, func(k chart.Entry) bool { return k.Text == e.Text }) {
			f.Key = append(f.Key, e)
		}
	}
}

// arrowed is the label with an arrow to where it is better.
func (m Metric) arrowed() string { return strings.TrimSpace(m.label() + " " + arrow(m.Better)) }

// direction says in words where a metric is better.
func (m Metric) direction() string {
	if m.Better == envs.Neither {
		return m.label()
	}
	return m.label() + ", " + string(m.Better) + " is better"
}

// fileName makes a name into one of a file.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// free returns a file's name that is not taken, and takes it: names may differ by what a file's name can't have, or by capitals.
func free(taken map[string]bool, name string) string {
	for taken[strings.ToLower(name)] {
		name += "_"
	}
	taken[strings.ToLower(name)] = true
	return name
}

// seedMark is the mark of one training seed beside the mean of all: smaller, and hollow.
type seedMark struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (seedMark) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	s.Radius *= 0.7
	draw.RingGlyph{}.DrawGlyph(c, s, at)
}

// seedMarks draws the means of a policy's training seeds where they are too few for an interval, at x and y.
func (p *painter) seedMarks(panel *chart.Panel, policy int, x, y func(seed int) float64) {
	pol := &p.s.Policies[policy]
	if !p.s.few(pol.Name) {
		return
	}
	style := p.styles[policy]
	style.Glyph = seedMark{}
	for k := range p.s.trained(pol.Name) {
		panel.Cross(style, chart.Exactly(x(k)), chart.Exactly(y(k)))
	}
}

// bySeed are the means of a policy's training seeds by a metric.
func (p *painter) bySeed(policy int, metric string) func(seed int) float64 {
	return func(seed int) float64 { return float64(p.s.Policies[policy].Metrics[metric].BySeed[seed]) }
}

// spread says what the bars of a policy's probabilities are.
func (p *painter) spread(policy string) string {
	if p.s.few(policy) {
		return "range over training seeds"
	}
	return "95 % intervals"
}

// bandsAre says what the bands of a figure are.
func (p *painter) bandsAre() string {
	return strings.ReplaceAll(strings.ReplaceAll(p.bounds(), "intervals", "bands"), "rings and range", "range")
}

// bounds says what the bars of a figure are.
func (p *painter) bounds() string {
	if slices.ContainsFunc(p.s.names(), p.s.few) {
		return "95 % intervals; rings and range of 2 or 3 training seeds"
	}
	return "95 % intervals"
}

// scatter draws the policies as points of two quantities, with intervals.
func (p *painter) scatter() {
	if len(p.s.Plots.Scatter) != 2 {
		return
	}
	mx, my := p.s.Plots.Scatter[0], p.s.Plots.Scatter[1]
	if my.Name == p.s.Constraint && mx.Name == p.s.Objective { // as in the figure of frontiers
		mx, my = my, mx
	}
	panel := chart.NewPanel("", mx.direction(), my.direction())
	panel.MarginX, panel.MarginY = 0.06, 0.08
	rows := [][]string{{"policy", mx.Name, mx.Name + "_lo", mx.Name + "_hi", my.Name, my.Name + "_lo", my.Name + "_hi",
		"bounds"}}
	for i := range p.s.Policies {
		pol := &p.s.Policies[i]
		x, y := p.s.of(pol, mx.Name), p.s.of(pol, my.Name)
		rows = append(rows, report.Cells(pol.Name, x.Estimate, y.Estimate, x.kind()))
		p.seedMarks(panel, i, p.bySeed(i, mx.Name), p.bySeed(i, my.Name))
		panel.Cross(p.styles[i], x.onAxis(), y.onAxis())
	}
	p.data("scatter", rows)
	f := chart.Figure{
		Title: words.Of(my.Name) + " against " + words.Of(mx.Name) + ": mean, " + p.bounds(), Key: p.key(chart.Entry{Dot: true}),
		Panels: []*chart.Panel{panel}, Columns: 1, Width: onePanel, Height: panelHeight,
	}
	level(&f, p.s.Plots.Levels, mx, panel.LevelX)
	level(&f, p.s.Plots.Levels, my, panel.LevelY)
	p.finish(&f, "scatter")
}

// forest lays out panels of one line per name each, names at the left of each row only.
func forest(title string, names []string, panels int, panel func(i int, hideNames bool) *chart.Panel) *chart.Figure {
	f := &chart.Figure{Title: title, Columns: min(panels, 3), Height: 46 + 15*vg.Length(len(names))}
	if panels == 4 {
		f.Columns = 2
	}
	f.Width = onePanel / vg.Length(max(2, f.Columns))
	for i := range panels {
		f.Panels = append(f.Panels, panel(i, i%f.Columns != 0))
	}
	return f
}

// intervals draws a panel per metric, the policies as lines with their intervals.
func (p *painter) intervals() {
	rows := [][]string{{"metric", "unit", "policy", "mean", "lo", "hi", "bounds"}}
	f := forest("Mean, "+p.bounds()+" (↓ lower, ↑ higher is better)", p.s.names(), len(p.s.Metrics),
		func(k int, hide bool) *chart.Panel {
			m := p.s.Metrics[k]
			panel := chart.NewPanel(m.arrowed(), "", "")
			panel.Names(p.s.names(), hide)
			panel.TicksX(4)
			panel.MarginX = 0.12
			for i := range p.s.Policies {
				pol := &p.s.Policies[i]
				e := p.s.of(pol, m.Name)
				rows = append(rows, report.Cells(m.Name, m.Unit, pol.Name, e.Estimate, e.kind()))
				p.seedMarks(panel, i, p.bySeed(i, m.Name), func(int) float64 { return -float64(i) })
				panel.Interval(p.styles[i], i, e.onAxis())
			}
			return panel
		})
	for k, m := range p.s.Metrics {
		level(f, p.s.Plots.Levels, m, f.Panels[k].LevelX)
	}
	p.data("intervals", rows)
	p.finish(f, "intervals")
}

// improvement draws, for each policy compared, the probability that it does better than each of the others under one
// workload.
func (p *painter) improvement() {
	rows := [][]string{{"policy", "baseline", "metric", "probability", "lo", "hi", "bounds"}}
	metrics := slices.DeleteFunc(slices.Clone(p.s.Metrics), func(m Metric) bool { return m.Better == "" })
	if len(metrics) == 0 || len(p.s.compared()) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, a := range p.s.compared() {
		baselines := lists.From(p.s.against(a, metrics[0].Name), func(c Comparison) string { return c.B })
		f := forest("Probability that "+a+" does better than each under one workload, "+p.spread(a), baselines, len(metrics),
			func(k int, hide bool) *chart.Panel {
				panel := chart.NewPanel(words.Of(metrics[k].Name), "", "")
				panel.Names(baselines, hide)
				panel.RangeX(0, 1)
				panel.TicksX(3)
				panel.MarginX = 0.04
				panel.Rule(0.5)
				for i, c := range p.s.against(a, metrics[k].Name) {
					x := p.s.improves(&c)
					rows = append(rows, report.Cells(a, c.B, c.Metric, x.Estimate, x.kind()))
					style := p.styles[slices.Index(p.s.names(), c.B)]
					panel.Interval(style, i, x.onAxis())
				}
				return panel
			})
		name := "improvement"
		if a != p.s.compared()[0] {
			name = free(taken, name+"_"+fileName(a))
		}
		p.finish(f, name)
	}
	p.data("improvement", rows)
}
