package gorgonia

import (
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/netstest"
)

func newTest(t testing.TB, d nets.DType) nets.Engine {
	t.Helper()
	e, err := New(Options{DType: d})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Gradients are those of finite differences, for every kind of network and every loss.
func TestGradients(t *testing.T) {
	all, err := netstest.Gradients(newTest(t, nets.Float64))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if !(g.Error <= 1e-8) {
			t.Error(g)
		}
	}
	t.Logf("%d gradients, at worst %v", len(all), netstest.Worst(all))
}
