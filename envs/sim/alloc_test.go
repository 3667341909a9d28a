package sim

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/rng"
)

// Nothing allocates once every shape of work has been seen: a window of events, reading and resetting meters, every
// kind of resize, copying, saving into a large enough buffer and Reset.
func TestNoAllocation(t *testing.T) {
	s := lively(t)
	p := &poisson{t: t, key: rng.New(1, "arrivals"), rate: 120, limit: math.MaxUint64}
	p.start(s)
	var m Meter
	var c Sim
	sizings := [2]Sizing{s.Sizing(0), s.Sizing(0)}
	sizings[1].Concurrency, sizings[1].CPU, sizings[1].Min = 7, 900, 2
	turn := 0
	failed := false
	cycle := func() {
		turn++
		z := sizings[turn%2]
		var err error
		switch turn % 8 / 2 {
		case 0:
			err = s.Resize(0, z)
		case 1:
			err = s.Redeploy(0, z, true)
		case 2:
			err = s.Redeploy(0, z, false)
		case 3:
			z.Max += int32(turn % 2)
			err = s.Resize(0, z)
		}
		failed = failed || err != nil
		s.Run(p, s.Now()+500*ms)
		s.Total(&m)
		s.Meter(1, &m)
		s.ResetMeters()
		if turn%40 == 0 {
			s.Reset(uint64(turn))
			p.start(s)
		}
	}
	for range 200 {
		cycle()
	}
	if n := testing.AllocsPerRun(200, cycle); n != 0 || failed {
		t.Errorf("a window allocates %v times (%v)", n, failed)
	}
	c.CopyFrom(s)
	if n := statetest.Allocations(func() {
		cycle()
		c.CopyFrom(s)
	}); n != 0 || failed {
		t.Errorf("a window with a copy allocates %v times (%v)", n, failed)
	}
}

// Memory of the pools stays that of the busiest moment: a long run under load does not grow them.
func TestPoolsDoNotGrow(t *testing.T) {
	s := mustNew(t, station(Law{Kind: Exponential, Mean: 0.1}, 4, 20), 1)
	p := &poisson{t: t, key: rng.New(1, "arrivals"), rate: 60, limit: math.MaxUint64}
	p.start(s)
	s.Run(p, Hour)
	if len(s.reqs) > 40 || len(s.insts) != 4 || len(s.timers) != 1 || cap(s.cal.heap) > 64 || cap(s.cal.due) > 64 {
		t.Errorf("pools hold %d requests, %d instances, %d timers, %d events, %d due",
			len(s.reqs), len(s.insts), len(s.timers), cap(s.cal.heap), cap(s.cal.due))
	}
}
