package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// measuredAt are the repeated measurements of a quantity at one size.
type measuredAt struct {
	size   float64
	values []float64
}

// Exponent is the b of y = a·size^b by least squares on logarithms, of the medians at each size, with the 95 % interval
// of a bootstrap over the repetitions at each size.
type Exponent struct {
	Value float64 `json:"value"`
	Low   float64 `json:"lo"`
	High  float64 `json:"hi"`
}

const resamples = 2000

func fitExponent(points []measuredAt) Exponent {
	fit := func(pick func(values []float64) float64) float64 {
		var n, sx, sy, sxx, sxy float64
		for _, p := range points {
			x, y := math.Log(p.size), math.Log(pick(p.values))
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
		return (n*sxy - sx*sy) / (n*sxx - sx*sx)
	}
	stream := rng.NewStream(1, "bench: exponents")
	draws := make([]float64, resamples)
	var again []float64
	for i := range draws {
		draws[i] = fit(func(values []float64) float64 {
			again = again[:0]
			for range values {
				again = append(again, values[stream.IntN(len(values))])
			}
			return median(again)
		})
	}
	slices.Sort(draws)
	return Exponent{fit(median), quantile(draws, 0.025), quantile(draws, 0.975)}
}

func median(x []float64) float64 { return quantile(slices.Sorted(slices.Values(x)), 0.5) }

func TestFitExponent(t *testing.T) {
	stream := rng.NewStream(1, "noise")
	var points []measuredAt
	for _, n := range []float64{5, 12, 50, 200, 1000} {
		p := measuredAt{size: n}
		for range 9 {
			p.values = append(p.values, 3*math.Pow(n, 1.5)*math.Exp(0.1*(stream.Float64()-0.5)))
		}
		points = append(points, p)
	}
	e := fitExponent(points)
	if math.Abs(e.Value-1.5) > 0.02 || e.Low > e.Value || e.High < e.Value || e.High-e.Low > 0.05 || e.High == e.Low {
		t.Errorf("exponent %+v, want about 1.5 in a narrow interval", e)
	}
}
