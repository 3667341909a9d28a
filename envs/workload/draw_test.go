package workload

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// drawing returns a source whose episodes draw one of four loads, all of one mean, and a factor.
func drawing(t testing.TB) *Source {
	t.Helper()
	return configured(t, func(c *Config) {
		c.Mean, c.Length, c.Split = 1.5, 1440, "test"
		c.Draw = Draw{Factor: []float64{0.5, 2}, Traces: []Drawable{{Kind: Azure2019}, {Kind: Poisson}, {Kind: Bursty},
			{Kind: Periodic, Wave: &Wave{Period: 100, Amplitude: 0.9}}}}
	})
}

// A seed decides the load, each load is drawn as often, and factors are log-uniform over their range.
func TestDrawn(t *testing.T) {
	s := drawing(t)
	const n = 4000
	var loads [4]int
	var below, quarter int
	for seed := range uint64(n) {
		d := s.Drawn(seed)
		if d != s.Drawn(seed) || d != open(t, s, seed).Drawn() {
			t.Fatalf("seed %d draws %+v, then another load", seed, d)
		}
		if want := 1440; d.Load > 0 && d.Minutes != want || d.Load == 0 && d.Minutes != 432 {
			t.Fatalf("load %d has %d minutes", d.Load, d.Minutes)
		}
		if !(d.Factor >= 0.5 && d.Factor <= 2) {
			t.Fatalf("a factor of %v is drawn from 0.5 to 2", d.Factor)
		}
		loads[d.Load]++
		if d.Factor < 1 {
			below++
		}
		if d.Factor < math.Sqrt(0.5) {
			quarter++
		}
	}
	near := func(what string, got int, p float64) {
		if math.Abs(float64(got)-n*p) > 4*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%s: %d of %d, want about %v", what, got, n, n*p)
		}
	}
	for i, got := range loads {
		near(s.Loads()[i].Label(), got, 0.25)
	}
	near("below 1", below, 0.5)
	near("below the root of a half", quarter, 0.25)
}

// Every load arrives at the mean times the factor, as expected, and the source says the range of means.
func TestDrawnRates(t *testing.T) {
	s := drawing(t)
	least, most := s.Means()
	// The mean is that of the whole trace, and its last part has a little more.
	if !(least <= 0.75 && least > 0.7) || !(most >= 3 && most < 3.6) {
		t.Errorf("means are %v to %v, want about 0.75 to 3", least, most)
	}
	for seed := range uint64(12) {
		a := open(t, s, seed)
		d := a.Drawn()
		var expected float64
		for m := range d.Minutes {
			expected += a.Expected(0, m)
		}
		if mean := expected / 60 / float64(d.Minutes); d.Load > 0 && math.Abs(mean-1.5*d.Factor) > 0.01*mean {
			t.Errorf("load %d at %v: %v expected a second, want %v", d.Load, d.Factor, mean, 1.5*d.Factor)
		}
		got := float64(len(drain(a)))
		spread := 5 * math.Sqrt(expected)
		if s.Loads()[d.Load].Kind == Bursty {
			spread *= 8 // bursts come and go together
		}
		if math.Abs(got-expected) > spread {
			t.Errorf("load %d at %v: %v arrivals, %v expected", d.Load, d.Factor, got, expected)
		}
	}
	rates := s.Rates()
	if len(rates) != 432*4*quantiles {
		t.Errorf("%d rates", len(rates))
	}
	var sum float64
	for _, r := range rates {
		sum += r / float64(len(rates))
	}
	if _, mean, _ := s.Config().Draw.Factors(); math.Abs(sum-1.5*mean) > 0.1 {
		t.Errorf("the rates' mean is %v, want about %v", sum, 1.5*mean)
	}
}

// A factor alone multiplies the load as configured, minute by minute, and 1 to 1 changes no arrival.
func TestDrawnFactorAlone(t *testing.T) {
	plain := configured(t, func(c *Config) { c.Factor = 0.6 })
	same := configured(t, func(c *Config) { c.Factor, c.Draw.Factor = 0.6, []float64{1, 1} })
	if !slices.Equal(drain(open(t, plain, 3)), drain(open(t, same, 3))) {
		t.Error("a factor of 1 changes arrivals")
	}
	twice := configured(t, func(c *Config) { c.Factor, c.Draw.Factor = 0.3, []float64{2, 2} })
	if !slices.Equal(drain(open(t, plain, 3)), drain(open(t, twice, 3))) {
		t.Error("0.3 times 2 differs from 0.6")
	}
}

