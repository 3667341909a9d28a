package maddpg

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// curve is the learning curve of one seed: a point per evaluation.
type curve struct {
	seed   uint64
	points []point
}

// point is an evaluation after a number of episodes (of steps, for LQR): the mean return over its episodes and half its
// 95 % interval, for actions as training draws them and for actions without exploration (greedy).
type point struct {
	episode                        int
	mean, half, greedy, greedyHalf float64
}

func (c curve) last() point { return c.points[len(c.points)-1] }

// at is the last point at or before a number of episodes.
func (c curve) at(episodes int) point {
	p := c.points[0]
	for _, q := range c.points {
		if q.episode <= episodes {
			p = q
		}
	}
	return p
}

// curveHeads are the columns of each topic. LQR's points are after steps, and its greedy numbers are costs divided by
// the best control's.
var curveHeads = map[string][]string{
	"spread": {"episode", "mean", "half", "greedy", "greedy_half"},
	"lqr":    {"step", "cost", "half", "ratio", "ratio_half"},
}

// proofFile is the path of a file in the folder for proofs, empty where no folder is named.
func proofFile(name string) string {
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

func curveFile(topic string, seed uint64) string {
	return proofFile(fmt.Sprintf("%s-seed-%d.csv", topic, seed))
}

// write writes the curve to the folder for proofs, if there is one.
func (c curve) write(t *testing.T, topic string) {
	t.Helper()
	path := curveFile(topic, c.seed)
	if path == "" {
		return
	}
	rows := [][]string{curveHeads[topic]}
	for _, p := range c.points {
		row := []string{strconv.Itoa(p.episode)}
		for _, x := range []float64{p.mean, p.half, p.greedy, p.greedyHalf} {
			row = append(row, strconv.FormatFloat(x, 'f', 4, 64))
		}
		rows = append(rows, row)
	}
	f := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()))
}

// readCurve reads a curve that write wrote; ok is false where there is none.
func readCurve(t *testing.T, topic string, seed uint64) (c curve, ok bool) {
	t.Helper()
	path := curveFile(topic, seed)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false
	}
	must.Do(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 || !slices.Equal(rows[0], curveHeads[topic]) {
		t.Fatalf("%s: want rows of %v: %v", path, curveHeads[topic], err)
	}
	c.seed = seed
	for i, r := range rows[1:] {
		var x [5]float64
		for j, s := range r {
			if x[j], err = strconv.ParseFloat(s, 64); err != nil {
				t.Fatalf("%s:%d: %v", path, i+2, err)
			}
		}
		c.points = append(c.points, point{int(x[0]), x[1], x[2], x[3], x[4]})
	}
	return c, true
}

// overSeeds is the mean of one value per seed with half its 95 % interval (Student's).
func overSeeds(x []float64) (mean, half float64) {
	if len(x) < 2 {
		return x[0], math.NaN()
	}
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
}

// values returns one number of each curve.
func values(curves []curve, of func(curve) float64) []float64 {
	var x []float64
	for _, c := range curves {
		x = append(x, of(c))
	}
	return x
}

const figureWidth, figureHeight = vg.Length(480), vg.Length(300)

// mark is a horizontal line in a figure.
type mark struct {
	text string
	y    float64
}

// draw draws the mean over seeds with its interval, each seed as a thin line, and marks.
func draw(t *testing.T, name, title, y string, curves []curve, of func(point) float64, marks ...mark) {
	t.Helper()
	same := func(x float64) float64 { return x }
	drawOn(t, chart.NewPanel("", "episodes", y), name, title, curves, of, marks, same, same)
}

// drawLogarithmic is draw on a logarithmic axis, for differences that become small.
func drawLogarithmic(t *testing.T, name, title, x, y string, curves []curve, of func(point) float64, marks ...mark) {
	t.Helper()
	panel := chart.NewPanel("", x, y)
	panel.LogY()
	drawOn(t, panel, name, title, curves, of, marks, math.Log, math.Exp)
}

// drawOn draws curves on a panel. Mean and interval are computed of transformed numbers (to) and transformed back.
func drawOn(t *testing.T, panel *chart.Panel, name, title string, curves []curve, of func(point) float64, marks []mark,
	to, back func(float64) float64) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	f := &chart.Figure{Title: title, Panels: []*chart.Panel{panel}, Columns: 1, Width: figureWidth, Height: figureHeight}
	var x, mid, lo, hi []float64
	for i, p := range curves[0].points {
		mean, half := overSeeds(values(curves, func(c curve) float64 { return to(of(c.points[i])) }))
		x, mid, lo, hi = append(x, float64(p.episode)), append(mid, back(mean)), append(lo, back(mean-half)),
			append(hi, back(mean+half))
	}
	seed := chart.Styles(5)
	for _, c := range curves {
		panel.Line(seed, x, along(c.points, of), false)
	}
	panel.Band(chart.Styles(0), x, lo, hi)
	panel.Line(chart.Styles(0), x, mid, false)
	f.Key = []chart.Entry{
		{Text: fmt.Sprintf("%d seeds' mean with its 95 %% interval", len(curves)), Style: chart.Styles(0), Line: true,
			Band: true},
		{Text: "each seed", Style: seed, Line: true},
	}
	for i, m := range marks {
		s := chart.Styles(2 + i)
		panel.Line(s, []float64{0, x[len(x)-1]}, []float64{m.y, m.y}, false)
		f.Key = append(f.Key, chart.Entry{Text: m.text, Style: s, Line: true})
	}
	must.Get(f.Save(dir, name))(t)
}

// along returns one number of each point.
func along(points []point, of func(point) float64) []float64 {
	var y []float64
	for _, p := range points {
		y = append(y, of(p))
	}
	return y
}
