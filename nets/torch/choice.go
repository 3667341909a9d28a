//go:build libtorch

package torch

import (
	lib "github.com/sugarme/gotch/libtch"
)

// choiceCheck is what a loss over choices leaves for the host: whether a sample with a legal choice was given another
// one. The device finds that out; reading it makes the host wait for the device, so that within a recorded update it
// is read after the run.
type choiceCheck struct {
	loss         string
	batch, below int // samples of an agent, and choices
	// found is [2]: 1 + the first such row of [agents·batch], 0 where there is none, and the choice there.
	found *tensor
}

// choiceChecks are those of a run.
type choiceChecks struct {
	checks  []*choiceCheck // of its losses, in their order
	checked int            // how many of them the run has used
}

func (e *engine) newChoiceCheck() *choiceCheck {
	k := &choiceCheck{found: &tensor{e: e, id: e.ids.Add(1), shape: []int{2}, n: 2}}
	// In float64 whatever the engine's format: float32 can't count all rows.
	e.within("Loss", e.own, false, func() { k.found.h = e.own.zeros(codeFloat64, e.device, 2) })
	return k
}

// nextCheck is the check of the loss at hand: in a recorded update one for each loss, kept from run to run.
func (e *engine) nextCheck(loss string, batch, below int) *choiceCheck {
	r := &e.direct
	if x := e.recording.Load(); x != nil {
		r = &x.choiceChecks
	}
	if r.checked == len(r.checks) {
		r.checks = append(r.checks, e.newChoiceCheck())
	}
	k := r.checks[r.checked]
	k.loss, k.batch, k.below = loss, batch, below
	r.checked++
	return k
}

// settleChecks reads the checks of a run, and reports the first wrong choice.
func (e *engine) settleChecks(r *choiceChecks) {
	for _, k := range r.checks[:r.checked] {
		if e.failure.pending() {
			break
		}
		var found [2]float64
		k.found.Get64(found[:])
		if row := int(found[0]) - 1; row >= 0 {
			e.fail("Loss", "%s: the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
				k.loss, row/k.batch, row%k.batch, found[1], k.below)
		}
	}
}

// choices are a loss's choices as they can be used, and where.
type choices struct {
	index handle // [agents, batch, 1], 0 where a choice is none
	use   handle // [agents, batch, 1]: where there is a legal choice and it is one
}

// choose checks choices against the legal ones [agents, batch, n] and leaves what it found to the check.
func (s *scope) choose(k *choiceCheck, choice, legal, some handle, rows int) choices {
	c := s.asNumber(choice, codeFloat64)
	whole := s.both("eq", lib.AtgEqTensor, c, s.apply("floor", lib.AtgFloor, c)) // false for what is no number
	number := s.both("logical_and", lib.AtgLogicalAnd, whole, s.both("logical_and", lib.AtgLogicalAnd,
		s.compareTo("ge", lib.AtgGe, c, 0), s.compareTo("lt", lib.AtgLt, c, float64(k.below))))
	index := s.asNumber(s.where(number, c, s.zeros(codeFloat64, k.found.e.device)), codeInt64)
	right := s.both("logical_and", lib.AtgLogicalAnd, number, s.gather(legal, index))
	use := s.both("logical_and", lib.AtgLogicalAnd, some, right)

	wrong := s.both("logical_and", lib.AtgLogicalAnd, some, s.apply("logical_not", lib.AtgLogicalNot, right))
	flat := s.reshape(s.asNumber(wrong, codeFloat64), rows)
	first := s.reshape(s.firstLargest(flat), 1)
	one := s.plus(s.asNumber(first, codeFloat64), numbers().one)
	found := s.cat(s.mul(one, s.pick(flat, first)), s.pick(s.reshape(c, rows), first))
	s.copy(k.found.h, found)
	return choices{index, use}
}

// both is an operation of two tensors.
func (s *scope) both(name string, f func(*handle, handle, handle), a, b handle) handle {
	if s.err != nil {
		return nil
	}
	f(s.out(), a, b)
	return s.keep(name, a, b)
}

// compareTo is compare with a number that is not worth keeping.
func (s *scope) compareTo(name string, f func(*handle, handle, lib.Cscalar), t handle, v float64) handle {
	c := lib.AtsFloat(v)
	defer lib.AtsFree(c)
	return s.compare(name, f, t, c)
}

// firstLargest is the number of the first of the largest values.
func (s *scope) firstLargest(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgArgmax(s.out(), t, 0, 0, 0)
	return s.keep("argmax", t)
}

// pick takes the values at an index [1] of a vector.
func (s *scope) pick(t, index handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgIndexSelect(s.out(), t, 0, index)
	return s.keep("index_select", t, index)
}
