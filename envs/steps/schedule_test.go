package steps

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// following decides by a plan, and notes what it is shown.
type following struct {
	plan  []int
	check func(at *Moment, step int)
}

func (f *following) Begin(*Model, float64, float64) {}

func (f *following) Decide(at *Moment, step int) int {
	if f.check != nil {
		f.check(at, step)
	}
	return f.plan[step]
}

func clustered(t *testing.T, workers int) *Model {
	t.Helper()
	a := must.Get(Preset("dag"))(t)
	return must.Get(a.compile(func(p *Platform) { p.Workers = workers }))(t)
}

// The schedule's mean end is within 12 % of the mean of played requests, whether steps are alone on the cluster or wait
// for each other; the longest path alone is far off where they wait. The price is within 12 % too.
func TestScheduleFollows(t *testing.T) {
	for _, workers := range []int{2, 6, 100} {
		m := clustered(t, workers)
		for name, pick := range map[string]func(int) int{
			"fastest": func(int) int { return 0 }, "best": func(s int) int { return m.Best[s] },
			"cheapest": func(s int) int { return len(m.Options[s]) - 1 },
		} {
			d := &following{}
			alone := make([]float64, len(m.Steps))
			loads := make([]Load, len(m.Steps))
			for s := range m.Steps {
				d.plan = append(d.plan, pick(s))
				loads[s], alone[s] = m.load(s, pick(s)), m.Options[s][pick(s)].Mean
			}
			var course Course
			d.check = func(at *Moment, step int) {
				if step == m.Flow.Entry() {
					var s Schedule
					s.Begin(m)
					course = s.Follow(at, loads)
				}
			}
			var p Player
			var seconds, usd float64
			const n = 40
			for k := range uint64(n) {
				x := p.Play(m, d, rng.New(k, "test"), 100, 1)
				seconds, usd = seconds+x.Seconds/n, usd+x.USD/n
			}
			if math.Abs(course.Seconds/seconds-1) > 0.12 || math.Abs(course.USD/usd-1) > 0.12 {
				t.Errorf("%d workers, %s: the schedule says %.3g s and %.3g USD, want about %.3g s and %.3g USD; the longest path is %.3g s",
					workers, name, course.Seconds, course.USD, seconds, usd, m.Longest(alone))
			}
			if workers == 2 && name == "fastest" && seconds < 1.5*m.Longest(alone) {
				t.Errorf("2 workers: a request takes %.3g s and its longest path %.3g s: nothing waits", seconds, m.Longest(alone))
			}
		}
	}
}

// What a moment shows of the cluster: no more cores than there are hold instances, a step that runs is there until it has
// ended, and one that found no room waits.
func TestRuns(t *testing.T) {
	m := clustered(t, 3)
	d, queued := &following{plan: make([]int, len(m.Steps))}, 0
	d.check = func(at *Moment, _ int) {
		cores, seen := 0, map[int]bool{}
		for _, r := range at.Runs {
			cores, queued = cores+r.Started*r.Cores, queued+r.Queued
			seen[r.Step] = true
			if r.Since > at.Now && r.Started > 0 || r.Started+r.Queued == 0 {
				t.Errorf("at %g: %+v", at.Now, r)
			}
		}
		if cores > m.Platform.AllCores() {
			t.Errorf("%d cores are held of %d", cores, m.Platform.AllCores())
		}
		for s, state := range at.State {
			if (state == Running) != seen[s] {
				t.Errorf("at %g: step %d is %d, and seen: %v", at.Now, s, state, seen[s])
			}
		}
	}
	var p Player
	p.Play(m, d, rng.New(1, "test"), 100, 1)
	if queued == 0 {
		t.Error("nothing waited")
	}
}

// On each cluster the best plan is predicted to be better than every plan to begin with, and deciding does not allocate.
func TestCrowdImproves(t *testing.T) {
	for _, workers := range []int{2, 6} {
		m := clustered(t, workers)
		var c SharedPlanner
		c.Begin(m)
		aim := func(at *Moment, x *Course) float64 { return x.USD + float64(at.Miss*x.Late(at.SLO)) }
		d := &following{plan: make([]int, len(m.Steps))}
		var first string
		d.check = func(at *Moment, step int) {
			least := c.start(at, aim)
			d.plan[step] = c.Best(at, step, aim)
			x := c.schedule.Follow(at, c.loads)
			if got := aim(at, &x); got > least {
				t.Errorf("%d workers, step %d: %g after the search, %g before", workers, step, got, least)
			}
			if first == "" {
				first = fmt.Sprint(testing.AllocsPerRun(2, func() { c.Best(at, step, aim) }))
			}
		}
		var p Player
		p.Play(m, d, rng.New(1, "test"), 3*m.Fastest, m.Unit)
		if first != "0" {
			t.Errorf("a decision allocates %s times", first)
		}
	}
}

// Within keeps to the cores, and with room for everything is the step's front.
func TestWithin(t *testing.T) {
	m := clustered(t, 6)
	for s := range m.Steps {
		if got := m.Within(s, 1000); len(got) != len(m.Options[s]) {
			t.Errorf("step %d: %d options within everything, want %d", s, len(got), len(m.Options[s]))
		}
		for _, o := range m.Within(s, 7) {
			if n := o.Instances * m.Platform.CoresOf(o.MB); n > 7 {
				t.Errorf("step %d: %+v takes %d cores, want at most 7", s, o, n)
			}
		}
	}
}
