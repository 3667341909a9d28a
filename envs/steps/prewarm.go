package steps

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/internal/reuse"
)

// Prewarming (StepConf, §5). When the steps of a moment have been decided, the configuration of each step that comes next
// is predicted: the decider is asked as if what runs had ended on schedule. A step begins at τ − s, with τ its latest
// finish and s its sub-SLO; its instances are to be warm by then, so dummy calls start them at τᵖ = τ − s − t^m, with t^m
// the mapping delay of the instances: their starts one after the other, with one to spare, and a cold start that is two
// deviations longer than the mean. The schedule is a quantile of the times that the running steps are predicted to
// take (§5: a smaller one is earlier).
//
// A dummy call starts an instance, and costs its request and its cold start. Until the step begins the idle instance
// costs [EnvConfig.Idle]; one that is of no use, until the request ends. A step is prewarmed once. Instances that still
// start when the step begins are of no use to it.

// prewarming is what a request has prewarmed.
type prewarming struct {
	ahead    Decider
	quantile float64
	idle     float64 // USD per GB and second
	then     Moment  // as it is assumed for the next step
	comes    []int   // per step the edges into it that come from running steps
	begins   []float64
	calls    []dummies // per step
}

// dummies are the dummy calls for a step.
type dummies struct {
	n, size   int // instances, and the place of their memory size
	at        float64
	sent      bool
	unsettled bool // their idle time is not paid for
}

// prewarming begins for a request.
func (w *walk) beginPrewarming() {
	a := &w.ahead
	if a.ahead == nil {
		return
	}
	n := len(w.at.State)
	a.comes, a.begins, a.calls = reuse.Slice(a.comes, n), reuse.Slice(a.begins, n), reuse.Slice(a.calls, n)
	clear(a.calls)
	t := &a.then
	t.State, t.Choice, t.Ready = reuse.Slice(t.State, n), reuse.Slice(t.Choice, n), reuse.Slice(t.Ready, 1)
	t.Begun, t.Done = reuse.Slice(t.Begun, n), reuse.Slice(t.Done, n)
	a.ahead.Begin(w.m, w.at.SLO, w.at.Miss)
}

// predict plans the dummy calls of the steps that come next.
func (w *walk) predict() {
	a := &w.ahead
	clear(a.comes)
	clear(a.begins)
	for s, state := range w.at.State {
		if state != Running {
			continue
		}
		end := w.at.Begun[s] + w.m.Seconds(s, w.at.Choice[s], a.quantile, 0)
		end = max(end, w.at.Now)
		for _, e := range w.m.edges[s] {
			if e.to >= 0 && (e.p == 0 || e.p >= 0.5) {
				a.comes[e.to]++
				a.begins[e.to] = max(a.begins[e.to], end)
			}
		}
	}
	for s, state := range w.at.State {
		if state == Waiting && a.comes[s] > 0 && a.comes[s] == w.open[s] && !w.m.Free(s) && !a.calls[s].sent {
			w.plan(s, a.begins[s])
		}
	}
}

// plan plans the dummy calls of a step that is to begin at a time.
func (w *walk) plan(s int, begin float64) {
	a, p := &w.ahead, w.runner.platform
	t := &a.then
	t.Now, t.SLO, t.Spent, t.Miss, t.Warm = begin, w.at.SLO, w.at.Spent, w.at.Miss, w.at.Warm
	copy(t.State, w.at.State)
	copy(t.Choice, w.at.Choice)
	copy(t.Begun, w.at.Begun)
	copy(t.Done, w.at.Done)
	for r, state := range w.at.State {
		if state != Running {
			continue
		}
		if end := w.at.Begun[r] + w.m.Seconds(r, w.at.Choice[r], a.quantile, 0); end <= begin {
			t.State[r], t.Done[r] = Done, end
		}
	}
	t.State[s], t.Begun[s], t.Ready[0] = Ready, begin, s
	o := w.m.configuration(s, a.ahead.Decide(t, s))
	d := dummies{n: o.instances, size: slices.Index(p.Memory, o.mb)}
	if p.Together > 0 {
		d.n = min(d.n, p.Together)
	}
	d.n -= min(d.n, w.at.Warm[s][d.size])
	cold := float64(p.StartEvery*float64(d.n+1)) + float64(p.ColdStart*(1+float64(2*p.ColdCV)))
	d.at = max(w.at.Now, begin-cold)
	a.calls[s] = d
}

// call makes the dummy calls that are due before a time.
func (w *walk) call(until float64) {
	p := w.runner.platform
	for s := range w.ahead.calls {
		d := &w.ahead.calls[s]
		if d.sent || d.n == 0 || d.at > until || w.at.State[s] != Waiting && w.at.State[s] != Ready {
			continue
		}
		d.sent, d.unsettled = true, true
		for i := range d.n {
			ready, takes := w.dummy(s, i)
			w.runner.pool.put(s*len(p.Memory)+d.size, w.origin+ready, w.origin+w.at.Now)
			w.pay(float64(p.perSecond(p.Memory[d.size])*takes) + p.USDPerRun)
		}
		w.total.warmed += d.n
	}
}

// dummy is when the instance of a step's dummy call number i is ready, and how long its cold start takes.
func (w *walk) dummy(s, i int) (ready, takes float64) {
	p := w.runner.platform
	cold := law(spread{p.ColdStart, p.ColdCV})
	takes = cold.draw(w.key.With(uint64(s)).With(dummyCalls + uint64(i)))
	return w.ahead.calls[s].at + float64(p.StartEvery*float64(i+1)) + takes, takes
}

// dummyCalls keeps the draws of dummy calls apart from those of instances.
const dummyCalls = 1 << 24

// pay adds the price of prewarming.
func (w *walk) pay(usd float64) {
	w.at.Spent += usd
	w.total.prewarmingUSD += usd
}

// payIdle pays for the idle time of a step's prewarmed instances until a time, where the step has taken their size or the
// request ends.
func (w *walk) payIdle(s int, until float64) {
	d := &w.ahead.calls[s]
	if !d.unsettled {
		return
	}
	d.unsettled = false
	gb, seconds := float64(w.runner.platform.Memory[d.size])/1024, 0.0
	for i := range d.n {
		ready, _ := w.dummy(s, i)
		seconds += max(0, until-ready)
	}
	w.pay(float64(float64(w.ahead.idle*gb) * seconds))
}

// accompany gives a request the decider that prewarms for it.
func (g *Game) accompany(w *walk) error {
	c := &g.shelf.config
	if c.Prewarm == NoPrewarm || w.ahead.ahead != nil {
		return nil
	}
	d, err := g.given.Prewarm()
	if err != nil {
		return fmt.Errorf("prewarm: %w", err)
	}
	w.ahead.ahead, w.ahead.quantile, w.ahead.idle = d, c.PrewarmQuantile, c.Idle
	return nil
}
