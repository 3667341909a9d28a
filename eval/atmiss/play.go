package atmiss

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
)

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
