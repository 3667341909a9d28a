package bench

import (
	"math"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/rng"
)

// The published example of SimFaaS (Mahmoudi and Khazaei, 2021), which its peer script runs too: exponential warm
// service of 1.991 s on average, 600 s of keep-alive, one request at a time per instance, instances started on demand.
const (
	warmService = 1.991
	coldStart   = 2.244 - warmService
	keepAlive   = 600 * sim.Second
)

// arrivals submits Poisson arrivals one at a time.
type arrivals struct {
	key  rng.Key
	rate float64
	n    uint64
	at   float64 // seconds
}

func (a *arrivals) next(s *sim.Sim) error {
	a.at += a.key.With(a.n).Exp() / a.rate
	a.n++
	return s.Submit(sim.Request{ID: a.n, At: sim.Time(a.at * float64(sim.Second))})
}

// feeder submits the next request when one arrives, through a timer, so that the event calendar stays small.
type feeder struct {
	arrivals
	until uint64 // pause after so many arrivals; 0: never
	err   error
}

func (f *feeder) Finished(*sim.Sim, sim.Response) {}

func (f *feeder) Fired(s *sim.Sim, _ sim.Timer) {
	if f.err = f.next(s); f.err == nil {
		_, f.err = s.At(sim.Timer{At: sim.Time(f.at * float64(sim.Second))})
	}
	if f.err != nil || f.n == f.until {
		s.Pause()
	}
}

// simConfig turns on what the sizing environment uses (contention, a timeout, every meter) and quantiles, an SLO and
// prices. With one request per instance none of it changes when requests end.
func simConfig() sim.Config {
	return sim.Config{
		Functions: []sim.Function{{
			Name: "f", Demand: sim.Law{Kind: sim.Exponential, Mean: warmService},
			ColdStart: sim.Law{Kind: sim.Exponential, Mean: coldStart},
			KeepAlive: keepAlive, Queue: sim.NoLimit, BindCold: true, Timeout: 300 * sim.Second, SLO: 4 * sim.Second,
			RequestCPU: 400, IdleMemory: 60, RequestMemory: 20,
			Sizing: sim.Sizing{
				CPU: 1000, Memory: 512, GPU: 1, Concurrency: 1, Speed: 1, Contention: sim.Contention{Cores: 2, Alpha: 0.1},
				Max: sim.NoLimit,
			},
		}},
		Prices: sim.Prices{VCPUHour: 0.173, GBHour: 0.012, GPUSliceHour: 0.1},
	}
}

// loadFor is the offered load, in busy instances, at which about n instances are alive. n is taken as the peak of busy
// instances over one keep-alive time, load + 3√load, and solved for load.
func loadFor(n int) float64 {
	root := (math.Sqrt(9+4*float64(n)) - 3) / 2
	return root * root
}

// peerRates are the requests a second, by number of instances, that the peer's script uses, so that both do the same
// work.
var peerRates = map[int]float64{8: 0.9, 35: 9, 230: 90, 940: 450}

// runSim measures simulated requests a second at loads that keep about the requested numbers of instances alive.
func runSim(o Options, emit func(Result)) error {
	for _, n := range orDefault(o.Instances, 8, 35, 230, 940, 10_000) {
		rate, ok := peerRates[n]
		if !ok {
			rate = loadFor(n) / warmService
		}
		startMemory()
		s, err := sim.New(simConfig(), 1)
		if err != nil {
			return err
		}
		f := &feeder{arrivals: arrivals{key: rng.New(1, "bench arrivals"), rate: rate}}
		f.Fired(s, sim.Timer{})
		s.Run(f, 2*keepAlive)
		f.until = f.n
		const chunk = 1000 // requests between two readings of the clock
		got, err := o.measure(func() error {
			f.until += chunk
			s.Run(f, sim.Forever)
			return f.err
		})
		if err != nil {
			return err
		}
		got = got.scaled(chunk)
		emit(o.fill(Result{Bench: "sim", Size: n, RequestsPerSecond: got.perSecond()}, got))
	}
	return nil
}
