package pricing

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// chunk is the largest mean of one Poisson draw: a greater one is the sum of several, so that e^-mean stays well above
// 0 and the work is proportional to what arrives.
const chunk = 30

// rate is a function's arrivals per slot made ready to draw from: n Poisson draws of one mean each.
type rate struct {
	n    uint64
	mean float64
	// below holds the cumulative probabilities of 0, 1, … as far as draws have needed them, in units of 2^-53 and rounded
	// up. sum is the last cumulative probability, last the probability of that number alone.
	below     []int64
	sum, last float64
}

// tabled is how many probabilities a rate stores. A draw beyond them, which happens one time in 10^7 at the largest
// mean, is summed each time.
const tabled = 64

func newRates(n int) []rate {
	r, all := make([]rate, n), make([]int64, n*tabled)
	for i := range r {
		r[i].below = all[i*tabled : i*tabled : (i+1)*tabled]
	}
	return r
}

// draws is a probability in units of a draw.
func draws(p float64) int64 { return int64(math.Ceil(p * 0x1p53)) }

// set changes the mean.
func (r *rate) set(mean float64) {
	n := max(1, math.Ceil(mean/chunk))
	r.n, r.mean = uint64(n), mean/n
	r.last = portable.Exp(-r.mean)
	r.sum, r.below = r.last, append(r.below[:0], draws(r.last))
}

// next extends the sum to the probability of at most m.
func (r *rate) next(m int) int64 {
	r.last = float64(r.last*r.mean) / float64(m)
	r.sum += r.last
	return draws(r.sum)
}

// count returns one draw by inversion: the smallest number whose cumulative probability exceeds u, a draw of 53 bits.
func (r *rate) count(u int64) int32 {
	from := 0
	if k := int(r.mean); k > 8 && k < len(r.below) && u >= r.below[k] {
		from = k + 1 // for large means the search begins at the mean
	}
	for m := from; m < len(r.below); m++ {
		if u < r.below[m] {
			return int32(m)
		}
	}
	return r.beyond(u)
}

// beyond continues the search where the table ends.
func (r *rate) beyond(u int64) int32 {
	m := len(r.below)
	for ; m < tabled; m++ {
		if r.below = append(r.below, r.next(m)); u < r.below[m] || r.last == 0 {
			return int32(m)
		}
	}
	for c := *r; ; m++ { // a copy: these probabilities are not stored
		if p := c.next(m); u < p || c.last == 0 {
			return int32(m)
		}
	}
}

// setRates makes the functions' rates of a window from the tiers' (jobs per slot).
func (w *world) setRates() {
	for f := range w.fn {
		p := &w.fn[f]
		mean := float64(float64(w.rates[p.tier]*p.share)*w.calm) / w.work.mean
		w.perSlot[2*f].set(mean)
		w.perSlot[2*f+1].set(float64(mean * w.cfg.Burst.Factor))
	}
}

// calmShare is the factor on the rate outside bursts that keeps the mean: a slot is in a burst if one began in it or in
// the slots before.
func calmShare(b *Burst) float64 {
	quiet := 1.0
	for range b.Slots {
		quiet = float64(quiet * (1 - b.Start))
	}
	return 1 / (1 + float64((b.Factor-1)*(1-quiet)))
}

// arrive draws the slot's arrivals of every function and puts them in its queue. Draws are named by function, slot and
// number, and counts rise with the rate for the same draw: worlds that differ in price alone see nearly the same jobs.
func (w *world) arrive() {
	now := uint64(w.slot)
	// All first draws at once: they are independent, so the processor can overlap them.
	for f := range w.uniform {
		w.uniform[f] = draw(w.fn[f].arrivalKey.With(now))
	}
	for f := range w.fn {
		p := &w.fn[f]
		burst := 0
		if int32(w.slot) >= w.nextBurst[f] {
			w.bursts[f]++
			w.burstEnd[f] = int32(w.slot) + int32(w.cfg.Burst.Slots)
			w.drawBurst(f)
		}
		if int32(w.slot) < w.burstEnd[f] {
			burst = 1
		}
		n := w.poisson(f, &w.perSlot[2*f+burst], now, w.uniform[f])
		if n > 0 && w.work.width != nil {
			n = w.widen(f, n, now)
		}
		w.arrived[f] = n
		w.estimate[f] += float64(w.cfg.Forecast * (float64(n) - w.estimate[f]))
		if n > 0 {
			w.slotAcc[accArrived] += float64(n)
			w.slotAcc[w.perTier(tierArrived, p.tier)] += float64(n)
			w.admit(f, n)
		}
	}
}

// widen draws how many jobs n requests are: one for each vGPU that they ask for.
func (w *world) widen(f int, n int32, now uint64) (jobs int32) {
	key := w.fn[f].widthKey.With(now)
	for i := range n {
		u := key.With(uint64(i)).Float64()
		w.traced("width", uint64(f), now, uint64(i), u)
		jobs += w.work.width.length(u)
	}
	return jobs
}

// drawBurst draws when a function's next burst begins: a burst begins in each slot with one probability, so that gaps
// are geometric. Bursts are numbered.
func (w *world) drawBurst(f int) {
	p := w.cfg.Burst.Start
	gap := float64(math.MaxInt32)
	if p > 0 {
		n := uint64(w.bursts[f])
		u := w.fn[f].burstKey.With(n).Open()
		w.traced("burst", uint64(f), n, 0, u)
		if gap = 1; p < 1 {
			gap += math.Floor(portable.Log(u) / portable.Log1p(-p))
		}
	}
	w.nextBurst[f] = int32(min(float64(w.slot)+gap, math.MaxInt32))
}

// draw is a key's Float64 in units of 2^-53.
func draw(k rng.Key) int64 { return int64(k.Uint64() >> 11) }

// poisson draws a function's number of arrivals; u is the first draw.
func (w *world) poisson(f int, r *rate, now uint64, u int64) int32 {
	w.traced("arrivals", uint64(f), now, 0, float64(u)*0x1p-53)
	n := r.count(u)
	if r.n == 1 {
		return n
	}
	key := w.fn[f].arrivalKey.With(now)
	for i := uint64(1); i < r.n; i++ {
		u := draw(key.With(i))
		w.traced("arrivals", uint64(f), now, i, float64(u)*0x1p-53)
		n += r.count(u)
	}
	return n
}
