package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// poisson is an open-loop source: each timer submits one request and sets the next.
type poisson struct {
	t     testing.TB
	key   rng.Key
	rate  float64 // a second
	fn    int32
	next  uint64
	limit uint64 // requests in all
	done  func(r Response)
}

func (p *poisson) start(s *Sim) { p.Fired(s, Timer{Kind: -1}) }

func (p *poisson) Fired(s *Sim, t Timer) {
	if t.Kind == 0 {
		if err := s.Submit(Request{Function: p.fn, ID: p.next, At: s.Now()}); err != nil {
			p.t.Fatal(err)
		}
		p.next++
	}
	if p.next < p.limit {
		if _, err := s.At(Timer{At: s.Now() + Seconds(p.key.With(p.next).Exp()/p.rate)}); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *poisson) Finished(_ *Sim, r Response) {
	if p.done != nil {
		p.done(r)
	}
}

// station is a fixed pool of c warm instances of concurrency 1.
func station(demand Law, c, queue int32) Config {
	return Config{Functions: []Function{{
		Name: "station", Demand: demand, Warm: true, Queue: queue,
		Sizing: Sizing{Concurrency: 1, Speed: 1, Min: c, Max: c},
	}}}
}

func mustNew(t testing.TB, cfg Config, seed uint64) *Sim {
	t.Helper()
	s, err := New(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// batches runs the handler's simulation through a warm-up and n windows and returns, for each of the measures, the
// mean over windows and the half-width of its 99.9 % interval (Student's t with n-1 = 39 degrees of freedom: 3.558).
func batches(s *Sim, h Handler, warm, window Time, measure ...func(m *Meter) float64) (mean, half []float64) {
	const n = 40
	var m Meter
	s.Run(h, s.Now()+warm)
	s.ResetMeters()
	mean, half = make([]float64, len(measure)), make([]float64, len(measure))
	sq := make([]float64, len(measure))
	for range n {
		s.Run(h, s.Now()+window)
		s.Total(&m)
		for i, f := range measure {
			x := f(&m)
			mean[i] += x / n
			sq[i] += x * x / n
		}
		s.ResetMeters()
	}
	for i := range mean {
		half[i] = 3.558 * math.Sqrt((sq[i]-mean[i]*mean[i])/(n-1))
	}
	return mean, half
}

// agree fails where a measured value's interval excludes the expected one or is wider than it should be.
func agree(t *testing.T, what string, got, half, want, precision float64) {
	t.Helper()
	t.Logf("%-24s %.5g ± %.2g, theory %.5g", what, got, half, want)
	if math.Abs(got-want) > half+1e-6*want {
		t.Errorf("%s is %.6g ± %.2g, theory says %.6g", what, got, half, want)
	}
	if half > precision*want {
		t.Errorf("%s is known to ± %.2g only, want %.2g of %.4g", what, half, precision, want)
	}
}

func meanWait(m *Meter) float64    { w, _, _ := m.Wait(); return w }
func meanLatency(m *Meter) float64 { l, _, _ := m.Latency(); return l }

// erlangC is the probability of waiting in M/M/c with offered load a.
func erlangC(c int, a float64) float64 {
	b := 1.0 // Erlang B by recursion
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	rho := a / float64(c)
	return b / (1 - rho + rho*b)
}

func TestMMc(t *testing.T) {
	for _, c := range []int32{1, 3, 20} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const mean, rho = 0.1, 0.7
			lambda := rho * float64(c) / mean
			s := mustNew(t, station(Law{Kind: Exponential, Mean: mean}, c, NoLimit), 1)
			p := &poisson{t: t, key: rng.New(1, "arrivals"), rate: lambda, limit: math.MaxUint64}
			p.start(s)
			window := Seconds(12000 / lambda)
			got, half := batches(s, p, window, window, meanWait,
				func(m *Meter) float64 { return float64(m.Waited) / float64(m.Started) },
				(*Meter).InSystem, (*Meter).BusyInstances, (*Meter).Throughput)
			pw := erlangC(int(c), lambda*mean)
			wq := pw * mean / (float64(c) * (1 - rho))
			agree(t, "mean wait", got[0], half[0], wq, 0.2)
			agree(t, "probability of waiting", got[1], half[1], pw, 0.1)
			agree(t, "number in system", got[2], half[2], lambda*(wq+mean), 0.06)
			agree(t, "busy instances", got[3], half[3], lambda*mean, 0.03)
			agree(t, "throughput", got[4], half[4], lambda, 0.01)
		})
	}
}
