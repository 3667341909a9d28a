package sizing

import (
	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
)

// newWalk makes the requests' walk through the workflow, on the testbed's machines.
func (e *Env) newWalk() error {
	p := &e.cfg.Platform
	var err error
	e.walk, err = serve.New(serve.Config{
		Flow: e.app.flow, Platform: e.simConfig(), Source: e.source,
		Delay: sim.Seconds(p.Orchestrator), Hop: sim.Seconds(p.Hop),
		Abort: p.OnFailure == AbortOnFailure, Ignored: e.app.unused,
		Hooks: serve.Hooks{
			Work: e.work, Places: e.places, Began: e.began, Ran: e.ran, Returned: e.returned, Ended: e.requestEnded,
			Drew: e.draws,
		},
	})
	if err == nil {
		e.sim = e.walk.Sim()
	}
	return err
}

// work is what a visit's law and its key give.
func (e *Env) work(v *serve.Visit) (seconds float64, number uint64) {
	l := &e.app.laws[v.Function]
	factor := 1.0
	if n := e.noise[v.Function]; n.sigma > 0 && !e.quiet {
		factor = n.draw(e.demand.Key(v))
		e.draws("demand", v.A, v.B, uint64(v.Node)<<32|uint64(v.Number), factor)
	}
	work := l.Work * factor * e.interference[v.Function]
	if v.Spoilt {
		work *= l.Spoilt
	}
	return work, e.request.Key(v).Uint64()
}

// name has the draws of service times and instances named by the keys.
func (e *Env) name() {
	e.demand.Set(e.keys.demand)
	e.request.Set(e.keys.request)
}

// places is the number of requests that a function's instances can hold.
func (e *Env) places(f int) int { return e.inForce[f].Replicas * e.inForce[f].Concurrency }

func (e *Env) began(serve.Request) { e.begun++ }

// ran notes the duration of a visit of a function that calls no others.
func (e *Env) ran(r *serve.Run) {
	if f := r.Function; r.Outcome == sim.Completed && !e.walk.Gated(int(f)) {
		e.durations[f] = append(e.durations[f], (r.Ended - r.Arrived).Seconds())
	}
}

// returned notes the duration of a visit of a function that calls others.
func (e *Env) returned(f int, took sim.Time) { e.durations[f] = append(e.durations[f], took.Seconds()) }

// requestEnded notes a request's failure or latency.
func (e *Env) requestEnded(q serve.Request) {
	switch {
	case !q.Counted:
	case q.Failed:
		e.failures++
	default:
		e.latencies = append(e.latencies, (e.sim.Now() - q.Begun).Seconds())
	}
}

func (e *Env) draws(purpose string, a, b, c uint64, value float64) {
	if e.trace != nil {
		e.trace(purpose, a, b, c, value)
	}
}
