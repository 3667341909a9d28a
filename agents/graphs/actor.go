package graphs

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
)

// Actor chooses for all agents of several environments at once. It doesn't allocate once its memory has grown.
type Actor struct {
	// Mask is what was legal for each agent of the last Run, after what it chose before: [rows, N].
	Mask []bool

	// Net is the network that acts.
	Net nets.GraphNet

	p      *Problem
	e      nets.Engine
	batch  *nets.GraphBatch
	scorer *Scorer
	params []float32 // buffer of Sync
}

// Pick chooses among scores under a mask; row counts agents over all environments, c is the component.
type Pick func(row, c int, scores []float32, mask []bool) int

// NewActor returns an actor by a network that [Problem.Policy] described, of zero weights; [Actor.Sync] fills them.
func NewActor(p *Problem, e nets.Engine, arch nets.Graph) (*Actor, error) {
	net, err := e.NewGraphNet(arch)
	if err != nil {
		return nil, err
	}
	return &Actor{Net: net, p: p, e: e, batch: nets.NewGraphBatch(arch), scorer: NewScorer(p, e, net),
		params: make([]float32, nets.Size(net.Params()))}, e.Err()
}

// Sync takes over the parameters of a net on engine train.
func (a *Actor) Sync(train nets.Engine, from nets.GraphNet) error {
	return learning.CopyParams(train, from, a.e, a.Net, a.params)
}

// Run writes the actions of each environment's agents, [agents, components], as pick chooses; those of absent agents
// are 0.
func (a *Actor) Run(obs []*envs.KindObservation, act [][]float32, pick Pick) error {
	a.batch.Reset()
	for i, o := range obs {
		for j := range a.p.Agents {
			if err := a.p.Add(a.batch, o.Graphs[j]); err != nil {
				return fmt.Errorf("environment %d: %s %d: %w", i, a.p.Kind.Name, j, err)
			}
		}
	}
	a.batch.Seal()
	if err := a.scorer.Begin(a.batch, nil); err != nil {
		return err
	}
	a.Mask = reuse.Slice(a.Mask, len(obs)*a.p.Agents*a.p.N)
	clear(a.Mask)
	for c := range a.p.Components {
		scores, err := a.scorer.Score(c)
		if err != nil {
			return err
		}
		for i, o := range obs {
			for j := range a.p.Agents {
				if err := a.one(c, i*a.p.Agents+j, o, j, act[i], scores, pick); err != nil {
					return fmt.Errorf("environment %d: %s %d: %w", i, a.p.Kind.Name, j, err)
				}
			}
		}
	}
	return nil
}

// see writes the legal choices of component c. Without a mask every choice that exists is legal.
func (a *Actor) see(o *envs.KindObservation, agent, c int, mask []bool) {
	if whole := o.MaskOf(agent, a.p.N); whole != nil {
		copy(mask, whole[a.p.Components[c].From:])
		return
	}
	for i := range mask {
		mask[i] = true
	}
	if p := a.p.Kind.Points; len(p) > 0 && p[c] >= 0 {
		n := o.Graphs[agent].Nodes[p[c]]
		clear(mask[n.Len:a.p.Space.Nodes[p[c]].Capacity])
	}
}

// one makes one agent's choice of component c.
func (a *Actor) one(c, row int, o *envs.KindObservation, agent int, act, scores []float32, pick Pick) error {
	k, width := &a.p.Components[c], len(a.p.Components)
	mine := act[agent*width : (agent+1)*width]
	mine[c] = 0
	if !o.Active[agent] {
		return nil
	}
	mask := a.Mask[row*a.p.N+k.From:][:k.N]
	if a.p.Kind.MaskAfter == nil {
		a.see(o, agent, c, mask)
	} else if err := a.p.Kind.MaskAfter(o, agent, mine[:c], mask); err != nil {
		return err
	}
	s := scores[row*k.N : (row+1)*k.N]
	for i, legal := range mask {
		if legal && s[i]-s[i] != 0 {
			return fmt.Errorf("the network gives %g for choice %d of %s: training has diverged, or a legal choice is no "+
				"node that is seen", s[i], i, k.Name)
		}
	}
	n := pick(row, c, s, mask)
	if n == choice.None {
		return fmt.Errorf("no choice of %s after %v is legal, or none that is was picked", k.Name, mine[:c])
	}
	mine[c] = float32(n)
	a.scorer.Choose(c, row, n)
	return nil
}

// Stream names the random stream of policies over graphs.
const Stream = "graphs: policy"
