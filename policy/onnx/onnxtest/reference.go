package onnxtest

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Scores gives the scores of choices as nets/native computes them, for an observation and the choices made.
type Scores func(o *envs.Observation, act *envs.Action) ([]float32, error)

// described is what the descriptions of all agents may hold.
type described struct {
	Network, Actor, Policy json.RawMessage
	Single                 bool
	Clip                   float32 `json:"observation_clip"`
	Kinds                  []struct {
		Name, Mix string
		Network   json.RawMessage
	}
}

// NewScores returns the scores of a bundle's policy of choices. spec is the environment's.
func NewScores(b *bundle.File, spec *envs.Spec) (Scores, error) {
	f := &agents.PolicyFile{Description: b.Agent.Description, Arrays: map[string]agents.Array{}}
	for name, a := range b.Arrays {
		f.Arrays[name] = agents.Array(a)
	}
	var d described
	if err := json.Unmarshal(f.Description, &d); err != nil {
		return nil, err
	}
	if d.Policy != nil { // simppo's, of ppo's
		if err := json.Unmarshal(d.Policy, &d); err != nil {
			return nil, err
		}
	}
	text, array := d.Network, "network"
	switch {
	case d.Actor != nil:
		text, array = d.Actor, "actor"
	case d.Kinds != nil:
		text, array = d.Kinds[0].Network, d.Kinds[0].Name+".network"
	}
	arch, err := nets.DecodeArch(text)
	if err != nil {
		return nil, err
	}
	e := native.New(native.Options{Threads: 1})
	if g, ok := arch.(nets.Graph); ok {
		return graphScores(f, spec, e, g)
	}
	net, err := e.NewNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, array, net.Params()); err != nil {
		return nil, err
	}
	mean := d.Kinds != nil && d.Kinds[0].Mix != ""
	return vectorScores(f, &spec.Kinds[0], e, net, mean, d.Clip), nil
}

func vectorScores(f *agents.PolicyFile, k *envs.Kind, e nets.Engine, net nets.Net, mean bool, clip float32) Scores {
	n, w := k.Agents, k.Observation.Width()
	groups := net.Arch().AgentCount()
	in := net.Arch().Inputs()[0].Width
	rows := n * w / (groups * in)
	if mean {
		rows = n / groups
	}
	x, y := e.NewTensor(groups, rows, in), make([]float32, groups*rows*net.Arch().Output().Width)
	work := net.NewWork(rows)
	return func(o *envs.Observation, _ *envs.Action) ([]float32, error) {
		seen := append([]float32(nil), o.Kinds[0].Values...)
		active := o.Kinds[0].Active
		if c, ok := f.Arrays["normalise.0.clip"]; ok {
			for i := range seen {
				if active[i/w] {
					seen[i] = affine(seen[i], f.Arrays["normalise.0.shift"].Data[i%w], f.Arrays["normalise.0.scale"].Data[i%w],
						c.Data[0])
				}
			}
		}
		if mean {
			seen = withOthers(seen, active, w)
		}
		if clip > 0 {
			for i := range seen {
				seen[i] = affine(seen[i], f.Arrays["shift"].Data[i], f.Arrays["scale"].Data[i], clip)
				if !active[i/w] && in == w {
					seen[i] = 0
				}
			}
		}
		x.Set(seen)
		net.Forward(work, x).Get(y)
		return y, e.Err()
	}
}

func affine(x, shift, scale, clip float32) float32 {
	return min(max(float32((x-shift)*scale), -clip), clip)
}

// withOthers adds to each agent's numbers the mean of those of the others that are present.
func withOthers(x []float32, active []bool, w int) []float32 {
	sum, n := make([]float64, w), 0.0
	for i, v := range x {
		if active[i/w] {
			sum[i%w] += float64(v)
			n += 1 / float64(w)
		}
	}
	var out []float32
	for j := range active {
		own := x[j*w : (j+1)*w]
		out = append(out, own...)
		for i, v := range own {
			mean := float32(0)
			if active[j] && n > 1.5 {
				mean = float32((sum[i] - float64(v)) / (n - 1))
			}
			out = append(out, mean)
		}
	}
	return out
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
	if err := agents.GetTensor(f.Arrays, "network", net.Params()); err != nil {
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
