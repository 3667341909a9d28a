//go:build libtorch

package torch

import (
	lib "github.com/sugarme/gotch/libtch"
)

// policyLoss is the policy gradient (Williams, 1992) or, clipped, the surrogate of Schulman et al. (2017). With π the
// softmax of the logits over the legal choices, ℓ = ln π(a) and H = −Σ π ln π:
//
//	plain:    L = −mean(Aℓ) − entropy·mean(H)
//	clipped:  L = −mean(min(rA, clip(r, 1−c, 1+c)A)) − entropy·mean(H),  r = e^(ℓ−ℓ_old)
//
// A sample without a legal choice adds nothing. A wrong choice is an error, and its sample adds nothing.
type policyLoss struct {
	entropy float64
	clipped bool
	clip    float64
}

// policy computes the loss from logits, choices, advantages, mask and, where clipped, ℓ_old.
func (c *lossCall) policy(l policyLoss) {
	batch, n := c.Args[0].Shape()[1], c.Args[0].Width()
	check := c.b.nextCheck(c.Law.LossName(), batch, n)
	c.differentiate(func(s *scope, z handle) handle {
		choice, advantage, mask := c.Args[1].h, c.Args[2].h, c.Args[3].h
		legal := s.compare("ne", lib.AtgNe, mask, numbers().zero)
		some := s.compare("gt", lib.AtgGt, s.sum(s.asNumber(legal, c.b.code)), numbers().zero) // [agents, batch, 1]
		none, zero := s.filled(c.b, minusInf), s.filled(c.b, 0)
		// Two calls of where: illegal logits must be −∞ in the forward pass, and must get gradient 0, not NaN, in the
		// backward pass.
		logs := s.where(legal, s.logSoftmax(s.where(legal, z, none)), zero)
		p := s.where(legal, s.apply("exp", lib.AtgExp, logs), zero)
		h := s.negative(s.sum(s.mul(p, logs)))
		chosen := s.choose(check, choice, legal, some, c.Agents*batch)
		logp := s.gather(logs, chosen.index)
		gain := s.mul(advantage, logp)
		if l.clipped {
			r := s.apply("exp", lib.AtgExp, s.sub(logp, c.Args[4].h))
			free, held := s.mul(r, advantage), s.mul(s.clamp(r, 1-l.clip, 1+l.clip), advantage)
			gain = s.where(s.less(held, free), held, free)
		}
		each := s.where(chosen.use, s.add(gain, s.times(h, l.entropy)), zero)
		return s.negative(s.means(each, c.Agents, batch))
	})
	if c.b.recording.Load() == nil {
		c.b.settleChecks(&c.b.direct)
		c.b.direct.checked = 0
	}
}

// compare compares a tensor with a number; the result is boolean.
func (s *scope) compare(name string, f func(*handle, handle, lib.Cscalar), t handle, v lib.Cscalar) handle {
	return s.call(name, func(out *handle) { f(out, t, v) }, t)
}

func (s *scope) less(a, b handle) handle { return s.both("lt", lib.AtgLtTensor, a, b) }

// asNumber converts to another of libtorch's number formats.
func (s *scope) asNumber(t handle, code int) handle {
	return s.call("to", func(out *handle) { lib.AtgToDtype(out, t, int32(code), 0, 0) }, t)
}

// filled is one number as a tensor without dimensions.
func (s *scope) filled(b *backend, v float64) handle {
	t := s.zeros(b.code, b.device)
	if s.err == nil && v != 0 {
		c := lib.AtsFloat(v)
		defer lib.AtsFree(c)
		// On the device, without a copy from the host.
		s.inPlace("fill_", t, func(out *handle) { lib.AtgFill_(out, t, c) })
	}
	return t
}

// gather takes the value at each index, along the last dimension.
func (s *scope) gather(t, index handle) handle {
	return s.call("gather", func(out *handle) { lib.AtgGather(out, t, -1, index, 0) }, t, index)
}

func (s *scope) clamp(t handle, low, high float64) handle {
	a, b := lib.AtsFloat(low), lib.AtsFloat(high)
	defer lib.AtsFree(a)
	defer lib.AtsFree(b)
	return s.call("clamp", func(out *handle) { lib.AtgClamp(out, t, a, b) }, t)
}
