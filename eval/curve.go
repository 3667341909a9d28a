package eval

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/eval/stats"
)

// Curve is one metric of one run over training.
type Curve struct {
	// Group joins the runs that differ by seed only; Run is the run's folder.
	Group, Run, Metric string
	Steps              []int64
	Values             []float64
}

// ReadCurve reads a metric from a run's metrics.jsonl. Lines without it are passed over; none with it is an error that lists what
// there is.
func ReadCurve(run, group, metric string) (Curve, error) {
	c := Curve{Group: group, Run: run, Metric: metric}
	path := filepath.Join(run, "metrics.jsonl")
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	known := map[string]bool{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var line map[string]*float64
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return c, fmt.Errorf("%s:%d: %w", path, n, err)
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
	if err := in.Err(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if len(c.Steps) == 0 {
		var have []string
		for k := range known {
			if k != "step" {
				have = append(have, k)
			}
		}
		slices.Sort(have)
		return c, fmt.Errorf("%s has no %q; it has %s", path, metric, strings.Join(have, ", "))
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

// bands joins curves by group.
func bands(curves []Curve) []band {
	var out []band
	for _, c := range curves {
		if !slices.ContainsFunc(out, func(b band) bool { return b.group == c.Group }) {
			out = append(out, groupBand(c.Group, curves))
		}
	}
	return out
}

func groupBand(group string, curves []Curve) band {
	b := band{group: group}
	at := map[int64][]float64{}
	for _, c := range curves {
		if c.Group != group {
			continue
		}
		b.runs++
		for i, s := range c.Steps {
			if !math.IsNaN(c.Values[i]) {
				at[s] = append(at[s], c.Values[i])
			}
		}
	}
	var steps []int64
	for s, v := range at {
		if len(v) == b.runs {
			steps = append(steps, s)
		}
	}
	slices.Sort(steps)
	for _, s := range steps {
		v := at[s]
		b.x = append(b.x, float64(s))
		b.mid = append(b.mid, stats.IQM(v))
		b.lo = append(b.lo, slices.Min(v))
		b.hi = append(b.hi, slices.Max(v))
	}
	return b
}

// PlotRuns draws a metric of several runs over training into the folder out and returns the files, the data among them.
func PlotRuns(runs []string, metric, out string) ([]string, error) {
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
	files, err := drawCurves(out, strings.TrimSuffix(curveFile, ".csv"), "Learning curve", curves)
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
