package nets_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"

	"github.com/stoker-rl/stoker/internal/must"
)

// What a network cannot run is said with what would be right.
func TestGraphChecks(t *testing.T) {
	g, other := cluster(), cluster()
	other.Nodes[0].Width = 9
	sealed := func(g nets.Graph) *nets.GraphBatch {
		b := nets.NewGraphBatch(g)
		for range 2 {
			b.AddGraph()
			must.Do(t, b.AddNodes(0, make([]float32, g.Nodes[0].Width)))
		}
		b.Seal()
		return b
	}
	b := sealed(g)
	given, extra := [][]int32{{1, -1}}, make([]float32, 4)
	for i, err := range []error{g.CheckBatch(b), g.CheckHead(b, 0, nil, nil), g.CheckHead(b, 1, given, extra)} {
		if err != nil {
			t.Errorf("%d: %v, want none", i, err)
		}
	}
	for want, err := range map[string]error{
		"no batch":   g.CheckBatch(nil),
		"not sealed": g.CheckBatch(nets.NewGraphBatch(g)),
		"want those of the network: [{job 3} {node 2}]": g.CheckBatch(sealed(other)),
		"head -1, want one of 3":                        g.CheckHead(b, -1, nil, nil),
		`head "where" with 0 lists of given nodes and 4 extra numbers, want 1 and 2 for each of 2 graphs`: g.CheckHead(b, 1, nil, extra),
		`head "where" with 1 lists of given nodes and 3`:                                                  g.CheckHead(b, 1, given, extra[:3]),
		`head "where": list 0 of given nodes has 1, want one for each of 2 graphs`:                        g.CheckHead(b, 1, [][]int32{{0}}, extra),
		`graph 1 is given node 2 of kind "job", want one below 2, or -1 for none`:                         g.CheckHead(b, 1, [][]int32{{0, 2}}, extra),
		`graph 0 is given node -2`: g.CheckHead(b, 1, [][]int32{{-2, 0}}, extra),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}
