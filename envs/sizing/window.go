package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

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
		if factor.sigma > 0 && !e.quiet {
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
