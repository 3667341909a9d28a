package deeprm

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/internal/must"
)

// want plays a waiting environment's first decision and the later ones in the same time step.
func want(t *testing.T, c deeprm.Config, r rule, places ...int) {
	t.Helper()
	w := newWorld(t, c, r)
	w.reset(1)
	if got := w.step(); got != 0 {
		t.Fatalf("%s: the first job is not started but %d chosen", r.name, got)
	}
	for range c.Jobs[0][0].Length {
		if got := w.step(); got != c.Visible {
			t.Fatalf("%s: chooses %d while nothing fits", r.name, got)
		}
	}
	var got []int
	for len(got) < len(places) {
		got = append(got, w.step())
	}
	if !slices.Equal(got, places) {
		t.Errorf("%s chooses %v, want %v", r.name, got, places)
	}
}

// Four jobs, of which each rule starts another. With 10 free of both resources, Σ free·demand and 1/length are
//
//	0: 9 steps of (6, 1): 70, 1/9     oldest
//	1: 10 steps of (10, 2): 120, 1/10  largest alignment
//	2: 5 steps of (9, 2): 110, 1/5     0.5·110/200 + 0.5/5 = 0.375; the others have 0.231, 0.35 and 0.275
//	3: 4 steps of (5, 1): 60, 1/4      shortest
//
// After the chosen one none of the others fits beside it, and time passes.
func TestEachRuleTakesAnother(t *testing.T) {
	jobs := []deeprm.Job{
		{Length: 9, Demand: []int{6, 1}}, {Length: 10, Demand: []int{10, 2}},
		{Length: 5, Demand: []int{9, 2}}, {Length: 4, Demand: []int{5, 1}},
	}
	c := waiting(jobs...)
	hold := c.Visible
	want(t, c, rules[0], 0, hold)
	want(t, c, rules[1], 3, hold)
	want(t, c, rules[2], 1, hold)
	want(t, c, rules[3], 2, hold)
	want(t, c, variants[2], 3, hold) // k = 0 is SJF
	want(t, c, variants[3], 1, hold) // k = 1 is Packer
}

// Of equal jobs the one in the lowest place starts, then the next while there is room: three times 3 of 10.
func TestTiesGoToTheLowestPlace(t *testing.T) {
	j := deeprm.Job{Length: 2, Demand: []int{3, 3}}
	c := waiting(j, j, j, j)
	for _, r := range rules[:4] {
		want(t, c, r, 0, 1, 2, c.Visible)
	}
}

// Jobs arrive in the order 0, 1, 2; the second does not fit beside the first. Strict FCFS makes all wait for it; with
// backfill the third runs meanwhile.
func TestFCFSBlocksUnlessBackfilled(t *testing.T) {
	c := waiting(deeprm.Job{Length: 5, Demand: []int{6, 1}}, deeprm.Job{Length: 2, Demand: []int{5, 1}},
		deeprm.Job{Length: 9, Demand: []int{1, 5}})
	want(t, c, rules[0], 0, c.Visible)
	want(t, c, variants[0], 0, 2, c.Visible)
}

// Packer's products change with the free resources: of (1, 3) and (1, 6), beside a job of (8, 1), it starts the second
// first.
func TestPackerSeesWhatIsLeft(t *testing.T) {
	c := waiting(deeprm.Job{Length: 3, Demand: []int{8, 1}}, deeprm.Job{Length: 1, Demand: []int{1, 3}},
		deeprm.Job{Length: 9, Demand: []int{1, 6}})
	want(t, c, rules[2], 0, 2, 1, c.Visible) // 90, 40, 70 with all free; then 2 + 27 and 2 + 54
}

// Strict FCFS starts jobs in the order in which they arrived, through refilled places and backlog. Lengths name the
// jobs.
func TestFCFSKeepsTheOrderOfArrival(t *testing.T) {
	c := compact()
	c.Visible, c.Jobs = 3, [][]deeprm.Job{nil}
	var order []int
	for i := range 19 {
		length := 1 + (i*7+3)%19
		order = append(order, length)
		c.Jobs[0] = append(c.Jobs[0], deeprm.Job{At: i, Length: length, Demand: []int{1 + (i*5)%9, 1 + (i*3)%7}})
	}
	w := newWorld(t, c, rules[0])
	w.reset(1)
	var got []int
	for !w.ended() {
		must.Do(t, w.policy.Act(w.obs, w.act, true))
		if a := int(w.act.Kinds[0][0]); a < c.Visible {
			got = append(got, w.layout.Length(w.obs.Kinds[0].Values, a))
		}
		must.Do(t, w.env.Step(w.act, w.obs, w.out))
	}
	if !slices.Equal(got, order) {
		t.Errorf("starts jobs of lengths %v, want %v", got, order)
	}
}

// Random starts each job that fits equally often, never one that does not, and lets time pass only where none fits.
func TestRandomIsUniform(t *testing.T) {
	c := waiting(deeprm.Job{Length: 1, Demand: []int{9, 1}}, deeprm.Job{Length: 9, Demand: []int{2, 9}},
		deeprm.Job{Length: 5, Demand: []int{5, 5}})
	w := newWorld(t, c, rules[4])
	w.reset(1)
	for range 4 {
		w.step()
	}
	const draws = 30_000
	count := make([]int, c.Visible+1)
	for range draws {
		must.Do(t, w.policy.Act(w.obs, w.act, false))
		count[int(w.act.Kinds[0][0])]++
	}
	chi := 0.0
	for _, n := range count[:3] {
		chi += math.Pow(float64(n)-draws/3, 2) / (draws / 3)
	}
	if rest := draws - count[0] - count[1] - count[2]; rest != 0 || chi > 13.8 { // 0.001 with two degrees of freedom
		t.Errorf("chooses %v, χ² %.1f; want a third each", count, chi)
	}
}

