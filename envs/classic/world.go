package classic

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// world is what all problems here have in common: a seed, a step, and the rest of their state as numbers.
type world struct {
	spec    *envs.Spec
	seed    uint64
	steps   int
	running bool
	x       []float64
	traced  func(purpose string, a, b, c uint64, value float64)
}

// Spec implements [envs.Env].
func (w *world) Spec() *envs.Spec { return w.spec }

// TraceDraws implements [envs.DrawTracer].
func (w *world) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) { w.traced = f }

// begin starts an episode.
func (w *world) begin(seed uint64) { w.seed, w.steps, w.running = seed, 0, true }

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
		return fmt.Errorf("%s: copy from a %T", w.spec.ID, src)
	}
	o := s.base()
	if o.spec.ID != w.spec.ID || len(o.x) != len(w.x) {
		return fmt.Errorf("%s with %d numbers of state: copy from %s with %d", w.spec.ID, len(w.x), o.spec.ID, len(o.x))
	}
	w.seed, w.steps, w.running = o.seed, o.steps, o.running
	copy(w.x, o.x)
	return nil
}

// stateVersion is the first byte of saved states.
const stateVersion = 1

// AppendBinary implements [envs.Env].
func (w *world) AppendBinary(b []byte) ([]byte, error) {
	running := byte(0)
	if w.running {
		running = 1
	}
	b = append(b, stateVersion, running)
	b = binary.LittleEndian.AppendUint64(b, w.seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(w.steps))
	for _, x := range w.x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b, nil
}

// UnmarshalBinary implements [envs.Env].
func (w *world) UnmarshalBinary(b []byte) error {
	const head = 18
	if want := head + 8*len(w.x); len(b) != want {
		return fmt.Errorf("%s: saved state has %d bytes, want %d", w.spec.ID, len(b), want)
	}
	steps := binary.LittleEndian.Uint64(b[10:])
	if b[0] != stateVersion || b[1] > 1 || steps > math.MaxInt32 {
		return fmt.Errorf("%s: saved state has version %d, running %d and %d steps; want version %d", w.spec.ID, b[0], b[1], steps, stateVersion)
	}
	w.running, w.seed, w.steps = b[1] == 1, binary.LittleEndian.Uint64(b[2:]), int(steps)
	for i := range w.x {
		w.x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[head+8*i:]))
	}
	return nil
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
