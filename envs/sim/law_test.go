package sim

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// Means and variances of draws agree with the law's own, within five standard errors of the mean and 4 % of the
// variance (lognormal tails are heavy; 2^18 draws).
func TestLawMoments(t *testing.T) {
	const n = 1 << 18
	for name, l := range map[string]Law{
		"deterministic": {Kind: Deterministic, Mean: 0.25},
		"exponential":   {Kind: Exponential, Mean: 0.25},
		"lognormal":     {Kind: Lognormal, Mean: 0.25, CV: 0.6},
		"gamma 0.4":     {Kind: Gamma, Mean: 0.25, CV: 1 / math.Sqrt(0.4)}, // shape below 1: the boosted branch
		"erlang 4":      Erlang(0.25, 4),
		"empirical":     {Kind: Empirical, Table: []float64{0.01, 0.02, 0.02, 0.3, 2}},
	} {
		d, k := newDrawer(l), rng.New(1, name)
		var sum, sq float64
		for i := range uint64(n) {
			x := d.draw(k.With(i)).Seconds()
			sum += x
			sq += x * x
		}
		mean, scv := l.Moments()
		got, v := sum/n, sq/n-sum/n*sum/n
		if math.Abs(got-mean) > 5*mean*math.Sqrt(scv/n)+1e-6 {
			t.Errorf("%s: mean is %v, want %v", name, got, mean)
		}
		if math.Abs(v-scv*mean*mean) > 0.04*scv*mean*mean+1e-9 {
			t.Errorf("%s: variance is %v, want %v", name, v, scv*mean*mean)
		}
	}
}

// Draws lie between 1 µs and MaxSpan whatever the law.
func TestLawEnds(t *testing.T) {
	for _, l := range []Law{{}, {Kind: Exponential, Mean: 1e-9}, {Kind: Lognormal, Mean: MaxSpan.Seconds(), CV: 100},
		{Kind: Empirical, Table: []float64{0, 0}}} {
		d := newDrawer(l)
		for i := range uint64(1000) {
			if x := d.draw(rng.New(1, "ends").With(i)); x < 1 || x > MaxSpan {
				t.Fatalf("%+v draws %d", l, x)
			}
		}
	}
	if s := (Sizing{Speed: 1e-6, Contention: Contention{Alpha: 1000}}); s.rate(MaxConcurrency) < 1 {
		t.Error("a rate of 0 would never complete")
	}
}

// A request draws the same demand and an instance the same cold start whatever the pool's size, the queue or the
// dispatch: draws are named, not consumed.
func TestDrawsAreNamed(t *testing.T) {
	demands := func(c int32, d Dispatch, speed float64) map[uint64]Time {
		cfg := station(Law{Kind: Gamma, Mean: 0.1, CV: 1.2}, c, NoLimit)
		cfg.Functions[0].Dispatch, cfg.Functions[0].Sizing.Speed = d, speed
		s := mustNew(t, cfg, 9)
		got := map[uint64]Time{}
		p := &poisson{t: t, key: rng.New(9, "arrivals"), rate: 20, limit: 500,
			done: func(r Response) { got[r.ID] = r.Demand }}
		p.start(s)
		s.Run(p, Forever)
		for id, d := range got {
			if d != 0 && d != s.Demand(0, id, 0) {
				t.Fatalf("request %d ran for %d, Demand says %d", id, d, s.Demand(0, id, 0))
			}
		}
		return got
	}
	want := demands(1, LeastLoaded, 1)
	for _, got := range []map[uint64]Time{demands(7, LeastLoaded, 2), demands(2, Packed, 0.5), demands(40, Random, 1),
		demands(3, RoundRobin, 1)} {
		for id, d := range want {
			if got[id] != d && got[id] != 0 { // 0: a Random choice was full
				t.Fatalf("request %d drew %d in one pool and %d in another", id, d, got[id])
			}
		}
	}
	a, b := mustNew(t, station(Law{Kind: Exponential, Mean: 1}, 1, 0), 1), mustNew(t,
		station(Law{Kind: Exponential, Mean: 1}, 1, 0), 2)
	if a.Demand(0, 5, 0) == b.Demand(0, 5, 0) || a.Demand(0, 5, 0) == a.Demand(0, 5, 1) || a.Demand(1, 5, 0) != 0 {
		t.Error("seed, attempt or function do not name the draw")
	}
}

