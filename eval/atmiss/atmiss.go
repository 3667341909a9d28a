// Package atmiss compares methods at equal misses. A method that keeps a limit more often mostly pays more, so prices
// alone say little: each method is played at several settings of what trades the one against the other (the quantile that
// it plans with, the price of a miss that it is told), all on the same requests, and its price is read where as many
// requests are late as in the others' readings.
//
//	curves, err := atmiss.Play(ctx, atmiss.Request{...})   // each method at each setting
//	readings, err := atmiss.Compare(curves, "stepconf", atmiss.Options{Levels: []float64{0.01, 0.05}})
//
// Between neighbouring settings price and misses are interpolated: a mix of the two, chosen by lot before a request, has
// exactly these. Intervals are of the paired bootstrap over requests, in groups where several are of one workflow, and
// over training seeds.
//
// Statistics of one metric by itself are in package stats.
package atmiss

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
)

// Options say how curves are compared.
type Options struct {
	// Levels are the shares of late requests at which costs are read; empty is 1 and 5 %.
	Levels []float64
	// Groups, where set, has a number per request: requests of one number are drawn together. So a group is what is
	// independent of the others, such as a generated workflow with its requests.
	Groups []int
	// Resamples is the number of bootstrap resamples; 0 is 2,000.
	Resamples int
	// Seed is that of the resamples.
	Seed uint64
}

// Reading is a method's cost at equal misses.
type Reading struct {
	Method string  `json:"method"`
	Level  float64 `json:"level"` // share of late requests
	// Cost is read from the method's curve; NaN where no setting is late so seldom.
	Cost stats.Interval `json:"-"`
	// Below is by how much the cost is below that of the reference, as a share of that.
	Below stats.Interval `json:"-"`
	// Unread is the share of resamples in which one of the two costs could not be read.
	Unread float64 `json:"unread"`
}

// Outcome is a setting of a method with its intervals.
type Outcome struct {
	Method  string
	Setting string
	Value   float64
	Missed  stats.Interval
	Cost    stats.Interval
}

// Result is a comparison.
type Result struct {
	Reference string
	Requests  int
	Readings  []Reading // by level, then in the order of the curves
	Outcomes  []Outcome // in the order of the curves
}

// Compare reads the costs of all curves at equal misses and compares them with those of a reference method.
func Compare(curves []Curve, reference string, o Options) (*Result, error) {
	if err := check(curves, o.Groups); err != nil {
		return nil, err
	}
	ref := slices.IndexFunc(curves, func(c Curve) bool { return c.Method == reference })
	if ref < 0 {
		return nil, fmt.Errorf("atmiss: there is no curve of the reference %q", reference)
	}
	if len(o.Levels) == 0 {
		o.Levels = []float64{0.01, 0.05}
	}
	if o.Resamples == 0 {
		o.Resamples = 2000
	}
	b := newBootstrap(curves, o.Groups)
	b.whole()
	first := b.outcomes()
	r := &Result{Reference: reference, Requests: b.requests}
	draws := make([][][]means, o.Resamples)
	stream := rng.NewStream(o.Seed, "atmiss")
	for k := range draws {
		b.draw(stream)
		draws[k] = b.outcomes()
	}
	for _, level := range o.Levels {
		for c := range curves {
			r.Readings = append(r.Readings, b.reading(curves[c].Method, level, first, draws, c, ref))
		}
	}
	for c, curve := range curves {
		for i, p := range curve.Points {
			missed, cost := make([]float64, len(draws)), make([]float64, len(draws))
			for k, d := range draws {
				missed[k], cost[k] = d[c][i].missed, d[c][i].cost
			}
			r.Outcomes = append(r.Outcomes, Outcome{curve.Method, curve.Setting, p.Value,
				b.interval(first[c][i].missed, missed), b.interval(first[c][i].cost, cost)})
		}
	}
	return r, nil
}

// reading reads one method at one level.
func (b *bootstrap) reading(method string, level float64, first [][]means, draws [][][]means, c, ref int) Reading {
	below := func(cost, other float64) float64 { return 1 - cost/other }
	cost := read(first[c], level)
	out := Reading{Method: method, Level: level}
	var costs, shares []float64
	for _, d := range draws {
		x, y := read(d[c], level), read(d[ref], level)
		if math.IsNaN(x) || math.IsNaN(y) {
			out.Unread += 1 / float64(len(draws))
			continue
		}
		costs, shares = append(costs, x), append(shares, below(x, y))
	}
	out.Cost, out.Below = b.interval(cost, costs), b.interval(below(cost, read(first[ref], level)), shares)
	return out
}

