package native_test

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// A policy acting: 64-128-128-8, batch of one.
func BenchmarkForward(b *testing.B) {
	e := native.New(native.Options{})
	x := newSubject(b, e, nets.MLP{Agents: 1, In: []nets.Port{{Name: "state", Width: 64}}, Hidden: []int{128, 128},
		Out: 8, Activation: nets.ReLU}, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		x.net.Forward(x.work, x.in...)
	}
	noError(b, e)
}

// One whole update of attention mean-field MADDPG: critic step, actor step, soft targets. Sizes are those of a FaaSConf
// workflow: 10 states and 4 actions per agent, attention 32 wide, two hidden layers of 64, about four neighbours.
func BenchmarkUpdate(b *testing.B) {
	for _, size := range [][2]int{{5, 64}, {12, 64}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			e := native.New(native.Options{})
			learn := newAttMF(b, e, size[0], size[1])
			learn()
			noError(b, e)
			b.ReportAllocs()
			for b.Loop() {
				learn()
			}
			noError(b, e)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

// newAttMF returns an update on a fixed batch. Slices of operands are made once, because a variadic call
// would allocate them each time.
func newAttMF(b *testing.B, e nets.Engine, agents, batch int) func() {
	s := rng.NewStream(1, "attmf")
	neighbours := make([][]int, agents)
	for i := range neighbours {
		for j := range agents {
			if j == (i+agents-1)%agents || s.Float64() < 4/float64(agents) {
				neighbours[i] = append(neighbours[i], j)
			}
		}
	}
	state, action := nets.Port{Name: "state", Width: 10}, nets.Port{Name: "action", Width: 4}
	field := func(in []nets.Port, out int, final string) nets.MeanField {
		return nets.MeanField{
			MLP: nets.MLP{Agents: agents, In: in, Hidden: []int{64, 64}, Out: out, Activation: nets.ReLU, Final: final},
			Mix: nets.Attention, Score: nets.Exp, Keys: 32, Neighbours: neighbours,
		}
	}
	actorArch, criticArch := field([]nets.Port{state}, 4, nets.Sigmoid), field([]nets.Port{state, action}, 1, nets.None)
	actor, actorTarget := mustNet(b, e, actorArch), mustNet(b, e, actorArch)
	critic, criticTarget := mustNet(b, e, criticArch), mustNet(b, e, criticArch)
	actor.Params().Set(nets.InitialParams(actorArch, rng.New(1, "actor")))
	critic.Params().Set(nets.InitialParams(criticArch, rng.New(1, "critic")))
	e.Copy(actorTarget.Params(), actor.Params())
	e.Copy(criticTarget.Params(), critic.Params())
	adam := func(n nets.Net) nets.Optimizer {
		o := must.Get(e.NewAdam(n, nets.Adam{Rate: 1e-4}))(b)
		return o
	}
	actorAdam, criticAdam := adam(actor), adam(critic)
	wa, wat := actor.NewWork(batch), actorTarget.NewWork(batch)
	wc, wct := critic.NewWork(batch), criticTarget.NewWork(batch)

	column := func(width int) nets.Tensor { return newNormal(e, s, agents, batch, width) }
	st, a, r, next, discount := column(10), column(4), column(1), column(10), column(1)
	y, dq, value := column(1), column(1), e.NewTensor(agents)
	now, then := []nets.Tensor{st}, []nets.Tensor{next}
	taken, chosen, after := []nets.Tensor{st, a}, []nets.Tensor{st, nil}, []nets.Tensor{next, nil}
	error2, ascent := []nets.Tensor{nil, y}, []nets.Tensor{nil}
	recorded := e.Record("attmf", func() {
		after[1] = actorTarget.Forward(wat, then...)
		e.TDTarget(y, r, discount, criticTarget.Forward(wct, after...))
		error2[0] = critic.Forward(wc, taken...)
		e.Loss(nets.SquaredError{}, value, dq, error2...)
		critic.ZeroGrads()
		critic.Backward(wc, dq, nets.Params)
		criticAdam.Step()

		chosen[1] = actor.Forward(wa, now...)
		ascent[0] = critic.Forward(wc, chosen...)
		e.Loss(nets.Ascent{}, value, dq, ascent...)
		critic.Backward(wc, dq, nets.Inputs)
		actor.ZeroGrads()
		actor.Backward(wa, wc.GradIn(1), nets.Params)
		actorAdam.Step()

		e.Lerp(criticTarget.Params(), critic.Params(), 0.01)
		e.Lerp(actorTarget.Params(), actor.Params(), 0.01)
	})
	return func() {
		criticAdam.Advance()
		actorAdam.Advance()
		must.Do(b, recorded.Run())
	}
}

// Copying rows into tiles: a batch of 256 observations of 4,480 numbers.
func BenchmarkSet(b *testing.B) {
	e := native.New(native.Options{})
	x := e.NewTensor(1, 256, 4480)
	src := make([]float32, nets.Size(x))
	b.SetBytes(int64(4 * len(src)))
	b.ReportAllocs()
	for b.Loop() {
		x.Set(src)
	}
	noError(b, e)
}