// A planner that resamples keeps the load drawn, and gets other arrivals; saved and copied it goes on the same.
func TestResample(t *testing.T) {
	s := drawing(t)
	seed := uint64(0)
	for s.Drawn(seed).Load != 2 || s.Drawn(seed+1).Load == 2 {
		seed++
	}
	a, b := open(t, s, seed), open(t, s, 99)
	whole := drain(open(t, s, seed))
	a.SeekTo(50 * Minute)
	a.Resample(seed + 1)
	a.SeekTo(50*Minute + 7)
	if a.Drawn() != s.Drawn(seed) {
		t.Errorf("after Resample the load is %+v, want %+v", a.Drawn(), s.Drawn(seed))
	}
	text := must.Get(a.AppendBinary(nil))(t)
	must.Do(t, b.UnmarshalBinary(text))
	c := open(t, s, 7)
	must.Do(t, c.CopyFrom(a))
	rest := drain(a)
	known := open(t, s, seed)
	known.SeekTo(50*Minute + 7)
	if rest[0].Time < 50*Minute+7 || slices.Equal(rest[:20], drain(known)[:20]) {
		t.Error("resampled arrivals are those of the seed before")
	}
	if !slices.Equal(rest, drain(b)) || !slices.Equal(rest, drain(c)) || b.Drawn() != a.Drawn() || c.Drawn() != a.Drawn() {
		t.Error("the copy or the restored iterator goes on otherwise")
	}
	a.Reset(seed)
	if !slices.Equal(drain(a), whole) {
		t.Error("Reset does not end the resampling")
	}
}

// Wrong draws are refused by their keys.
func TestDrawErrors(t *testing.T) {
	lone := filepath.Join(t.TempDir(), "counts.csv")
	must.Do(t, os.WriteFile(lone, []byte("HashOwner,HashApp,HashFunction,1,2,3\no,a,f,0,0,0\no,a,g,0,0,0\n"), 0o600))
	for want, change := range map[string]func(*Config){
		"workload.draw is given, want nothing with closed-loop users": func(c *Config) {
			c.Kind, c.Draw.Factor = ClosedLoop, []float64{1, 2}
		},
		"workload.draw.factor is [2 1], want the lower end first: [1, 2]": func(c *Config) { c.Draw.Factor = []float64{2, 1} },
		"workload.draw.factor is [2], want two numbers":                   func(c *Config) { c.Draw.Factor = []float64{2} },
		"workload.draw.factor[0] is 0, want more than 0":                  func(c *Config) { c.Draw.Factor = []float64{0, 1} },
		`workload.draw.traces[1].kind is "closed-loop"`: func(c *Config) {
			c.Draw.Traces = []Drawable{{Kind: Poisson}, {Kind: ClosedLoop}}
		},
		`workload.draw.traces[1].path is "/nowhere"`: func(c *Config) {
			c.Draw.Traces = []Drawable{{Kind: Poisson}, {Kind: Azure2019, Path: "/nowhere"}}
		},
		"workload.draw.traces[0].minutes is": func(c *Config) {
			c.Draw.Traces = []Drawable{{Kind: Azure2019, Minutes: Range{0, 9000}}}
		},
		"workload.draw.traces[0].burst.mean_on is 0": func(c *Config) {
			c.Draw.Traces = []Drawable{{Kind: Bursty, Burst: &Burst{Factor: 3}}}
		},
		"workload.mean is 2, want a workload with arrivals; this one has none that could be scaled, for draw.traces[0]": func(
			c *Config) {
			c.Mean, c.Draw.Traces = 2, []Drawable{{Kind: Azure2019, Path: lone}}
		},
		`workload.streams is "function", want total`: func(c *Config) {
			c.Streams, c.Draw.Traces = StreamsFunction, []Drawable{{Kind: Poisson}, {Kind: Azure2019}}
		},
		"workload.rate is": func(c *Config) { c.Kind, c.Rate, c.Draw.Factor = Poisson, 20000, []float64{1, 100} },
	} {
		c := Default()
		change(&c)
		_, err := Open(c)
		var fe *FieldError
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &fe) {
			t.Errorf("%s: the error is %v", want, err)
		}
	}
}

// Another draw is another source, and states of the one are refused by the other; a path does not count.
func TestDrawIdentity(t *testing.T) {
	one, other := Default(), Default()
	one.Draw.Factor, other.Draw.Factor = []float64{0.5, 2}, []float64{0.5, 3}
	if one.Identity() == other.Identity() {
		t.Error("two ranges are one workload")
	}
	a, b := configured(t, func(c *Config) { *c = one }), configured(t, func(c *Config) { *c = other })
	text := must.Get(open(t, a, 1).AppendBinary(nil))(t)
	if open(t, b, 1).UnmarshalBinary(text) == nil {
		t.Error("the state of another range was taken")
	}
	one.Draw.Traces, other = []Drawable{{Kind: Azure2019, Path: "here"}}, one
	other.Draw.Traces = []Drawable{{Kind: Azure2019, Path: "there/here"}}
	if one.Identity() != other.Identity() {
		t.Error("the path of a trace is part of what is drawn")
	}
}
