package workload

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// History draws how a load could go on, for a planner that does not know the coming minutes: as the minutes went on that
// were most like the last two. It draws them from what a policy can have learned: from the training part of a trace where
// the source is its test part, from the minutes that have passed where the source is a whole trace (from all of it as long as
// too few have), and from any minute of a random process. Such analogues are the forecast of Lorenz (1969,
// Atmospheric Predictability as Revealed by Naturally Occurring Analogues).
type History struct {
	loads []past
}

// past is the minutes of a load.
type past struct {
	process
	rates []float64 // expected arrivals a second by minute, at a drawn factor of 1
	same  bool      // they are the minutes of the episode's own trace
}

// analogues is the number of minutes of the past among which a continuation is drawn.
const analogues = 25

// gap is how many minutes a minute of the episode's own trace lies back at least: so many that follow it have passed.
const gap = 5

// History reads the source's history. It fails in a closed loop, and where a trace cannot be read again.
func (s *Source) History() (*History, error) {
	if _, err := s.Arrivals(0); err != nil {
		return nil, err
	}
	h := &History{}
	for i := range s.loads {
		l := s.loads[i]
		same := l.trace != nil
		if l.config.Split == "test" && l.trace != nil {
			c := l.config
			c.Split, same = "train", false
			var err error
			if l, err = c.open(nil); err != nil {
				return nil, err
			}
			if copied, ok := s.loads[i].process.(*copiedProcess); ok {
				l.process = &copiedProcess{l.process, copied.n}
			}
		}
		h.loads = append(h.loads, past{l.process, rates(l.process), same})
	}
	return h, nil
}

// rates are the expected arrivals a second by minute.
func rates(p process) []float64 {
	out := make([]float64, p.minutes())
	for m := range out {
		out[m] = rateAt(p, m)
	}
	return out
}

// like draws one of the minutes that are most like a minute of p: by the logarithms of the rates in it and in the one
// before.
func (h *past) like(p process, minute int, k rng.Key) int {
	level := func(rate float64) float64 { return math.Log1p(60 * rate) } // a minute's arrivals: none is no infinity
	now, before := level(rateAt(p, minute)), level(rateAt(p, max(minute-1, 0)))
	type candidate struct {
		minute int
		off    float64
	}
	last := max(len(h.rates)-1, 1)
	if h.same && minute-gap >= analogues {
		last = minute - gap
	}
	all := make([]candidate, 0, last)
	for m, r := range h.rates[:last] {
		a, b := level(r)-now, level(h.rates[max(m-1, 0)])-before
		all = append(all, candidate{m, float64(a*a) + float64(b*b)})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.off, b.off) })
	n := min(analogues, len(all))
	return all[min(int(k.Float64()*float64(n)), n-1)].minute
}
