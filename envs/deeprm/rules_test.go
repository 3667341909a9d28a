package deeprm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

// Two jobs that cannot run together, worked by hand: A of 2 steps arrives at 0, B of 3 at 1.
func TestAnEpisodeByHand(t *testing.T) {
	p := play(t, given(Job{0, 2, []int{3, 1}}, Job{1, 3, []int{2, 1}}), 1, nil)
	if r := p.do(0); r != 0 || p.out.Elapsed != 0 || p.ended() {
		t.Fatalf("placing A: reward %g, %d µs, ended %v; want none of it", r, p.out.Elapsed, p.ended())
	}
	if u := p.out.Info[infoUtilisation]; u != 0 {
		t.Errorf("utilisation before A runs is %g", u)
	}
	// A runs in 0 and 1. At 1, B has come: −(1/2 + 1/3).
	if r := p.do(-1); r != float32(-5./6) || p.out.Elapsed != second {
		t.Errorf("to 1: reward %g, %d µs, want −5/6 and a second", r, p.out.Elapsed)
	}
	if u := p.out.Info[infoUtilisation]; u != 0.5 { // 3 and 1 of 4 slots
		t.Errorf("utilisation in 0 is %g, want 0.5", u)
	}
	if p.obs.Kinds[0].Mask[0] || !p.obs.Kinds[0].Mask[2] {
		t.Errorf("mask is %v; B does not fit beside A", p.obs.Kinds[0].Mask)
	}
	// At 2, A has left: −1/3, its slowdown is 1.
	if r := p.do(-1); r != float32(-1./3) || p.out.Info[infoSlowdown] != 1 || p.out.Info[infoFinished] != 1 {
		t.Errorf("to 2: reward %g, info %v", r, p.out.Info)
	}
	if s := p.env.AppendSamples(0, nil); !slices.Equal(s, []float64{1}) {
		t.Errorf("samples are %v, want 1", s)
	}
	p.do(0) // B runs in 2, 3 and 4, one step late
	if len(p.env.AppendSamples(0, nil)) != 0 {
		t.Error("a placement has samples")
	}
	p.do(-1, -1, -1)
	if want := (1 + 4./3) / 2; math.Abs(p.out.Info[infoSlowdown]-want) > 1e-12 || p.ended() {
		t.Errorf("slowdown is %g, ended %v; want %g and a last step in which a job may arrive", p.out.Info[infoSlowdown],
			p.ended(), want)
	}
	p.do(-1)
	if !p.out.Terminated || p.out.Truncated {
		t.Errorf("terminated %v, truncated %v after the last step of arrivals", p.out.Terminated, p.out.Truncated)
	}
}

