package netstest_test

import (
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/rng"
)

// A network that sees a node's place breaks the law of permutation, and one that sees edges where there are
// none that of the MLP.
func TestBrokenLawsAreFound(t *testing.T) {
	e := newNative(nets.Float64)
	c := netstest.Graphs()["kinds, all on"]
	for broken, least := range map[bool]float64{false: 0, true: 1e-2} {
		engine := e
		if broken {
			engine = placed{e}
		}
		apart, err := netstest.GraphPermutation(engine, c, 1)
		if err != nil || apart < least || !broken && apart > 1e-12 {
			t.Errorf("permutation, broken %v: apart by %g, %v", broken, apart, err)
		}
		if apart, err = netstest.GraphWithoutEdges(engine); err != nil || apart < least || !broken && apart > 1e-12 {
			t.Errorf("without edges, broken %v: apart by %g, %v", broken, apart, err)
		}
	}
}

// placed is an engine whose networks over graphs drop numbers by place, even where none are to be.
type placed struct{ nets.Engine }

func (p placed) NewGraphNet(a nets.Graph) (nets.GraphNet, error) {
	a.Dropout = 0.5
	n, err := p.Engine.NewGraphNet(a)
	return placedNet{n}, err
}

type placedNet struct{ nets.GraphNet }

func (n placedNet) Forward(w nets.GraphWork, b *nets.GraphBatch, _ *rng.Key) {
	n.GraphNet.Forward(w, b, new(rng.New(1, "placed")))
}
