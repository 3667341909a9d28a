package sim

import "math"

// starter is the platform's bound on instance starts ([Config.StartRate]): it starts one instance after another, and
// each keeps it busy for the same time.
type starter struct {
	from  Time   // when it last became busy
	count uint64 // starts that it has taken since
}

// take takes one more start and returns when the platform is done with it.
func (b *starter) take(now Time, rate float64) Time {
	if b.until(rate) <= now {
		b.from, b.count = now, 0
	}
	b.count++
	return b.until(rate)
}

// until is when the platform is done with all starts that it has taken. It is computed from their number, so that
// rounding to microseconds does not add up.
func (b *starter) until(rate float64) Time {
	return b.from + Time(math.Round(min(float64(b.count)*1e6/rate, float64(MaxSpan))))
}

// startOf is when an instance that is placed now begins its cold start.
func (s *Sim) startOf() Time {
	if rate := s.plan.cfg.StartRate; rate > 0 {
		return s.starts.take(s.cal.now, rate)
	}
	return s.cal.now
}