// bootstrap resamples groups of requests, the same for all methods, and each method's training seeds.
type bootstrap struct {
	curves   []Curve
	requests int
	groups   [][]int // the requests of each
	weight   []float64
	total    float64
	rows     [][]int // per curve how often each of its training seeds was drawn
	tail     float64 // of a percentile interval that is as wide as Student's t interval for as many groups
}

func newBootstrap(curves []Curve, groups []int) *bootstrap {
	b := &bootstrap{curves: curves, requests: len(curves[0].Points[0].Missed[0])}
	place := map[int]int{}
	for r := range b.requests {
		g := r
		if groups != nil {
			g = groups[r]
		}
		i, ok := place[g]
		if !ok {
			i = len(b.groups)
			place[g] = i
			b.groups = append(b.groups, nil)
		}
		b.groups[i] = append(b.groups[i], r)
	}
	b.weight = make([]float64, b.requests)
	for _, c := range curves {
		b.rows = append(b.rows, make([]int, len(c.Points[0].Missed)))
	}
	b.tail = (1 - stats.Level) / 2
	if k := float64(len(b.groups)); k > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(1 - b.tail)
		b.tail = distuv.UnitNormal.CDF(-math.Sqrt(k/(k-1)) * t)
	}
	return b
}

// whole counts everything once.
func (b *bootstrap) whole() {
	for r := range b.weight {
		b.weight[r] = 1
	}
	b.total = float64(b.requests)
	for _, rows := range b.rows {
		for i := range rows {
			rows[i] = 1
		}
	}
}

// draw draws groups and training seeds with replacement.
func (b *bootstrap) draw(stream *rng.Stream) {
	clear(b.weight)
	b.total = 0
	for range b.groups {
		g := b.groups[stream.IntN(len(b.groups))]
		for _, r := range g {
			b.weight[r]++
		}
		b.total += float64(len(g))
	}
	for _, rows := range b.rows {
		if len(rows) == 1 { // so that what is drawn does not depend on how many methods there are
			continue
		}
		clear(rows)
		for range rows {
			rows[stream.IntN(len(rows))]++
		}
	}
}

// outcomes returns the means of every point of every curve under the present weights.
func (b *bootstrap) outcomes() [][]means {
	out := make([][]means, len(b.curves))
	for c := range b.curves {
		out[c] = make([]means, len(b.curves[c].Points))
		for i := range out[c] {
			p, m := &b.curves[c].Points[i], &out[c][i]
			for s, times := range b.rows[c] {
				if times == 0 {
					continue
				}
				share := float64(times) / (float64(len(b.rows[c])) * b.total)
				var missed, cost float64
				for r, w := range b.weight {
					missed += float64(w * p.Missed[s][r])
					cost += float64(w * p.Cost[s][r])
				}
				m.missed += float64(share * missed)
				m.cost += float64(share * cost)
			}
		}
	}
	return out
}

// interval is the percentile interval, as wide as Student's for few groups.
func (b *bootstrap) interval(point float64, draws []float64) stats.Interval {
	out := stats.Interval{Point: point, Low: math.NaN(), High: math.NaN()}
	if len(b.groups) < 2 || len(draws) == 0 || math.IsNaN(point) {
		return out
	}
	slices.Sort(draws)
	out.Low, out.High = stats.Quantile(draws, b.tail), stats.Quantile(draws, 1-b.tail)
	return out
}

// Curve is what a method came to at each of its settings.
type Curve struct {
	Method string
	// Setting names what Values are: a quantile, or a price of a miss.
	Setting string
	// Points are in the order of their values.
	Points []Point
}

// Point is a setting of a method, played on all requests.
type Point struct {
	Value float64
	// Missed is 1 where a request was late and 0 elsewhere, Cost what it cost: a row per training seed, a column per
	// request.
	Missed, Cost [][]float64
}

