package gorgonia

import (
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

// A policy acting: 64-128-128-8, batch of one.
func BenchmarkForward(b *testing.B) {
	e := newTest(b, nets.Float32)
	x := newSubject(b, e, nets.MLP{Agents: 1, In: []nets.Port{{Name: "state", Width: 64}}, Hidden: []int{128, 128},
		Out: 8, Activation: nets.ReLU}, 1)
	b.ReportAllocs()
	for b.Loop() {
		x.net.Forward(x.work, x.in...)
	}
	noError(b, e)
}

// A critic with attention learning, forward and backward: five agents, batch of 64.
func BenchmarkBackward(b *testing.B) {
	e := newTest(b, nets.Float32)
	neighbours := [][]int{{1, 4}, {0, 2}, {1, 3}, {2, 4}, {0, 3}}
	x := newSubject(b, e, nets.MeanField{
		MLP: nets.MLP{Agents: 5, In: []nets.Port{{Name: "state", Width: 10}, {Name: "action", Width: 4}},
			Hidden: []int{64, 64}, Out: 1, Activation: nets.ReLU},
		Mix: nets.Attention, Score: nets.Exp, Keys: 32, Neighbours: neighbours,
	}, 64)
	b.ReportAllocs()
	for b.Loop() {
		x.net.Forward(x.work, x.in...)
		x.net.Backward(x.work, x.g, nets.Both)
	}
	noError(b, e)
}
