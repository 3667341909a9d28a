package envs_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// The five systems' true spaces and timing, held against the contract by small worlds that have them. What is decided,
// by whom and how long it lasts is the papers'; the dynamics behind it are toys.
var systems = []struct {
	name  string
	build envtest.Build
	steps int
}{
	{"HOPS prices", newHOPSPrices, 0},
	{"HOPS slots", newHOPSSlots, 0},
	{"GNN placement", newPlacement, 600},
	{"FaaSConf", newFaaSConf, 0},
	{"StepConf", newStepConf, 0},
	{"OptiServe", newOptiServe, 0},
}

func TestSystemsKeepTheContract(t *testing.T) {
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) { envtest.Run(t, s.build, envtest.Options{Steps: s.steps}) })
	}
}

// Every system steps in a vector, with actions sampled under its masks; workers don't change a bit, and a saved vector
// goes on as the original does.
func TestSystemsInVectors(t *testing.T) {
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			for _, mode := range []envs.Autoreset{envs.SameStep, envs.NextStep} {
				opts := envs.VectorOptions{NumEnvs: 5, Seed: 3, Autoreset: mode}
				one := newWalker(t, s.build, opts)
				opts.Workers = 3
				many := newWalker(t, s.build, opts)
				one.reset(t)
				many.reset(t)
				one.walk(t, 40)
				many.walk(t, 40)
				if one.digest != many.digest {
					t.Fatalf("%s: three workers give other results than none", mode)
				}
				saved := must.Get(one.v.AppendBinary(nil))(t)
				restored := newWalker(t, s.build, opts)
				must.Do(t, restored.v.UnmarshalBinary(saved))
				*restored.stream, restored.digest, restored.number = *one.stream, one.digest, one.number
				one.walk(t, 40)
				restored.walk(t, 40)
				if one.digest != restored.digest {
					t.Fatalf("%s: the restored vector goes on otherwise", mode)
				}
			}
		})
	}
}

// walker steps a vector with random legal actions and digests all that it emits.
type walker struct {
	v       *envs.Vector
	sampler *envs.ActionSampler
	stream  *rng.Stream
	digest  uint64
	number  int
}

func newWalker(t testing.TB, build envtest.Build, opts envs.VectorOptions) *walker {
	t.Helper()
	v := must.Get(envs.NewVector(build, opts))(t)
	s := must.Get(envs.NewActionSampler(v.Spec()))(t)
	return &walker{v: v, sampler: s, stream: rng.NewStream(1, "walker")}
}

func (w *walker) reset(t testing.TB) {
	t.Helper()
	must.Do(t, w.v.Reset())
}

// choose fills Act with random legal actions.
func (w *walker) choose(t testing.TB) {
	t.Helper()
	for i := range w.v.NumEnvs() {
		must.Do(t, w.sampler.Sample(w.stream, w.v.Obs.Env(i), w.v.Act.Env(i)))
	}
}

func (w *walker) walk(t testing.TB, n int) {
	t.Helper()
	for range n {
		w.choose(t)
		must.Do(t, w.v.Step())
		w.number++
		w.take()
	}
}

// take digests the last step.
func (w *walker) take() {
	v := w.v
	for k := range v.Spec().Kinds {
		for _, x := range [][]float32{v.Before.Kinds[k].Values, v.After.Kinds[k].Values, v.Obs.Kinds[k].Values,
			v.Rewards[k]} {
			for _, f := range x {
				w.mix(uint64(math.Float32bits(f)))
			}
		}
		for _, g := range v.Obs.Kinds[k].Graphs {
			for i, s := range g.Nodes {
				for _, f := range s.Features[:s.Len*g.Space.Nodes[i].Width] {
					w.mix(uint64(math.Float32bits(f)))
				}
			}
			for _, s := range g.Edges {
				for e := range s.Len {
					w.mix(uint64(s.From[e])<<32 | uint64(s.To[e]))
				}
			}
		}
	}
	for i := range v.NumEnvs() {
		w.mix(uint64(v.Elapsed[i]))
		for _, b := range []bool{v.Terminated[i], v.Truncated[i], v.ResetStep[i]} {
			if b {
				w.mix(uint64(i) + 1)
			}
		}
	}
	for _, x := range v.Info {
		w.mix(math.Float64bits(x))
	}
	for _, e := range v.Finished {
		w.mix(e.Seed)
		w.mix(math.Float64bits(e.Return))
		w.mix(uint64(e.Length))
	}
}

func (w *walker) mix(x uint64) { w.digest = (w.digest ^ x) * 0x9e3779b97f4a7c15 }

// toy is what the small worlds have in common: a seed, a step, and the rest of their state as numbers.
type toy struct {
	spec    *envs.Spec
	seed    uint64
	step    uint64
	running bool
	x       []float64
	traced  func(purpose string, a, b, c uint64, value float64)
}

func (t *toy) base() *toy       { return t }
func (t *toy) Spec() *envs.Spec { return t.spec }

