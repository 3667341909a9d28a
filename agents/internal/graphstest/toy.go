// Package graphstest is a small environment over graphs whose best choices are known, for tests of learners that choose
// within graphs.
//
// Not here: those learners (agents/reinforce), and environments to train in (envs).
package graphstest

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Things and Bins are the most that a graph has.
const (
	Things = 6
	Bins   = 4
)

// Toy is a graph of things, each tied to one bin. An action takes a thing that is not blocked, in one of two ways, to a
// bin, or passes. It pays half the thing's worth for the right way, which the thing shows, and half for the right bin,
// which only the edges show: bins are told apart by their features, so that what a thing's edge leads to must be
// carried to it. All is drawn anew for each step.
type Toy struct {
	// Length is the number of steps of an episode.
	Length int

	choicetest.Moment
	spec *envs.Spec
}

// NewToy returns the environment.
func NewToy(length int) *Toy {
	return &Toy{Length: length, spec: &envs.Spec{
		ID: "test/Things-v1", Doc: "Take things to bins.", MaxSteps: length,
		Kinds: []envs.Kind{{
			Name: "porter", Agents: 1, Actions: []string{"thing", "way", "bin"}, Points: []int{0, -1, 1}, MaskAfter: maskAfter,
			Observation: envs.Graph{
				Nodes: []envs.NodeKind{{Name: "things", Width: 3, Capacity: Things}, {Name: "bins", Width: 2, Capacity: Bins}},
				Edges: []envs.EdgeKind{{Name: "tied", From: 0, To: 1, Width: 1, Capacity: Things}},
			},
			Action: envs.MultiDiscrete{N: []int{Things + 1, 2, Bins}},
		}},
	}}
}

// thing is what there is to know of a thing.
type thing struct {
	worth   float64
	way     int
	blocked bool
	bin     int
}

// now is the present step's number of things and bins, and which thing is which.
func (t *Toy) now() (n, bins int, of func(i int) thing) {
	k := rng.New(t.Seed, "toy").With(uint64(t.At))
	bins = 2 + k.With(0).IntN(Bins-1)
	return 2 + k.With(1).IntN(Things-1), bins, func(i int) thing {
		k := k.With(2).With(uint64(i))
		return thing{0.2 + 0.8*k.With(0).Float64(), k.With(1).IntN(2), k.With(2).Float64() < 0.25, k.With(3).IntN(bins)}
	}
}

// Best is what the best action of the present step pays.
func (t *Toy) Best() float64 {
	best := 0.0
	n, _, of := t.now()
	for i := range n {
		if x := of(i); !x.blocked {
			best = max(best, x.worth)
		}
	}
	return best
}

// Spec implements [envs.Env].
func (t *Toy) Spec() *envs.Spec { return t.spec }

// Reset implements [envs.Env].
func (t *Toy) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	t.Moment = choicetest.Moment{Seed: seed}
	return t.see(obs)
}

func (t *Toy) see(obs *envs.Observation) error {
	o := &obs.Kinds[0]
	o.Active[0] = true
	g := o.Graphs[0]
	g.Clear()
	n, bins, of := t.now()
	for b := range bins {
		_, f, err := g.AddNode(1)
		if err != nil {
			return err
		}
		f[0], f[1] = float32(2*(b&1)-1), float32(b&2-1)
	}
	for i := range n {
		x := of(i)
		id, f, err := g.AddNode(0)
		if err != nil {
			return err
		}
		f[0], f[1] = float32(x.worth), float32(2*x.way-1)
		if x.blocked {
			f[2] = 1
		}
		e, err := g.AddEdge(0, id, int32(x.bin))
		if err != nil {
			return err
		}
		e[0] = 1
	}
	for i := range o.Mask {
		o.Mask[i] = true
	}
	return maskAfter(o, 0, nil, o.Mask[:Things+1])
}

func maskAfter(o *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	g := o.Graphs[agent]
	pass := len(partial) > 0 && partial[0] == Things
	for c := range mask {
		switch len(partial) {
		case 0:
			mask[c] = c == Things || c < g.Nodes[0].Len && g.Nodes[0].Features[3*c+2] == 0
		case 1:
			mask[c] = !pass || c == 0
		default:
			mask[c] = c < g.Nodes[1].Len && (!pass || c == 0)
		}
	}
	return nil
}

// Step implements [envs.Env].
func (t *Toy) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if t.At >= t.Length {
		return errors.New("toy: the episode has ended")
	}
	if err := envs.CheckAction(t.spec, nil, act); err != nil {
		return err
	}
	which, way, bin := int(act.Kinds[0][0]), int(act.Kinds[0][1]), int(act.Kinds[0][2])
	n, bins, of := t.now()
	pays := 0.0
	if which < Things {
		x := of(which)
		if which >= n || x.blocked || bin >= bins {
			return fmt.Errorf("toy: thing %d of %d, blocked: %v, can't go to bin %d of %d", which, n, x.blocked, bin, bins)
		}
		if way == x.way {
			pays += x.worth / 2
		}
		if bin == x.bin {
			pays += x.worth / 2
		}
	}
	out.Rewards[0][0] = float32(pays)
	t.At++
	out.Terminated, out.Truncated, out.Elapsed = t.At == t.Length, false, 1_000_000
	return t.see(obs)
}

// CopyFrom implements [envs.Env].
func (t *Toy) CopyFrom(src envs.Env) error {
	s, ok := src.(*Toy)
	if !ok {
		return fmt.Errorf("toy: copying from a %T", src)
	}
	t.Moment = s.Moment
	return nil
}
