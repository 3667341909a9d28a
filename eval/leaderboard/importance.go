package leaderboard

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Importance is how much a key explains of the trials' order at a rung, by least squares on the ranks of the scores.
type Importance struct {
	Key string `json:"key"`
	// Share is the part of the variance of the ranks that is not explained without the key: R² less that of the other keys.
	Share eval.Number `json:"share"`
}

// fullest is the rung at which most trials have a score, the later of equals, with these trials and their scores.
func (b *Board) fullest() (rung int, trials []int, y map[int]float64) {
	for r := 1; r <= b.Rungs; r++ {
		at := map[int]float64{}
		for i, a := range b.Arms {
			sum, n := 0.0, 0
			for _, run := range a.Runs {
				for _, s := range run.Scores {
					if v := s.Values[slices.Index(b.Study.Metrics, b.Metric.Name)]; s.Rung == r && v != nil {
						sum, n = sum+*v, n+1
					}
				}
			}
			if n > 0 {
				at[i] = sum / float64(n)
			}
		}
		if len(at) >= len(y) {
			rung, y = r, at
		}
	}
	return rung, slices.Sorted(maps.Keys(y)), y
}

// weigh fills in the importance of the keys: of a number its value (or logarithm) and the square, of words a column each.
// There is none where the trials are fewer than twice the columns.
func (b *Board) weigh() {
	if b.Study == nil {
		return
	}
	rung, trials, y := b.fullest()
	ranks := make([]float64, len(trials))
	for i, t := range trials {
		for _, o := range trials {
			ranks[i] += map[int]float64{-1: 0, 0: 0.5, 1: 1}[cmp.Compare(y[t], y[o])]
		}
	}
	columns := make([][][]float64, len(b.Keys))
	all := 1
	for k := range b.Keys {
		columns[k] = b.columns(k, trials)
		all += len(columns[k])
	}
	if len(trials) < 2*all {
		return
	}
	b.WeighedAt = rung
	whole := explained(ranks, slices.Concat(columns...))
	for k, key := range b.Keys {
		others := slices.Concat(slices.Concat(columns[:k]...), slices.Concat(columns[k+1:]...))
		b.Importance = append(b.Importance, Importance{key, eval.Number(max(0, whole-explained(ranks, others)))})
	}
	slices.SortStableFunc(b.Importance, func(p, q Importance) int { return cmp.Compare(q.Share, p.Share) })
}

// numbered are values of a key as numbers: themselves, their logarithms where the key is drawn so, or of words the index.
func (b *Board) numbered(k int, values []string) (x []float64, words []string) {
	for _, v := range values {
		n, err := strconv.ParseFloat(v, 64)
		if b.log[b.Keys[k]] {
			n = math.Log10(n)
		}
		if x = append(x, n); err != nil {
			words = slices.Compact(slices.Sorted(slices.Values(values)))
			break
		}
	}
	if words != nil {
		x = x[:0]
		for _, v := range values {
			x = append(x, float64(slices.Index(words, v)))
		}
	}
	return x, words
}

// columns are a key's columns of the regression, those that vary.
func (b *Board) columns(k int, trials []int) (out [][]float64) {
	values := lists.From(trials, func(t int) string { return b.Arms[t].Settings[k].Value })
	x, words := b.numbered(k, values)
	for w := 1; w < len(words); w++ {
		column := make([]float64, len(x))
		for i := range x {
			if x[i] == float64(w) {
				column[i] = 1
			}
		}
		out = append(out, column)
	}
	mean, deviation := stat.MeanStdDev(x, nil)
	if words != nil || !(deviation > 0) {
		return out
	}
	square := make([]float64, len(x))
	for i := range x {
		x[i] = (x[i] - mean) / deviation
		square[i] = x[i] * x[i]
	}
	out = append(out, x)
	if slices.ContainsFunc(square, func(s float64) bool { return math.Abs(s-square[0]) > 1e-9 }) { // with two values it is a constant
		out = append(out, square)
	}
	return out
}

