package steps

import "slices"

// ahead is what is known of a workflow beforehand, beside the plans of [levels].
type ahead struct {
	// Per step the time in seconds at P90 from its begin to the request's end on the longest path: with every step's
	// fastest option, and with Best.
	quickest, best []float64
	usd            []float64 // per step: expected price of Best
	// Per plan of levels its longest path at P90 and its expected price: times ascending, prices falling.
	seconds, price []float64
}

// ahead works it out.
func (m *Model) lookAhead() *ahead {
	n := m.NumSteps()
	a := &ahead{quickest: make([]float64, n), best: make([]float64, n), usd: make([]float64, n)}
	own := make([]float64, n)
	for s := range n {
		own[s] = m.Options[s][0].P90
	}
	m.tails(own, a.quickest)
	for s := range n {
		o := &m.Options[s][m.Best[s]]
		own[s], a.usd[s] = o.P90, float64(m.Runs[s]*o.USD)
	}
	m.tails(own, a.best)
	l := m.levels()
	for k := range slices.Backward(l.plans[:]) {
		usd := 0.0
		for s, i := range l.plans[k].option {
			own[s] = m.Options[s][i].P90
			usd += float64(m.Runs[s] * m.Options[s][i].USD)
		}
		seconds, last := m.Longest(own), len(a.price)-1
		if last < 0 || seconds > a.seconds[last] && usd < a.price[last] {
			a.seconds, a.price = append(a.seconds, seconds), append(a.price, usd)
		}
	}
	return a
}

// tails writes the longest time from each step's begin to the request's end, where steps take own seconds.
func (m *Model) tails(own, out []float64) {
	for _, s := range slices.Backward(m.Flow.Order()) {
		after := 0.0
		for _, e := range m.edges[s] {
			if e.to >= 0 {
				after = max(after, out[e.to])
			}
		}
		out[s] = own[s] + after
	}
}

// relaxed is about the least expected price at which a request keeps an SLO at P90: on straight lines between the plans,
// which near the quickest plan can be below what any configuration reaches.
func (a *ahead) relaxed(slo float64) float64 {
	k, _ := slices.BinarySearch(a.seconds, slo)
	switch {
	case k == 0:
		return a.price[0]
	case k == len(a.seconds):
		return a.price[k-1]
	}
	part := (slo - a.seconds[k-1]) / (a.seconds[k] - a.seconds[k-1])
	return a.price[k-1] + float64(part*(a.price[k]-a.price[k-1]))
}
