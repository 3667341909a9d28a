package atmiss

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// A curve is read at a setting, between two neighbours, at its cheapest end where it is late more seldom than asked, and
// not at all where it is late more often.
func TestRead(t *testing.T) {
	curve := []means{{0.2, 1}, {0.1, 2}, {0.02, 6}}
	for level, want := range map[float64]float64{0.1: 2, 0.06: 4, 0.02: 6, 0.15: 1.5, 0.5: 1} {
		if got := read(curve, level); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %g the curve costs %g, want %g", level, got, want)
		}
	}
	if got := read(curve, 0.01); !math.IsNaN(got) {
		t.Errorf("at 1 %% the curve costs %g, and it is late more often everywhere", got)
	}
	// A curve that turns back: the cheaper of the two crossings.
	if got := read([]means{{0.2, 1}, {0, 3}, {0.2, 9}}, 0.1); got != 2 {
		t.Errorf("the curve costs %g, want 2", got)
	}
}

// drawn returns a curve whose requests are late with probabilities, at costs that share a part for all methods.
func drawn(name string, requests int, late, cost []float64) Curve {
	c := Curve{Method: name, Setting: "quantile"}
	for i := range late {
		p := Point{Value: float64(i), Missed: [][]float64{make([]float64, requests)}, Cost: [][]float64{make([]float64, requests)}}
		for r := range requests {
			k := rng.New(uint64(r), "test")
			if k.With(1).Float64() < late[i] {
				p.Missed[0][r] = 1
			}
			p.Cost[0][r] = cost[i] * (1 + 0.5*k.With(2).Norm())
		}
		c.Points = append(c.Points, p)
	}
	return c
}

// The price of a method that is a tenth cheaper at every setting is a tenth below, and pairing makes that certain although
// costs differ by half from request to request.
func TestComparePaired(t *testing.T) {
	late := []float64{0.2, 0.08, 0.02, 0.004}
	a := drawn("a", 800, late, []float64{1, 2, 4, 8})
	b := drawn("b", 800, late, []float64{0.9, 1.8, 3.6, 7.2})
	r := must.Get(Compare([]Curve{a, b}, "a", Options{Resamples: 400}))(t)
	if len(r.Readings) != 4 || len(r.Outcomes) != 8 {
		t.Fatalf("there are %d readings and %d outcomes, want 4 and 8", len(r.Readings), len(r.Outcomes))
	}
	for _, x := range r.Readings {
		want := 0.0
		if x.Method == "b" {
			want = 0.1
		}
		if math.Abs(x.Below.Point-want) > 1e-9 || math.Abs(x.Below.Low-want) > 1e-9 || math.Abs(x.Below.High-want) > 1e-9 {
			t.Errorf("%s at %g is %g (%g to %g) below a, want %g", x.Method, x.Level, x.Below.Point, x.Below.Low, x.Below.High, want)
		}
		if !(x.Cost.Low < x.Cost.Point && x.Cost.Point < x.Cost.High) {
			t.Errorf("%s costs %g with an interval from %g to %g", x.Method, x.Cost.Point, x.Cost.Low, x.Cost.High)
		}
	}
}

// Intervals hold what is true about as often as they say, with groups of requests that have a part in common too.
func TestCoverage(t *testing.T) {
	const trials, groups, each = 120, 30, 5
	held := 0
	for trial := range trials {
		stream := rng.NewStream(uint64(trial), "coverage")
		a := drawn("a", groups*each, []float64{0, 0}, []float64{1, 1})
		b := drawn("b", groups*each, []float64{0, 0}, []float64{1, 1})
		numbers := make([]int, groups*each)
		for g := range groups {
			common := stream.Norm()
			for k := range each {
				r := g*each + k
				numbers[r] = g
				for i := range 2 {
					a.Points[i].Cost[0][r] = 10
					b.Points[i].Cost[0][r] = 9 + common + 0.3*stream.Norm()
				}
			}
		}
		r := must.Get(Compare([]Curve{a, b}, "a", Options{Resamples: 300, Groups: numbers, Levels: []float64{0.05}}))(t)
		if x := r.Readings[1].Below; x.Low <= 0.1 && 0.1 <= x.High {
			held++
		}
	}
	if held < trials*88/100 {
		t.Errorf("intervals of 95 %% hold the truth in %d of %d trials", held, trials)
	}
}

// Where a method is never late so seldom, its cost is not a number.
func TestNever(t *testing.T) {
	a := drawn("a", 100, []float64{0, 0}, []float64{1, 2})
	b := drawn("b", 100, []float64{0.9, 0.8}, []float64{1, 2})
	r := must.Get(Compare([]Curve{a, b}, "a", Options{Resamples: 50}))(t)
	if x := r.Readings[1]; !math.IsNaN(x.Cost.Point) || x.Unread < 0.999 {
		t.Errorf("b's reading is %v", x)
	}
}

func TestRefusals(t *testing.T) {
	good := func() Curve { return drawn("a", 10, []float64{0.5, 0.2}, []float64{1, 2}) }
	for want, of := range map[string]func() ([]Curve, Options){
		"nothing to compare": func() ([]Curve, Options) { return nil, Options{} },
		"groups of 3":        func() ([]Curve, Options) { return []Curve{good()}, Options{Groups: make([]int, 3)} },
		"no curve of the reference": func() ([]Curve, Options) {
			c := good()
			c.Method = "b"
			return []Curve{c}, Options{}
		},
		"do not ascend": func() ([]Curve, Options) {
			c := good()
			c.Points[1].Value = 0
			return []Curve{c}, Options{}
		},
		"cost of NaN": func() ([]Curve, Options) {
			c := good()
			c.Points[1].Cost[0][3] = math.NaN()
			return []Curve{c}, Options{}
		},
		"9 misses": func() ([]Curve, Options) {
			c := good()
			c.Points[1].Missed[0] = c.Points[1].Missed[0][:9]
			return []Curve{c}, Options{}
		},
		"no points": func() ([]Curve, Options) { return []Curve{good(), {Method: "b"}}, Options{} },
	} {
		curves, o := of()
		if _, err := Compare(curves, "a", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
