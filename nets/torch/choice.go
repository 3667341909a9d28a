//go:build libtorch

package torch

import (
	lib "github.com/sugarme/gotch/libtch"
)

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
