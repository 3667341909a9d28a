package eval

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/words"
	"github.com/stoker-rl/stoker/internal/chart"
)

// painter draws an evaluation's figures from the data in its folder.
type painter struct {
	dir    string
	s      *Summary
	styles []chart.Style // of s.Policies, the same in every figure
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
	for _, f := range []func() ([]string, error){
		p.frontier, p.curve, p.scatter, p.intervals, p.improvement, p.profile, p.distributions, p.series,
	} {
		files, err := f()
		if err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
		p.s.Figures = append(p.s.Figures, files...)
	}
	return nil
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

// finish writes below a figure's title what it is of, and saves it.
func (p *painter) finish(f *chart.Figure, name string) ([]string, error) {
	if f.Under == "" {
		f.Under = under(p.s)
	}
	return p.save(f, name)
}

// under says what all figures of an evaluation are of.
func under(s *Summary) string {
	out := s.Env
	if s.Split != "" {
		out += ", split " + s.Split
	}
	if n := len(s.Seeds); n > 0 {
		out += fmt.Sprintf(", %d workload seeds", n)
	}
	return out
}

// names are the policies' names.
func (p *painter) names() []string {
	out := make([]string, len(p.s.Policies))
	for i, pol := range p.s.Policies {
		out[i] = pol.Name
	}
	return out
}

// key names every policy; entry says how.
func (p *painter) key(entry chart.Entry) []chart.Entry {
	var out []chart.Entry
	for i, name := range p.names() {
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
		unit := " " + m.Unit
		if m.Unit == "1" || m.Unit == "" || m.Unit == m.Name {
			unit = ""
		}
		e := chart.Entry{Text: fmt.Sprintf("%s: %s %.4g%s", words.Of(m.Name), l.Doc, l.Value, unit), Style: chart.Limit(),
			Line: true}
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
