// Package pareto compares families of policies by their frontiers: price over violations, one point for each setting of
// a key, and the price at equal violations by interpolation along each frontier.
//
// All policies face the same workload seeds. Intervals are of a bootstrap that draws workload seeds for all families
// together, and the training seeds of each family for all of its points together.
package pareto

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// Point is what one setting of a family played: [training seed][workload seed].
type Point struct {
	Setting  string
	Violated [][]float64
	Price    [][]float64
}

// Family is a policy under several settings, such as an autoscaler under several thresholds.
type Family struct {
	Name   string
	Points []Point
	// Floor is the least that a price can be, at most 0: ratios are of what is above it. A price that is the excess over
	// another one, as a share, has −1, so that the ratio is that of the prices themselves.
	Floor float64
	// Bound says that it is a bound, such as an oracle, and looks like one.
	Bound bool
}

// Number is an estimate with its 95 % interval; NaN where the frontier does not reach so few violations.
type Number struct {
	Mean report.Number `json:"mean"`
	Lo   report.Number `json:"lo"`
	Hi   report.Number `json:"hi"`
}

// Row is a point with its estimates.
type Row struct {
	Family   string `json:"family"`
	Setting  string `json:"setting"`
	Violated Number `json:"violated"`
	Price    Number `json:"price"`
	// Beaten says that another point of the family is no worse in both and better in one.
	Beaten bool `json:"beaten"`
}

// At is a family's price where at most Level of the windows are violated.
type At struct {
	Family string        `json:"family"`
	Level  report.Number `json:"level"`
	Price  Number        `json:"price"`
	// Ratio is the price over that of the first family at the same level, both above [Family.Floor].
	Ratio Number `json:"ratio"`
	// Reached is the share of the resamples in which this family, and the first one, have a frontier at the level.
	Reached float64 `json:"reached"`
	// Below says that all settings of the family violate far less than the level: a setting that was not played may cost
	// less, and tables show a dash. RatioBelow says so of the family or the first one.
	Below      bool `json:"below,omitempty"`
	RatioBelow bool `json:"ratio_below,omitempty"`
}

// Windows is the unit of a constraint that has none in a result.
const Windows = "share of windows"

// Result is frontier.json.
type Result struct {
	Env       string   `json:"env"`
	Objective string   `json:"objective"`
	Unit      string   `json:"unit"`
	Limit     string   `json:"constraint"`
	LimitUnit string   `json:"constraint_unit,omitempty"` // empty: [Windows]
	Seeds     []uint64 `json:"seeds"`
	Resamples int      `json:"resamples"`
	Points    []Row    `json:"points"`
	Levels    []At     `json:"levels"`
	Bounds    []string `json:"bounds,omitempty"` // families that are bounds
	// Equal compares the learned families with each other one at their own violations; only stoker eval has it.
	Equal    []Equal  `json:"equal,omitempty"`
	Command  []string `json:"command,omitempty"`
	Version  string   `json:"version,omitempty"`
	Revision string   `json:"revision,omitempty"`
}

// xy is a point's mean share of violated windows and mean price.
type xy struct{ x, y float64 }

// PriceAt is the smallest price at which at most so much is violated: that of the points that none of the others beat,
// joined by straight lines, since two policies used in turn have all that lies between them. It is NaN where every point
// violates more.
func PriceAt(points []xy, level float64) float64 {
	p := slices.Clone(points)
	slices.SortFunc(p, func(a, b xy) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	price, last := math.NaN(), xy{}
	for i, q := range p {
		switch {
		case i == 0 && exceeds(q.x, level):
			return price
		case i > 0 && q.y >= last.y: // beaten by the one before
			continue
		case exceeds(q.x, level):
			share := (level - last.x) / (q.x - last.x)
			return last.y + share*(q.y-last.y)
		}
		price, last = q.y, q
	}
	return price
}

// exceeds reports whether x is above y by more than rounding: violations are shares of whole windows, so that policies do violate
// the same share, and means of it over other numbers of seeds differ in their last bits.
func exceeds(x, y float64) bool { return x-y > 1e-12*max(1, math.Abs(y)) }

// near is how much of a level the point of a family that violates most has to violate, for a price to be read there.
const near = 0.8

// below reports whether all of several points violate far less than a level. A family of one setting has no other.
func below(points []xy, level float64) bool {
	far := func(p xy) bool { return p.x >= near*level }
	return len(points) > 1 && !slices.ContainsFunc(points, far)
}

// beaten reports which points others of the family beat.
func beaten(points []xy) []bool {
	return lists.From(points, func(p xy) bool {
		return slices.ContainsFunc(points, func(q xy) bool {
			return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y)
		})
	})
}

