package nets

import (
	"errors"
	"fmt"
	"slices"
)

// CheckBatch says why a network of this architecture cannot run a batch; nil where it can.
func (g Graph) CheckBatch(b *GraphBatch) error {
	switch {
	case b == nil:
		return errors.New("no batch, want a sealed one")
	case !b.Sealed():
		return errors.New("the batch is not sealed, want Seal after its last edge")
	case !slices.Equal(b.arch.Nodes, g.Nodes) || !slices.Equal(b.arch.Edges, g.Edges):
		return fmt.Errorf("the batch is for nodes %v and edges %v, want those of the network: %v and %v",
			b.arch.Nodes, b.arch.Edges, g.Nodes, g.Edges)
	}
	return nil
}

// CheckHead says why a head cannot run for a batch with the arguments of [GraphNet].Head; nil where it can.
func (g Graph) CheckHead(b *GraphBatch, head int, given [][]int32, extra []float32) error {
	if head < 0 || head >= len(g.Heads) {
		return fmt.Errorf("head %d, want one of %d", head, len(g.Heads))
	}
	spec, graphs := &g.Heads[head], b.Graphs()
	if len(given) != len(spec.Given) || len(extra) != graphs*spec.Extra {
		return fmt.Errorf("head %q with %d lists of given nodes and %d extra numbers, want %d and %d for each of %d graphs",
			spec.Name, len(given), len(extra), len(spec.Given), spec.Extra, graphs)
	}
	for i, rows := range given {
		if len(rows) != graphs {
			return fmt.Errorf("head %q: list %d of given nodes has %d, want one for each of %d graphs", spec.Name, i,
				len(rows), graphs)
		}
		kind := spec.Given[i]
		most := b.Nodes[kind].Rows()
		if bad := slices.IndexFunc(rows, func(r int32) bool { return r < -1 || int(r) >= most }); bad >= 0 {
			return fmt.Errorf("head %q: graph %d is given node %d of kind %q, want one below %d, or -1 for none",
				spec.Name, bad, rows[bad], g.Nodes[kind].Name, most)
		}
	}
	return nil
}
