package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// No rule that wants the cheapest configuration within a time loses by seeing the front alone in place of all
// configurations, and one that prices time does not either: at P90, by which the front is made, hardly anything, at other
// quantiles and in the mean little.
func TestFrontLosesNothing(t *testing.T) {
	worst, mean := map[float64]float64{}, map[float64]float64{}
	asked := 0
	for _, number := range []uint64{1, 5, 8} {
		a := must.Get(Generate(number, Generated{Steps: []int{3, 5}, Shape: AnyShape, Platform: AWS}))(t)
		m := must.Get(a.Compile())(t)
		for s := range m.Steps {
			full := m.Full(s)
			t.Logf("workflow %d, step %d: %d configurations, %d on the front", number, s, len(full), len(m.Options[s]))
			asked++
			for _, q := range []float64{0, 0.5, 0.9, 0.99} {
				times := make([]float64, len(full))
				for i, o := range full {
					packed := must.Get(m.Pack(s, o.MB, o.Instances, o.Processes))(t)
					times[i] = m.Seconds(s, packed, q, 0)
				}
				quickest := m.Seconds(s, 0, q, 0)
				loss := 0.0
				for _, factor := range []float64{1.02, 1.1, 1.3, 1.6, 2, 3, 5, 10} {
					all, front := math.Inf(1), math.Inf(1)
					for i, o := range full {
						if times[i] <= factor*quickest {
							all = min(all, o.USD)
						}
					}
					for i, o := range m.Options[s] {
						if m.Seconds(s, i, q, 0) <= factor*quickest {
							front = min(front, o.USD)
						}
					}
					loss = max(loss, front/all-1)
				}
				worst[q] = max(worst[q], loss)
				mean[q] += loss
			}
		}
	}
	for q, bound := range map[float64][2]float64{0.9: {0.02, 0.005}, 0.99: {0.12, 0.02}, 0.5: {0.12, 0.02}, 0: {0.12, 0.02}} {
		average := mean[q] / float64(asked)
		t.Logf("quantile %g (0: mean): dearer by at most %.4f, %.4f on average", q, worst[q], average)
		if worst[q] > bound[0] || average > bound[1] {
			t.Errorf("quantile %g (0: mean): the front is dearer by %.4f, %.4f on average, want at most %g", q, worst[q], average, bound)
		}
	}
}
