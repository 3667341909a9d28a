package pricing

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

// world is what a scheduler knows of the environment it acts in.
type world struct {
	cfg *pricing.Config
	n   int // functions
}

// newWorld finds the slots' face in env and checks its pool.
func newWorld(name string, env envs.Env, pool string) (world, error) {
	e, ok := envs.As[*pricing.Slots](env)
	if !ok {
		return world{}, fmt.Errorf("%s: acts in %s only, not in %s", name, pricing.SlotsID, env.Spec().ID)
	}
	c := e.Config()
	if c.Pool != pool {
		return world{}, fmt.Errorf("%s: the environment's pool is %s, want pool: %s", name, c.Pool, pool)
	}
	return world{c, e.Spec().Kinds[0].Agents}, nil
}

// rows checks the sizes of what a scheduler is given, clears its action and returns both.
func (w *world) rows(name string, obs *envs.Observation, act *envs.Action) (seen, do []float32, err error) {
	seen, do = obs.Kinds[0].Values, act.Kinds[0]
	if len(seen) != w.n*pricing.Sees || len(do) != w.n*pricing.Acts {
		return nil, nil, fmt.Errorf("%s: observes %d numbers, want %d of %s", name, len(seen), w.n*pricing.Sees, pricing.SlotsID)
	}
	clear(do)
	return seen, do, nil
}

// see is function f's number in an observation.
func see(seen []float32, f, what int) float64 { return float64(seen[f*pricing.Sees+what]) }

// backlog is the jobs of function f that wait, too late or not.
func backlog(seen []float32, f int) int {
	return int(see(seen, f, pricing.SeesQueue)) + int(see(seen, f, pricing.SeesLate))
}

// appendFloats and readFloats save slices of fixed lengths.
func appendFloats(b []byte, slices ...[]float64) []byte {
	for _, s := range slices {
		for _, x := range s {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return b
}

// readFloats refuses a state of another length, or with a number that is not finite, and changes nothing then.
func readFloats(name string, b []byte, slices ...[]float64) error {
	n := 0
	for _, s := range slices {
		n += 8 * len(s)
	}
	if len(b) != n {
		return fmt.Errorf("%s: saved state has %d bytes, want %d", name, len(b), n)
	}
	for i := 0; i < n; i += 8 {
		if x := math.Float64frombits(binary.LittleEndian.Uint64(b[i:])); x-x != 0 {
			return fmt.Errorf("%s: saved state is damaged: number %d is %g", name, i/8, x)
		}
	}
	for _, s := range slices {
		for i := range s {
			s[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
	}
	return nil
}

// copyFloats copies slices of equal lengths.
func copyFloats(name string, src envs.Policy, dst, from [][]float64) error {
	for i := range dst {
		if len(dst[i]) != len(from[i]) {
			return fmt.Errorf("%s: cannot be copied from a %T of another configuration", name, src)
		}
	}
	for i := range dst {
		copy(dst[i], from[i])
	}
	return nil
}

// checkNumber reports a number outside its range, by its key.
func checkNumber(key string, x, low, high float64) error {
	if !(x >= low && x <= high) {
		return fmt.Errorf("%s is %g, want a number from %g to %g", key, x, low, high)
	}
	return nil
}
