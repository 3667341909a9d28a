package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs/sim"
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