// Noise changes SJF's choices, but not a job's estimate while it waits: with two jobs and no arrivals the order of the
// two never changes.
func TestSJFEstimates(t *testing.T) {
	c := waiting(deeprm.Job{Length: 5, Demand: []int{6, 1}}, deeprm.Job{Length: 6, Demand: []int{6, 1}})
	first := map[int]int{}
	for seed := range uint64(200) {
		w := newWorld(t, c, variants[1])
		w.reset(seed)
		for range 3 {
			w.step()
		}
		place := -1
		for range 5 {
			must.Do(t, w.policy.Act(w.obs, w.act, true))
			a := int(w.act.Kinds[0][0])
			if place >= 0 && a != place {
				t.Fatalf("seed %d: takes %d, then %d", seed, place, a)
			}
			place = a
			w.policy.(*SJF).queue.chosen = -1 // nothing was started
		}
		first[place]++
	}
	// ln(6/5) is 0.26 deviations of the difference of two estimates: the longer is taken first in 40 % of cases.
	if n := first[1]; n < 55 || n > 105 || first[0]+n != 200 {
		t.Errorf("takes %v first, want the longer in about 80 of 200", first)
	}
}

// With every form of observation, image or compact, masked or not, a rule decides the same.
func TestObservationsDoNotMatter(t *testing.T) {
	for _, r := range append(slices.Clone(rules), variants...) {
		for seed := range uint64(3) {
			var slowdowns []float64
			for _, change := range []func(*deeprm.Config){
				func(*deeprm.Config) {},
				func(c *deeprm.Config) { c.Observation = deeprm.Image },
				func(c *deeprm.Config) { c.Mask = false },
				func(c *deeprm.Config) { c.Observation, c.Mask = deeprm.Image, false },
				func(c *deeprm.Config) { c.Start = deeprm.StartEarliest },
			} {
				c := compact()
				c.Rate = 1
				change(&c)
				s, _ := newWorld(t, c, r).episode(seed)
				slowdowns = append(slowdowns, s)
			}
			if slices.Min(slowdowns) != slices.Max(slowdowns) || slowdowns[0] <= 1 {
				t.Errorf("%s, seed %d: slowdowns %v, want equal ones", r.name, seed, slowdowns)
			}
		}
	}
}

// Copies and restored states continue the same, and foreign ones are refused.
func TestStates(t *testing.T) {
	all := append(slices.Clone(rules), variants...)
	for n, r := range all {
		c := compact()
		c.Rate = 1
		w := newWorld(t, c, r)
		w.reset(3)
		for range 60 {
			w.step()
		}
		saved, err := w.policy.AppendBinary(nil)
		must.Do(t, err)
		for _, copied := range []bool{true, false} {
			o := newWorld(t, c, r)
			must.Do(t, o.env.CopyFrom(w.env))
			if copied {
				err = o.policy.CopyFrom(w.policy)
			} else {
				err = o.policy.UnmarshalBinary(saved)
			}
			must.Do(t, err)
			o.obs.CopyFrom(w.obs)
			back := newWorld(t, c, r)
			must.Do(t, back.env.CopyFrom(w.env))
			back.obs.CopyFrom(w.obs)
			must.Do(t, back.policy.CopyFrom(w.policy))
			for i := range 100 {
				if a, b := back.step(), o.step(); a != b {
					t.Fatalf("%s (%d): choice %d is %d, of a copy %d", r.name, n, i, a, b)
				}
				if o.ended() {
					break
				}
			}
		}
		if err := w.policy.UnmarshalBinary(append(saved, 1, 2, 3)); err == nil {
			t.Errorf("%s: a state of the wrong length is accepted", r.name)
		}
		if other := newWorld(t, c, all[(n+1)%len(rules)]); other.policy.Name() != r.name {
			if err := w.policy.CopyFrom(other.policy); err == nil {
				t.Errorf("%s is copied from %s", r.name, other.policy.Name())
			}
		}
	}
}

func TestForeignEnvironmentsAndSettings(t *testing.T) {
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	for _, r := range rules {
		if _, err := r.build(pole); err == nil ||
			err.Error() != r.name+": acts in stoker/DeepRM-v1 only, not in stoker/CartPole-v1" {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	e := newWorld(t, compact(), rules[0]).env
	if _, err := NewTetrisStar(TetrisStarConfig{K: 2}, e); err == nil || err.Error() != "k is 2, want 0 to 1" {
		t.Error(err)
	}
	if _, err := NewSJF(SJFConfig{Noise: math.NaN()}, e); err == nil || err.Error() != "noise is NaN, want 0 to 10" {
		t.Error(err)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, r := range append(slices.Clone(rules), variants...) {
		w := newWorld(t, compact(), r)
		w.reset(1)
		if n := testing.AllocsPerRun(300, func() {
			if w.step(); w.ended() {
				w.reset(2)
			}
		}); n > 0 {
			t.Errorf("%s: %g allocations a step", r.name, n)
		}
	}
}

var _ = []envs.Policy{&FCFS{}, &SJF{}, &Packer{}, &TetrisStar{}, &Random{}}
