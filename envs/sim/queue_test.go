package sim

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
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
	s := must.Get(New(cfg, seed))(t)
	return s
}

// windowCount is the number of windows of a run.
const windowCount = 40

// windows runs the handler's simulation through a warm-up and windowCount windows and returns, for each of the
// measures, the mean over windows and its standard error.
func windows(s *Sim, h Handler, warm, window Time, measure ...func(m *Meter) float64) (mean, deviation []float64) {
	const n = windowCount
	var m Meter
	s.Run(h, s.Now()+warm)
	s.ResetMeters()
	mean, deviation = make([]float64, len(measure)), make([]float64, len(measure))
	seen := make([][n]float64, len(measure))
	for k := range n {
		s.Run(h, s.Now()+window)
		s.Total(&m)
		for i, f := range measure {
			seen[i][k] = f(&m)
			mean[i] += seen[i][k] / n
		}
		s.ResetMeters()
	}
	for i := range mean {
		for _, x := range seen[i] {
			deviation[i] += (x - mean[i]) * (x - mean[i]) / (n * (n - 1))
		}
		deviation[i] = math.Sqrt(deviation[i])
	}
	return mean, deviation
}

// batches is windows with the half-width of 99.9 % intervals (Student's t with 39 degrees of freedom: 3.558). The tests
// that use it compare 13 quantities: all intervals hold together with 98.7 %.
func batches(s *Sim, h Handler, warm, window Time, measure ...func(m *Meter) float64) (mean, half []float64) {
	mean, half = windows(s, h, warm, window, measure...)
	for i := range half {
		half[i] *= 3.558
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
