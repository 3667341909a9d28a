package atmiss

import (
	"fmt"
	"math"
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
