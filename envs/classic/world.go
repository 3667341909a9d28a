package classic

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// world is what all problems here have in common: a seed, a step, and the rest of their state as numbers.
type world struct {
	spec *envs.Spec
	id   uint64 // hash of the environment's id
	episode
	x      []float64
	traced func(purpose string, a, b, c uint64, value float64)
}

// episode is where an episode stands.
type episode struct {
	seed    uint64
	steps   int
	running bool
}

// newWorld makes a world whose state is n numbers beside the episode.
func newWorld(n int, s *envs.Spec) world {
	h := fnv.New64a()
	h.Write([]byte(s.ID))
	return world{spec: s, id: h.Sum64(), x: make([]float64, n)}
}

// Spec implements [envs.Env].
func (w *world) Spec() *envs.Spec { return w.spec }

// TraceDraws implements [envs.DrawTracer].
func (w *world) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) { w.traced = f }

// begin starts an episode.
func (w *world) begin(seed uint64) { w.episode = episode{seed: seed, running: true} }

// admit refuses steps outside an episode and actions outside their space. All agents are always active.
func (w *world) admit(act *envs.Action) error {
	if !w.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", w.spec.ID)
	}
	return envs.CheckAction(w.spec, nil, act)
}

// finish notes how a step went. The episode is cut at MaxSteps.
func (w *world) finish(out *envs.Outcome, terminated bool) {
	w.steps++
	out.Terminated, out.Truncated, out.Elapsed = terminated, w.steps == w.spec.MaxSteps, w.spec.Step.Fixed
	w.running = !out.Terminated && !out.Truncated
}

// key names a draw; report tells of its value.
func (w *world) key(purpose string, a, b uint64) rng.Key {
	return rng.New(w.seed, purpose).With(a).With(b)
}

func (w *world) report(purpose string, a, b uint64, value float64) float64 {
	if w.traced != nil {
		w.traced(purpose, a, b, 0, value)
	}
	return value
}

// uniform draws from [lo, hi).
func (w *world) uniform(purpose string, a, b uint64, lo, hi float64) float64 {
	return w.report(purpose, a, b, lo+float64((hi-lo)*w.key(purpose, a, b).Float64()))
}

// normal draws from the standard normal law.
func (w *world) normal(purpose string, a, b uint64) float64 {
	return w.report(purpose, a, b, w.key(purpose, a, b).Norm())
}

func (w *world) base() *world { return w }

// CopyFrom implements [envs.Env].
func (w *world) CopyFrom(src envs.Env) error {
	s, ok := src.(interface{ base() *world })
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T", w.spec.ID, src)
	}
	if err := state.Copy(w, s.base()); err != nil {
		return fmt.Errorf("%s: %w", w.spec.ID, err)
	}
	return nil
}

// AppendBinary implements [envs.Env].
func (w *world) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, w.spec.ID, w) }

// UnmarshalBinary implements [envs.Env].
func (w *world) UnmarshalBinary(b []byte) error { return state.Load(b, w.spec.ID, w) }

// State implements [state.Stater].
func (w *world) State(c *state.Codec) {
	c.Same("environment", w.id)
	state.Value(c, &w.episode)
	state.Fixed(c, w.x)
	if c.Loaded() {
		c.Check(w.steps >= 0 && w.steps <= math.MaxInt32, "%d steps, want 0 to %d", w.steps, math.MaxInt32)
	}
}

// refuse refuses all options but the known ones.
func (w *world) refuse(options envs.Options, known ...string) error {
next:
	for name := range options {
		for _, k := range known {
			if name == k {
				continue next
			}
		}
		return fmt.Errorf("%s: unknown option %q, want one of %q", w.spec.ID, name, known)
	}
	return nil
}
