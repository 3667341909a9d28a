package sim

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Simulations that share a plan, being copies of one, give the same states however many goroutines run them.
func TestWorkers(t *testing.T) {
	const copies = 16
	cfg := station(Law{Kind: Lognormal, Mean: 0.1, CV: 1}, 3, 10)
	cfg.Functions[0].Sizing.Contention.Alpha, cfg.Functions[0].Dispatch = 0.2, Random
	original := mustNew(t, cfg, 12)
	run := func(workers int) [copies][]byte {
		var next atomic.Int64
		var states [copies][]byte
		var wait sync.WaitGroup
		for range workers {
			wait.Go(func() {
				for i := next.Add(1) - 1; i < copies; i = next.Add(1) - 1 {
					var s Sim
					s.CopyFrom(original)
					p := &poisson{t: t, key: rng.New(12, "arrivals").With(uint64(i)), rate: 25, limit: math.MaxUint64}
					p.start(&s)
					s.Run(p, 100*Second)
					states[i] = save(t, &s)
				}
			})
		}
		wait.Wait()
		return states
	}
	one, other := run(1), 0
	for _, workers := range []int{2, 8} {
		for i, state := range run(workers) {
			if !bytes.Equal(state, one[i]) {
				other++
				t.Errorf("simulation %d ends otherwise with %d workers than with one", i, workers)
			}
		}
	}
	for i := range one[1:] {
		if bytes.Equal(one[i], one[i+1]) {
			t.Errorf("simulations %d and %d are the same; nothing is shown", i, i+1)
		}
	}
	proof.Claim(t, proof.Row{
		Topic:    "simulator",
		Claim:    fmt.Sprintf("%d simulations, copies of one, run by 1, 2 and 8 workers: the same saved states", copies),
		Bound:    "equal bytes",
		Measured: fmt.Sprintf("%d of %d differ from one worker's", other, 2*copies),
		Holds:    other == 0,
	})
}
