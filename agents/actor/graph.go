package actor

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
)

// graphPolicy is a learned policy over graphs. It draws each component from the softmax of its scores or, deterministic,
// takes the legal choice with the largest.
type graphPolicy struct {
	frozen.Policy
	actor *graphs.Actor
	obs   []*envs.KindObservation
	act   [][]float32
	p     []float64

	draw, best graphs.Pick
}

var _ agents.Policy = (*graphPolicy)(nil)

// IsGraph says whether a network is one over graphs.
func IsGraph(n Network) bool {
	_, ok := n.Arch.(nets.Graph)
	return ok
}

func openGraph(base frozen.Policy, k *Kind, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	prob, arch, err := k.Graph(spec)
	if err != nil {
		return nil, err
	}
	if err := frozen.Fits(base.File, k.Array(network), arch); err != nil {
		return nil, err
	}
	a, err := graphs.NewActor(prob, act, arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(base.File.Arrays, k.Array(network), a.Net.Params()); err != nil {
		return nil, err
	}
	p := &graphPolicy{
		Policy: base, actor: a, obs: make([]*envs.KindObservation, 1), act: make([][]float32, 1),
	}
	p.best = func(_, _ int, scores []float32, mask []bool) int { return choice.Best(scores, mask) }
	p.draw = func(_, _ int, scores []float32, mask []bool) int {
		p.p = reuse.Slice(p.p, len(scores))
		choice.Softmax(p.p, scores, mask)
		return choice.Draw(p.p, p.Draws.Float64())
	}
	return p, nil
}

// Graph holds a description of a network over graphs against the environment: it must be one that
// [graphs.Problem.Policy] gives.
func (k *Kind) Graph(spec *envs.Spec) (*graphs.Problem, nets.Graph, error) {
	prob, err := graphs.NewProblem(spec)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	if k.Head != Softmax {
		return nil, nets.Graph{}, fmt.Errorf("head of a network over graphs is %q, want %q", k.Head, Softmax)
	}
	arch, ok := k.Network.Arch.(nets.Graph)
	if !ok {
		return nil, nets.Graph{}, fmt.Errorf("network is of kind %q, want %q", k.Network.Kind(), nets.Graph{}.Kind())
	}
	want := prob.Policy(graphs.Net{
		Hidden: arch.Hidden, Layers: arch.Layers, Own: arch.Own, Skip: arch.Skip, Norm: arch.Norm, Dropout: arch.Dropout,
		BothWays: len(arch.Edges) > len(prob.Space.Edges),
	}, 0)
	arch.Heads = slices.Clone(arch.Heads)
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
		return nil, nets.Graph{}, fmt.Errorf("network takes nodes %v, edges %v and chooses %v; the environment's graph is %v",
			arch.Nodes, arch.Edges, k.Action.Choices, prob.Space)
	}
	return prob, arch, nil
}

// Act implements [envs.Policy].
func (p *graphPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	p.obs[0], p.act[0] = &obs.Kinds[0], act.Kinds[0]
	pick := p.draw
	if deterministic {
		pick = p.best
	}
	if err := p.actor.Run(p.obs, p.act, pick); err != nil {
		return fmt.Errorf("%s: policy: %w", p.File.Agent, err)
	}
	return nil
}
