package maddpg

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// TestWhatReplayHolds compares rows of the replay buffer with what the environments did, in both autoreset modes.
func TestWhatReplayHolds(t *testing.T) {
	for _, mode := range []envs.Autoreset{envs.SameStep, envs.NextStep} {
		for _, end := range []bool{true, false} {
			c := quick()
			c.GammaSeconds, c.LearningStarts = 2, 1_000
			r := newRun(t, c, toyOptions{agents: 2, length: 3, end: end, uneven: true},
				envs.VectorOptions{NumEnvs: 1, Autoreset: mode})
			want := int64(0)
			for range 20 {
				must.Do(t, r.l.Act(r.v))
				saw := slices.Clone(r.v.Obs.Kinds[0].Values)
				must.Do(t, r.v.Step())
				must.Do(t, r.l.Observe(r.v))
				buf := r.l.Replay()
				if r.v.ResetStep[0] {
					if buf.Next() != want {
						t.Fatal("a reset in place of a step was stored as a transition")
					}
					continue
				}
				want++
				get := func(c int) []float32 {
					x := make([]float32, buf.Columns()[c].Width)
					buf.Gather(c, []int64{want - 1}, 1, x)
					return x
				}
				last := r.v.Terminated[0] || r.v.Truncated[0]
				if got := get(colObservation); !slices.Equal(got, saw) {
					t.Errorf("observation %v, want %v", got, saw)
				}
				if got := get(colNext); !slices.Equal(got, r.v.After.Kinds[0].Values) || (last && mode == envs.SameStep &&
					slices.Equal(got, r.v.Obs.Kinds[0].Values)) {
					t.Errorf("next observation %v is not the step's own, %v", got, r.v.After.Kinds[0].Values)
				}
				if got := get(colReward); !slices.Equal(got, r.v.Rewards[0]) {
					t.Errorf("rewards %v, want %v", got, r.v.Rewards[0])
				}
				discount := float32(math.Pow(0.9, float64(r.v.Elapsed[0])/2e6))
				if r.v.Terminated[0] {
					discount = 0
				}
				if got := get(colDiscount); got[0] != discount || got[1] != discount {
					t.Errorf("discounts %v, want %g (terminated %v, truncated %v)", got, discount, r.v.Terminated[0], r.v.Truncated[0])
				}
			}
		}
	}
}

// TestAbsentAgentsLearnNothing: where agent 1 comes and goes, the replay buffer marks its presence, and its discount is
// 0 where it leaves.
func TestAbsentAgentsLearnNothing(t *testing.T) {
	c := quick()
	c.Absent, c.LearningStarts = true, 1_000
	r := newRun(t, c, toyOptions{agents: 2, length: 4, absence: true}, envs.VectorOptions{NumEnvs: 1})
	r.steps(2)
	row := func(n int64, column int) []float32 {
		x := make([]float32, r.l.Replay().Columns()[column].Width)
		r.l.Replay().Gather(column, []int64{n}, 1, x)
		return x
	}
	if got, want := row(0, colDiscount), []float32{0.9, 0}; !slices.Equal(got, want) {
		t.Errorf("discounts where agent 1 leaves are %v, want %v", got, want)
	}
	if got, want := row(1, r.l.memory.present), []float32{1, 0}; !slices.Equal(got, want) {
		t.Errorf("presence is %v, want %v", got, want)
	}
	if got := row(1, colAction); got[2] != 0 || got[3] != 0 {
		t.Errorf("an absent agent's action is %v, want zeros", got[2:])
	}
	c.Absent = false
	r = newRun(t, c, toyOptions{agents: 2, length: 4, absence: true}, envs.VectorOptions{NumEnvs: 1})
	must.Do(t, r.l.Act(r.v))
	must.Do(t, r.v.Step())
	if err := r.l.Observe(r.v); err == nil || !strings.Contains(err.Error(), "absent is false, and toy 1") {
		t.Errorf("an unexpected absence gave %v", err)
	}
}

// TestBatch compares the uploaded minibatch with the rows it was drawn from: standardised, scaled, agent by agent, each
// mask in the noise of its own step.
func TestBatch(t *testing.T) {
	c := quick()
	c.LearningStarts, c.RewardScale, c.Batch = 1_000, 0.5, 8
	r := newRun(t, c, toyOptions{agents: 2, length: 4, choices: true, masked: true, end: true},
		envs.VectorOptions{NumEnvs: 1})
	r.steps(10)
	l := r.l
	must.Do(t, l.sampler.sample())
	get := func(x nets.Tensor) []float32 {
		v := make([]float32, nets.Size(x))
		x.Get(v)
		return v
	}
	row := func(c int, n int64) []float32 {
		x := make([]float32, l.Replay().Columns()[c].Width)
		l.Replay().Gather(c, []int64{n}, 1, x)
		return x
	}
	s, s2, a, rew, d := get(l.update.s), get(l.update.s2), get(l.update.a), get(l.update.r), get(l.update.discount)
	noise, noise2 := get(l.update.noise), get(l.update.noise2)
	for agent := range 2 {
		shift, scale := l.std.agent(agent).Affine()
		for b, n := range l.sampler.index {
			at := agent*8 + b
			for k := range 2 {
				want := (row(colObservation, n)[2*agent+k] - shift[k]) * scale[k]
				want2 := (row(colNext, n)[2*agent+k] - shift[k]) * scale[k]
				if s[2*at+k] != want || s2[2*at+k] != want2 {
					t.Errorf("agent %d, sample %d: sees %g, then %g, want %g, %g", agent, b, s[2*at+k], s2[2*at+k], want, want2)
				}
			}
			if got, want := a[5*at:5*at+5], row(colAction, n)[5*agent:5*agent+5]; !slices.Equal(got, want) {
				t.Errorf("agent %d, sample %d: action %v, want %v", agent, b, got, want)
			}
			if want := row(colReward, n)[agent] / 2; rew[at] != want {
				t.Errorf("agent %d, sample %d: reward %g, want %g", agent, b, rew[at], want)
			}
			step := int(n % 4) // of its episode
			if want := float32(0.9); (step == 3 && d[at] != 0) || (step < 3 && d[at] != want) {
				t.Errorf("agent %d, sample %d: discount %g at step %d", agent, b, d[at], step)
			}
			for k := range 5 {
				if forbidden := noise[5*at+k] < -1e8; forbidden != (k == 1+step%2) {
					t.Errorf("sample %d, choice %d at step %d: forbidden %v", b, k, step, forbidden)
				}
				if forbidden := noise2[5*at+k] < -1e8; forbidden != (k == 1+(step+1)%2) {
					t.Errorf("sample %d, choice %d after step %d: forbidden %v", b, k, step, forbidden)
				}
			}
		}
	}
}
