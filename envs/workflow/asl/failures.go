package asl

import (
	"math"
	"slices"
)

// maxAttempts is the most attempts that a Retry may have: AWS' bound.
const maxAttempts = 99999999

// failures reads Retry and Catch.
func (s *State) failures(v *value) error {
	rule := func(name string) (*value, error) {
		list := v.get(name)
		if list == nil {
			return nil, nil
		}
		if list.kind != '[' || len(list.items) == 0 || len(list.items) > maxRules {
			return nil, s.wrong(list.line, "%s is not a list of 1 to %d rules", name, maxRules)
		}
		for _, r := range list.items {
			if e := r.get("ErrorEquals"); e == nil || e.kind != '[' {
				return nil, s.wrong(r.line, "%s has a rule without ErrorEquals, want a list of errors' names", name)
			}
		}
		all := slices.IndexFunc(list.items, func(r *value) bool {
			return slices.ContainsFunc(r.get("ErrorEquals").items, func(e *value) bool { return e.is("States.ALL") })
		})
		return list.items[max(0, all)], nil
	}
	r, err := rule("Retry")
	if err != nil {
		return err
	}
	if r != nil {
		s.Retry = &Retry{Attempts: 3, Interval: 1, Backoff: 2} // the language's defaults
		attempts := 3.0
		for _, f := range []struct {
			name      string
			to        *float64
			low, high float64
		}{{"MaxAttempts", &attempts, 0, maxAttempts}, {"IntervalSeconds", &s.Retry.Interval, 0, maxAttempts},
			{"BackoffRate", &s.Retry.Backoff, 1, 1e6}, {"MaxDelaySeconds", &s.Retry.Most, 0, maxAttempts}} {
			x := r.get(f.name)
			if x == nil {
				continue
			}
			if x.kind != 'n' || !(x.number >= f.low && x.number <= f.high) {
				return s.wrong(x.line, "Retry: %s is not a number from %g to %g", f.name, f.low, f.high)
			}
			*f.to = x.number
		}
		s.Retry.Attempts = int(attempts)
	}
	c, err := rule("Catch")
	if err != nil || c == nil {
		return err
	}
	next := c.get("Next")
	if next == nil || next.kind != 's' || next.text == "" {
		return s.wrong(c.line, "Catch has a rule without Next, want the name of a state")
	}
	s.Catch = next.text
	return nil
}

// failing is what errors do to a state.
type failing struct {
	again  float64 // probability that a run is followed by another try
	caught float64 // probability that the last try fails and the Catch's state follows
	wait   float64 // mean seconds before another try
}

// failing returns what errors do to a state, of whose runs a share fails. A run is tried again with one probability, which
// gives as many tries in expectation as the bound on attempts does.
func (s *State) failing(o Options) failing {
	p := o.Facts.Errors[s.Name]
	if p == 0 {
		return failing{}
	}
	k := 0
	if s.Retry != nil {
		k = s.Retry.Attempts
	}
	last := math.Pow(p, float64(k+1)) // all tries fail
	var f failing
	if k > 0 {
		f.again = (p - last) / (1 - last) // 1/(1-again) = 1 + p + … + pᵏ
		var sum, weight float64
		wait, q := s.Retry.Interval, p
		for i := 0; i < k && q > 1e-12; i++ {
			if s.Retry.Most > 0 {
				wait = min(wait, s.Retry.Most)
			}
			sum += float64(q * wait)
			weight += q
			wait, q = min(wait*s.Retry.Backoff, maxAttempts), q*p
		}
		f.wait = sum / weight
	}
	if s.Catch != "" {
		f.caught = last
	}
	return f
}
