package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/eval/chart"
	"github.com/stoker-rl/stoker/eval/stats"
)

// Curve is one metric of one run over training.
type Curve struct {
	// Group joins the runs that differ by seed only; Run is the run's folder.
	Group, Run, Metric string
	Steps              []int64
	Values             []float64
}

// ReadCurve reads a metric from a run's metrics.jsonl. Lines without it are passed over, and so is a last line that is still being
// written; no line with it is an error that lists what there is.
func ReadCurve(run, group, metric string) (Curve, error) {
	c := Curve{Group: group, Run: run, Metric: metric}
	path := filepath.Join(run, checkpoints.MetricsFile)
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	known := map[string]bool{}
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // what follows the last newline is not finished
		}
		if err != nil {
			return c, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		var line map[string]*float64
		if err := json.Unmarshal(bytes.TrimSpace(text), &line); err != nil {
			return c, fmt.Errorf("%s:%d: want an object of numbers: %w", path, n, err)
		}
		step := line["step"]
		if step == nil {
			return c, fmt.Errorf("%s:%d: no step", path, n)
		}
		for k := range line {
			known[k] = true
		}
		if x := line[metric]; x != nil {
			c.Steps = append(c.Steps, int64(*step))
			c.Values = append(c.Values, *x)
		}
	}
	if len(c.Steps) == 0 {
		delete(known, "step")
		have := "nothing yet"
		if len(known) > 0 {
			have = strings.Join(slices.Sorted(maps.Keys(known)), ", ")
		}
		return c, fmt.Errorf("%s has no %q; it has %s", path, metric, have)
	}
	return c, nil
}

func curveRows(curves []Curve) [][]string {
	rows := [][]string{{"group", "run", "metric", "step", "value"}}
	for _, c := range curves {
		for i, s := range c.Steps {
			rows = append(rows, []string{c.Group, c.Run, c.Metric, fmt.Sprint(s), number(c.Values[i])})
		}
	}
	return rows
}

// band is a group's curve: IQM over its runs and the range that they span at each step that all of them have.
type band struct {
	group          string
	runs           int
	x, mid, lo, hi []float64
}

// bands joins curves by group. Where the runs of a group have no step in common, each is a band of its own.
func bands(curves []Curve) []band {
	var groups []string
	for _, c := range curves {
		if !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
	}
	var out []band
	for _, g := range groups {
		of := slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return c.Group != g })
		if b := join(g, of); len(b.x) > 0 {
			out = append(out, b)
			continue
		}
		for _, c := range of {
			out = append(out, join(filepath.Base(filepath.Clean(c.Run)), []Curve{c}))
		}
	}
	return out
}

func join(group string, curves []Curve) band {
	b := band{group: group, runs: len(curves)}
	at := map[int64][]float64{}
	for _, c := range curves {
		for i, s := range c.Steps {
			if !math.IsNaN(c.Values[i]) {
				at[s] = append(at[s], c.Values[i])
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(at)) {
		v := at[s]
		if len(v) < b.runs {
			continue
		}
		b.x = append(b.x, float64(s))
		b.mid = append(b.mid, stats.IQM(v))
		b.lo = append(b.lo, slices.Min(v))
		b.hi = append(b.hi, slices.Max(v))
	}
	return b
}

// curve draws the learning curve from its CSV.
func (p *painter) curve() ([]string, error) {
	t, err := readCSV(p.dir, curveFile)
	if t == nil || len(t.rows) == 0 {
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
	f := curveFigure(curves, func(group string, i int) chart.Style {
		if at := slices.Index(p.names(), group); at >= 0 {
			return p.styles[at]
		}
		return chart.Styles(len(p.styles) + i)
	})
	return p.save(f, curveName)
}

// curveFigure draws curves of one metric: a line per group, the range over its runs as a band.
func curveFigure(curves []Curve, style func(group string, i int) chart.Style) *chart.Figure {
	panel := chart.NewPanel("", "environment steps", curves[0].Metric)
	panel.RangeX(0, 0)
	f := &chart.Figure{Title: "Learning curve", Panels: []*chart.Panel{panel}, Columns: 1, Width: onePanel, Height: panelHeight}
	for i, b := range bands(curves) {
		e := chart.Entry{Text: b.group, Style: style(b.group, i), Line: true}
		if b.runs > 1 {
			e.Text, e.Band = fmt.Sprintf("%s (IQM and range of %d runs)", b.group, b.runs), true
			panel.Band(e.Style, b.x, b.lo, b.hi)
		}
		panel.Line(e.Style, b.x, b.mid, false)
		f.Key = append(f.Key, e)
	}
	return f
}

// PlotRuns draws a metric of several runs over training into the folder out and returns the files, the data among them.
func PlotRuns(runs []string, metric, out string) ([]string, error) {
	if len(runs) == 0 {
		return nil, errors.New("eval: no runs to draw")
	}
	var curves []Curve
	for _, r := range runs {
		c, err := ReadCurve(r, groupName(r), metric)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	if err := writeCSV(out, curveFile, curveRows(curves)); err != nil {
		return nil, err
	}
	files, err := curveFigure(curves, func(_ string, i int) chart.Style { return chart.Styles(i) }).Save(out, curveName)
	files = append(files, curveFile)
	for i := range files {
		files[i] = filepath.Join(out, files[i])
	}
	return files, err
}

var seedSuffix = regexp.MustCompile(`-s[0-9]+$`)

// groupName is a run's name without its seed.
func groupName(run string) string {
	return seedSuffix.ReplaceAllString(filepath.Base(filepath.Clean(run)), "")
}
