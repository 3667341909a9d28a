package search

import "math"

// Window is what one window gave.
type Window struct {
	// Number counts from 0, among the windows of the search or the fresh ones.
	Number int `json:"window"`
	// Seed is that of a fresh window's episode, or of the repetition's.
	Seed uint64 `json:"seed"`
	// By says who decided, where the method tells: "policy" or "safe".
	By string `json:"by,omitempty"`
	// Price is in USD/h, Latency (the mean) and P95 in seconds. Success is the share of successes among the requests that
	// ended.
	Price     float64 `json:"price"`
	Latency   float64 `json:"latency"`
	P95       float64 `json:"latency_p95"`
	Success   float64 `json:"success"`
	Successes float64 `json:"successes"`
	Failed    float64 `json:"failed"`
	Violated  bool    `json:"violated"`
}

// Repetition is one search.
type Repetition struct {
	Seed    uint64   `json:"seed"`
	Warm    int      `json:"warm"`
	Windows []Window `json:"windows"`
	// Best is the number of the window with the cheapest configuration that kept the thresholds, −1 where none did (X).
	// Action is that configuration.
	Best   int       `json:"best"`
	Action []float32 `json:"action,omitempty"`
	// Fresh are the windows in which it was measured again.
	Fresh []Window `json:"fresh,omitempty"`
}

// Result is what a method did under a protocol.
type Result struct {
	Method   string   `json:"method"`
	Env      string   `json:"env"`
	Workflow string   `json:"workflow"`
	Users    int      `json:"users"`
	Protocol Protocol `json:"protocol"`

	Repetitions []Repetition `json:"repetitions"`
	// Found is the number of repetitions with a feasible window.
	Found int `json:"found"`
	// Seen is the best as the search saw it, Again as the fresh windows did: means over the repetitions that found one,
	// nil where none did. Search is the mean over all windows of all searches.
	Seen   *Mean `json:"seen"`
	Again  *Mean `json:"again"`
	Search Mean  `json:"search"`
	// Seconds is the time that a proposal took on average. It is no part of files, which are the same on every machine.
	Seconds float64 `json:"-"`
}

// Mean is a mean over windows.
type Mean struct {
	Windows int     `json:"windows"`
	Price   float64 `json:"price"`
	Latency float64 `json:"latency"`
	P95     float64 `json:"latency_p95"`
	Success float64 `json:"success"`
	// Successes is the mean number of requests that succeeded in a window, Violated the share of windows that missed the
	// thresholds.
	Successes float64 `json:"successes"`
	Violated  float64 `json:"violated"`
}

// meanOf is the mean over windows, nil over none.
func meanOf(windows []Window) *Mean {
	if len(windows) == 0 {
		return nil
	}
	m, n := Mean{Windows: len(windows)}, float64(len(windows))
	for _, w := range windows {
		m.Price += w.Price / n
		m.Latency += w.Latency / n
		m.P95 += w.P95 / n
		m.Success += w.Success / n
		m.Successes += w.Successes / n
		if w.Violated {
			m.Violated += 1 / n
		}
	}
	return &m
}

// conclude fills the means.
func (r *Result) conclude() {
	var all, seen, again []Window
	for i := range r.Repetitions {
		p := &r.Repetitions[i]
		all, again = append(all, p.Windows...), append(again, p.Fresh...)
		if p.Best >= 0 {
			r.Found++
			seen = append(seen, p.Windows[p.Best])
		}
	}
	r.Seen, r.Again, r.Search = meanOf(seen), meanOf(again), *meanOf(all)
}

// BestSoFar returns, for each number of windows, the price of the cheapest feasible configuration up to then, and the
// share of repetitions that have one: the mean over those; NaN where none has.
func (r *Result) BestSoFar() (price, found []float64) {
	n := r.Protocol.Windows
	price, found = make([]float64, n), make([]float64, n)
	for w := range n {
		var sum, count float64
		for i := range r.Repetitions {
			best := math.Inf(1)
			for _, x := range r.Repetitions[i].Windows[:w+1] {
				if !x.Violated {
					best = min(best, x.Price)
				}
			}
			if !math.IsInf(best, 1) {
				sum, count = sum+best, count+1
			}
		}
		price[w], found[w] = math.NaN(), count/float64(len(r.Repetitions))
		if count > 0 {
			price[w] = sum / count
		}
	}
	return price, found
}
