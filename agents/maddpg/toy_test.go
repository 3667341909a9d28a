package maddpg

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// toy is a small environment with every feature that a learner must handle. Every agent sees two numbers drawn from
// [−1, 1] per step, and earns
//
//	continuous:  −Σ_m (x_m − ideal(o)_m)²,  ideal(o)_m = 0.5 + 0.3·o_m in the action's own range from −1 to 3 (stretched)
//	choices:     1 where the chosen number is 0 for o_0 < 0 and 2 else, 0 elsewhere
//
// so that the best continuous reward is 0 and the best mean reward of choices 1.
type toy struct {
	spec    envs.Spec
	opts    toyOptions
	key     rng.Key
	step    int
	last    []float32
	done    bool
	episode uint64
}

type toyOptions struct {
	agents   int
	choices  bool // two components: one of 3 choices, one of 2
	length   int  // steps of an episode
	end      bool // episodes terminate; else they are truncated
	absence  bool // agent 1 is absent in odd steps
	masked   bool // choice 1 is illegal in even steps, choice 2 in odd ones
	uneven   bool // step n takes n seconds
	sequence [][]int
}

func newToy(o toyOptions) *toy {
	if o.length == 0 {
		o.length = 1
	}
	t := &toy{opts: o, last: make([]float32, 2*o.agents)}
	var act envs.Space = envs.Box{Low: []float32{-1, -1}, High: []float32{3, 3}}
	if o.choices {
		act = envs.MultiDiscrete{N: []int{3, 2}}
	}
	t.spec = envs.Spec{
		ID: "test/Toy-v1", Doc: "A toy.", MaxSteps: o.length,
		Kinds: []envs.Kind{{Name: "toy", Agents: o.agents, Observation: envs.NewBox(2, -1, 1), Action: act,
			Neighbours: o.sequence}},
		Info: []envs.Quantity{
			{Name: "price", Unit: "USD", Better: envs.Lower, Reduce: envs.Mean},
			{Name: "violated", Better: envs.Lower, Reduce: envs.Mean},
		},
	}
	return t
}

func (t *toy) Spec() *envs.Spec { return &t.spec }

func (t *toy) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	t.key, t.step, t.done, t.episode = rng.New(seed, "toy"), 0, false, seed
	t.observe(obs)
	return nil
}

func (t *toy) present(agent int) bool { return !t.opts.absence || agent != 1 || t.step%2 == 0 }

func (t *toy) observe(obs *envs.Observation) {
	o := &obs.Kinds[0]
	for i := range o.Values {
		t.last[i] = float32(2*t.key.With(uint64(t.step)).With(uint64(i)).Float64() - 1)
		o.Values[i] = t.last[i]
	}
	for j := range o.Active {
		o.Active[j] = t.present(j)
		if !o.Active[j] {
			clear(o.Values[2*j : 2*j+2])
		}
	}
	for i := range o.Mask {
		o.Mask[i] = o.Active[i/5] && (!t.opts.masked || i%5 != 1+t.step%2)
	}
}

func (t *toy) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if t.done {
		return errors.New("toy: the episode has ended")
	}
	if err := envs.CheckAction(&t.spec, func(_, j int) bool { return t.present(j) }, act); err != nil {
		return err
	}
	price := 0.0
	for j := range out.Rewards[0] {
		out.Rewards[0][j] = 0
		if t.present(j) {
			out.Rewards[0][j] = t.reward(act.Kinds[0][2*j:2*j+2], t.last[2*j:2*j+2])
			price += float64(act.Kinds[0][2*j])
		}
	}
	t.step++
	out.Elapsed = 1_000_000
	if t.opts.uneven {
		out.Elapsed = int64(t.step) * 1_000_000
	}
	t.done = t.step == t.opts.length
	out.Terminated, out.Truncated = t.done && t.opts.end, t.done && !t.opts.end
	out.Info[0], out.Info[1] = price, 0
	if price <= 0 {
		out.Info[1] = 1
	}
	t.observe(obs)
	return nil
}

func (t *toy) reward(a, o []float32) float32 {
	if t.opts.choices {
		want := float32(0)
		if o[0] >= 0 {
			want = 2
		}
		if a[0] == want {
			return 1
		}
		return 0
	}
	var sum float64
	for m := range a {
		ideal := -1 + 4*(0.5+0.3*float64(o[m]))
		sum -= (float64(a[m]) - ideal) * (float64(a[m]) - ideal)
	}
	return float32(sum)
}

// PriceOf implements Pricer.
func (t *toy) PriceOf(a *envs.Action) (float64, error) {
	price := 0.0
	for j := range t.opts.agents {
		if t.present(j) {
			price += float64(a.Kinds[0][2*j])
		}
	}
	return price, nil
}

func (t *toy) CopyFrom(src envs.Env) error {
	s := src.(*toy)
	t.key, t.step, t.done, t.episode = s.key, s.step, s.done, s.episode
	copy(t.last, s.last)
	return nil
}

func (t *toy) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, t.episode)
	b = binary.LittleEndian.AppendUint64(b, uint64(t.step))
	for _, x := range t.last {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b, nil
}

func (t *toy) UnmarshalBinary(b []byte) error {
	t.episode, t.step = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:]))
	t.key, t.done = rng.New(t.episode, "toy"), t.step == t.opts.length
	for i := range t.last {
		t.last[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[16+4*i:]))
	}
	return nil
}
