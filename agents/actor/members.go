package actor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Members are the names of an environment's agents; numbers where they have none.
func Members(k *envs.Kind) []string {
	if k.Names != nil {
		return k.Names
	}
	names := make([]string, k.Agents)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// Regrouped returns the kind and the file for the agents of an environment: each member of the kind has its weights, bit
// for bit, and a new one the mean of all members' weights. A kind without members, or with the same, stays as it is.
func (k *Kind) Regrouped(f *agents.PolicyFile, on *envs.Kind) (*agents.PolicyFile, *Kind, error) {
	here := Members(on)
	if k.Members == nil {
		return f, k, nil
	}
	mlp, ok := k.Network.Arch.(nets.MLP)
	if !ok || mlp.Shared {
		return nil, nil, fmt.Errorf("the network is %s, want an MLP with weights of each agent's own", k.Network.Kind())
	}
	own := []string{k.Array(network), k.Array(logStd)}
	for name, a := range f.Arrays {
		if slices.Contains(own, name) && (len(a.Shape) != 2 || a.Shape[0] != len(k.Members)) {
			return nil, nil, fmt.Errorf("array %q has shape %v, want a row for each of %v", name, a.Shape, k.Members)
		}
	}
	if slices.Equal(here, k.Members) {
		return f, k, nil
	}
	from := make([]int, len(here))
	for i, name := range here {
		from[i] = slices.Index(k.Members, name)
	}
	mlp.Agents = len(from)
	to := *k
	to.Network.Arch = mlp
	out := &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Arrays: maps.Clone(f.Arrays)}
	for _, name := range own {
		a, ok := f.Arrays[name]
		if !ok {
			continue
		}
		var err error
		if out.Arrays[name], err = Rows(a, from); err != nil {
			return nil, nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return out, &to, nil
}

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
