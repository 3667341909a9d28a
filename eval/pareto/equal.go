package pareto

import (
	"cmp"
	"math"
	"slices"
)

// Kept is the share of windows that people ask to be kept: of a family with several settings the cheapest one that
// violates no more than the rest is compared, else the one that violates least.
const Kept = 0.95

// Equal compares one point of family A with the frontier of family B where that violates no more than the point.
type Equal struct {
	A string `json:"a"`
	// Setting, Violated and Price are of A's point.
	Setting  string `json:"setting"`
	Violated Number `json:"violated"`
	Price    Number `json:"price"`
	B        string `json:"b"`
	// PriceB is what B costs there, null where it always violates more; Ratio is that over A's price, Reached the share of
	// the resamples in which B violates no more.
	PriceB  Number  `json:"price_b"`
	Ratio   Number  `json:"ratio"`
	Reached float64 `json:"reached"`
	// Least is the point of B that violates least.
	Least Row `json:"least"`
	// LeastRatio is its price over A's, More by how much more it violates than A.
	LeastRatio Number `json:"least_ratio"`
	More       Number `json:"more"`
}

// Compare compares family a with each of the others. The resamples are those of [Analyse] with the same seed.
func Compare(families []Family, a, resamples int, seed uint64) ([]Equal, error) {
	seeds, err := check(families)
	if err != nil {
		return nil, err
	}
	d := drawn(families, seeds, resamples, seed)
	i := chosen(d.mean[a])
	own := d.mean[a][i]
	var out []Equal
	for b := range families {
		if b == a {
			continue
		}
		k := least(d.mean[b])
		far := d.mean[b][k]
		e := Equal{A: families[a].Name, Setting: families[a].Points[i].Setting, B: families[b].Name,
			Least: Row{Family: families[b].Name, Setting: families[b].Points[k].Setting}}
		e.Violated, _ = d.over(func(p [][]xy) float64 { return p[a][i].x }, own.x)
		e.Price, _ = d.over(func(p [][]xy) float64 { return p[a][i].y }, own.y)
		at := func(p [][]xy) float64 { return PriceAt(p[b], p[a][i].x) }
		e.PriceB, e.Reached = d.over(at, at(d.mean))
		ratio := func(p [][]xy) float64 { return at(p) / p[a][i].y }
		e.Ratio, _ = d.over(ratio, ratio(d.mean))
		e.Least.Violated, _ = d.over(func(p [][]xy) float64 { return p[b][k].x }, far.x)
		e.Least.Price, _ = d.over(func(p [][]xy) float64 { return p[b][k].y }, far.y)
		e.LeastRatio, _ = d.over(func(p [][]xy) float64 { return p[b][k].y / p[a][i].y }, far.y/own.y)
		e.More, _ = d.over(func(p [][]xy) float64 { return p[b][k].x - p[a][i].x }, far.x-own.x)
		out = append(out, e)
	}
	return out, nil
}

// chosen is the point that people ask for, see [Kept].
func chosen(points []xy) int {
	best := -1
	for i, p := range points {
		if p.x <= 1-Kept && (best < 0 || p.y < points[best].y) {
			best = i
		}
	}
	if best < 0 {
		return least(points)
	}
	return best
}

// least is the point that violates least; of several the cheapest.
func least(points []xy) int {
	best := 0
	for i, p := range points {
		if c := cmp.Compare(p.x, points[best].x); c < 0 || c == 0 && p.y < points[best].y {
			best = i
		}
	}
	return best
}

// Without drops points whose scores another point of the family has, too: a setting that changes nothing.
func (f *Family) Without() {
	same := func(a, b [][]float64) bool {
		return slices.EqualFunc(a, b, func(x, y []float64) bool { return slices.Equal(x, y) })
	}
	var kept []Point
	for _, p := range f.Points {
		if !slices.ContainsFunc(kept, func(q Point) bool { return same(p.Violated, q.Violated) && same(p.Price, q.Price) }) {
			kept = append(kept, p)
		}
	}
	f.Points = kept
}

// Decided reports whether an interval leaves a value out.
func (n Number) Decided(from float64) bool {
	return !math.IsNaN(float64(n.Mean)) && (float64(n.Lo) > from || float64(n.Hi) < from)
}