// explained is R² of least squares with a constant.
func explained(y []float64, columns [][]float64) float64 {
	a := mat.NewDense(len(y), 1+len(columns), nil)
	for i := range y {
		a.Set(i, 0, 1)
		for j, c := range columns {
			a.Set(i, 1+j, c[i])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return math.NaN()
	}
	const singular = 1e-10 // columns may depend on one another
	var at mat.Dense
	svd.SolveTo(&at, mat.NewDense(len(y), 1, slices.Clone(y)), svd.Rank(singular))
	var fit mat.Dense
	fit.Mul(a, &at)
	return stat.RSquaredFrom(fit.RawMatrix().Data, y, nil)
}

// parallel draws each trial as a line over its values of the keys and its score at the fullest rung.
func (b *Board) parallel() *chart.Figure {
	rung, trials, y := b.fullest()
	p := chart.NewPanel("", "from the least to the greatest value of the trials", "")
	var names []string
	lines := make([][]float64, len(trials))
	add := func(name string, x []float64, words []string) {
		low, high := slices.Min(x), slices.Max(x)
		if words != nil {
			name += " (" + strings.Join(words, ", ") + ")"
		} else {
			name += fmt.Sprintf(" (%.3g to %.3g)", low, high)
		}
		names = append(names, name)
		for i := range x {
			lines[i] = append(lines[i], (x[i]-low)/max(high-low, 1e-300))
		}
	}
	for k, key := range b.Keys {
		x, words := b.numbered(k, lists.From(trials, func(t int) string { return b.Arms[t].Settings[k].Value }))
		name := configs.ShortKey(key, b.Keys)
		if b.log[key] {
			name = "log10 " + name
		}
		add(name, x, words)
	}
	add(b.Metric.Name, lists.From(trials, func(t int) float64 { return y[t] }), nil)
	order := slices.Clone(trials)
	slices.SortStableFunc(order, func(i, j int) int {
		if b.Metric.Better == envs.Higher {
			i, j = j, i
		}
		return cmp.Compare(y[i], y[j])
	})
	best := order[:max(1, len(order)/5)]
	other, good := chart.Styles(5), chart.Styles(1)
	at := lists.Make(len(names), func(i int) float64 { return -float64(i) })
	for _, front := range []bool{false, true} { // the best are drawn over the others
		for i, t := range trials {
			if slices.Contains(best, t) == front {
				p.Line(map[bool]chart.Style{true: good, false: other}[front], lines[i], at, false)
			}
		}
	}
	p.Names(names, false)
	p.RangeX(0, 1)
	return &chart.Figure{Title: fmt.Sprintf("The %d trials of %s with a score at rung %d", len(trials), b.Sweep, rung), Under: b.when(),
		Panels: []*chart.Panel{p}, Columns: 1, Width: 620, Height: vg.Length(70 + 42*len(names)),
		Key: []chart.Entry{{Text: "the best fifth", Style: good, Line: true}, {Text: "others", Style: other, Line: true}}}
}

//go:embed study.html
var studyPage string

// writeStudy leaves a study's figures and its page, and returns the figures.
func (b *Board) writeStudy(dir string) ([]string, error) {
	if b.Study == nil {
		return nil, nil
	}
	folder := report.Into(dir)
	if len(b.Study.Metrics) == 2 {
		folder.Draw("front", b.drawFront())
	}
	if _, trials, _ := b.fullest(); len(trials) > 1 {
		folder.Draw("parallel", b.parallel())
	}
	out, err := folder.Paths()
	page, e := template.New("study").Parse(studyPage)
	if err = errors.Join(err, e); err != nil {
		return out, err
	}
	var text strings.Builder
	figures := map[string]template.HTML{}
	for _, f := range out {
		if filepath.Ext(f) != ".svg" {
			continue
		}
		svg, err := os.ReadFile(f)
		if err != nil {
			return out, err
		}
		_, drawing, _ := strings.Cut(string(svg), "<svg")
		figures[filepath.Base(f)] = template.HTML("<svg" + drawing) //nolint:gosec // this program drew it; its texts are escaped there
	}
	rows := b.studyRows()
	if err := page.Execute(&text, map[string]any{"Board": b, "Heading": b.heading(), "Head": rows[0], "Rows": rows[1:],
		"Caution": b.Caution(), "Figures": figures}); err != nil {
		return out, err
	}
	folder.Write("report.html", []byte(text.String()), nil)
	_, err = folder.Files()
	return out, err
}

// weights are the importance of the keys as a line; empty where there is none.
func (b *Board) weights() string {
	var out []string
	for _, i := range b.Importance {
		out = append(out, fmt.Sprintf("%s %.2f", configs.ShortKey(i.Key, b.Keys), float64(i.Share)))
	}
	if out == nil {
		return ""
	}
	return fmt.Sprintf("what each key explains of the order at rung %d: %s", b.WeighedAt, strings.Join(out, ", "))
}
