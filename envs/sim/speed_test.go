package sim

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// speedOf is set in the processes that TestSpeed starts: what one of them measures, as a JSON speedCase.
var speedOf = flag.String("speed-of", "", "measure one case of TestSpeed, in JSON, and print the result")

// speedCase is a simulation to measure: SimFaaS's with requests at a rate, or a fixed pool of instances.
type speedCase struct {
	Rate        float64 `json:"rate,omitempty"` // requests a second of SimFaaS's case
	Instances   int32   `json:"instances,omitempty"`
	Concurrency int32   `json:"concurrency,omitempty"`
	Seconds     float64 `json:"seconds"`            // to measure for
	Requests    int64   `json:"requests,omitempty"` // in place of Seconds: to measure
}

// speed is what one measurement gave.
type speed struct {
	Nanoseconds float64 `json:"ns_per_request"`
	Instances   float64 `json:"instances"`
	Requests    int64   `json:"requests"`
	Cold        float64 `json:"cold_share"`
	Allocations float64 `json:"allocs_per_request"`
	Completed   int64   `json:"completed"`
}

// allMeters is SimFaaS's published case with what sizing has on: contention, a timeout and every meter; quantiles, an
// SLO and prices too, which sizing does without. None of it changes when requests end: with one request in an instance
// contention slows nothing.
func allMeters() Config {
	cfg := simfaas()
	f := &cfg.Functions[0]
	f.Queue, f.Timeout, f.SLO, f.RequestCPU, f.IdleMemory, f.RequestMemory = NoLimit, 300*Second, 4*Second, 400, 60, 20
	f.Sizing.CPU, f.Sizing.Memory, f.Sizing.GPU, f.Sizing.Max = 1000, 512, 1, NoLimit
	f.Sizing.Contention = Contention{Cores: 2, Alpha: 0.1}
	cfg.Prices = Prices{VCPUHour: 0.173, GBHour: 0.012, GPUSliceHour: 0.1}
	return cfg
}

// ahead submits each request when the simulation has run up to its arrival, so that no timer is needed.
type ahead struct {
	key  rng.Key
	rate float64
	n    uint64
	at   Time
}

func (a *ahead) run(t testing.TB, s *Sim, n int) {
	for range n {
		a.at += Seconds(a.key.With(a.n).Exp() / a.rate)
		if a.at > s.Now() {
			s.Run(nil, a.at)
		}
		must.Do(t, s.Submit(Request{ID: a.n, At: a.at}))
		a.n++
	}
}

// measureSpeed runs a case until it is in its steady state and then for its seconds.
func measureSpeed(t testing.TB, c speedCase) speed {
	a := &ahead{key: rng.New(1, "arrivals"), rate: c.Rate}
	var s *Sim
	if c.Rate > 0 {
		s = mustNew(t, allMeters(), 1)
		a.run(t, s, int(1200*c.Rate)) // two keep-alives
	} else {
		s = mustNew(t, farm(c.Instances, c.Concurrency), 1)
		if a.rate = 0.4 * float64(c.Instances); c.Concurrency > 1 {
			a.rate = 0.7 * float64(c.Instances)
		}
		a.run(t, s, 20*int(c.Instances))
	}
	s.ResetMeters()
	var before, after runtime.MemStats
	var took time.Duration
	var n int64
	runtime.GC()
	runtime.ReadMemStats(&before)
	for start := time.Now(); n < c.Requests || took.Seconds() < c.Seconds; took = time.Since(start) {
		a.run(t, s, 1000)
		n += 1000
	}
	runtime.ReadMemStats(&after)
	var m Meter
	s.Total(&m)
	return speed{
		Nanoseconds: float64(took) / float64(n), Instances: m.Instances(), Requests: n, Completed: m.Completed,
		Cold: float64(m.Cold) / float64(max(m.Started, 1)), Allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}

// TestSpeedOf is the other half of TestSpeed; with no flag it is a short check that cases are what they say.
func TestSpeedOf(t *testing.T) {
	if *speedOf != "" {
		var c speedCase
		must.Do(t, json.Unmarshal([]byte(*speedOf), &c))
		must.Do(t, json.NewEncoder(os.Stdout).Encode(measureSpeed(t, c)))
		return
	}
	for _, c := range []speedCase{{Rate: 9, Requests: 20_000}, {Instances: 35, Concurrency: 4, Requests: 20_000}} {
		v := measureSpeed(t, c)
		if v.Nanoseconds <= 0 || math.Abs(v.Instances-35) > 8 || v.Completed < v.Requests*9/10 ||
			math.Round(100*v.Allocations) > 0 {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// Memory per instance and per waiting request: what the heap grows by, with room to grow that the pools keep, and what
// they hold themselves.
func memoryOf(t testing.TB) (instance, queued [2]float64) {
	const n = 1 << 17
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	empty := farm(1, 1)
	empty.Functions[0].Sizing.Max = NoLimit
	grow := func(cfg Config, requests int) (s *Sim, grown float64) {
		before := heap()
		s = mustNew(t, cfg, 1)
		for i := range requests {
			must.Do(t, s.Submit(Request{ID: uint64(i), At: s.Now()}))
		}
		s.Run(nil, s.Now()+1)
		grown = heap() - before
		runtime.KeepAlive(s)
		return s, grown
	}
	_, base := grow(empty, 0)
	many := empty
	many.Functions = append([]Function(nil), empty.Functions...)
	many.Functions[0].Sizing.Min = n
	s, a := grow(many, 0)
	instance[0], instance[1] = (a-base)/n, poolBytes(s)/n
	alone := empty
	alone.Functions = append([]Function(nil), empty.Functions...)
	alone.Functions[0].Sizing.Max = 1
	s, b := grow(alone, n+1)
	queued[0], queued[1] = (b-base)/n, poolBytes(s)/n
	return instance, queued
}

// columns writes CSV.
func columns(cells ...any) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		switch x := c.(type) {
		case float64:
			b.WriteString(strconv.FormatFloat(x, 'g', 6, 64))
		case int:
			b.WriteString(strconv.Itoa(x))
		case string:
			b.WriteString(x)
		}
	}
	return b.String() + "\n"
}