// A job's start is booked where that is asked for: the first at which it fits, up to the horizon's end.
func TestBooking(t *testing.T) {
	jobs := []Job{{0, 2, []int{3, 1}}, {1, 4, []int{2, 1}}}
	for _, c := range []struct {
		name   string
		change func(*Config)
		mask   bool
		finish int32 // of the second job, 0 where choosing it is moving on
	}{
		{"now", func(c *Config) {}, false, 0},
		{"earliest", func(c *Config) { c.Start = StartEarliest }, true, 6},
		{"earliest, without the last start", func(c *Config) { c.Start, c.Defects.SkipLastStart = StartEarliest, true },
			false, 0},
	} {
		config := given(jobs...)
		c.change(&config)
		p := play(t, config, 1, nil)
		p.do(0, -1) // A runs in 0 and 1; in 1, B fits from 2 to 5, the last time step of the horizon
		if p.obs.Kinds[0].Mask[0] != c.mask {
			t.Errorf("%s: mask %v", c.name, p.obs.Kinds[0].Mask)
		}
		p.act.Kinds[0][0] = 0
		err := p.env.Step(p.act, p.obs, p.out)
		if (err == nil) != c.mask {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !c.mask && !strings.Contains(err.Error(), "place 0 is chosen, whose job of 4 time steps does not fit") {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := p.env.jobs[1].finish; got != c.finish {
			t.Errorf("%s: B finishes in %d, want %d", c.name, got, c.finish)
		}
		// Unmasked, choosing what cannot be placed is moving on.
		config.Mask = false
		p = play(t, config, 1, nil)
		p.do(0, -1, 0)
		if moved := p.out.Elapsed > 0; moved == c.mask {
			t.Errorf("%s, unmasked: time passes %v", c.name, moved)
		}
	}
}

func TestBacklogIsAQueue(t *testing.T) {
	var jobs []Job
	for at := range 6 {
		jobs = append(jobs, Job{at, 1 + at%2, []int{4, 1}})
	}
	p := play(t, given(jobs...), 1, nil)
	p.do(-1, -1, -1) // 0 and 1 are visible, 2 and 3 wait
	if p.env.waiting != 2 || p.out.Info[infoWaiting] != 4 {
		t.Fatalf("%d wait behind, %g in all", p.env.waiting, p.out.Info[infoWaiting])
	}
	p.do(-1)
	if p.out.Info[infoDropped] != 1 {
		t.Errorf("%g dropped, want job 4", p.out.Info[infoDropped])
	}
	p.do(1) // 1 starts, 2 takes its place
	if !slices.Equal(p.env.visible, []int32{0, 2}) {
		t.Errorf("visible are %v, want 0 and 2", p.env.visible)
	}
	p.do(-1) // 5 finds room behind 3
	for !p.ended() {
		p.do(slices.Index(p.obs.Kinds[0].Mask, true))
	}
	var order []int32
	for at, j := range p.env.jobs {
		if j.finish > 0 {
			order = append(order, int32(at))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return int(p.env.jobs[a].finish - p.env.jobs[b].finish) })
	// Each needs the whole of a resource, so that they run one after another: 0 in the first place, 3 and 5 of the
	// backlog in the place that was free first.
	if !slices.Equal(order, []int32{1, 0, 3, 5, 2}) || p.out.Info[infoFinished] != 5 {
		t.Errorf("jobs finish in the order %v, want 1, 0, 3, 5, 2", order)
	}
}

// A cut counts the jobs that it leaves behind.
func TestACutCountsWhatWaits(t *testing.T) {
	c := given(Job{0, 2, []int{3, 1}}, Job{1, 4, []int{2, 1}}, Job{2, 1, []int{1, 1}}, Job{3, 3, []int{1, 1}})
	c.MaxTime = 7
	p := play(t, c, 1, nil)
	for p.do(0); !p.ended(); p.do(-1) {
	}
	// The first has run, 8 time steps have passed; the second and third are visible, the fourth waits behind.
	if want := (1 + 7./4 + 6./1 + 5./3) / 4; !p.out.Truncated || math.Abs(p.out.Info[infoSlowdown]-want) > 1e-12 ||
		p.out.Info[infoFinished] != 1 {
		t.Errorf("truncated %v, info %v, want a slowdown of %g and one job finished", p.out.Truncated, p.out.Info, want)
	}
}

// The load of the defaults is what the arrivals bring.
func TestLoad(t *testing.T) {
	c := Default()
	if got := c.Load(); math.Abs(got-1.845*c.Rate) > 1e-12 {
		t.Errorf("load is %g, want 1.845 × rate", got)
	}
	c.Steps, c.Rate, c.MaxTime = 1<<16, 1, 1<<16
	s := newSource(&c)
	s.begin(3, -1)
	var sum [2]float64
	for i := range c.Steps {
		j := s.at(i)
		for r := range sum {
			sum[r] += float64(int(j.length) * lane(j.demand, r))
		}
	}
	for r := range sum {
		// One deviation of the mean of 65,536 products is 0.9 %.
		if got := sum[r] / float64(c.Steps*c.Slots); math.Abs(got/1.845-1) > 0.03 {
			t.Errorf("resource %d: load is %g, want 1.845", r, got)
		}
	}
}

// Sets recur whatever the seed; without them every seed has its own jobs.
func TestJobSets(t *testing.T) {
	c := Default()
	of := func(seed uint64, o envs.Options) (jobs []job) {
		p := play(t, c, seed, o)
		for !p.ended() {
			p.do(-1)
			if p.env.now > 50 {
				break
			}
		}
		return p.env.jobs
	}
	if slices.Equal(of(1, nil), of(2, nil)) || !slices.Equal(of(1, nil), of(1, nil)) {
		t.Error("without sets, jobs must follow from the seed")
	}
	c.Sets, c.SetSeed = 4, 9
	first := of(1, envs.Options{"set": 2})
	if !slices.Equal(first, of(5, envs.Options{"set": 2})) || slices.Equal(first, of(1, envs.Options{"set": 3})) {
		t.Error("a set must have its own jobs, the same under every seed")
	}
	seen := map[int]bool{}
	for seed := range uint64(40) {
		seen[play(t, c, seed, nil).env.Set()] = true
	}
	if len(seen) != 4 {
		t.Errorf("40 seeds choose %v, want all 4 sets", seen)
	}
	e := play(t, c, 1, nil).env
	for _, o := range []envs.Options{{"set": 4}, {"set": -1}, {"set": "1"}, {"sets": 1}} {
		if err := e.Reset(1, o, envs.NewObservation(e.Spec())); err == nil {
			t.Errorf("option %v is accepted", o)
		}
	}
}

func TestConfigurationsAreChecked(t *testing.T) {
	for _, b := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Dominant.High = 11 },
			"dominant.high is 11: such a job never fits, the cluster has 10 slots of each resource"},
		{func(c *Config) { c.Long.High = 21 }, "long.high is 21: such a job never fits, the cluster has 20 time steps " +
			"that can be booked"},
		{func(c *Config) { c.Other = Between{2, 1} }, "other is 2 to 1, want low ≤ high"},
		{func(c *Config) { c.Rate = math.NaN() }, "rate is NaN, want 0 to 1"},
		{func(c *Config) { c.Resources = 5 }, "resources is 5, want 1 to 4"},
		{func(c *Config) { c.Slots, c.Dominant.High, c.Visible, c.Horizon = 4096, 4096, 1024, 4096 },
			"observation is image of 34393300992 numbers, want at most 67108864, or compact"},
		{func(c *Config) { c.MaxTime = 10 }, "max_time is 10, want at least steps, 50"},
		{func(c *Config) { c.Start = "soon" }, `start is "soon", want one of now, earliest`},
		{func(c *Config) { c.Jobs = [][]Job{{{0, 1, []int{11, 1}}}} },
			"jobs[0][0] demands 11 slots of resource 0, want 1 to the 10 that the cluster has"},
		{func(c *Config) { c.Jobs = [][]Job{{{0, 1, []int{1}}}} }, "jobs[0][0] demands 1 resources, want 2"},
		{func(c *Config) { c.Jobs = [][]Job{{{0, 21, []int{1, 1}}}} },
			"jobs[0][0] runs for 21 time steps, want 1 to the 20 that can be booked"},
		{func(c *Config) { c.Jobs = [][]Job{{{3, 1, []int{1, 1}}, {3, 1, []int{1, 1}}}} },
			"jobs[0][1] arrives in time step 3 as jobs[0][0] does, want at most one in a step"},
		{func(c *Config) { c.Jobs = [][]Job{{{50, 1, []int{1, 1}}}} }, "jobs[0][0] arrives in time step 50, want 0 to 49"},
		{func(c *Config) { c.Jobs, c.Sets = [][]Job{{}}, 2 }, "sets is 2, but jobs has 1 sets; want 0 or as many"},
	} {
		c := Default()
		b.change(&c)
		if _, err := New(c); err == nil || err.Error() != b.want {
			t.Errorf("error is %v, want %s", err, b.want)
		}
	}
}

