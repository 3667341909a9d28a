package onnxtest

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Scores gives the scores of choices as nets/native computes them, for an observation and the choices made.
type Scores func(o *envs.Observation, act *envs.Action) ([]float32, error)

// NewScores returns the scores of a bundle's policy of choices. spec is the environment's.
func NewScores(b *bundle.File, spec *envs.Spec) (Scores, error) {
	f := &agents.PolicyFile{Agent: b.Agent.Name, EnvID: b.Agent.Env, Description: b.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range b.Arrays {
		f.Arrays[name] = agents.Array(a)
	}
	d, err := actor.Read(f, spec)
	if err != nil {
		return nil, err
	}
	e := native.New(native.Options{Threads: 1})
	if g, ok := d.Kinds[0].Network.Arch.(nets.Graph); ok {
		return graphScores(f, spec, e, g)
	}
	p, err := actor.Open(f, spec, e)
	if err != nil {
		return nil, err
	}
	return vectorScores(f, spec.Kinds[0].Observation.Width(), p.(*actor.Policy)), nil
}

// vectorScores standardises observations, where a wrapper did it, of agents that are present.
func vectorScores(f *agents.PolicyFile, w int, p *actor.Policy) Scores {
	clip, ok := f.Arrays["normalise.0.clip"]
	shift, scale := f.Arrays["normalise.0.shift"].Data, f.Arrays["normalise.0.scale"].Data
	return func(o *envs.Observation, _ *envs.Action) ([]float32, error) {
		seen := o.Kinds[0]
		seen.Values = append([]float32(nil), seen.Values...)
		for i := range seen.Values {
			if ok && seen.Active[i/w] {
				seen.Values[i] = affine(seen.Values[i], shift[i%w], scale[i%w], clip.Data[0])
			}
		}
		return p.Scores(0, &seen)
	}
}

func affine(x, shift, scale, clip float32) float32 {
	return min(max(float32((x-shift)*scale), -clip), clip)
}

func graphScores(f *agents.PolicyFile, spec *envs.Spec, e nets.Engine, a nets.Graph) (Scores, error) {
	p, err := graphs.NewProblem(spec)
	if err != nil {
		return nil, err
	}
	net, err := e.NewGraphNet(a)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, spec.Kinds[0].Name+".network", net.Params()); err != nil {
		return nil, err
	}
	batch, scorer := nets.NewGraphBatch(a), graphs.NewScorer(p, e, net)
	return func(o *envs.Observation, act *envs.Action) ([]float32, error) {
		batch.Reset()
		if err := p.Add(batch, o.Kinds[0].Graphs[0]); err != nil {
			return nil, err
		}
		batch.Seal()
		if err := scorer.Begin(batch, nil); err != nil {
			return nil, err
		}
		var out []float32
		for c := range p.Components {
			part, err := scorer.Score(c)
			if err != nil {
				return nil, fmt.Errorf("component %d: %w", c, err)
			}
			out = append(out, part...)
			scorer.Choose(c, 0, int(act.Kinds[0][c]))
		}
		return out, nil
	}, nil
}
