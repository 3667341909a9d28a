package eval

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

func rangeOf(at, lo, hi Number) chart.Range {
	return chart.Range{At: float64(at), Low: float64(lo), High: float64(hi)}
}

func (e Estimate) fields() []string {
	return []string{table.Exact(float64(e.IQM)), table.Exact(float64(e.Lo)), table.Exact(float64(e.Hi))}
}

// scatter draws the policies as points of two quantities, with intervals.
func (p *painter) scatter() ([]string, error) {
	if len(p.s.Plots.Scatter) != 2 {
		return nil, nil
	}
	mx, my := p.s.Plots.Scatter[0], p.s.Plots.Scatter[1]
	panel := chart.NewPanel("", mx.direction(), my.direction())
	panel.MarginX, panel.MarginY = 0.06, 0.08
	rows := [][]string{{"policy", mx.Name, mx.Name + "_lo", mx.Name + "_hi", my.Name, my.Name + "_lo", my.Name + "_hi"}}
	for i, pol := range p.s.Policies {
		x, y := pol.Metrics[mx.Name], pol.Metrics[my.Name]
		rows = append(rows, slices.Concat([]string{pol.Name}, x.fields(), y.fields()))
		panel.Cross(p.styles[i], rangeOf(x.IQM, x.Lo, x.Hi), rangeOf(y.IQM, y.Lo, y.Hi))
	}
	if err := table.WriteFile(p.dir, "scatter.csv", rows); err != nil {
		return nil, err
	}
	f := chart.Figure{
		Title: my.Name + " against " + mx.Name + ": IQM, 95 % intervals", Key: p.key(chart.Entry{Dot: true}),
		Panels: []*chart.Panel{panel}, Columns: 1, Width: onePanel, Height: panelHeight,
	}
	return p.save(&f, "scatter")
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
func (p *painter) intervals() ([]string, error) {
	rows := [][]string{{"metric", "unit", "policy", "iqm", "lo", "hi"}}
	f := forest("IQM, 95 % intervals (↓ lower is better, ↑ higher is better)", p.names(), len(p.s.Metrics),
		func(k int, hide bool) *chart.Panel {
			m := p.s.Metrics[k]
			panel := chart.NewPanel(m.arrowed(), "", "")
			panel.Names(p.names(), hide)
			panel.TicksX(4)
			panel.MarginX = 0.12
			for i, pol := range p.s.Policies {
				e := pol.Metrics[m.Name]
				rows = append(rows, append([]string{m.Name, m.Unit, pol.Name}, e.fields()...))
				panel.Interval(p.styles[i], i, rangeOf(e.IQM, e.Lo, e.Hi))
			}
			return panel
		})
	if err := table.WriteFile(p.dir, "intervals.csv", rows); err != nil {
		return nil, err
	}
	return p.save(f, "intervals")
}

// improvement draws, for each policy compared, the probability that it does better than each of the others under one
// workload.
func (p *painter) improvement() ([]string, error) {
	rows := [][]string{{"policy", "rival", "metric", "probability", "lo", "hi"}}
	var files []string
	for _, a := range p.s.compared() {
		metrics := slices.DeleteFunc(slices.Clone(p.s.Metrics), func(m Metric) bool { return m.Better == "" })
		if len(metrics) == 0 {
			continue
		}
		var rivals []string
		for _, c := range p.s.against(a, metrics[0].Name) {
			rivals = append(rivals, c.B)
		}
		f := forest("Probability that "+a+" does better than each under one workload, 95 % intervals", rivals, len(metrics),
			func(k int, hide bool) *chart.Panel {
				panel := chart.NewPanel(metrics[k].Name, "", "")
				panel.Names(rivals, hide)
				panel.RangeX(0, 1)
				panel.TicksX(3)
				panel.MarginX = 0.04
				panel.Rule(0.5)
				for i, c := range p.s.against(a, metrics[k].Name) {
					rows = append(rows, []string{a, c.B, c.Metric, table.Exact(float64(c.Improvement)),
						table.Exact(float64(c.ImprovementLo)), table.Exact(float64(c.ImprovementHi))})
					style := p.styles[slices.Index(p.names(), c.B)]
					panel.Interval(style, i, rangeOf(c.Improvement, c.ImprovementLo, c.ImprovementHi))
				}
				return panel
			})
		name := "improvement"
		if a != p.s.compared()[0] {
			name += "_" + fileName(a)
		}
		more, err := p.save(f, name)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return nil, nil
	}
	return files, table.WriteFile(p.dir, "improvement.csv", rows)
}
