package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/internal/words"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// Curve is one metric of one run over training.
type Curve struct {
	// Group joins the runs that differ by seed only; Run is the run's folder.
	Group, Run, Metric string
	Steps              []int64
	// Seconds of training at each step, over all sessions; empty where it was not asked for.
	Seconds []float64
	Values  []float64
}

// ReadCurve reads a metric from a run's metrics.jsonl, or from its timing.jsonl where the metric is one of time/.
// Lines without it are passed over, and so is a last line that is still being written; no line with it is an error
// that lists what there is.
func ReadCurve(run, group, metric string) (Curve, error) {
	c := Curve{Group: group, Run: run, Metric: metric}
	known := map[string]bool{}
	take := func(step int64, _ float64, line map[string]float64) {
		for k := range line {
			known[k] = true
		}
		if x, ok := line[metric]; ok {
			c.Steps, c.Values = append(c.Steps, step), append(c.Values, x)
		}
	}
	path := filepath.Join(run, checkpoints.MetricsFile)
	if err := readLog(path, take); err != nil {
		return c, err
	}
	if len(c.Steps) == 0 {
		if err := readLog(filepath.Join(run, timingFile), take); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	if len(c.Steps) > 0 {
		return c, nil
	}
	names := slices.Sorted(maps.Keys(known))
	if len(names) == 0 {
		return c, fmt.Errorf("%s has no %q; it has nothing yet", path, metric)
	}
	hint := ""
	if near := configs.Nearest(metric, names); near != "" && len(metric) > 3 {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return c, train.Usage("%s has no %q%s; it has %s", path, metric, hint, strings.Join(names, ", "))
}

// timingFile is the log of times, beside that of metrics.
const timingFile = "timing.jsonl"

// readLog calls take with every line of a log: the step, the time at which it was written, in seconds since 1970 (0 where a line has
// none), and every other number. What is null was not known.
func readLog(path string, take func(step int64, at float64, line map[string]float64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what follows the last newline is not finished
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(bytes.TrimSpace(text), &raw); err != nil {
			return fmt.Errorf("%s:%d: want an object of numbers: %w", path, n, err)
		}
		line, at := make(map[string]float64, len(raw)), 0.0
		for k, v := range raw {
			if string(v) == "null" {
				continue
			}
			if k == "at" {
				var t time.Time
				if err := json.Unmarshal(v, &t); err == nil {
					at = float64(t.UnixNano()) / 1e9
				}
				continue
			}
			var x float64
			if err := json.Unmarshal(v, &x); err != nil {
				return fmt.Errorf("%s:%d: %s: want a number: %w", path, n, k, err)
			}
			line[k] = x
		}
		step, ok := line["step"]
		if !ok {
			return fmt.Errorf("%s:%d: no step", path, n)
		}
		delete(line, "step")
		take(int64(step), at, line)
	}
}

// clocked adds to a curve the seconds of training at its steps, from the run's log of times. A session's clock starts
// at 0: what earlier sessions took is added, work that was lost with a crash included. A session is another where it began after
// the line before, or, in logs without times of day, where its clock is behind.
func (c Curve) clocked() (Curve, error) {
	path := filepath.Join(c.Run, timingFile)
	var steps, seconds []float64
	before, last, wrote := 0.0, 0.0, 0.0
	err := readLog(path, func(step int64, at float64, line map[string]float64) {
		now, ok := line["time/elapsed_s"]
		if !ok {
			return
		}
		if at > 0 && at-now >= wrote || at == 0 && now < last {
			before += last
		}
		last, wrote = now, at
		for len(steps) > 0 && steps[len(steps)-1] >= float64(step) { // redone after a crash
			steps, seconds = steps[:len(steps)-1], seconds[:len(seconds)-1]
		}
		steps, seconds = append(steps, float64(step)), append(seconds, before+now)
	})
	if err == nil && len(steps) == 0 {
		err = fmt.Errorf("%s has no time/elapsed_s", path)
	}
	if err != nil {
		return c, fmt.Errorf("no times to draw over: %w", err)
	}
	c.Seconds = lists.Make(len(c.Steps), func(i int) float64 { return interpolate(steps, seconds, float64(c.Steps[i])) })
	return c, nil
}

func curveRows(curves []Curve) [][]string {
	rows := [][]string{{"group", "run", "metric", "step", "value"}}
	timed := slices.ContainsFunc(curves, func(c Curve) bool { return len(c.Seconds) > 0 })
	if timed {
		rows[0] = append(rows[0], "seconds")
	}
	for _, c := range curves {
		for i, s := range c.Steps {
			row := report.Cells(c.Group, c.Run, c.Metric, s, c.Values[i])
			if timed {
				row = append(row, report.Exact(c.Seconds[i]))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// curve draws the learning curve from its CSV.
func (p *painter) curve() {
	t := p.read(curveFile)
	if t == nil {
		return
	}
	var curves []Curve
	for _, r := range t.Rows {
		run, metric := t.Text(r, "run"), t.Text(r, "metric")
		i := slices.IndexFunc(curves, func(c Curve) bool { return c.Run == run && c.Metric == metric })
		if i < 0 {
			curves = append(curves, Curve{Group: t.Text(r, "group"), Run: run, Metric: metric})
			i = len(curves) - 1
		}
		curves[i].Steps = append(curves[i].Steps, int64(t.Number(r, "step")))
		curves[i].Values = append(curves[i].Values, t.Number(r, "value"))
	}
	tag := curves[0].Metric
	unit := p.s.metric(quantityIn(tag)).Unit // "" where it is none of the evaluation's
	f := curveFigure(curves, unit, func(group string, i int) chart.Style {
		if at := slices.Index(p.s.names(), group); at >= 0 {
			return p.styles[at]
		}
		return chart.Styles(len(p.styles) + i)
	})
	f.Under = p.s.Env
	// The tables are of other episodes, so that the last point is not their number.
	f.Title = "Learning curve: training's own episodes, not the tables'"
	if strings.HasPrefix(tag, "eval/") {
		f.Title = "Learning curve: evaluations during training, other episodes than the tables'"
	}
	curveLevels(f, p.s.Plots.Levels, tag, unit)
	p.finish(f, curveName)
}

// quantityIn is the quantity that a tag logs.
func quantityIn(tag string) string { return tag[strings.LastIndexByte(tag, '/')+1:] }

// curveLevels draws the known levels of what a tag logs.
func curveLevels(f *chart.Figure, levels []envs.Level, tag, unit string) {
	name := quantityIn(tag)
	if tag == "eval/mean_reward" || tag == "rollout/ep_rew_mean" {
		name = envs.ReturnLevel
	}
	level(f, levels, Metric{Name: name, Unit: unit}, f.Panels[len(f.Panels)-1].LevelY)
}

// curveFigure draws curves of one metric: a line per group, the range over its runs as a band.
func curveFigure(curves []Curve, unit string, style func(group string, i int) chart.Style) *chart.Figure {
	o := bandOptions{Average: AverageMean, Band: BandRange}
	panel := chart.NewPanel("", "environment steps", words.Label(curves[0].Metric, unit))
	panel.RangeX(0, 0)
	f := &chart.Figure{Title: "Learning curve", Panels: []*chart.Panel{panel}, Columns: 1, Width: onePanel,
		Height: panelHeight}
	for i, b := range bands(curves, o) {
		f.Key = append(f.Key, o.draw(panel, b, style(b.group, i)))
	}
	return f
}

// points are a curve's values in ascending order of steps or seconds; values that are NaN are left out.
func (c Curve) points(time bool) (x, y []float64) {
	at := c.Seconds
	if !time {
		at = lists.Make(len(c.Steps), func(i int) float64 { return float64(c.Steps[i]) })
	}
	order := lists.Make(len(at), func(i int) int { return i })
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	for _, i := range order {
		if !math.IsNaN(c.Values[i]) {
			x, y = append(x, at[i]), append(y, c.Values[i])
		}
	}
	return x, y
}

// smoothed is an exponential moving average that forgets its beginning as TensorBoard's does: the weight of a value
// falls by the factor for every later one, and the weights of those there are sum to 1. A factor of 0 leaves values
// as they are.
func smoothed(y []float64, factor float64) []float64 {
	if factor <= 0 {
		return y
	}
	out := make([]float64, len(y))
	sum, weight := 0.0, 0.0
	for i, v := range y {
		sum, weight = factor*sum+v, factor*weight+1
		out[i] = sum / weight
	}
	return out
}

// interpolate returns y at x, linearly between ascending xs and constant beyond their ends.
func interpolate(xs, ys []float64, x float64) float64 {
	i := sort.SearchFloat64s(xs, x)
	switch {
	case i == len(xs):
		return ys[i-1]
	case i == 0 || xs[i] == x:
		return ys[i]
	}
	f := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return ys[i-1] + f*(ys[i]-ys[i-1])
}
