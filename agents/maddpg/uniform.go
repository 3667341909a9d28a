package maddpg

import (
	"encoding/json"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

var _ agents.Attentive = (*TrainedPolicy)(nil)

// Uniform implements [agents.Attentive]: the actor's layers over the plain mean of the neighbours. It was not trained
// for that.
func (p *TrainedPolicy) Uniform(spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	m, ok := p.acting.net.Arch().(nets.MeanField)
	if !ok || m.Mix != nets.Attention {
		return nil, nil
	}
	mean := m
	mean.Mix, mean.Score, mean.Keys = nets.Mean, "", 0
	f := p.File
	var d description
	if err := json.Unmarshal(f.Description, &d); err != nil {
		return nil, err
	}
	var err error
	if d.Actor, err = nets.EncodeArch(mean); err != nil {
		return nil, err
	}
	d.Name += ", equal weights"
	out := &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Arrays: map[string]agents.Array{}}
	if out.Description, err = json.Marshal(d); err != nil {
		return nil, err
	}
	for name, a := range f.Arrays {
		out.Arrays[name] = a
	}
	before, size := nets.Layout(m)
	after, less := nets.Layout(mean)
	from := f.Arrays[arrayActor].Data
	kept := agents.Array{Shape: []int{mean.Groups() * less}, Data: make([]float32, mean.Groups()*less)}
	for g := range mean.Groups() {
		for _, to := range after {
			for _, s := range before {
				if s.Name == to.Name {
					copy(kept.Data[g*less+to.Offset:][:to.Size()], from[g*size+s.Offset:])
				}
			}
		}
	}
	if shape := f.Arrays[arrayActor].Shape; len(shape) == 2 {
		kept.Shape = []int{mean.Groups(), less}
	}
	out.Arrays[arrayActor] = kept
	return OpenPolicy(out, spec, act)
}
