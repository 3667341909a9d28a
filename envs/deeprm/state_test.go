package deeprm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// A saved state that the rules do not lead to is refused, even with a checksum that is right, and changes nothing.
func TestImpossibleStates(t *testing.T) {
	c := given(Job{0, 2, []int{3, 1}}, Job{1, 3, []int{2, 1}}, Job{2, 1, []int{4, 1}}, Job{3, 4, []int{1, 1}})
	for _, form := range []string{Compact, Image} {
		c.Observation = form
		p := play(t, c, 1, nil)
		p.do(0, -1, -1, -1) // job 0 has left, jobs 1 and 2 are visible, job 3 is in the backlog
		p.do(0, -1, -1)     // job 1 runs, job 3 is visible
		good := must.Get(p.env.AppendBinary(nil))(t)
		for _, x := range []struct {
			change func(e *Env)
			want   string
		}{
			{func(e *Env) { e.begun = false }, "under way that has not begun"},
			{func(e *Env) { e.now = -1 }, "time step -1"},
			{func(e *Env) { e.now = 2 }, "has not arrived"},
			{func(e *Env) { e.source.set = 1 }, "job set 1, there are 1"},
			{func(e *Env) { e.waiting = 3 }, "3 jobs wait in the backlog"},
			{func(e *Env) { e.first = -1 }, "from place -1 on"},
			{func(e *Env) { e.visible[0] = 77 }, "place 0: job 77 has not arrived"},
			{func(e *Env) { e.visible[0] = e.visible[1] }, "listed twice"},
			{func(e *Env) { e.active = append(e.active, 0) }, "job 0 runs in time steps 0 to 2"},
			{func(e *Env) { e.active = nil }, "job 1 is in no list"},
			{func(e *Env) { e.jobs[1].length = 9 }, "job 1 runs for 9 time steps"},
			{func(e *Env) { e.jobs[1].grey = -1 }, "grey level -1"},
			{func(e *Env) { e.jobs[0].demand++ }, "job 0 is not the one that arrives"},
			{func(e *Env) { e.visible[0] = -1 }, "0 dropped, want 2, 1, 1"},
			{func(e *Env) { e.tally.finished = 2 }, "2 finished, 0 dropped, want"},
			{func(e *Env) { e.started++ }, "3 jobs started"},
			{func(e *Env) { e.screen.place(0, &e.jobs[1]) }, "place 0 shows another job"},
			{func(e *Env) { e.screen.placed(e, &job{demand: 1, length: 1}, 4) }, "are shown free at +4"},
			{func(e *Env) { e.screen.seen()[0] = -1 }, "component 0 is -1"},
		} {
			bad := play(t, c, 1, nil)
			must.Do(t, bad.env.CopyFrom(p.env))
			x.change(bad.env)
			b := must.Get(bad.env.AppendBinary(nil))(t)
			if err := p.env.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: %v, want %q", form, err, x.want)
			}
			if now, _ := p.env.AppendBinary(nil); !slices.Equal(now, good) {
				t.Fatalf("%s: a refused state (%s) has changed the environment", form, x.want)
			}
		}
		other := must.Get(New(Default()))(t)
		if err := other.CopyFrom(p.env); err == nil || !strings.Contains(err.Error(), "another configuration") {
			t.Errorf("a copy from another configuration: %v", err)
		}
		if err := other.UnmarshalBinary(good); err == nil || !strings.Contains(err.Error(), "another configuration") {
			t.Errorf("a state of another configuration: %v", err)
		}
	}
}

// What is copied, and what a saved state leads to, is the same in every field, those too that are not saved.
func TestStateIsWhole(t *testing.T) {
	for _, f := range forms {
		p, q := play(t, f.config(), 5, nil), play(t, f.config(), 6, nil)
		for n := 0; !p.ended() && n < 400; n++ {
			p.do(slices.Index(p.obs.Kinds[0].Mask, true))
			if n%20 > 0 {
				continue
			}
			b := must.Get(p.env.AppendBinary(nil))(t)
			if err := q.env.UnmarshalBinary(b); err != nil {
				t.Fatalf("%s, step %d: %v", f.name, n, err)
			}
			a, c := p.env, q.env
			if !slices.Equal(a.cluster.free, c.cluster.free) || !slices.Equal(a.needs, c.needs) || a.shown != c.shown ||
				a.weight != c.weight ||
				a.soonest != c.soonest {
				t.Fatalf("%s, step %d: the loaded state has %v free, %d shown and weight %d, want %v, %d, %d", f.name, n,
					c.cluster.free, c.shown, c.weight, a.cluster.free, a.shown, a.weight)
			}
		}
	}
}
