package pareto

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// The price at a level, worked out by hand: between points on the line that joins them, left of all none, right of all
// the cheapest; a point that another beats does not count, in whatever order they come.
func TestPriceAt(t *testing.T) {
	points := []xy{{0.5, 2}, {0.1, 6}, {0.3, 7}, {0.3, 4}, {0.7, 2.5}}
	for level, want := range map[float64]float64{0.1: 6, 0.2: 5, 0.3: 4, 0.4: 3, 0.5: 2, 0.9: 2} {
		if got := PriceAt(points, level); math.Abs(got-want) > 1e-12 {
			t.Errorf("at most %v violated costs %v, want %v", level, got, want)
		}
	}
	if got := PriceAt(points, 0.09); !math.IsNaN(got) {
		t.Errorf("fewer violations than any point has cost %v", got)
	}
	if got := beaten(points); !got[2] || !got[4] || got[0] || got[1] || got[3] {
		t.Errorf("beaten are %v", got)
	}
}

// family draws a family of two points whose price is 10 and 6 times a factor, with noise shared over workload seeds.
func family(name string, factor float64, seeds int) Family {
	f := Family{Name: name}
	for i, base := range []xy{{0.02, 10}, {0.1, 6}} {
		p := Point{Setting: string(rune('a' + i))}
		var price, violated []float64
		for s := range seeds {
			shared := rng.New(uint64(s), "shared").Norm()
			own := rng.New(uint64(s), name).With(uint64(i)).Norm()
			price = append(price, factor*(base.y+2*shared+0.1*own))
			violated = append(violated, base.x)
		}
		p.Price, p.Violated = [][]float64{price}, [][]float64{violated}
		f.Points = append(f.Points, p)
	}
	return f
}

// A bound has the look of a bound in the figure and in panels, and others have the looks of their places.
func TestBoundsLook(t *testing.T) {
	bound := family("bound", 0.5, 4)
	bound.Bound = true
	r := must.Get(Analyse([]Family{family("one", 1, 4), bound, family("other", 1.3, 4)}, nil, 100, 1))(t)
	for _, f := range []*chart.Figure{r.figure(), panels([]Named{{"a", r}}, 1, 1)} {
		for i, want := range []chart.Style{chart.Styles(0), chart.Bound(), chart.Styles(2)} {
			if got := f.Key[i]; !reflect.DeepEqual(got.Style, want) {
				t.Errorf("%s looks like %+v, want %+v", got.Text, got.Style, want)
			}
		}
	}
}

