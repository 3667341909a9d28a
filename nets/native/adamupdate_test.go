package native_test

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// If the batch is one tile, a recorded update runs Adam agent by agent within a segment. It gives the same bits as the
// separate operations outside a recorded update: on one thread and on two, with and without clipping, for parameters,
// target and everything computed from the new parameters.
func TestAdamWithinASegment(t *testing.T) {
	const agents, batch = 6, 40
	in := []nets.Port{{Name: "state", Width: 5}, {Name: "action", Width: 3}}
	mlp := nets.MLP{Agents: agents, In: in, Hidden: []int{9}, Out: 1, Activation: nets.ReLU}
	lists := make([][]int, agents)
	for i := range lists {
		lists[i] = []int{(i + 1) % agents, (i + 2) % agents}
	}
	shared := mlp
	shared.Shared = true
	wide := mlp
	wide.Hidden = []int{150, 120} // more parameters than one thread changes at a time
	for name, c := range map[string]struct {
		arch nets.Arch
		clip float64
	}{
		"mlp":       {mlp, 0},
		"clipped":   {mlp, 0.01},
		"attention": {nets.MeanField{MLP: mlp, Mix: nets.Attention, Score: nets.Exp, Keys: 4, Neighbours: lists}, 0.1},
		"shared":    {shared, 0},
		"wide":      {wide, 0}, "wide clipped": {wide, 0.01},
	} {
		run := func(threads int, together bool) (all [][]float64) {
			e := native.New(native.Options{Threads: threads})
			x := newSubject(t, e, c.arch, batch, 7)
			adam := must.Get(e.NewAdam(x.net, nets.Adam{Rate: 1e-2, Clip: c.clip}))(t)
			target, second := e.NewTensor(x.net.Params().Shape()...), x.net.NewWork(batch)
			y, dq, value, value2 := newNormal(e, rng.NewStream(3, "y"), agents, batch, 1),
				e.NewTensor(agents, batch, 1), e.NewTensor(agents), e.NewTensor(agents)
			second.GradIn(1)
			update := func() {
				q := x.net.Forward(x.work, x.in...)
				e.Loss(nets.SquaredError{}, value, dq, q, y)
				x.net.ZeroGrads()
				x.net.Backward(x.work, dq, nets.Params)
				adam.Step()
				q = x.net.Forward(second, x.in...) // with the new parameters
				e.Loss(nets.Ascent{}, value2, dq, q)
				x.net.Backward(second, dq, nets.Inputs)
				e.Lerp(target, x.net.Params(), 0.05)
			}
			r := e.Record("update", update)
			for range 3 {
				adam.Advance()
				if !together {
					update()
					continue
				}
				must.Do(t, r.Run())
			}
			noError(t, e)
			for _, v := range []nets.Tensor{x.net.Params(), x.net.Grads(), target, value, value2, second.GradIn(1),
				adam.Norms()} {
				all = append(all, values(v))
			}
			return all
		}
		want := run(1, false)
		for threads := 1; threads <= 2; threads++ {
			got := run(threads, true)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s, %d threads: result %d differs from that of one operation after the other", name, threads, i)
				}
			}
		}
	}
}
