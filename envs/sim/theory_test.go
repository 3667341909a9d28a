package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// users is a closed loop: each thinks, asks, and thinks again, as package workload has them do.
type users struct {
	t     testing.TB
	they  workload.Users
	asked []uint64
}

func (u *users) sleep(s *Sim, user uint64) {
	z := Time(u.they.Think(int(user), u.asked[user]))
	if _, err := s.At(Timer{At: s.Now() + z, Payload: user}); err != nil {
		u.t.Fatal(err)
	}
}

func (u *users) Fired(s *Sim, t Timer) {
	if err := s.Submit(Request{ID: t.Payload<<32 | u.asked[t.Payload], Tag: t.Payload, At: s.Now()}); err != nil {
		u.t.Fatal(err)
	}
	u.asked[t.Payload]++
}

func (u *users) Finished(s *Sim, r Response) { u.sleep(s, r.Tag) }

// Processor sharing is insensitive: M/G/1-PS has the mean sojourn E[S]/(1-ρ) whatever the law, and a sojourn
// proportional to the demand. With Cores = 1 and with Alpha = 1 alike.
func TestProcessorSharing(t *testing.T) {
	for name, contention := range map[string]Contention{"cores": {Cores: 1}, "alpha": {Alpha: 1}} {
		for _, law := range []Law{{Kind: Exponential, Mean: 0.1}, {Kind: Lognormal, Mean: 0.1, CV: 1.5},
			{Kind: Deterministic, Mean: 0.1}} {
			t.Run(name+" "+law.Kind.String(), func(t *testing.T) {
				const rho, speed = 0.6, 2.0
				mean := law.Mean / speed
				cfg := station(law, 1, NoLimit)
				cfg.Functions[0].Sizing.Concurrency = 1000
				cfg.Functions[0].Sizing.Contention = contention
				cfg.Functions[0].Sizing.Speed = speed
				s := mustNew(t, cfg, 5)
				p := &poisson{t: t, key: rng.New(5, "arrivals"), rate: rho / mean, limit: math.MaxUint64}
				p.start(s)
				window := Seconds(2000 / p.rate)
				got, half := batches(s, p, window, window, meanLatency, (*Meter).Running)
				agree(t, "mean latency", got[0], half[0], mean/(1-rho), 0.1)
				agree(t, "number running", got[1], half[1], rho/(1-rho), 0.1)
			})
		}
	}
}

// A station with c cores and room for all is M/M/c in its number of requests.
func TestCores(t *testing.T) {
	const c, mean, rho = 3, 0.1, 0.7
	cfg := station(Law{Kind: Exponential, Mean: mean}, 1, NoLimit)
	cfg.Functions[0].Sizing.Concurrency = 1000
	cfg.Functions[0].Sizing.Contention = Contention{Cores: c}
	s := mustNew(t, cfg, 6)
	p := &poisson{t: t, key: rng.New(6, "arrivals"), rate: rho * c / mean, limit: math.MaxUint64}
	p.start(s)
	window := Seconds(5000 / p.rate)
	got, half := batches(s, p, window, window, (*Meter).Running)
	agree(t, "number running", got[0], half[0], erlangC(c, rho*c)*rho/(1-rho)+rho*c, 0.05)
}

// Little's law holds over any window that begins and ends empty, exactly: the time in system of all requests is the
// area under the number in system.
func TestLittle(t *testing.T) {
	cfg := station(Law{Kind: Lognormal, Mean: 0.1, CV: 1}, 2, 5)
	f := &cfg.Functions[0]
	f.Sizing = Sizing{Concurrency: 3, Speed: 1, Contention: Contention{Alpha: 0.4}, Max: 4}
	f.Warm, f.ColdStart, f.KeepAlive = false, Law{Kind: Exponential, Mean: 0.5}, Second
	f.QueueTimeout, f.Timeout = Seconds(0.2), Seconds(0.6)
	s := mustNew(t, cfg, 7)
	var sum Time
	count := map[Outcome]int{}
	p := &poisson{t: t, key: rng.New(7, "arrivals"), rate: 120, limit: 20000, done: func(r Response) {
		sum += r.Latency()
		count[r.Outcome]++
	}}
	p.start(s)
	s.Run(p, Forever)
	var m Meter
	s.Total(&m)
	area := m.area[lvWaiting].float() + m.area[lvRunning].float()
	if count[Completed] < 1000 || count[Rejected] < 1000 || count[TimedOut] < 100 || m.Arrived != 20000 {
		t.Errorf("ends %v of %d: the case should see completions, rejections and timeouts", count, m.Arrived)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
	proof.Claim(t, proof.Row{
		Topic: "simulator",
		Claim: fmt.Sprintf("Little's law: the area under the number in system is the sum of all times in system (%d requests: %d completed, %d rejected, %d timed out, cold starts, contention)",
			m.Arrived, count[Completed], count[Rejected], count[TimedOut]),
		Bound:    "equal, in whole microseconds",
		Measured: fmt.Sprintf("%.0f µs and %.0f µs", area, float64(sum)),
		Holds:    area == float64(sum),
	})
}
