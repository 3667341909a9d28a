package steps

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
)

// Over requests of three generated chains the price with misses is below Algorithm 1's, and at most 8 % above the
// stochastic optimum's.
func TestLookahead(t *testing.T) {
	look := must.Get(NewLookahead(DefaultLookahead()))(t)
	conf := must.Get(NewStepConf(DefaultStepConf()))(t)
	dp := must.Get(NewDP(DefaultDP()))(t)
	var sum [3]float64
	for n := range uint64(3) {
		w := generated(t, 100+n, 6, 6, steps.ChainShape)
		slo, miss := 1.4*w.m.Fastest, 5*w.m.Unit
		for i, d := range []steps.Decider{look, conf, dp} {
			for request := range 150 {
				e := w.play(d, slo, miss, draws(request))
				sum[i] += e.usd / w.m.Unit
				if e.seconds > slo {
					sum[i] += miss / w.m.Unit
				}
			}
		}
	}
	if sum[0] >= sum[1] || sum[0] > 1.08*sum[2] {
		t.Errorf("prices with misses are %.2f, Algorithm 1's %.2f, the optimum %.2f: want below the first and near the second",
			sum[0], sum[1], sum[2])
	}
}

func TestLookaheadRefuses(t *testing.T) {
	if _, err := NewLookahead(LookaheadConfig{}); err == nil {
		t.Error("a price of a miss of 0 was taken")
	}
}