// Analyse computes estimates and intervals; the first family is what the others are compared with.
func Analyse(families []Family, levels []float64, resamples int, seed uint64) (*Result, error) {
	seeds, err := check(families)
	if err != nil {
		return nil, err
	}
	r, d := &Result{Resamples: resamples}, drawn(families, seeds, resamples, seed)
	mean, over := d.mean, d.over
	for f := range families {
		if families[f].Bound {
			r.Bounds = append(r.Bounds, families[f].Name)
		}
		lost := beaten(mean[f])
		for i, m := range mean[f] {
			row := Row{Family: families[f].Name, Setting: families[f].Points[i].Setting, Beaten: lost[i]}
			row.Violated, _ = over(func(d [][]xy) float64 { return d[f][i].x }, m.x)
			row.Price, _ = over(func(d [][]xy) float64 { return d[f][i].y }, m.y)
			r.Points = append(r.Points, row)
		}
	}
	for _, level := range levels {
		above := func(points []xy) float64 { return PriceAt(points, level) - families[0].Floor }
		for f := range families {
			at := At{Family: families[f].Name, Level: report.Number(level), Below: below(mean[f], level)}
			at.RatioBelow = at.Below || below(mean[0], level)
			own := PriceAt(mean[f], level)
			at.Price, _ = over(func(d [][]xy) float64 { return PriceAt(d[f], level) }, own)
			ratio := func(d [][]xy) float64 { return above(d[f]) / above(d[0]) }
			at.Ratio, at.Reached = over(ratio, ratio(mean))
			r.Levels = append(r.Levels, at)
		}
	}
	return r, nil
}

// draws are the points of all families, [family][point]: their means, and those of every resample.
type draws struct {
	mean [][]xy
	of   [][][]xy
}

// drawn resamples the workload seeds of all families together, and the training seeds of each by themselves.
func drawn(families []Family, seeds, resamples int, seed uint64) *draws {
	whole := func(n int) []int { return lists.Make(n, func(i int) int { return i }) }
	d := &draws{mean: make([][]xy, len(families)), of: make([][][]xy, resamples)}
	for f := range families {
		d.mean[f] = families[f].means(whole(len(families[f].Points[0].Price)), whole(seeds))
	}
	stream := rng.NewStream(seed, "bootstrap of frontiers")
	for b := range d.of {
		draw := func(n int) []int { return lists.Make(n, func(int) int { return stream.IntN(n) }) }
		own := draw(seeds)
		for f := range families {
			d.of[b] = append(d.of[b], families[f].means(draw(len(families[f].Points[0].Price)), own))
		}
	}
	return d
}

// over is a value with mean m and its interval over the resamples that have one, and the share of these.
func (d *draws) over(value func(d [][]xy) float64, m float64) (Number, float64) {
	var x []float64
	for _, points := range d.of {
		if v := value(points); !math.IsNaN(v) {
			x = append(x, v)
		}
	}
	return interval(m, x), float64(len(x)) / float64(max(1, len(d.of)))
}

// interval is the percentile interval of resampled values around an estimate.
func interval(mean float64, x []float64) Number {
	if math.IsNaN(mean) || len(x) == 0 {
		nan := report.Number(math.NaN())
		return Number{nan, nan, nan}
	}
	slices.Sort(x)
	at := func(p float64) report.Number { return report.Number(x[int(math.Round(p*float64(len(x)-1)))]) }
	return Number{report.Number(mean), min(at(0.025), report.Number(mean)), max(at(0.975), report.Number(mean))}
}

// means are the points under some training and workload seeds.
func (f *Family) means(versions, seeds []int) []xy {
	out := make([]xy, len(f.Points))
	n := float64(len(versions) * len(seeds))
	for i := range f.Points {
		p := &f.Points[i]
		for _, v := range versions {
			for _, s := range seeds {
				out[i].x += p.Violated[v][s] / n
				out[i].y += p.Price[v][s] / n
			}
		}
	}
	return out
}

func check(families []Family) (seeds int, err error) {
	if len(families) == 0 {
		return 0, errors.New("no family of policies, want at least one")
	}
	for _, f := range families {
		if len(f.Points) == 0 || len(f.Points[0].Price) == 0 {
			return 0, fmt.Errorf("%s has no points, want at least one that was played", f.Name)
		}
		seeds = max(seeds, len(f.Points[0].Price[0]))
		for _, p := range f.Points {
			if len(p.Price) != len(f.Points[0].Price) || len(p.Violated) != len(p.Price) {
				return 0, fmt.Errorf("%s at %s has %d training seeds, want %d as its other points", f.Name, p.Setting, len(p.Price),
					len(f.Points[0].Price))
			}
			for v := range p.Price {
				if len(p.Price[v]) != seeds || len(p.Violated[v]) != seeds {
					return 0, fmt.Errorf("%s at %s played %d workload seeds, want %d", f.Name, p.Setting, len(p.Price[v]), seeds)
				}
			}
		}
	}
	return seeds, nil
}

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
	// the resamples in which B violates no more. Below says that all settings of B violate far less, as in [At].
	PriceB  Number  `json:"price_b"`
	Ratio   Number  `json:"ratio"`
	Reached float64 `json:"reached"`
	Below   bool    `json:"below,omitempty"`
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
			Least: Row{Family: families[b].Name, Setting: families[b].Points[k].Setting}, Below: below(d.mean[b], own.x)}
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
		if !exceeds(p.x, 1-Kept) && (best < 0 || p.y < points[best].y) {
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
	return !math.IsNaN(float64(n.Mean)) && (exceeds(float64(n.Lo), from) || exceeds(from, float64(n.Hi)))
}