// A layout reads from either form of an observation what the cluster is.
func TestLayoutReads(t *testing.T) {
	for _, form := range []string{Image, Compact} {
		c := Default()
		c.Observation, c.Rate = form, 0.9
		l := NewLayout(&c)
		p := play(t, c, 4, nil)
		for n := 0; !p.ended(); n++ {
			values := p.obs.Kinds[0].Values
			for i, j := range p.env.visible {
				want := job{}
				if j >= 0 {
					want = p.env.jobs[j]
				}
				if got := l.Length(values, i); got != int(want.length) {
					t.Fatalf("%s, step %d: length in place %d is %d, want %d", form, n, i, got, want.length)
				}
				for r := range c.Resources {
					if got := l.Demand(values, i, r); got != lane(want.demand, r) {
						t.Fatalf("%s, step %d: demand of %d in place %d is %d, want %d", form, n, r, i, got, lane(want.demand, r))
					}
				}
			}
			for s := range c.Horizon {
				for r := range c.Resources {
					if got := l.Free(values, r, s); got != lane(p.env.cluster.free[s], r) {
						t.Fatalf("%s, step %d: %d free of %d at +%d, want %d", form, n, got, r, s, lane(p.env.cluster.free[s], r))
					}
				}
			}
			place := slices.Index(p.obs.Kinds[0].Mask, true)
			p.do(place)
		}
	}
}
