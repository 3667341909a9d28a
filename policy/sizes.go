package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// maxActivations is the most numbers that one forward pass may keep. A bundle of a few kilobytes can describe a wide
// network with one input for millions of agents.
const maxActivations = 1 << 26

// checkSizes refuses a description whose networks would keep too much for the spec's agents, nodes and edges.
func checkSizes(description json.RawMessage, s *envs.Spec) error {
	rows := 1
	for i := range s.Kinds {
		n := s.Kinds[i].Agents
		if g, ok := s.Kinds[i].Observation.(envs.Graph); ok {
			for _, k := range g.Nodes {
				n += k.Capacity
			}
			for _, k := range g.Edges {
				n += k.Capacity
			}
		}
		rows += n
	}
	var tree any
	if err := json.Unmarshal(description, &tree); err != nil {
		return err
	}
	return walk(tree, func(a nets.Arch) error {
		// Every layer has a bias, as wide as what it gives.
		width := 0
		for _, p := range a.Parameters() {
			if len(p.Shape) == 1 {
				width += p.Size()
			}
		}
		if all := float64(width) * float64(max(rows, a.AgentCount())); all > maxActivations {
			return fmt.Errorf("a network of kind %s with layers of %d numbers in all, for %d agents, nodes and edges: %.3g "+
				"numbers in one pass, want at most %d", a.Kind(), width, max(rows, a.AgentCount()), all, maxActivations)
		}
		return nil
	})
}

// walk calls f with every architecture in a description, wherever its agent keeps it.
func walk(tree any, f func(nets.Arch) error) error {
	switch t := tree.(type) {
	case []any:
		for _, x := range t {
			if err := walk(x, f); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := t["arch"]; ok && t["kind"] != nil && len(t) == 2 {
			text, err := json.Marshal(t)
			if err != nil {
				return err
			}
			a, err := nets.DecodeArch(text)
			if err != nil {
				return err
			}
			return f(a)
		}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			if err := walk(t[key], f); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}
