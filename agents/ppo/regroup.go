package ppo

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// Rows returns an array with a row for each entry of from: row from[i] of a, or the mean of all rows of a where from[i]
// is −1. a has a row for each of its agents.
func Rows(a agents.Array, from []int) (agents.Array, error) {
	if len(a.Shape) != 2 || a.Shape[0] < 1 || len(a.Data) != a.Shape[0]*a.Shape[1] {
		return a, fmt.Errorf("an array of shape %v holds %d numbers, want a row for each agent", a.Shape, len(a.Data))
	}
	w := a.Shape[1]
	out := agents.Array{Shape: []int{len(from), w}, Data: make([]float32, len(from)*w)}
	for i, f := range from {
		row := out.Data[i*w : (i+1)*w]
		switch {
		case f >= a.Shape[0]:
			return a, fmt.Errorf("row %d of an array of shape %v", f, a.Shape)
		case f >= 0:
			copy(row, a.Data[f*w:(f+1)*w])
			continue
		}
		for j := range row {
			sum := 0.0
			for g := range a.Shape[0] {
				sum += float64(a.Data[g*w+j])
			}
			row[j] = float32(sum / float64(a.Shape[0]))
		}
	}
	return out, nil
}

// Regroup returns the policy file of agents with weights of their own, of one kind, for other agents: agent i has the
// weights of agent from[i], bit for bit, or the mean of all agents' weights where from[i] is −1.
func Regroup(f *agents.PolicyFile, from []int) (*agents.PolicyFile, error) {
	var d description
	if err := json.Unmarshal(f.Description, &d); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	if len(d.Kinds) != 1 {
		return nil, fmt.Errorf("description has %d kinds of agents, want one", len(d.Kinds))
	}
	arch, err := nets.DecodeArch(d.Kinds[0].Network)
	if err != nil {
		return nil, err
	}
	mlp, ok := arch.(nets.MLP)
	if !ok || mlp.Shared {
		return nil, fmt.Errorf("the network is %s, want an MLP with weights of each agent's own", arch.Kind())
	}
	mlp.Agents = len(from)
	if d.Kinds[0].Network, err = nets.EncodeArch(mlp); err != nil {
		return nil, err
	}
	out := &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Arrays: maps.Clone(f.Arrays)}
	for name, a := range f.Arrays {
		if out.Arrays[name], err = Rows(a, from); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	out.Description, err = json.Marshal(d)
	return out, err
}
