package policy

import "sync/atomic"

// Counts are how many decisions there were since a policy was opened.
type Counts struct {
	// Decisions are those of both the policy and the fallback, Policy those that the policy made, or would have made in
	// shadow mode.
	Decisions, Policy uint64
	// Fallback counts by reason those that the policy did not make.
	Fallback map[Reason]uint64
	// Refused are calls with a wrong input, Errors decisions that neither the policy nor a fallback made.
	Refused, Errors uint64
	// Shadowed are decisions in shadow mode in which the policy would have decided, Agreed those of them in which it would
	// have done what the fallback did.
	Shadowed, Agreed uint64
}

// counters count without a lock.
type counters struct {
	policy, refused, failed, shadowed, agreed atomic.Uint64

	reasons [6]atomic.Uint64 // in the order of [Reasons]
}

// add counts a decision by its reason, empty where the policy decided.
func (c *counters) add(r Reason) {
	if r == "" {
		c.policy.Add(1)
		return
	}
	for i, other := range [...]Reason{OutOfRange, NotFinite, Stale, Illegal, BeyondMachines, Failed} {
		if r == other {
			c.reasons[i].Add(1)
		}
	}
}

// shadow counts a decision in shadow mode.
func (c *counters) shadow(agreed bool) {
	c.shadowed.Add(1)
	if agreed {
		c.agreed.Add(1)
	}
}

// Counts returns how many decisions there were.
func (p *Policy) Counts() Counts {
	c := &p.counts
	out := Counts{Policy: c.policy.Load(), Refused: c.refused.Load(), Errors: c.failed.Load(),
		Shadowed: c.shadowed.Load(), Agreed: c.agreed.Load(), Fallback: map[Reason]uint64{}}
	out.Decisions = out.Policy
	for i, r := range Reasons() {
		n := c.reasons[i].Load()
		out.Fallback[r] = n
		out.Decisions += n
	}
	return out
}

// Drift is how often a feature lay outside the 0.1 % to 99.9 % that the evaluation met.
type Drift struct {
	// Kind, Part and Name are as in [Where].
	Kind, Part, Name string
	// Outside are rows in which it lay outside, of Rows rows.
	Outside, Rows uint64
}

// Drift returns how often features lay outside what was usual in the evaluation, in the order of the spec: those of
// which the bundle has ranges. It is empty where the guard is off.
func (p *Policy) Drift() []Drift {
	if p.guard == nil {
		return nil
	}
	var out []Drift
	for i := range p.guard.kinds {
		k := &p.guard.kinds[i]
		out = k.rows.drift(out)
		for j := range k.nodes {
			out = k.nodes[j].drift(out)
		}
		for j := range k.edges {
			out = k.edges[j].drift(out)
		}
	}
	return out
}

func (l *limits) drift(out []Drift) []Drift {
	rows := l.rows.Load()
	for j := range l.outside {
		out = append(out, Drift{l.kind, l.part, l.name(j), l.outside[j].Load(), rows})
	}
	return out
}
