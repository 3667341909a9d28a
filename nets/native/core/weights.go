package core

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// Vectors is a network's parameters and their gradients, [groups, size] each.
type Vectors[X Tensor] struct {
	State          *State
	Arch           nets.Arch
	Agents, Groups int
	Size           int // of a group
	Params, Grads  X
	slots          map[string]nets.Slot
}

// Slot finds a parameter by its name in the layout, which backends know.
func (v *Vectors[X]) Slot(format string, args ...any) nets.Slot {
	return v.slots[fmt.Sprintf(format, args...)]
}

// Widest is the largest number of features that a sample of an agent has anywhere in the network.
func (v *Vectors[X]) Widest() int {
	w := v.Arch.Output().Width
	for _, p := range v.Arch.Inputs() {
		w = max(w, p.Width)
	}
	for _, s := range v.slots {
		w = max(w, slices.Max(s.Shape))
	}
	return w
}

// Start is where an agent's values of a parameter begin that has an offset within its group.
func (v *Vectors[X]) Start(agent, offset int) int {
	if v.Groups == 1 {
		agent = 0
	}
	return agent*v.Size + offset
}

// weights implements [nets.Weights].
type weights[X Tensor] struct {
	e       *Engine[X]
	v       *Vectors[X]
	learner Learner[X]
}

// newVectors makes what learns of a network of an architecture that is valid.
func (e *Engine[X]) newVectors(op string, a nets.Arch) *Vectors[X] {
	slots, size := nets.Layout(a)
	v := &Vectors[X]{State: e.State, Arch: a, Agents: a.AgentCount(), Groups: a.Groups(), Size: size,
		slots: map[string]nets.Slot{}}
	for _, s := range slots {
		v.slots[s.Name] = s
	}
	v.Params, v.Grads = e.newTensor(op, v.Groups, size), e.newTensor(op, v.Groups, size)
	return v
}

// Arch implements [nets.Weights].
func (w *weights[X]) Arch() nets.Arch { return w.v.Arch }

// Params implements [nets.Weights].
func (w *weights[X]) Params() nets.Tensor { return w.v.Params }

// Grads implements [nets.Weights].
func (w *weights[X]) Grads() nets.Tensor { return w.v.Grads }

// ZeroGrads implements [nets.Weights].
func (w *weights[X]) ZeroGrads() {
	if w.e.Failed() {
		return
	}
	if w.e.debug {
		w.e.trace.add("ZeroGrads of %v", w)
	}
	w.learner.ZeroGrads()
}

// String names the network in errors and recordings.
func (w *weights[X]) String() string {
	return fmt.Sprintf("%s %d", w.v.Arch.Kind(), w.v.Params.ID())
}

func (w *weights[X]) common() *weights[X] { return w }

// weighted is any network of an engine.
type weighted[X Tensor] interface{ common() *weights[X] }
