package placement

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/tools/proof"
)

// offered is the load of an episode as its requests make it: what they do at amount 1, over what the bottleneck's
// nodes can do.
func (e *Env) offered(seed uint64, load float64) (measured float64, requests int) {
	a, b := &e.arrivals, e.s.Bottleneck()
	a.begin(seed, load)
	for ; a.next != noEvent; a.advance(false) {
		d := a.draw()
		for j, st := range e.s.workflows[d.workflow].steps {
			work := st.work * d.size * a.factor(j)
			measured += work * float64(e.s.functions[st.function].demand[e.s.nominal][b])
		}
		requests++
	}
	return measured / e.s.able[b] / e.c.Seconds, requests
}

// What arrives is the load that is configured, under every workload.
func TestOfferedLoad(t *testing.T) {
	n, episodes := 400.0, "400"
	if os.Getenv(proof.Folder) != "" {
		n, episodes = 1500, "1,500"
	}
	holds, worst := true, 0.0
	measure := func(name string, c Config, load float64) {
		e := must.Get(New(c, workload.Default()))(t)
		sum, squares := 0.0, 0.0
		for seed := range uint64(n) {
			x, _ := e.offered(seed, load)
			sum += x
			squares += x * x
		}
		mean := sum / n
		z := (mean - load) / math.Sqrt((squares/n-mean*mean)/n)
		t.Logf("%s at load %g: measured %.4f, z %.2f", name, load, mean, z)
		worst = max(worst, math.Abs(z))
		// Steady gaps are not independent: half a gap at the start is all that they differ by.
		holds = holds && (math.Abs(z) <= 4 || math.Abs(mean-load) < 0.01*load)
	}
	for _, name := range []string{Steady, Poisson, Bursty, Periodic, Mixed, Azure} {
		c := Default()
		c.Workload, c.Load = name, 0.9
		if name == Periodic {
			c.Seconds = 30 // two whole swings
		}
		measure(name, c, 0.9)
		// A lower load is made of the requests of the higher one.
		measure(name+", thinned", c, 0.3)
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: "placement: the load that arrives over " + episodes + " episodes is the one configured, for six workloads at " +
			"loads 0.3 and 0.9",
		Bound:    "|z| ≤ 4 or within 1 %",
		Measured: fmt.Sprintf("largest |z| %.1f", worst),
		Holds:    holds,
	})
}

// Of TPC-H's recorded jobs the load is met too.
func TestTPCHLoad(t *testing.T) {
	c := Default()
	c.Workload, c.TPCH.Path = TPCH, filepath.Join(realdata.Dir(t), "dags", "tpch_dags_summary.json")
	e := must.Get(New(c, workload.Default()))(t)
	if n := len(e.s.workflows); n != 22 {
		t.Errorf("%d jobs with 2 GB of data, want TPC-H's 22 queries", n)
	}
	const n = 2000
	sum, squares := 0.0, 0.0
	for seed := range uint64(n) {
		x, _ := e.offered(seed, 0.7)
		sum += x
		squares += x * x
	}
	mean := sum / n
	if z := (mean - 0.7) / math.Sqrt((squares/n-mean*mean)/n); math.Abs(z) > 4 {
		t.Errorf("measured load %g, want 0.7: z %.1f", mean, z)
	}
}

// Requests of a lower load are among those of a higher one, and nothing that is drawn depends on what is decided.
func TestLoadsAreNested(t *testing.T) {
	c := Default()
	c.Workload, c.LoadTo = Bursty, 1.9
	e := must.Get(New(c, workload.Default()))(t)
	of := func(load float64) map[uint64]int64 {
		at := map[uint64]int64{}
		for e.arrivals.begin(5, load); e.arrivals.next != noEvent; e.arrivals.advance(false) {
			at[e.arrivals.number] = e.arrivals.next
		}
		return at
	}
	few, many := of(0.7), of(1.9)
	if len(few) == 0 || len(few) >= len(many) {
		t.Errorf("%d requests at load 0.7, %d at 1.9", len(few), len(many))
	}
	for k, at := range few {
		if many[k] != at {
			t.Errorf("request %d arrives at %d µs, at the higher load at %d", k, at, many[k])
		}
	}
	seen := map[float64]bool{}
	for seed := range uint64(20) {
		load := e.arrivals.load(seed)
		if load < 0.7 || load > 1.9 {
			t.Errorf("seed %d has load %g, want 0.7 to 1.9", seed, load)
		}
		seen[load] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 seeds have %d loads", len(seen))
	}
}

// Bursts are bursts, and swings are swings.
func TestWorkloadShapes(t *testing.T) {
	count := func(name string) (mean, spread float64) {
		c := Default()
		c.Workload, c.Load, c.Seconds = name, 1, 60
		e := must.Get(New(c, workload.Default()))(t)
		sum, squares, n := 0.0, 0.0, 0.0
		for seed := range uint64(100) {
			bins := make([]float64, 60)
			for e.arrivals.begin(seed, 1); e.arrivals.next != noEvent; e.arrivals.advance(false) {
				bins[e.arrivals.next/1e6]++
			}
			for _, x := range bins {
				sum += x
				squares += x * x
				n++
			}
		}
		mean = sum / n
		return mean, (squares/n - mean*mean) / mean
	}
	// Variance over mean of requests in a second: small for steady gaps, 1 for exponential ones, more where the rate
	// changes.
	for _, x := range []struct {
		name   string
		lo, hi float64
	}{{Steady, 0, 0.35}, {Poisson, 0.9, 1.1}, {Periodic, 1.5, 4}, {Bursty, 4, 20}} {
		if mean, got := count(x.name); got < x.lo || got > x.hi {
			t.Errorf("%s: %.2f requests a second, variance over mean %.2f, want %g to %g", x.name, mean, got, x.lo, x.hi)
		}
	}
}

// Bottleneck is the scarcest resource, which defines the load.
func (s *System) Bottleneck() int {
	b := 0
	for r := range NumResources {
		if s.scarcity[r] > s.scarcity[b] {
			b = r
		}
	}
	return b
}
