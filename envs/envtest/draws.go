package envtest

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// draw is the key of a draw.
type draw struct {
	purpose string
	a, b, c uint64
}

// minShared is the number of draws for one purpose from which two policies must share at least one. Rare draws, such as
// those of a request's third attempt, may occur under one policy only.
const minShared = 8

// checkDraws checks that draws with equal keys have equal values under different policies and the same seed, in
// whatever order they occur. An environment that does not report its draws ([envs.DrawTracer]) is not checked.
func checkDraws(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	tracer, ok := envs.As[envs.DrawTracer](d.env)
	if !ok {
		return nil
	}
	for _, seed := range c.Seeds {
		untraced, err := d.trace(seed, 1, nil)
		if err != nil {
			return err
		}
		seen := make(map[draw]float64)
		drawn, shared := make(map[string]int), make(map[string]int)
		for policy := uint64(1); policy <= 3; policy++ {
			tracer.TraceDraws(func(purpose string, x, y, z uint64, value float64) {
				k := draw{purpose, x, y, z}
				was, known := seen[k]
				switch {
				case !known:
					seen[k] = value
				case math.Float64bits(was) != math.Float64bits(value):
					c.report("seed %d: draw %q of (%d, %d, %d) is %g under one policy and %g under another", seed, purpose, x, y, z,
						was, value)
				case policy > 1:
					shared[purpose]++
				}
				if policy == 1 {
					drawn[purpose]++
				}
			})
			t, err := d.trace(seed, policy, nil)
			tracer.TraceDraws(nil)
			if err != nil {
				return err
			}
			if i := differ(untraced, t); policy == 1 && i >= 0 {
				c.report("seed %d, step %d: tracing draws changes the episode", seed, i)
			}
			if c.enough() {
				return nil
			}
		}
		for purpose, n := range drawn {
			if n >= minShared && shared[purpose] == 0 {
				c.report("seed %d: other policies share none of %d draws %q; draws must be keyed by their purpose", seed, n,
					purpose)
			}
		}
		n := len(seen)
		if _, err := d.trace(seed+1, 1, nil); err != nil {
			return err
		}
		if len(seen) != n {
			return fmt.Errorf("TraceDraws(nil) does not stop tracing")
		}
	}
	return nil
}
