//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// lossCall is a loss with its operands.
type lossCall struct {
	*core.LossCall[*tensor]
	b *backend
}

// Loss implements [core.Backend]. Values are written as the losses' equations say; gradients are libtorch's.
func (b *backend) Loss(call *core.LossCall[*tensor]) {
	c := lossCall{call, b}
	switch l := c.Law.(type) {
	case nets.SquaredError:
		c.differentiate(func(s *scope, x handle) handle {
			d := s.sub(x, c.Args[1].h)
			return c.means(s, s.mul(d, d))
		})
	case nets.Huber:
		c.differentiate(func(s *scope, x handle) handle { return c.means(s, s.huber(x, c.Args[1].h, l.Delta)) })
	case nets.Ascent:
		c.differentiate(func(s *scope, x handle) handle { return s.negative(c.means(s, x)) })
	case nets.Penalty:
		c.differentiate(func(s *scope, x handle) handle { return s.times(c.means(s, s.mul(x, x)), l.Coef) })
	case nets.Temperature:
		c.differentiate(func(s *scope, x handle) handle {
			beyond := s.add(c.Args[1].h, s.filled(c.b, l.Target))
			return s.negative(c.means(s, s.mul(x, beyond)))
		})
	case nets.PolicyGradient:
		c.policy(policyLoss{entropy: l.Entropy})
	case nets.ClippedSurrogate:
		c.policy(policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
	case nets.Custom:
		b.recording.Load().refuse("the loss %s is computed on the host", l.Name)
		c.Custom(l)
	default:
		c.Unknown()
	}
}

// means is the mean of each agent's values.
func (c *lossCall) means(s *scope, x handle) handle { return s.means(x, c.Agents, c.Per) }

// differentiate computes each agent's value by f from arg 0, and writes the values and the gradient of their sum.
func (c *lossCall) differentiate(f func(s *scope, x handle) handle) {
	s := c.b.idle.take()
	defer c.b.idle.put(s)
	c.b.within("Loss", s, true, func() {
		x := s.leaf(c.Args[0].h)
		values := f(s, x)
		total := s.total(values)
		enter(false)
		one := s.zeros(c.b.code, c.b.device)
		if s.err == nil {
			lib.AtgAddScalar_(s.out(), one, numbers().one)
			s.drop("add_", one)
		}
		if s.err == nil {
			inputs, targets := [1]unsafe.Pointer{unsafe.Pointer(x)}, [1]unsafe.Pointer{unsafe.Pointer(c.Grad.h)}
			s.check("backward", C.sto_backward(unsafe.Pointer(total), unsafe.Pointer(one), nil, nil, 0, &inputs[0],
				&targets[0], 1), total)
		}
		s.copy(c.Value.h, s.detach(values))
		if s.err != nil {
			c.b.Fail("Loss", "%s: %w", c.Law.LossName(), s.err)
		}
	})
}

// huber is ½d² where |d| ≤ delta and delta(|d| − ½delta) elsewhere.
func (s *scope) huber(x, y handle, delta float64) handle {
	const elementwise = 0
	return s.call("huber_loss", func(out *handle) { lib.AtgHuberLoss(out, x, y, elementwise, delta) }, x, y)
}

func (s *scope) negative(x handle) handle { return s.apply("neg", lib.AtgNeg, x) }

// times multiplies by a number for which no scalar is stored.
func (s *scope) times(x handle, v float64) handle {
	c := lib.AtsFloat(v)
	defer lib.AtsFree(c)
	return s.scale(x, c)
}

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

// choiceCheck is a loss's check for illegal choices in samples that have a legal one. The device computes it. Reading
// the result makes the host wait for the device, so a recorded update reads it after the run.
type choiceCheck struct {
	loss         string
	batch, below int // samples of an agent, and choices
	// found is [2]: 1 + the index of the first wrong row of [agents·batch], or 0 if there is none; and its choice.
	found *tensor
}

// choiceChecks are the checks of one run.
type choiceChecks struct {
	checks  []*choiceCheck // one for each loss, in order
	checked int            // number that the run has used so far
}

func (b *backend) newChoiceCheck() *choiceCheck {
	k := &choiceCheck{found: &tensor{Header: b.Header(2), b: b}}
	// In float64 whatever the engine's format: float32 cannot represent all row numbers.
	b.within("Loss", b.own, false, func() { k.found.h = b.own.zeros(codeFloat64, b.device, 2) })
	return k
}

// nextCheck returns the check for the next loss. A recorded update has one for each of its losses and reuses them.
func (b *backend) nextCheck(loss string, batch, below int) *choiceCheck {
	r := &b.direct
	if x := b.recording.Load(); x != nil {
		r = &x.choiceChecks
	}
	if r.checked == len(r.checks) {
		r.checks = append(r.checks, b.newChoiceCheck())
	}
	k := r.checks[r.checked]
	k.loss, k.batch, k.below = loss, batch, below
	r.checked++
	return k
}

// settleChecks reads the checks of a run, and reports the first wrong choice.
func (b *backend) settleChecks(r *choiceChecks) {
	for _, k := range r.checks[:r.checked] {
		if b.Failed() {
			break
		}
		var found [2]float64
		k.found.Get64(found[:])
		if row := int(found[0]) - 1; row >= 0 {
			b.Fail("Loss", "%s: the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
				k.loss, row/k.batch, row%k.batch, found[1], k.below)
		}
	}
}

// choices are a loss's choices as valid indices, and a mask of the samples that count.
type choices struct {
	index handle // [agents, batch, 1], 0 where a choice is not legal
	use   handle // [agents, batch, 1]: true where the choice is legal
}

// choose compares choices with the mask of legal ones [agents, batch, n] and stores the first wrong one in the check.
func (s *scope) choose(k *choiceCheck, choice, legal, some handle, rows int) choices {
	c := s.asNumber(choice, codeFloat64)
	whole := s.both("eq", lib.AtgEqTensor, c, s.apply("floor", lib.AtgFloor, c)) // false for NaN
	number := s.both("logical_and", lib.AtgLogicalAnd, whole, s.both("logical_and", lib.AtgLogicalAnd,
		s.compareTo("ge", lib.AtgGe, c, 0), s.compareTo("lt", lib.AtgLt, c, float64(k.below))))
	index := s.asNumber(s.where(number, c, s.zeros(codeFloat64, k.found.b.device)), codeInt64)
	right := s.both("logical_and", lib.AtgLogicalAnd, number, s.gather(legal, index))
	use := s.both("logical_and", lib.AtgLogicalAnd, some, right)

	wrong := s.both("logical_and", lib.AtgLogicalAnd, some, s.apply("logical_not", lib.AtgLogicalNot, right))
	flat := s.reshape(s.asNumber(wrong, codeFloat64), rows)
	first := s.reshape(s.firstLargest(flat), 1)
	one := s.plus(s.asNumber(first, codeFloat64), numbers().one)
	found := s.cat(s.mul(one, s.indexSelect(flat, first)), s.indexSelect(s.reshape(c, rows), first))
	s.copy(k.found.h, found)
	return choices{index, use}
}

// compareTo is compare with a number for which no scalar is stored.
func (s *scope) compareTo(name string, f func(*handle, handle, lib.Cscalar), t handle, v float64) handle {
	c := lib.AtsFloat(v)
	defer lib.AtsFree(c)
	return s.compare(name, f, t, c)
}

// firstLargest is the index of the largest value, the first of equal ones.
func (s *scope) firstLargest(t handle) handle {
	return s.call("argmax", func(out *handle) { lib.AtgArgmax(out, t, 0, 0, 0) }, t)
}
