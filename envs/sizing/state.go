package sizing

import (
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
)

// state is what changes during an episode, beside the simulation, the tracker and the arrivals.
type state struct {
	seed           uint64
	started, ended bool
	windows        int // decided ones so far
	all            int // all so far, those before the episode included
	qos            QoS
	userCount      int
	slot           int // of the workload, at which the windows before the episode begin
	// offset is the workload's time less the simulation's.
	offset int64
	next   workload.Arrival
	more   bool
	until  sim.Time // the end of the present window
	// open lets users ask again, counting takes the ends of requests into the window's numbers.
	open, counting bool
	// muted: no request begins any more.
	muted bool
	// generation tells the deployments of the fresh protocol apart.
	generation uint32
	asked      []uint32 // requests of each user in this generation
	inForce    []Resources
	action     []float32
	requests   []request
	gates      []gate
	visited    []sim.Time // per run and node, where there are gates
	// interference is the factor on each function's work in this window.
	interference []float64
	lastLoad     float64
	// The present window so far.
	begun, failures int
	latencies       []float64   // of successes, in seconds
	durations       [][]float64 // of each function's completed visits, in seconds
	// The last window's numbers.
	result
}

func (s *state) init(a *app) {
	n := a.flow.NumFunctions()
	s.inForce = make([]Resources, n)
	s.action = make([]float32, n*a.rng.Components())
	s.gates = make([]gate, n)
	s.interference = make([]float64, n)
	s.durations = make([][]float64, n)
	s.functions = make([]functionResult, n)
}

// reset empties the state for a new episode.
func (s *state) reset(seed uint64) {
	s.clear()
	*s = state{
		seed: seed, asked: s.asked[:0], inForce: s.inForce, action: s.action, requests: s.requests[:0], gates: s.gates,
		visited: s.visited[:0], interference: s.interference, latencies: s.latencies, durations: s.durations,
		result: result{functions: s.functions},
	}
	for i := range s.gates {
		s.gates[i].clear()
	}
	clear(s.functions)
}

// clear empties the window's books.
func (s *state) clear() {
	s.begun, s.failures, s.latencies = 0, 0, s.latencies[:0]
	for f := range s.durations {
		s.durations[f] = s.durations[f][:0]
	}
}
