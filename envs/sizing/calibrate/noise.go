package calibrate

import (
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel"
)

// Near is the largest relative difference between the CPU limits of neighbours.
const Near = 0.03

// Neighbours returns, for each function, the quartiles of the ratio of a value between rows that give the function the
// same replicas and concurrency and nearly the same CPU ([Near]), in both orders, and the number of pairs. No
// configuration was measured twice, but a function's latency hardly depends on the other functions' resources. So these
// ratios estimate how much repeated measurements differ. value takes the indices of a row and of a function.
func Neighbours(rows []perfmodel.Measured, value func(row, function int) float64) (ratios []Quartiles, pairs []int) {
	type key struct{ replicas, concurrency int }
	for f := range rows[0].Functions {
		at := make(map[key][]int)
		for k, r := range rows {
			m := &r.Functions[f]
			z := key{m.Replicas, int(1 + 9*m.Action[3])}
			at[z] = append(at[z], k)
		}
		var x []float64
		for _, group := range at {
			for i, a := range group {
				for _, b := range group[:i] {
					if math.Abs(math.Log(float64(rows[a].Functions[f].CPU)/float64(rows[b].Functions[f].CPU))) <= Near {
						ratio := value(a, f) / value(b, f)
						x = append(x, ratio, 1/ratio)
					}
				}
			}
		}
		if len(x) == 0 {
			x = []float64{math.NaN()}
		}
		ratios, pairs = append(ratios, QuartilesOf(x)), append(pairs, len(x)/2)
	}
	return ratios, pairs
}
