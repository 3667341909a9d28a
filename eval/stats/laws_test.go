package stats

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "the simulations at full size")

// law is a distribution, given by its quantile function.
type law struct {
	name     string
	quantile func(u float64) float64
}

func (l law) draw(s *rng.Stream) float64 { return l.quantile(s.Open()) }

// between is the mean between two quantiles: from ¼ to ¾ it is the true IQM.
func (l law) between(lo, hi float64) float64 {
	const points = 100_000
	sum := 0.0
	for k := range points {
		sum += l.quantile(lo + (hi-lo)*(float64(k)+0.5)/points)
	}
	return sum / points
}

func gauss(u float64) float64 { return distuv.UnitNormal.Quantile(u) }

// normalLaw and skewedLaw are the distributions of x and exp(x), where x is normal with variance sd².
func normalLaw(sd float64) law {
	return law{"normal", func(u float64) float64 { return sd * gauss(u) }}
}

func skewedLaw(sd float64) law {
	return law{"log-normal", func(u float64) float64 { return math.Exp(sd * gauss(u)) }}
}

// rate is the fraction of failures among tries.
func rate(tries int, p float64) law {
	b := distuv.Binomial{N: float64(tries), P: p}
	var cdf []float64
	for k := range tries + 1 {
		cdf = append(cdf, b.CDF(float64(k)))
	}
	return law{fmt.Sprintf("rate %g of %d", p, tries), func(u float64) float64 {
		k, _ := slices.BinarySearch(cdf, u)
		return float64(min(k, tries)) / float64(tries)
	}}
}

// laws are those on which coverage is measured.
func laws() []law {
	return []law{
		normalLaw(1), skewedLaw(1), {"Student's t, 3", distuv.StudentsT{Sigma: 1, Nu: 3}.Quantile}, rate(40, 0.1), rate(40, 0.5),
	}
}

// cell is the coverage of one method in one case.
type cell struct {
	law, method      string
	m, n             int
	covered, trials  int
	widths           []float64
	below, above     int // misses: the truth lies below the interval, above it
	effects, measure string
}

func (c *cell) note(truth, low, high float64) {
	const rounding = 1e-9
	c.trials++
	switch {
	case truth < low-rounding:
		c.below++
	case truth > high+rounding:
		c.above++
	case low <= high:
		c.covered++
	}
	c.widths = append(c.widths, high-low)
}

func (c *cell) coverage() float64 { return float64(c.covered) / float64(c.trials) }

// slack is the Monte Carlo standard error of the coverage.
func (c *cell) slack() float64 {
	p := c.coverage()
	return math.Sqrt(p * (1 - p) / float64(c.trials))
}

func (c *cell) width() float64 {
	slices.Sort(c.widths)
	return Quantile(c.widths, 0.5)
}

// percent writes a coverage with its Monte Carlo standard error.
func (c *cell) percent() string {
	return fmt.Sprintf("%.1f ± %.1f %%", 100*c.coverage(), 100*c.slack())
}

const (
	plainMethod = "percentile"
	ourMethod   = "stoker"
)

// kept results of a simulation: a table in the folder of proofs, and a figure where there is one.
func keepCells(t *testing.T, name string, cells []*cell) {
	t.Helper()
	var b strings.Builder
	b.WriteString("interval,law,effects,training_seeds,workloads,method,coverage,monte_carlo_error,missed_below,missed_above,median_width,trials\n")
	for _, c := range cells {
		fmt.Fprintf(&b, "%s,%q,%q,%d,%d,%s,%.4f,%.4f,%.4f,%.4f,%.5g,%d\n", c.measure, c.law, c.effects, c.m, c.n, c.method, c.coverage(), c.slack(),
			float64(c.below)/float64(c.trials), float64(c.above)/float64(c.trials), c.width(), c.trials)
	}
	keepFile(t, name+".csv", b.String())
}

func keepFile(t *testing.T, name, text string) {
	t.Helper()
	if dir := os.Getenv(proof.Folder); dir != "" && *long {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Error(err)
		}
	}
}

func keepFigure(t *testing.T, name string, f *chart.Figure) {
	t.Helper()
	if dir := os.Getenv(proof.Folder); dir != "" && *long {
		if _, err := f.Save(dir, name); err != nil {
			t.Error(err)
		}
	}
}

// pick returns the cells of one method that keep allows.
func pick(cells []*cell, method string, keep func(*cell) bool) []*cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.method != method || keep != nil && !keep(c) })
}

// least is the cell of the lowest coverage.
func least(cells []*cell) *cell {
	return slices.MinFunc(cells, func(a, b *cell) int {
		if a.coverage() < b.coverage() {
			return -1
		}
		return 1
	})
}

func most(cells []*cell) *cell {
	return slices.MaxFunc(cells, func(a, b *cell) int {
		if a.coverage() < b.coverage() {
			return -1
		}
		return 1
	})
}

// coverageFigure draws coverage against the number of workloads or training seeds, a panel per law or kind of effects.
func coverageFigure(title, axis string, cells []*cell, panelOf func(*cell) string, x func(*cell) float64) *chart.Figure {
	f := &chart.Figure{Title: title, Columns: 3, Width: 190, Height: 150}
	for i, m := range []string{plainMethod, ourMethod} {
		f.Key = append(f.Key, chart.Entry{Text: map[string]string{plainMethod: "percentile bootstrap", ourMethod: "Stoker"}[m], Style: chart.Styles(1 - i), Line: true, Dot: true})
	}
	f.Key = append(f.Key, chart.Entry{Text: "95 %", Style: chart.Bound(), Line: true})
	var names []string
	for _, c := range cells {
		if !slices.Contains(names, panelOf(c)) {
			names = append(names, panelOf(c))
		}
	}
	for _, name := range names {
		p := chart.NewPanel(name, axis, "coverage")
		p.LogX()
		p.RangeY(0.7, 1)
		of := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return panelOf(c) != name })
		for i, m := range []string{plainMethod, ourMethod} {
			var xs, ys []float64
			for _, c := range pick(of, m, nil) {
				xs, ys = append(xs, x(c)), append(ys, c.coverage())
				p.Cross(chart.Styles(1-i), chart.Range{At: x(c), Low: x(c), High: x(c)},
					chart.Range{At: c.coverage(), Low: c.coverage() - 2*c.slack(), High: c.coverage() + 2*c.slack()})
			}
			p.Line(chart.Styles(1-i), xs, ys, false)
			if i == 0 {
				p.Line(chart.Bound(), []float64{slices.Min(xs), slices.Max(xs)}, []float64{Level, Level}, false)
			}
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
