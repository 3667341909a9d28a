package bench

import (
	"errors"

	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

// Sizes of the update measured: FaaSConf's, as in the PyTorch peer.
const (
	stateWidth  = 10
	actionWidth = 4
	meanDegree  = 4 // of the random neighbourhood
)

// runUpdate measures whole updates at every combination of agents and batch.
func runUpdate(o Options, emit func(Result)) error {
	for _, n := range orDefault(o.Agents, 5, 12, 50, 200, 1000) {
		for _, b := range orDefault(o.Batch, 64, 1024) {
			err := o.each(func(e nets.Engine, i nets.Info) error {
				c := maddpg.Default()
				c.Batch, c.Clip, c.LogitPenalty = b, 0, 0
				c.Replay = max(c.Replay, b)
				run, err := maddpg.Updater(c, sizedSpec(n, o.Dense), e)
				if err != nil {
					return err
				}
				s, err := o.measure(run)
				if err != nil {
					return err
				}
				r := Result{Bench: "attmf", Agents: n, Batch: b, Neighbours: "sparse", UpdatesPerSecond: s.perSecond()}.of(i)
				if o.Dense {
					r.Neighbours = "dense"
				}
				emit(o.fill(r, s))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sizedSpec is a problem of n agents, each with about meanDegree random neighbours or, where dense, with all.
func sizedSpec(n int, dense bool) *envs.Spec {
	k := envs.Kind{Name: "agent", Agents: n, Observation: envs.Unbounded(stateWidth),
		Action: envs.NewBox(actionWidth, 0, 1), Neighbours: make([][]int, n)}
	s := rng.NewStream(1, "neighbourhood")
	for i := range n {
		for j := range n {
			if dense || j == (i+n-1)%n || s.Float64() < float64(meanDegree)/float64(n) {
				k.Neighbours[i] = append(k.Neighbours[i], j)
			}
		}
	}
	return &envs.Spec{ID: "bench", Kinds: []envs.Kind{k}}
}

// runForward measures acting.
func runForward(o Options, emit func(Result)) error {
	return o.each(func(e nets.Engine, i nets.Info) error {
		a := nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 64}}, Hidden: []int{128, 128}, Out: 8,
			Activation: nets.ReLU}
		net, err := e.NewNet(a)
		if err != nil {
			return err
		}
		net.Params().Set(nets.InitialParams(a, rng.New(1, "bench")))
		w, in, x, y := net.NewWork(1), []nets.Tensor{e.NewTensor(1, 1, 64)}, make([]float32, 64), make([]float32, 8)
		s, err := o.measure(func() error {
			in[0].Set(x)
			net.Forward(w, in...).Get(y)
			return nil
		})
		if err := errors.Join(err, e.Err()); err != nil {
			return err
		}
		emit(o.fill(Result{Bench: "forward", Batch: 1, What: "64-128-128-8"}.of(i), s))
		return nil
	})
}

// runOp measures one small operation of libtorch: the cost of a call from Go.
func runOp(o Options, emit func(Result)) error {
	o.Engine, o.Kernels = engines.Torch, nil
	return o.each(func(e nets.Engine, i nets.Info) error {
		a, b := e.NewTensor(8), e.NewTensor(8)
		s, err := o.measure(func() error {
			e.Add(a, 1, b)
			return nil
		})
		if err := errors.Join(err, e.Err()); err != nil {
			return err
		}
		emit(o.fill(Result{Bench: "op", What: "add of 8 numbers, in place"}.of(i), s))
		return nil
	})
}