// Each fault is reported with its field.
func TestValidate(t *testing.T) {
	good := func() Config {
		return Config{
			Nodes: []Node{{CPU: 1000}},
			Functions: []Function{{}, {
				Name: "resize", Demand: Law{Kind: Empirical, Table: []float64{1, 2}}, ColdStart: Law{Kind: Gamma, Mean: 1, CV: 1},
				Sizing: Sizing{Concurrency: 1, Speed: 1},
			}},
		}
	}
	for want, spoil := range map[string]func(c *Config, f *Function){
		"Functions is empty":                    func(c *Config, _ *Function) { c.Functions = nil },
		"Placement":                             func(c *Config, _ *Function) { c.Placement = 9 },
		"SketchBits":                            func(c *Config, _ *Function) { c.SketchBits = 11 },
		"Nodes[0]":                              func(c *Config, _ *Function) { c.Nodes[0].GPU = -1 },
		"Prices.GBHour":                         func(c *Config, _ *Function) { c.Prices.GBHour = math.NaN() },
		"Functions[1] (resize).Demand.Table[1]": func(_ *Config, f *Function) { f.Demand.Table = []float64{2, 1} },
		"Demand.Table":                          func(_ *Config, f *Function) { f.Demand.Table = []float64{2} },
		"Demand.Kind":                           func(_ *Config, f *Function) { f.Demand.Kind = 77 },
		"ColdStart.Mean":                        func(_ *Config, f *Function) { f.ColdStart.Mean = math.Inf(1) },
		"ColdStart.CV":                          func(_ *Config, f *Function) { f.ColdStart.CV = 0 },
		"Dispatch":                              func(_ *Config, f *Function) { f.Dispatch = 9 },
		"Timeout":                               func(_ *Config, f *Function) { f.Timeout = -1 },
		"KeepAlive":                             func(_ *Config, f *Function) { f.KeepAlive = MaxSpan + 1 },
		"Queue is -1":                           func(_ *Config, f *Function) { f.Queue = -1 },
		"RequestCPU":                            func(_ *Config, f *Function) { f.RequestCPU = -1 },
		"Sizing.CPU":                            func(_ *Config, f *Function) { f.Sizing.CPU = -1 },
		"Sizing.Memory":                         func(_ *Config, f *Function) { f.Sizing.Memory = -1 },
		"Sizing.GPU":                            func(_ *Config, f *Function) { f.Sizing.GPU = -1 },
		"Sizing.Concurrency":                    func(_ *Config, f *Function) { f.Sizing.Concurrency = 0 },
		"Sizing.Speed":                          func(_ *Config, f *Function) { f.Sizing.Speed = math.NaN() },
		"Sizing.Contention.Cores":               func(_ *Config, f *Function) { f.Sizing.Contention.Cores = -1 },
		"Sizing.Contention.Alpha":               func(_ *Config, f *Function) { f.Sizing.Contention.Alpha = math.NaN() },
		"Sizing.Min is 3 and Max 2":             func(_ *Config, f *Function) { f.Sizing.Min, f.Sizing.Max = 3, 2 },
		"Sizing.Min is 2000000": func(_ *Config, f *Function) {
			f.Sizing.Min, f.Sizing.Max = 2000000,
				2000000
		},
	} {
		cfg := good()
		cfg.Functions[0] = cfg.Functions[1]
		spoil(&cfg, &cfg.Functions[1])
		if _, err := New(cfg, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want it to name %s", err, want)
		}
	}
	cfg := good()
	cfg.Functions[0] = cfg.Functions[1]
	if _, err := New(cfg, 1); err != nil {
		t.Error(err)
	}
}

// Erlang returns the law of a sum of k ≥ 1 exponential phases with the given mean (seconds).
func Erlang(mean float64, k int) Law {
	return Law{Kind: Gamma, Mean: mean, CV: 1 / math.Sqrt(float64(max(k, 1)))}
}
