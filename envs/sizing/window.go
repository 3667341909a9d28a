package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// simConfig is the simulation: the testbed's machines, and a function for each of the workflow's.
func (e *Env) simConfig() sim.Config {
	p := &e.cfg.Platform
	c := sim.Config{Placement: sim.SpreadFit, SketchBits: sim.NoSketch, Nodes: make([]sim.Node, e.app.machines(p))}
	for i := range c.Nodes {
		c.Nodes[i] = sim.Node{CPU: int32(p.CPU), Memory: int32(p.Memory)}
	}
	for f, name := range e.app.flow.Functions() {
		l := &e.app.laws[f]
		fn := sim.Function{
			Name: name, Demand: sim.Law{Mean: l.Work}, ColdStart: sim.Law{Mean: p.ColdStart},
			Sizing: e.sizing(f, e.initial()), Warm: true, Queue: sim.NoLimit, Timeout: sim.Seconds(p.Timeout),
			Dispatch:   sim.Random,
			RequestCPU: int32(math.Round(l.Parallel * 1000)), IdleMemory: int32(l.Idle), RequestMemory: int32(l.Memory),
		}
		if e.app.queued {
			fn.Dispatch = sim.LeastLoaded
		}
		c.Functions = append(c.Functions, fn)
	}
	return c
}

// initial is the configuration before the first decision.
func (e *Env) initial() Resources {
	var a [4]float64
	copy(a[:], e.cfg.Initial)
	return e.app.rng.decode(a)
}

// sizing converts resources to the simulator's settings.
func (e *Env) sizing(f int, r Resources) sim.Sizing {
	l := &e.app.laws[f]
	return sim.Sizing{
		CPU: int32(r.CPU), Memory: int32(r.Memory), Concurrency: int32(l.Fits(float64(r.Memory), r.Concurrency)),
		Speed: l.Speed(float64(r.CPU)), Contention: sim.Contention{Cores: l.Together(float64(r.CPU)),
			Alpha: l.Slowing(float64(r.CPU))},
		Min: int32(r.Replicas), Max: int32(r.Replicas),
	}
}

// machines is the number of machines. In a generated workflow it grows with the functions: Nodes are those for six
// functions, as many as Parallel has.
func (a *app) machines(p *Platform) int {
	if !a.generated {
		return p.Nodes
	}
	return (p.Nodes*a.flow.NumFunctions() + 5) / 6
}

// demanded returns the cores and MB that a configuration allocates.
func demanded(rs []Resources) (cores, memory float64) {
	for _, r := range rs {
		cores += float64(r.CPU*r.Replicas) / 1000
		memory += float64(r.Memory * r.Replicas)
	}
	return cores, memory
}

// refused reports whether a configuration needs more than all machines together have.
func (e *Env) refused(rs []Resources) bool {
	cores, memory := demanded(rs)
	return e.app.beyond(&e.cfg.Platform, cores, memory)
}

// beyond reports whether all machines together have less than so many cores and MB.
func (a *app) beyond(p *Platform, cores, memory float64) bool {
	n := a.machines(p)
	return cores*1000 > float64(n*p.CPU) || memory > float64(n*p.Memory)
}

// deploy deploys a configuration: as a new deployment, or by rolling update.
func (e *Env) deploy(rs []Resources) error {
	for f, r := range rs {
		z := e.sizing(f, r)
		if !e.fresh {
			if r == e.inForce[f] {
				continue
			}
			if err := e.sim.Resize(f, z); err != nil {
				return err
			}
			e.inForce[f] = r
			e.walk.OpenGate(f)
			continue
		}
		if err := e.sim.Flush(f); err != nil {
			return err
		}
		if err := e.sim.Redeploy(f, z, false); err != nil {
			return err
		}
		e.inForce[f] = r
	}
	return nil
}

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
	if n := e.noise[v.Function]; n.sigma > 0 {
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

// load sets the load of the episode: the number of users, or the slot at which its part of the workload begins.
func (e *Env) load(users, slot int) {
	e.userCount, e.slot = users, slot
	e.qos = e.cfg.thresholds(e.app, users)
	for i, x := range e.cfg.Initial[:e.app.rng.Components()] {
		for f := range e.inForce {
			e.action[f*e.app.rng.Components()+i] = float32(x)
		}
	}
	e.walk.Load(users, e.loadTime())
}

// loadTime is the time in the workload at which the current window begins, in microseconds.
func (e *Env) loadTime() int64 { return int64(e.slot+e.all) * int64(Window) }

// window runs one window under a configuration.
func (e *Env) window(rs []Resources) error {
	e.clear()
	e.interfere()
	refused := e.refused(rs)
	switch {
	case e.fresh && refused:
		// Nothing is deployed and no request is served, but time passes in the workload.
		e.measureNothing()
		e.walk.SeekTo(e.loadTime() + int64(Window))
	case e.fresh:
		if err := e.freshWindow(rs); err != nil {
			return err
		}
	default:
		if err := e.continuousWindow(rs, refused); err != nil {
			return err
		}
	}
	e.conclude(rs, refused)
	e.all++
	return nil
}

// freshWindow is FaaSConf's protocol: remove, deploy, wait, apply the load for 30 s, and wait for the requests in
// flight, which still appear in the functions' logs.
func (e *Env) freshWindow(rs []Resources) error {
	e.walk.Drop(e.seed, uint32(e.all+1))
	if err := e.deploy(rs); err != nil {
		return err
	}
	e.walk.Close()
	if err := e.walk.Run(e.sim.Now() + sim.Seconds(e.cfg.Platform.Settle)); err != nil {
		return err
	}
	e.clear() // the measurements contain the requests that the removal of the old deployment ended
	e.sim.ResetMeters()
	until := e.sim.Now() + Window
	e.walk.Begin(e.loadTime())
	e.walk.Open(until)
	if err := e.walk.Run(until); err != nil {
		return err
	}
	e.walk.Close()
	if err := e.walk.Run(until + sim.Seconds(e.cfg.Platform.Drain)); err != nil {
		return err
	}
	// The testbed's metrics are rates over a minute.
	e.measure(60)
	return nil
}

// continuousWindow continues from the last window.
func (e *Env) continuousWindow(rs []Resources, refused bool) error {
	if !refused {
		if err := e.deploy(rs); err != nil {
			return err
		}
	}
	e.sim.ResetMeters()
	if e.all == 0 {
		e.walk.Begin(e.loadTime())
	}
	until := e.sim.Now() + Window
	e.walk.Open(until)
	if err := e.walk.Run(until); err != nil {
		return err
	}
	e.measure(Window.Seconds())
	return nil
}

// interfere draws each function's random factor for the current window.
func (e *Env) interfere() {
	factor := newLogNormal(e.cfg.Noise.Window)
	for f := range e.interference {
		e.interference[f] = 1
		if factor.sigma > 0 {
			e.interference[f] = factor.draw(e.keys.window.With(uint64(f)).With(uint64(e.all)))
			e.draws("window", uint64(f), uint64(e.all), 0, e.interference[f])
		}
	}
}

// logNormal is the lognormal distribution with mean 1, given by the mean and standard deviation of its logarithm.
type logNormal struct{ mu, sigma float64 }

// newLogNormal returns the distribution with a coefficient of variation.
func newLogNormal(cv float64) logNormal {
	v := portable.Log1p(cv * cv)
	return logNormal{-v / 2, math.Sqrt(v)}
}

func (l logNormal) draw(k rng.Key) float64 { return portable.Exp(l.mu + float64(l.sigma*k.Norm())) }
