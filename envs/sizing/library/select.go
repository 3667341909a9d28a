package library

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Users returns the rows of a number of closed-loop users.
func Users(rows []Row, users int) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Users != users })
}

// Pick draws n rows without replacement, all where there are not more, in a random order that follows from seed.
func Pick(rows []Row, n int, seed uint64) []Row {
	out := slices.Clone(rows)
	s := rng.NewStream(seed, "library: rows")
	n = min(n, len(out))
	for i := range n {
		k := i + s.IntN(len(out)-i)
		out[i], out[k] = out[k], out[i]
	}
	return out[:n]
}

// Before says for each row which one it follows, −1 where that is not known. Where every window is a new deployment
// (fresh), windows do not depend on each other, and a row follows the one before it with as many users, the first of
// them the last. Else it follows the window before of the same episode.
func Before(rows []Row, fresh bool) []int {
	out := make([]int, len(rows))
	last := map[int]int{}
	for i, r := range rows {
		out[i] = -1
		k, ok := last[r.Users]
		if ok && (fresh || rows[k].Seed == r.Seed && rows[k].Window == r.Window-1) {
			out[i] = k
		}
		last[r.Users] = i
	}
	if fresh {
		for i, r := range rows {
			if out[i] < 0 {
				out[i] = last[r.Users]
			}
		}
	}
	return out
}

// Summary says what a library holds of a number of users. Prices are in USD/h.
type Summary struct {
	Workflow string `json:"workflow"`
	Users    int    `json:"users"`
	Rows     int    `json:"rows"`
	// Feasible is the share of rows that keep the thresholds.
	Feasible float64 `json:"feasible"`
	Low      float64 `json:"price_low"`
	Mean     float64 `json:"price_mean"`
	High     float64 `json:"price_high"`
	// Cheapest is the price of the cheapest feasible row, nil where none is; Row is its number in the file, from 1.
	Cheapest *float64 `json:"cheapest_feasible"`
	Row      int      `json:"cheapest_row,omitempty"`
}

// Summaries sums the library up by workflow and users. Whether a row is feasible says the file's column violated; for
// files without one, as FaaSConf's, the thresholds of their workflow and users do ([sizing.Thresholds]).
func (l *Library) Summaries() []Summary {
	violated := l.index("violated")
	latency, successes := l.index("latency"), l.index("successes")
	return Summarise(l.Rows, l.index("price"), func(r *Row) bool {
		if violated >= 0 {
			return r.Info[violated] == 0
		}
		q, _ := sizing.Thresholds(r.Workflow, r.Users)
		return r.Info[latency] <= q.Latency && r.Info[successes] >= float64(q.Count)
	})
}

// Summarise sums up rows by workflow and users, in the order of users. price is the place of the price in Info.
func Summarise(rows []Row, price int, feasible func(r *Row) bool) []Summary {
	var out []Summary
	for i := range rows {
		r := &rows[i]
		k := slices.IndexFunc(out, func(s Summary) bool { return s.Users == r.Users && s.Workflow == r.Workflow })
		if k < 0 {
			k = len(out)
			out = append(out, Summary{Workflow: r.Workflow, Users: r.Users, Low: math.Inf(1), High: math.Inf(-1)})
		}
		s, x := &out[k], r.Info[price]
		s.Rows++
		s.Mean += x
		s.Low, s.High = min(s.Low, x), max(s.High, x)
		if feasible(r) {
			s.Feasible++
			if s.Cheapest == nil || x < *s.Cheapest {
				s.Cheapest, s.Row = &x, i+1
			}
		}
	}
	for i := range out {
		out[i].Mean /= float64(out[i].Rows)
		out[i].Feasible /= float64(out[i].Rows)
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return cmp.Compare(a.Users, b.Users) })
	return out
}