// check says what is wrong with curves that are to be compared.
func check(curves []Curve, groups []int) error {
	if len(curves) == 0 || len(curves[0].Points) == 0 || len(curves[0].Points[0].Missed) == 0 {
		return fmt.Errorf("atmiss: there is nothing to compare, want a curve with a point and a request at least")
	}
	n := len(curves[0].Points[0].Missed[0])
	if n == 0 || groups != nil && len(groups) != n {
		return fmt.Errorf("atmiss: there are %d requests and groups of %d", n, len(groups))
	}
	for _, c := range curves {
		if len(c.Points) == 0 {
			return fmt.Errorf("atmiss: %s has no points", c.Method)
		}
		for i, p := range c.Points {
			if i > 0 && p.Value <= c.Points[i-1].Value {
				return fmt.Errorf("atmiss: %s' settings %g and %g do not ascend", c.Method, c.Points[i-1].Value, p.Value)
			}
			if len(p.Missed) == 0 || len(p.Missed) != len(p.Cost) || len(p.Missed) != len(c.Points[0].Missed) {
				return fmt.Errorf("atmiss: %s at %g has misses of %d training seeds and costs of %d, want %d of both", c.Method,
					p.Value, len(p.Missed), len(p.Cost), max(1, len(c.Points[0].Missed)))
			}
			for s := range p.Missed {
				if len(p.Missed[s]) != n || len(p.Cost[s]) != n {
					return fmt.Errorf("atmiss: %s at %g has %d misses and %d costs, want %d of both", c.Method, p.Value,
						len(p.Missed[s]), len(p.Cost[s]), n)
				}
				for _, x := range p.Cost[s] {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						return fmt.Errorf("atmiss: %s at %g has a cost of %g", c.Method, p.Value, x)
					}
				}
			}
		}
	}
	return nil
}

// means are a point's share of late requests and mean cost.
type means struct{ missed, cost float64 }

// read returns the least cost at which at most a share of the requests is late: at a setting, or between two neighbouring
// ones. It is NaN where every setting is late more often.
func read(points []means, level float64) float64 {
	least := math.Inf(1)
	for i, p := range points {
		if p.missed <= level {
			least = min(least, p.cost)
		}
		if i == 0 {
			continue
		}
		if q := points[i-1]; (p.missed < level) != (q.missed < level) {
			part := (level - q.missed) / (p.missed - q.missed)
			least = min(least, q.cost+float64(part*(p.cost-q.cost)))
		}
	}
	if math.IsInf(least, 1) {
		return math.NaN()
	}
	return least
}

// Method is one to compare.
type Method struct {
	Name string
	// Setting names what Values are, ascending.
	Setting string
	Values  []float64
	// Make returns the method at a setting. Its name is not looked at.
	Make func(value float64) (eval.Contestant, error)
}

// Request says which methods play, where, and on which requests.
type Request struct {
	// NewEnv makes the environment of each contestant that has none of its own; the requests must be the same in all.
	NewEnv  func() (envs.Env, error)
	Methods []Method
	// Seeds are the workload seeds, a request each.
	Seeds []uint64
	// Missed and Cost name the two quantities of the environments. Empty is missed and cost. Plus is added to the cost: 1
	// makes of a relative excess a price.
	Missed, Cost string
	Plus         float64
	Workers      int
	// Run plays, [eval.Run] where it is nil: a suite has its own, with workers and progress.
	Run func(context.Context, eval.Request) (*eval.Played, error)
}

// Baseline is a method that is a baseline of the catalog, whose configuration follows from the setting.
func Baseline(name, baseline, setting string, values []float64, config func(value float64) any) Method {
	return Method{Name: name, Setting: setting, Values: values, Make: func(v float64) (eval.Contestant, error) {
		return eval.Baseline(name, baseline, config(v))
	}}
}

// Play plays every method at every setting on every request.
func Play(ctx context.Context, r Request) ([]Curve, error) {
	var all []eval.Contestant
	for _, m := range r.Methods {
		for _, v := range m.Values {
			c, err := m.Make(v)
			if err != nil {
				return nil, fmt.Errorf("atmiss: %s at %g: %w", m.Name, v, err)
			}
			c.Name = fmt.Sprintf("%s %s=%g", m.Name, m.Setting, v)
			all = append(all, c)
		}
	}
	run := r.Run
	if run == nil {
		run = eval.Run
	}
	played, err := run(ctx, eval.Request{NewEnv: r.NewEnv, Contestants: all, Seeds: r.Seeds, Workers: r.Workers})
	if err != nil {
		return nil, err
	}
	var curves []Curve
	k := 0
	for _, m := range r.Methods {
		c := Curve{Method: m.Name, Setting: m.Setting}
		for _, v := range m.Values {
			late, err := played.Scores(k, eval.Metric{Name: cmp.Or(r.Missed, "missed")})
			if err != nil {
				return nil, fmt.Errorf("atmiss: %w", err)
			}
			paid, err := played.Scores(k, eval.Metric{Name: cmp.Or(r.Cost, "cost")})
			if err != nil {
				return nil, fmt.Errorf("atmiss: %w", err)
			}
			for _, row := range paid {
				for i := range row {
					row[i] += r.Plus
				}
			}
			c.Points = append(c.Points, Point{v, late, paid})
			k++
		}
		curves = append(curves, c)
	}
	return curves, nil
}
