package sim

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// Pollaczek and Khinchine: the mean wait in M/G/1 is ρ·(1+c²)/2·E[S]/(1-ρ).
func TestMG1(t *testing.T) {
	table := []float64{0.01, 0.02, 0.05, 0.06, 0.4}
	for name, law := range map[string]Law{
		"deterministic": {Kind: Deterministic, Mean: 0.1},
		"erlang 3":      Erlang(0.1, 3),
		"gamma":         {Kind: Gamma, Mean: 0.1, CV: 1.4},
		"lognormal":     {Kind: Lognormal, Mean: 0.1, CV: 0.8},
		"empirical":     {Kind: Empirical, Table: table},
	} {
		t.Run(name, func(t *testing.T) {
			mean, scv := law.Moments()
			const rho = 0.6
			s := mustNew(t, station(law, 1, NoLimit), 2)
			p := &poisson{t: t, key: rng.New(2, "arrivals"), rate: rho / mean, limit: math.MaxUint64}
			p.start(s)
			window := Seconds(8000 * mean / rho)
			got, half := batches(s, p, window, window, meanWait)
			agree(t, "mean wait", got[0], half[0], rho*(1+scv)/2*mean/(1-rho), 0.1)
		})
	}
}

// M/M/c/K: with room for K in the system, P(n) follows by birth and death; losses are P(K).
func TestMMcK(t *testing.T) {
	for _, x := range []struct {
		name     string
		c, queue int32
		inflight int32 // the same K by MaxInflight instead
		load     float64
	}{{"erlang loss", 8, 0, 0, 6}, {"queue", 3, 4, 0, 3.2}, {"max inflight", 3, NoLimit, 7, 3.2}} {
		t.Run(x.name, func(t *testing.T) {
			const mean = 0.1
			cfg := station(Law{Kind: Exponential, Mean: mean}, x.c, x.queue)
			cfg.Functions[0].MaxInflight = x.inflight
			capacity := int(x.c + x.queue)
			if x.inflight > 0 {
				capacity = int(x.inflight)
			}
			p, sum := make([]float64, capacity+1), 1.0
			p[0] = 1
			for n := 1; n <= capacity; n++ {
				p[n] = p[n-1] * x.load / float64(min(n, int(x.c)))
				sum += p[n]
			}
			inSystem := 0.0
			for n := range p {
				inSystem += float64(n) * p[n] / sum
			}
			s := mustNew(t, cfg, 3)
			src := &poisson{t: t, key: rng.New(3, "arrivals"), rate: x.load / mean, limit: math.MaxUint64}
			src.start(s)
			window := Seconds(8000 / src.rate)
			got, half := batches(s, src, window, window,
				func(m *Meter) float64 { return float64(m.Rejected) / float64(m.Arrived) }, (*Meter).InSystem)
			agree(t, "loss probability", got[0], half[0], p[capacity]/sum, 0.05)
			agree(t, "number in system", got[1], half[1], inSystem, 0.05)
		})
	}
}

// users is a closed loop: each thinks, asks, and thinks again.
type users struct {
	t     testing.TB
	key   rng.Key
	think float64
	asked []uint64
}

func (u *users) sleep(s *Sim, user uint64) {
	z := Seconds(u.think * u.key.With(user).With(u.asked[user]).Exp())
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

// M/M/c//N (machine repair): N users think for a mean of Z, c servers.
func TestClosedLoop(t *testing.T) {
	const n, c, mean, think = 10, 3, 0.1, 0.3
	s := mustNew(t, station(Law{Kind: Exponential, Mean: mean}, c, NoLimit), 4)
	u := &users{t: t, key: rng.New(4, "think"), think: think, asked: make([]uint64, n)}
	for i := range u.asked {
		u.sleep(s, uint64(i))
	}
	p, sum, inSystem := 1.0, 1.0, 0.0
	for k := 1; k <= n; k++ {
		p *= float64(n-k+1) / think / (float64(min(k, c)) / mean)
		sum += p
		inSystem += float64(k) * p
	}
	inSystem /= sum
	lambda := (n - inSystem) / think
	got, half := batches(s, u, Seconds(100), Seconds(300), (*Meter).InSystem, (*Meter).Throughput, meanLatency)
	agree(t, "number in system", got[0], half[0], inSystem, 0.02)
	agree(t, "throughput", got[1], half[1], lambda, 0.02)
	agree(t, "mean latency", got[2], half[2], inSystem/lambda, 0.02)
}

// Processor sharing is insensitive: M/G/1-PS has the mean sojourn E[S]/(1-ρ) whatever the law, and a sojourn
// proportional to the demand. With Cores = 1 and with Alpha = 1 alike.
func TestProcessorSharing(t *testing.T) {
	for name, contention := range map[string]Contention{"cores": {Cores: 1}, "alpha": {Alpha: 1}} {
		for _, law := range []Law{{Kind: Exponential, Mean: 0.1}, {Kind: Lognormal, Mean: 0.1, CV: 1.5}, {Kind: Deterministic, Mean: 0.1}} {
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
				window := Seconds(5000 / p.rate)
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
	window := Seconds(10000 / p.rate)
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
	if got := m.area[lvWaiting].float() + m.area[lvRunning].float(); got != float64(sum) {
		t.Errorf("area under the number in system is %v µs, all latencies sum to %v", got, sum)
	}
	if count[Completed] < 1000 || count[Rejected] < 1000 || count[TimedOut] < 100 || m.Arrived != 20000 {
		t.Errorf("ends %v of %d: the case should see completions, rejections and timeouts", count, m.Arrived)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// SimFaaS's published case: 0.9 requests/s, exponential service of 1.991 s warm and 2.244 s cold, expiry after 600 s
// idle: 0.14 % cold starts and 7.66 instances (Mahmoudi and Khazaei, SimFaaS, 2021). Its cold service is ours plus a
// cold start of the difference.
func TestSimFaaS(t *testing.T) {
	s := mustNew(t, simfaas(), 8)
	p := &poisson{t: t, key: rng.New(8, "arrivals"), rate: 0.9, limit: math.MaxUint64}
	p.start(s)
	const window = 10 * Hour
	got, half := batches(s, p, window, window,
		func(m *Meter) float64 { return 100 * float64(m.Cold) / float64(m.Started) }, (*Meter).Instances)
	// The published figures come from one run of 10⁶ s, which has an interval of its own, as wide as ours is for as
	// much time: 40 windows of 10 h are 1.44·10⁶ s.
	both := math.Sqrt(1 + 40*window.Seconds()/1e6)
	agree(t, "cold starts, per cent", got[0], half[0]*both, 0.14, 0.2)
	agree(t, "instances", got[1], half[1]*both, 7.66, 0.03)
}

func simfaas() Config {
	return Config{Functions: []Function{{
		Demand: Law{Kind: Exponential, Mean: 1.991}, ColdStart: Law{Kind: Exponential, Mean: 2.244 - 1.991},
		BindCold: true, KeepAlive: 600 * Second, Sizing: Sizing{Concurrency: 1, Speed: 1, Max: 1000},
	}}}
}
