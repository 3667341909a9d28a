package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawAll draws every figure for which the folder has data, and notes them in the summary.
func drawAll(dir string, s *Summary) error {
	s.Figures = nil
	for _, f := range []func(string, *Summary) ([]string, error){drawCurve, drawScatter, drawIntervals, drawCDF, drawSeries} {
		files, err := f(dir, s)
		if err != nil {
			return fmt.Errorf("drawing: %w", err)
		}
		s.Figures = append(s.Figures, files...)
	}
	return nil
}

// drawCurve draws the learning curve from its CSV.
func drawCurve(dir string, _ *Summary) ([]string, error) {
	t, err := readCSV(dir, curveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var curves []Curve
	for _, r := range t.rows {
		run, metric := t.text(r, "run"), t.text(r, "metric")
		i := slices.IndexFunc(curves, func(c Curve) bool { return c.Run == run && c.Metric == metric })
		if i < 0 {
			curves = append(curves, Curve{Group: t.text(r, "group"), Run: run, Metric: metric})
			i = len(curves) - 1
		}
		curves[i].Steps = append(curves[i].Steps, int64(t.number(r, "step")))
		curves[i].Values = append(curves[i].Values, t.number(r, "value"))
	}
	if len(curves) == 0 {
		return nil, nil
	}
	return drawCurves(dir, "learning_curve", "Learning curve", curves)
}

// drawCurves draws curves of one metric: a line per group, the range over its runs as a band.
func drawCurves(dir, name, title string, curves []Curve) ([]string, error) {
	p := newPlot(title, "environment steps", curves[0].Metric)
	p.Legend.Top = false
	for i, b := range bands(curves) {
		if len(b.x) == 0 {
			continue
		}
		if b.runs > 1 {
			area, err := plotter.NewPolygon(ring(b.x, b.lo, b.hi))
			if err != nil {
				return nil, err
			}
			area.Color, area.LineStyle.Width = faint(colour(i)), 0
			p.Add(area)
		}
		l, err := line(i, points(b.x, b.mid))
		if err != nil {
			return nil, err
		}
		p.Add(l)
		text := b.group
		if b.runs > 1 {
			text = fmt.Sprintf("%s (IQM and range of %d runs)", b.group, b.runs)
		}
		p.Legend.Add(text, l)
	}
	return save(dir, name, p)
}

func points(x, y []float64) plotter.XYs {
	out := make(plotter.XYs, len(x))
	for i := range x {
		out[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return out
}

// ring is the outline of the area between lo and hi.
func ring(x, lo, hi []float64) plotter.XYs {
	out := points(x, hi)
	for i := len(x) - 1; i >= 0; i-- {
		out = append(out, plotter.XY{X: x[i], Y: lo[i]})
	}
	return out
}

// errorPoints are points with intervals in both directions.
type errorPoints struct {
	plotter.XYs
	plotter.XErrors
	plotter.YErrors
}

// drawScatter draws the policies as points of two quantities, with intervals.
func drawScatter(dir string, s *Summary) ([]string, error) {
	if len(s.Plots.Scatter) != 2 {
		return nil, nil
	}
	mx, my := s.Plots.Scatter[0], s.Plots.Scatter[1]
	p := newPlot(my.Name+" against "+mx.Name+", IQM and 95 % intervals", label(mx), label(my))
	rows := [][]string{{"policy", mx.Name, mx.Name + "_lo", mx.Name + "_hi", my.Name, my.Name + "_lo", my.Name + "_hi"}}
	for i, pol := range s.Policies {
		x, y := pol.Estimates[mx.Name], pol.Estimates[my.Name]
		rows = append(rows, []string{pol.Name, number(x.IQM), number(x.Lo), number(x.Hi), number(y.IQM), number(y.Lo), number(y.Hi)})
		e := errorPoints{
			plotter.XYs{{X: x.IQM, Y: y.IQM}},
			plotter.XErrors{{Low: x.Lo - x.IQM, High: x.Hi - x.IQM}},
			plotter.YErrors{{Low: y.Lo - y.IQM, High: y.Hi - y.IQM}},
		}
		dot, err := plotter.NewScatter(e)
		if err != nil {
			return nil, err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: colour(i), Radius: vg.Points(4), Shape: glyph(i)}
		xb, errX := plotter.NewXErrorBars(e)
		yb, errY := plotter.NewYErrorBars(e)
		if err := errors.Join(errX, errY); err != nil {
			return nil, err
		}
		xb.Color, yb.Color = colour(i), colour(i)
		p.Add(xb, yb, dot)
		p.Legend.Add(pol.Name, dot)
	}
	if err := writeCSV(dir, "scatter.csv", rows); err != nil {
		return nil, err
	}
	margin(&p.X)
	margin(&p.Y)
	return save(dir, "scatter", p)
}

// margin widens an axis a little, so that no point lies on the frame.
func margin(a *plot.Axis) {
	w := a.Max - a.Min
	if w == 0 {
		w = max(math.Abs(a.Max), 1)
	}
	a.Min -= 0.06 * w
	a.Max += 0.06 * w
}

func glyph(i int) draw.GlyphDrawer {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}}
	return shapes[i%len(shapes)]
}

// drawIntervals draws a panel per metric, the policies side by side with their intervals. Its data is eval.json's own.
func drawIntervals(dir string, s *Summary) ([]string, error) {
	var panels []*plot.Plot
	names := make([]string, len(s.Policies))
	for i, p := range s.Policies {
		names[i] = p.Name
	}
	rows := [][]string{{"metric", "policy", "iqm", "lo", "hi"}}
	for _, m := range s.Metrics {
		p := newPlot("", "", label(m))
		for i, pol := range s.Policies {
			e := pol.Estimates[m.Name]
			rows = append(rows, []string{m.Name, pol.Name, number(e.IQM), number(e.Lo), number(e.Hi)})
			pt := errorPoints{plotter.XYs{{X: float64(i), Y: e.IQM}}, nil, plotter.YErrors{{Low: e.Lo - e.IQM, High: e.Hi - e.IQM}}}
			dot, err := plotter.NewScatter(pt)
			if err != nil {
				return nil, err
			}
			dot.GlyphStyle = draw.GlyphStyle{Color: colour(i), Radius: vg.Points(4), Shape: glyph(i)}
			bars, err := plotter.NewYErrorBars(pt)
			if err != nil {
				return nil, err
			}
			bars.Color, bars.Width = colour(i), vg.Points(1.5)
			p.Add(bars, dot)
		}
		p.NominalX(names...)
		p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
		margin(&p.Y)
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return nil, nil
	}
	panels[0].Title.Text = "IQM and 95 % intervals"
	if err := writeCSV(dir, "intervals.csv", rows); err != nil {
		return nil, err
	}
	return save(dir, "intervals", panels...)
}

// drawCDF draws the distribution of each quantity that the environment samples.
func drawCDF(dir string, s *Summary) ([]string, error) {
	t, err := readCSV(dir, samplesFile)
	if err != nil {
		return nil, err
	}
	var quantities []string
	for _, r := range t.rows {
		if q := t.text(r, "quantity"); !slices.Contains(quantities, q) {
			quantities = append(quantities, q)
		}
	}
	var files []string
	for _, q := range quantities {
		p := newPlot("Distribution of "+q, q, "share of samples below")
		p.Legend.Top = false
		for i, pol := range s.Policies {
			var x, y []float64
			for _, r := range t.rows {
				if t.text(r, "quantity") == q && t.text(r, "policy") == pol.Name {
					x, y = append(x, t.number(r, "value")), append(y, t.number(r, "share_below"))
					p.X.Label.Text = label(Metric{Name: q, Unit: t.text(r, "unit")})
				}
			}
			if len(x) == 0 {
				continue
			}
			l, err := line(i, points(x, y))
			if err != nil {
				return nil, err
			}
			p.Add(l)
			p.Legend.Add(pol.Name, l)
		}
		logarithmic(&p.X)
		f, err := save(dir, q+"_cdf", p)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

// logarithmic makes an axis logarithmic where its values allow and need it: all positive, over a hundredfold range.
func logarithmic(a *plot.Axis) {
	if a.Min > 0 && a.Max/a.Min > 100 {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
}

// drawSeries draws quantities over time, of the first traced seed, a panel each.
func drawSeries(dir string, s *Summary) ([]string, error) {
	t, err := readCSV(dir, stepsFile)
	if err != nil || len(s.Plots.Series) == 0 || len(t.rows) == 0 {
		return nil, err
	}
	seed := t.text(t.rows[0], "workload_seed")
	var panels []*plot.Plot
	for k, m := range s.Plots.Series {
		p := newPlot("", "time (min)", label(m))
		for i, pol := range s.Policies {
			var x, y []float64
			for _, r := range t.rows {
				if t.text(r, "policy") == pol.Name && t.text(r, "workload_seed") == seed {
					x, y = append(x, t.number(r, "time_s")/60), append(y, t.number(r, m.Name))
				}
			}
			if len(x) == 0 {
				continue
			}
			l, err := line(i, points(x, y))
			if err != nil {
				return nil, err
			}
			l.StepStyle = plotter.PreStep
			p.Add(l)
			if k == 0 {
				p.Legend.Add(pol.Name, l)
			}
		}
		panels = append(panels, p)
	}
	panels[0].Title.Text = "Over one episode, workload seed " + seed
	return save(dir, "over_time", panels...)
}
