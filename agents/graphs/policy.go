package graphs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
)

// Actor chooses for all agents of several environments at once. It doesn't allocate once its memory has grown.
type Actor struct {
	// Mask is what was legal for each agent of the last Run, after what it chose before: [rows, N].
	Mask []bool

	p      *Problem
	batch  *nets.GraphBatch
	scorer *Scorer
}

// Pick chooses among scores under a mask; row counts agents over all environments, c is the component.
type Pick func(row, c int, scores []float32, mask []bool) int

// NewActor returns an actor by a network that [Problem.Policy] described.
func NewActor(p *Problem, e nets.Engine, net nets.GraphNet) *Actor {
	return &Actor{p: p, batch: nets.NewGraphBatch(net.Arch().(nets.Graph)), scorer: NewScorer(p, e, net)}
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

// Policy is a learned policy over graphs with frozen weights. It draws each component from the softmax of its scores
// or, deterministic, takes the legal choice with the largest. Its changing state is the stream of those draws.
type Policy struct {
	frozen.Policy
	actor *Actor
	obs   []*envs.KindObservation
	act   [][]float32
	p     []float64

	draw, best Pick
}

var _ agents.Policy = (*Policy)(nil)

// description is a policy file's JSON; the network's parameters are the array "network".
type description struct {
	// Format is the version of this description: graph/1.
	Format string `json:"format"`
	// Network is the architecture, as nets.EncodeArch writes it.
	Network json.RawMessage `json:"network"`
	// Choices are the numbers of choices of the components.
	Choices []int `json:"choices"`
}

const (
	format = "graph/1"
	array  = "network"
)

// Describes reports whether a policy file holds a policy over graphs.
func Describes(f *agents.PolicyFile) bool {
	var d struct{ Format any }
	return json.Unmarshal(f.Description, &d) == nil && d.Format == format
}

// NewPolicy returns a policy with the present parameters of net, which lie on engine train, to act on engine act. Agent
// is the learner's name in the table of agents.
func NewPolicy(agent string, spec *envs.Spec, train nets.Engine, net nets.GraphNet, act nets.Engine) (*Policy, error) {
	p, err := NewProblem(spec)
	if err != nil {
		return nil, err
	}
	arch, err := nets.EncodeArch(net.Arch())
	if err != nil {
		return nil, err
	}
	f, err := frozen.NewFile(agent, spec, description{Format: format, Network: arch, Choices: p.choices()}, array,
		net.Params(), train)
	if err != nil {
		return nil, err
	}
	return OpenPolicy(agent, f, spec, act)
}

func (p *Problem) choices() []int {
	var n []int
	for _, c := range p.Components {
		n = append(n, c.N)
	}
	return n
}

// OpenPolicy builds a policy from a file that the named agent made, for an environment that offers the same spaces, on
// the engine act.
func OpenPolicy(agent string, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	p, err := open(agent, f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", agent, err)
	}
	return p, nil
}

func open(agent string, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	var d description
	if err := frozen.Describe(f, agent, spec, &d); err != nil {
		return nil, err
	}
	prob, arch, err := d.network(spec)
	if err != nil {
		return nil, err
	}
	if err := frozen.Fits(f, array, arch); err != nil {
		return nil, err
	}
	net, err := act.NewGraphNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, array, net.Params()); err != nil {
		return nil, err
	}
	p := &Policy{
		Policy: frozen.New(f, agent, "graphs: policy", frozen.Sum(f, array)),
		actor:  NewActor(prob, act, net), obs: make([]*envs.KindObservation, 1), act: make([][]float32, 1),
	}
	p.best = func(_, _ int, scores []float32, mask []bool) int { return choice.Best(scores, mask) }
	p.draw = func(_, _ int, scores []float32, mask []bool) int {
		p.p = reuse.Slice(p.p, len(scores))
		choice.Softmax(p.p, scores, mask)
		return choice.Draw(p.p, p.Draws.Float64())
	}
	return p, nil
}

// network holds a description against the environment: its network must be one that [Problem.Policy] gives.
func (d *description) network(spec *envs.Spec) (*Problem, nets.Graph, error) {
	if d.Format != format {
		return nil, nets.Graph{}, fmt.Errorf("description has format %q, want %q", d.Format, format)
	}
	prob, err := NewProblem(spec)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	a, err := nets.DecodeArch(d.Network)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	arch, ok := a.(nets.Graph)
	if !ok {
		return nil, nets.Graph{}, fmt.Errorf("network is of kind %q, want %q", a.Kind(), nets.Graph{}.Kind())
	}
	want := prob.Policy(Net{
		Hidden: arch.Hidden, Layers: arch.Layers, Own: arch.Own, Skip: arch.Skip, Norm: arch.Norm, Dropout: arch.Dropout,
		BothWays: len(arch.Edges) > len(prob.Space.Edges),
	}, 0)
	for i := range arch.Heads {
		arch.Heads[i].FinalBound = 0 // of no more importance
	}
	is, err := nets.EncodeArch(arch)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	wanted, err := nets.EncodeArch(want)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	if !bytes.Equal(is, wanted) {
		return nil, nets.Graph{},
			fmt.Errorf("network takes nodes %v, edges %v and chooses %v; the environment's graph is %v with choices %v",
				arch.Nodes, arch.Edges, d.Choices, prob.Space, prob.choices())
	}
	return prob, arch, nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	p.obs[0], p.act[0] = &obs.Kinds[0], act.Kinds[0]
	pick := p.draw
	if deterministic {
		pick = p.best
	}
	if err := p.actor.Run(p.obs, p.act, pick); err != nil {
		return fmt.Errorf("%s: policy: %w", p.Name(), err)
	}
	return nil
}
