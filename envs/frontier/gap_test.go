package frontier

import (
	"context"
	"math"
)

// grain is the share by which the bound of [Gap] may lie below the exact front.
const grain = 5e-4

// Gap returns by how much a front is worse than the exact one at most: each point of the exact front has one in f that is
// worse by at most a factor 1+gap in time and in price. It compares f with a lower bound that knows nothing of how f was
// made: fronts are combined as in [Exact], but neighbouring points become one that is as fast as the fastest and as cheap
// as the cheapest of them, so that no configuration lies below. The bound is within 0.05 % of the exact front, and the
// gap thus up to 0.05 % too large. Where the response time is no tree, the bound is the exact search.
func Gap(ctx context.Context, p Problem, f Front) (float64, error) {
	t, err := p.term()
	if err != nil {
		return 0, err
	}
	s := solver{ctx: ctx, problem: &p, trim: math.Pow(1+grain, 1/float64(t.depth())) - 1, down: true}
	bound, err := s.front(t)
	if err != nil {
		return 0, err
	}
	gap, k := 0.0, 0
	for _, l := range bound.labels {
		// The best point is the last that is no slower but for the gap so far, or one of those after it.
		for k < len(f) && f[k].Seconds <= l.t*(1+gap) {
			k++
		}
		worse := math.Inf(1)
		if k > 0 {
			worse = f[k-1].USD/l.c - 1
		}
		for j := k; j < len(f) && f[j].Seconds < l.t*(1+worse); j++ {
			worse = min(worse, max(f[j].Seconds/l.t, f[j].USD/l.c)-1)
		}
		gap = max(gap, worse)
	}
	return gap, nil
}