// Pairing by workload seeds makes the ratio's interval far narrower than the prices': what all families share cancels.
func TestAnalyse(t *testing.T) {
	r := must.Get(Analyse([]Family{family("one", 1, 40), family("other", 1.3, 40)}, []float64{0.01, 0.06, 0.2}, 1000, 1))(t)
	if len(r.Points) != 4 || len(r.Levels) != 6 {
		t.Fatalf("%d points, %d levels", len(r.Points), len(r.Levels))
	}
	if at := r.Levels[1]; !math.IsNaN(float64(at.Price.Mean)) || at.Reached != 0 {
		t.Errorf("a level that nothing reaches has %+v", at)
	}
	at := r.Levels[3]
	if at.Family != "other" || at.Reached != 1 || math.Abs(float64(at.Ratio.Mean)-1.3) > 0.05 {
		t.Errorf("at 0.06: %+v, want 1.3 times the price", at)
	}
	if width := at.Ratio.Hi - at.Ratio.Lo; width > 0.03 || at.Ratio.Lo > 1.3 || at.Ratio.Hi < 1.3 {
		t.Errorf("the ratio is in %v to %v", at.Ratio.Lo, at.Ratio.Hi)
	}
	if width := at.Price.Hi - at.Price.Lo; width < 0.8 {
		t.Errorf("the price is in %v to %v; its seeds differ by 2.6", at.Price.Lo, at.Price.Hi)
	}
	for _, at := range r.Levels[4:] { // at 0.2 both violate 0.1 at most: another setting may cost less
		if !at.Below || !at.RatioBelow || at.Text() != "–" {
			t.Errorf("at 0.2: %+v, want no price", at)
		}
	}
	if _, levels := r.Rows(); levels[5][2] != "" || levels[5][5] != "" || levels[3][2] == "" {
		t.Errorf("the rows at 0.06 and 0.2 are %q and %q, want a price in the first alone", levels[3], levels[5])
	}
	one := family("one", 1, 40)
	one.Points = one.Points[1:]
	if r := must.Get(Analyse([]Family{one}, []float64{0.2}, 10, 1))(t); r.Levels[0].Below || r.Levels[0].Text() == "–" {
		t.Errorf("a family of one setting has %+v, want its price", r.Levels[0])
	}
	again, err := Analyse([]Family{family("one", 1, 40), family("other", 1.3, 40)}, []float64{0.06}, 1000, 1)
	if err != nil || again.Levels[1].Ratio != at.Ratio {
		t.Errorf("the same seed resamples otherwise: %v", err)
	}
	shares := []Family{family("one", 1, 40), family("other", 1.3, 40)} // as shares above a price of 1: 9 for 10
	for f := range shares {
		shares[f].Floor = -1
		for _, p := range shares[f].Points {
			for s := range p.Price[0] {
				p.Price[0][s]--
			}
		}
	}
	if r, err := Analyse(shares, []float64{0.06}, 1000, 1); err != nil || !alike(r.Levels[1].Ratio, at.Ratio) ||
		math.Abs(float64(at.Price.Mean-r.Levels[1].Price.Mean-1)) > 1e-9 {
		t.Errorf("shares above a price: %+v, %v, want the ratio of the prices %+v", r.Levels[1], err, at.Ratio)
	}
	short := family("other", 1, 40)
	short.Points[1].Price[0] = short.Points[1].Price[0][:39]
	if _, err := Analyse([]Family{short}, nil, 10, 1); err == nil || !strings.Contains(err.Error(), "other at b played 39") {
		t.Errorf("a point with fewer seeds: %v", err)
	}
}

// alike reports whether two estimates are the same up to rounding.
func alike(a, b Number) bool {
	same := func(x, y report.Number) bool { return math.Abs(float64(x-y)) < 1e-9 }
	return same(a.Mean, b.Mean) && same(a.Lo, b.Lo) && same(a.Hi, b.Hi)
}

// A share that is the level up to rounding is at most the level, and equal shares are equal however many seeds they are of.
func TestEqualShares(t *testing.T) {
	same := func(versions, seeds int, x, price float64) Point {
		p := Point{Setting: "one"}
		for range versions {
			p.Violated, p.Price = append(p.Violated, slices.Repeat([]float64{x}, seeds)), append(p.Price, slices.Repeat([]float64{price}, seeds))
		}
		return p
	}
	is := func(n Number, x float64) bool { return math.Abs(float64(n.Mean)-x) < 1e-9 }
	for _, seeds := range []int{10, 20, 30, 40} {
		for _, x := range []float64{0.02, 0.05, 0.1, 1.0 / 30, 1.0 / 120} {
			one := []Family{{Name: "mine", Points: []Point{same(3, seeds, x, 3)}}, {Name: "rule", Points: []Point{same(1, seeds, x, 2)}}}
			r := must.Get(Analyse(one, []float64{x}, 100, 1))(t)
			e := must.Get(Compare(one, 0, 100, 1))(t)[0]
			if r.Levels[0].Reached != 1 || r.Levels[1].Reached != 1 || !is(r.Levels[1].Price, 2) || !is(e.PriceB, 2) || e.Reached != 1 ||
				e.More.Decided(0) {
				t.Errorf("%d seeds of %g: %+v, %+v", seeds, x, r.Levels, e)
			}
		}
	}
	mine := Family{Name: "mine", Points: []Point{same(1, 10, 0.045, 3), same(1, 10, 0.06, 2)}}
	careful := Family{Name: "rule", Points: []Point{same(1, 10, 0.01, 6), same(1, 10, 0.005, 7)}}
	if e := must.Get(Compare([]Family{mine, careful}, 0, 100, 1))(t)[0]; !e.Below || !is(e.PriceB, 6) {
		t.Errorf("a family that keeps far more: %+v", e)
	}
}
