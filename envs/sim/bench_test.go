package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// farm is one function in SimFaaS's measure with every meter on: n ready instances, exponential service of 1.991 s,
// expiry after 600 s; requests come at a rate that keeps the given share of them busy.
func farm(n, concurrency int32) Config {
	return Config{
		Functions: []Function{{
			Demand: Law{Kind: Exponential, Mean: 1.991}, ColdStart: Law{Kind: Exponential, Mean: 0.253},
			Warm: true, Queue: NoLimit, KeepAlive: 600 * Second, SLO: 4 * Second, RequestCPU: 400, IdleMemory: 60,
			RequestMemory: 20,
			Sizing: Sizing{
				CPU: 1000, Memory: 512, GPU: 1, Concurrency: concurrency, Speed: 1.3, Contention: Contention{Cores: 2, Alpha: 0.1},
				Min: n, Max: n,
			},
		}},
		Prices: Prices{VCPUHour: 0.173, GBHour: 0.012, GPUSliceHour: 0.1},
	}
}

// BenchmarkRequests gives the time of a whole request (draw, arrival, dispatch, contention, completion, meters, and the
// caller's timer that brings the next) at growing numbers of instances.
func BenchmarkRequests(b *testing.B) {
	for _, concurrency := range []int32{1, 4} {
		for _, n := range []int32{8, 35, 230, 940, 10000} {
			b.Run(fmt.Sprintf("concurrency=%d/instances=%d", concurrency, n), func(b *testing.B) {
				s := mustNew(b, farm(n, concurrency), 1)
				p := &poisson{t: b, key: rng.New(1, "arrivals"), rate: 0.4 * float64(n), limit: math.MaxUint64}
				if concurrency > 1 {
					p.rate = 0.7 * float64(n) // of about one a second that an instance can do under this contention
				}
				p.start(s)
				var m Meter
				for s.Total(&m); m.Completed < int64(20*n); s.Total(&m) { // warm up
					s.Run(p, s.Now()+Second)
				}
				s.ResetMeters()
				step := Seconds(30 / p.rate)
				b.ReportAllocs()
				b.ResetTimer()
				for first := p.next; p.next-first < uint64(b.N); {
					s.Run(p, s.Now()+step)
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
				s.Total(&m)
				b.ReportMetric(m.Instances(), "instances")
			})
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	s := mustNew(b, farm(230, 4), 1)
	p := &poisson{t: b, key: rng.New(1, "arrivals"), rate: 230, limit: math.MaxUint64}
	p.start(s)
	s.Run(p, 30*Second)
	var c Sim
	b.ReportAllocs()
	for b.Loop() {
		c.CopyFrom(s)
	}
}
