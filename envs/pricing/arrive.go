package pricing

import (
	"math"

	"github.com/stoker-rl/stoker/rng/portable"
)

// chunk is the largest mean of one Poisson draw: a greater one is the sum of several, so that e^-mean stays well above 0 and the work is
// proportional to what arrives.
const chunk = 30

// rate is a function's arrivals per slot made ready to draw from: n Poisson draws of one mean each.
type rate struct {
	n    uint64
	mean float64
	none float64 // e^-mean
}

func newRate(mean float64) rate {
	n := max(1, math.Ceil(mean/chunk))
	return rate{uint64(n), mean / n, portable.Exp(-mean / n)}
}

// setRates makes the functions' rates of a window from the tiers' (jobs per slot).
func (w *world) setRates() {
	for f := range w.fn {
		p := &w.fn[f]
		mean := float64(float64(w.rates[p.tier]*p.share)*w.calm) / w.work.mean
		w.perSlot[2*f] = newRate(mean)
		w.perSlot[2*f+1] = newRate(float64(mean * w.cfg.Burst.Factor))
	}
}

// calmShare is the factor on the rate outside bursts that keeps the mean: a slot is in a burst if one began in it or in the slots before.
func calmShare(b *Burst) float64 {
	quiet := 1.0
	for range b.Slots {
		quiet = float64(quiet * (1 - b.Start))
	}
	return 1 / (1 + float64((b.Factor-1)*(1-quiet)))
}

// arrive draws the slot's arrivals of every function and puts them in its queue. Draws are named by function, slot and number, and
// counts rise with the rate for the same draw: worlds that differ in price alone see nearly the same jobs.
func (w *world) arrive() {
	now := uint64(w.slot)
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
		n := w.poisson(f, &w.perSlot[2*f+burst], now)
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

// drawBurst draws when a function's next burst begins: a burst begins in each slot with one probability, so that gaps are geometric. Bursts are
// numbered.
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

// poisson draws a function's number of arrivals by inversion.
func (w *world) poisson(f int, r *rate, now uint64) int32 {
	var n int32
	key := w.fn[f].arrivalKey.With(now)
	for i := range r.n {
		k := key
		if i > 0 {
			k = key.With(i)
		}
		u := k.Float64()
		w.traced("arrivals", uint64(f), now, i, u)
		p, m := r.none, int32(0)
		for below := p; u >= below && p > 0; below += p {
			m++
			p = float64(p*r.mean) / float64(m)
		}
		n += m
	}
	return n
}
