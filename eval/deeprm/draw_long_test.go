package deeprm

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// load is the load of a rate.
func load(rate float64) float64 {
	c := deeprm.Default()
	c.Rate = rate
	return c.Load()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// save writes rows as NAME.csv where a folder for proofs is named, and returns that folder.
func save(t *testing.T, name string, rows [][]string) (dir string, ok bool) {
	t.Helper()
	if dir = os.Getenv(proof.Folder); dir == "" {
		return "", false
	}
	f := must.Get(os.Create(filepath.Join(dir, name+".csv")))(t)
	must.Do(t, errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()))
	return dir, true
}

// write keeps the comparison as loads.csv, as table.md and drawn as loads.
func write(t *testing.T, all []result) {
	t.Helper()
	rows := [][]string{{"form", "rate", "load", "policy", "training_seeds", "slowdown", "half_interval",
		"verdict_of_first", "p_holm"}}
	for _, r := range all {
		rows = append(rows, []string{r.form, number(r.rate), number(load(r.rate)), r.policy, strconv.Itoa(r.versions),
			number(r.mean), number(r.half), r.verdict, number(r.p)})
	}
	dir, ok := save(t, "loads", rows)
	if !ok {
		return
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "table.md"), []byte(table(all)), 0o644))
	figure := &chart.Figure{Title: fmt.Sprintf("Mean slowdown over %d unseen job sequences, 95 %% intervals",
		sequences), Columns: 2, Width: 420, Height: 320}
	style := map[string]chart.Style{}
	for _, f := range forms {
		mine := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.form != f.name })
		if len(mine) == 0 {
			continue
		}
		panel := chart.NewPanel(f.text, "load", "mean slowdown")
		panel.LogY()
		panel.RangeY(1, 40)
		for _, name := range policies(mine) {
			s, known := style[name]
			if !known {
				s = chart.Styles(len(style))
				style[name] = s
				figure.Key = append(figure.Key, chart.Entry{Text: name, Style: s, Line: true, Band: true})
			}
			var x, y, lo, hi []float64
			for _, r := range mine {
				if r.policy == name {
					x, y, lo, hi = append(x, load(r.rate)), append(y, r.mean), append(lo, r.mean-r.half), append(hi,
						r.mean+r.half)
				}
			}
			panel.Band(s, x, lo, hi)
			panel.Line(s, x, y, false)
		}
		figure.Panels = append(figure.Panels, panel)
	}
	if _, err := figure.Save(dir, "loads"); err != nil {
		t.Error(err)
	}
}

// policies are the names, in the order in which they come.
func policies(of []result) (names []string) {
	for _, r := range of {
		if !slices.Contains(names, r.policy) {
			names = append(names, r.policy)
		}
	}
	return names
}

// table has a row per form and rate: means with half their intervals, and a star where the form's first learner is
// better by its verdict, a dagger where it is worse.
func table(all []result) string {
	var b strings.Builder
	for _, f := range forms {
		mine := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.form != f.name })
		names := policies(mine)
		if len(mine) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n\n| rate | load | %s |\n|---|---|%s\n", f.text, strings.Join(names, " | "),
			strings.Repeat("---|", len(names)))
		for at := 0; at < len(mine); at += len(names) {
			fmt.Fprintf(&b, "| %.1f | %.2f |", mine[at].rate, load(mine[at].rate))
			for _, r := range mine[at : at+len(names)] {
				mark := map[string]string{eval.Better: "*", eval.Worse: "†"}[r.verdict]
				fmt.Fprintf(&b, " %.2f ± %.2f%s |", r.mean, r.half, mark)
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// curves draws the slowdown of training episodes, exploration included, on the recurring job sets: each run, and per
// configuration the mean over its seeds with its interval. The rules stand beside them with what they come to on the
// unseen sequences.
func curves(t *testing.T, all []result) {
	t.Helper()
	rows := [][]string{{"configuration", "run", "step", "slowdown"}}
	figure := &chart.Figure{Title: "Slowdown of the last 100 training episodes, load 1.85", Columns: 2, Width: 420,
		Height: 300}
	for _, f := range forms {
		for _, name := range f.learned {
			found := must.Get(filepath.Glob(filepath.Join(*runs, name+"-s[0-9]*")))(t)
			var each []eval.Curve
			for _, dir := range found {
				c := must.Get(eval.ReadCurve(dir, name, "rollout/slowdown"))(t)
				each = append(each, c)
				for i, n := range c.Steps {
					rows = append(rows, []string{name, filepath.Base(dir), strconv.FormatInt(n, 10),
						number(c.Values[i])})
				}
			}
			if len(each) > 0 {
				figure.Panels = append(figure.Panels, curve(name, each, all))
			}
		}
	}
	dir, ok := save(t, "curves", rows)
	if !ok {
		return
	}
	figure.Key = []chart.Entry{
		{Text: "mean over training seeds with its 95 % interval", Style: chart.Styles(0), Line: true,
			Band: true}, {Text: "each seed", Style: chart.Styles(5), Line: true},
		{Text: "tetris-star, unseen sequences", Style: chart.Styles(1), Line: true}, {Text: "packer",
			Style: chart.Styles(2), Line: true},
	}
	if _, err := figure.Save(dir, "curves"); err != nil {
		t.Error(err)
	}
}

func curve(name string, each []eval.Curve, all []result) *chart.Panel {
	panel := chart.NewPanel(name, "million decisions", "slowdown")
	panel.LogY()
	panel.RangeY(4, 25)
	x := millions(each[0].Steps)
	for i, rule := range []string{"tetris-star", "packer"} {
		if k := slices.IndexFunc(all, func(r result) bool { return r.policy == rule && r.rate == 1 }); k >= 0 {
			panel.Line(chart.Styles(1+i), []float64{0, x[len(x)-1]}, []float64{all[k].mean, all[k].mean}, false)
		}
	}
	points := len(each[0].Values)
	for _, c := range each {
		points = min(points, len(c.Values))
		panel.Line(chart.Styles(5), millions(c.Steps), c.Values, false)
	}
	if len(each) == 1 {
		return panel
	}
	var mid, lo, hi []float64
	for i := range points {
		var at []float64
		for _, c := range each {
			at = append(at, c.Values[i])
		}
		m := stats.MeanInterval(at)
		mean := stats.Mean(at)
		mid, lo, hi = append(mid, mean), append(lo, math.Max(m.Low, 1)), append(hi, m.High)
	}
	x = x[:points]
	panel.Band(chart.Styles(0), x, lo, hi)
	panel.Line(chart.Styles(0), x, mid, false)
	return panel
}

func millions(steps []int64) (x []float64) {
	for _, n := range steps {
		x = append(x, float64(n)/1e6)
	}
	return x
}