// begin starts an episode.
func (t *toy) begin(seed uint64, options envs.Options) error {
	for name := range options {
		return fmt.Errorf("%s has no option %q", t.spec.ID, name)
	}
	t.seed, t.step, t.running = seed, 0, true
	clear(t.x)
	return nil
}

// admit refuses steps outside an episode and actions outside their spaces.
func (t *toy) admit(active func(kind, agent int) bool, a *envs.Action) error {
	if !t.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", t.spec.ID)
	}
	return envs.CheckAction(t.spec, active, a)
}

// end notes how a step went.
func (t *toy) end(out *envs.Outcome, terminated, truncated bool, elapsed int64) {
	t.step++
	t.running = !terminated && !truncated
	out.Terminated, out.Truncated, out.Elapsed = terminated, truncated, elapsed
}

// draw is uniform in [0, 1), named by what it is for.
func (t *toy) draw(purpose string, a, b, c uint64) float64 {
	v := rng.New(t.seed, purpose).With(a).With(b).With(c).Float64()
	if t.traced != nil {
		t.traced(purpose, a, b, c, v)
	}
	return v
}

func (t *toy) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) { t.traced = f }

func (t *toy) CopyFrom(src envs.Env) error {
	s, ok := src.(interface{ base() *toy })
	if !ok || s.base().spec.ID != t.spec.ID {
		return fmt.Errorf("%s: copy from %T", t.spec.ID, src)
	}
	o := s.base()
	t.seed, t.step, t.running = o.seed, o.step, o.running
	copy(t.x, o.x)
	return nil
}

func (t *toy) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, t.seed)
	b = binary.LittleEndian.AppendUint64(b, t.step)
	running := byte(0)
	if t.running {
		running = 1
	}
	b = append(b, running)
	for _, v := range t.x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b, nil
}

func (t *toy) UnmarshalBinary(b []byte) error {
	if len(b) != 17+8*len(t.x) {
		return errors.New("state has the wrong length")
	}
	t.seed, t.step, t.running = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), b[16] == 1
	for i := range t.x {
		t.x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[17+8*i:]))
	}
	return nil
}

// see writes a lone agent's observation; its mask becomes all true.
func see(o *envs.Observation, values ...float64) {
	k := &o.Kinds[0]
	for i, v := range values {
		k.Values[i] = float32(v)
	}
	k.Active[0] = true
	for i := range k.Mask {
		k.Mask[i] = true
	}
}

// A policy that was trained elsewhere has the spec and what it sees, nothing else. That is enough to act legally.
func TestActingNeedsOnlyTheSpecAndTheObservation(t *testing.T) {
	for _, s := range systems {
		env := must.Get(s.build())(t)
		spec := env.Spec()
		sampler := must.Get(envs.NewActionSampler(spec))(t)
		here, there := envs.NewObservation(spec), envs.NewObservation(spec)
		act, out, stream := envs.NewAction(spec), envs.NewOutcome(spec), rng.NewStream(1, "elsewhere")
		must.Do(t, env.Reset(1, nil, here))
		for range 100 {
			there.CopyFrom(here)
			if err := sampler.Sample(stream, there, act); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if err := env.Step(act, here, out); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if out.Terminated || out.Truncated {
				must.Do(t, env.Reset(2, nil, here))
			}
		}
	}
}

// What the contract must be able to say of each system, read off the papers.
func TestSystemsDeclareWhatThePapersSay(t *testing.T) {
	spec := func(b envtest.Build) *envs.Spec {
		e := must.Get(b())(t)
		return e.Spec()
	}
	if b := spec(newHOPSPrices).Kinds[0].Action.(envs.Box); b.Integer[0] || !b.Integer[3] || b.Width() != 6 {
		t.Error("HOPS decides three continuous prices and three whole numbers of keep-alive vGPUs")
	}
	if s := spec(newHOPSSlots); s.Step.Fixed != 0 || s.Kinds[0].MaskAfter == nil {
		t.Error("HOPS places within a slot without passing time, and the vGPU depends on the function")
	}
	g := spec(newPlacement).Kinds[0].Observation.(envs.Graph)
	if len(g.Nodes) != 3 || len(g.Edges) != 4 || g.Nodes[0].Capacity < 64 || g.Nodes[2].Capacity < 16 {
		t.Error("the GNN paper has three kinds of nodes and four of edges, at least 64 invocations and 16 nodes")
	}
	if k := spec(newFaaSConf).Kinds[0]; k.Agents != 6 || len(k.Neighbours) != 6 || k.Action.Width() != 4 {
		t.Error("FaaSConf has an agent per function with four resources, and neighbours")
	}
	if n := envs.Choices(spec(newStepConf).Kinds[0].Action); !slices.Equal(n, []int{11, 60, 6}) {
		t.Error("StepConf chooses memory, inter- and intra-function parallelism")
	}
	if s := spec(newOptiServe); s.MaxSteps != 0 || s.Kinds[0].Action.Width() != 6 {
		t.Error("OptiServe decides variant and memory of each function at once")
	}
}
