package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// sources returns one source of every open-loop kind.
func sources(t testing.TB) map[string]*Source {
	t.Helper()
	out := must.Get(openSources())(t)
	return out
}

var openSources = sync.OnceValues(func() (map[string]*Source, error) {
	out := map[string]*Source{}
	for name, change := range map[string]func(*Config){
		"azure2019":         func(c *Config) { c.Kind, c.Factor = Azure2019, 0.7 },
		"azure2019 each":    func(c *Config) { c.Kind, c.Streams, c.Factor = Azure2019, StreamsFunction, 1.3 },
		"azure2019 uniform": func(c *Config) { c.Kind, c.Placement = Azure2019, Uniform },
		"azure2019 even":    func(c *Config) { c.Kind, c.Placement, c.Split = Azure2019, Even, "test" },
		"calibrated":        func(c *Config) { c.Kind = Calibrated },
		"calibrated each":   func(c *Config) { c.Kind, c.Streams = Calibrated, StreamsFunction },
		"poisson":           func(c *Config) { c.Kind, c.Rate = Poisson, 3 },
		"bursty":            func(c *Config) { c.Kind, c.Rate = Bursty, 0.5 },
		"periodic":          func(c *Config) { c.Kind, c.Rate = Periodic, 2 },
		"drawn": func(c *Config) {
			c.Mean = 2
			c.Draw = Draw{Factor: []float64{0.5, 2}, Traces: []Drawable{{Kind: Azure2019, Minutes: Range{0, 300}},
				{Kind: Poisson}, {Kind: Bursty, Burst: &Burst{Factor: 5, On: 30, Off: 60}}, {Kind: Periodic}}}
		},
		"periodic and quick": func(c *Config) { c.Kind, c.Wave = Periodic, Wave{Period: 0.5, Amplitude: 1, Phase: 0.1} },
	} {
		c := Default()
		c.Length = 300
		change(&c)
		s, err := Open(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
})

func open(t testing.TB, s *Source, seed uint64) Arrivals {
	t.Helper()
	a := must.Get(s.Arrivals(seed))(t)
	return a
}

func drain(a Arrivals) (out []Arrival) {
	for x, ok := a.Next(); ok; x, ok = a.Next() {
		out = append(out, x)
	}
	return out
}

// The first arrivals of each kind under seed 1, as they were when written: they must never change, or runs can't be
// compared.
func TestGoldenArrivals(t *testing.T) {
	for name, s := range sources(t) {
		a := open(t, s, 1)
		var got []Arrival
		for range 4 {
			x, _ := a.Next()
			got = append(got, x)
		}
		a.SeekTo(100 * Minute)
		x, _ := a.Next()
		got = append(got, x)
		if want := golden[name]; !slices.Equal(got, want) {
			t.Errorf("%q: arrivals\n%#v,\nwant\n%#v", name, got, want)
		}
	}
}

// Times rise, stay within the workload, and names are unique.
func TestArrivalsInOrder(t *testing.T) {
	for name, s := range sources(t) {
		seen := map[[2]uint64]bool{}
		last := Arrival{Time: -1}
		all := drain(open(t, s, 2))
		if len(all) == 0 {
			t.Errorf("%s: no arrivals", name)
		}
		for _, a := range all {
			if a.Time < last.Time || a.Time == last.Time &&
				(a.Stream < last.Stream || a.Stream == last.Stream && a.Number <= last.Number) {
				t.Fatalf("%s: %v after %v", name, a, last)
			}
			if a.Time >= int64(s.Minutes())*Minute || int(a.Stream) >= s.Streams() {
				t.Fatalf("%s: %v lies outside", name, a)
			}
			id := [2]uint64{uint64(a.Stream), a.ID()}
			if seen[id] {
				t.Fatalf("%s: %v shares its name", name, a)
			}
			seen[id] = true
			last = a
		}
	}
}

// Any window drawn by itself is the same part of the whole, in whatever order windows are drawn: no draw depends on
// another.
func TestWindowsAreDrawnAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, s := range sources(t) {
		all := drain(open(t, s, 3))
		a := open(t, s, 3)
		for range 50 {
			from := r.Int64N(int64(s.Minutes()+1)*Minute + 1)
			if r.IntN(3) == 0 && len(all) > 0 {
				from = all[r.IntN(len(all))].Time // exactly at an arrival
			}
			a.SeekTo(from)
			i, _ := slices.BinarySearchFunc(all, from, func(x Arrival, t int64) int { return cmp.Compare(x.Time, t) })
			for k := range 5 {
				x, ok := a.Next()
				if want := i+k < len(all); ok != want || ok && x != all[i+k] {
					t.Fatalf("%s: from %d on arrival %d is %v (%v)", name, from, k, x, ok)
				}
				if !ok {
					break
				}
			}
		}
		a.SeekTo(-5)
		if x, ok := a.Next(); !ok || x != all[0] {
			t.Errorf("%s: before the start comes %v, want %v", name, x, all[0])
		}
		a.SeekTo(1 << 62)
		if _, ok := a.Next(); ok {
			t.Errorf("%s: something arrives after the end", name)
		}
		other := drain(open(t, s, 4))
		if slices.Equal(other, all) {
			t.Errorf("%s: another seed draws the same", name)
		}
		a.Reset(4)
		if !slices.Equal(drain(a), other) {
			t.Errorf("%s: after Reset it differs from a new iterator", name)
		}
	}
}

func TestArrivalsCopyAndSave(t *testing.T) {
	for name, s := range sources(t) {
		a := open(t, s, 5)
		for range 777 {
			a.Next()
		}
		state := must.Get(a.AppendBinary([]byte("before")))(t)
		if state = state[len("before"):]; len(state) > 72 {
			t.Errorf("%s: the state has %d bytes", name, len(state))
		}
		copied, restored := open(t, s, 9), open(t, s, 9)
		copied.Next()
		must.Do(t, copied.CopyFrom(a))
		must.Do(t, restored.UnmarshalBinary(state))
		want := drain(a)
		if !slices.Equal(drain(copied), want) || !slices.Equal(drain(restored), want) {
			t.Errorf("%s: the copy or the restored iterator goes on otherwise", name)
		}
		a.Reset(5)
		if got := drain(a); len(want) == 0 || !slices.Equal(got[777:], want) {
			t.Errorf("%s: copying disturbed the original", name)
		}
	}
}

func TestArrivalsDamaged(t *testing.T) {
	all := sources(t)
	s, a := all["poisson"], open(t, all["poisson"], 5)
	for range 400 {
		a.Next()
	}
	good, _ := a.AppendBinary(nil)
	b := open(t, s, 6)
	b.Next()
	before, _ := b.AppendBinary(nil)
	refused := func(what string, state []byte) {
		t.Helper()
		if b.UnmarshalBinary(state) == nil {
			t.Errorf("%s was accepted", what)
		}
		if after, _ := b.AppendBinary(nil); !bytes.Equal(after, before) {
			t.Fatalf("%s was refused and left something behind", what)
		}
	}
	for n := range good {
		refused("a cut state", good[:n])
	}
	refused("a long state", append(slices.Clone(good), 0))
	for what, at := range map[string]int{"another source": 0, "a minute beyond the end": 18,
		"a place beyond the minute": 27} {
		body := slices.Clone(statetest.Body(good))
		body[at] ^= 0x40
		refused(what, statetest.Forge(good, body))
	}
	foreign, _ := open(t, all["bursty"], 5).AppendBinary(nil)
	refused("the state of another source", foreign)
	if b.CopyFrom(open(t, all["bursty"], 5)) == nil {
		t.Error("the iterator of another source was copied")
	}
	must.Do(t, b.UnmarshalBinary(good))
	if !slices.Equal(drain(a), drain(b)) {
		t.Error("after refusals it restores something else")
	}
}

func FuzzArrivalsState(f *testing.F) {
	s := must.Get(Open(Default()))(f)
	a := open(f, s, 1)
	a.SeekTo(3 * Minute)
	good := must.Get(a.AppendBinary(nil))(f)
	f.Add(statetest.Body(good))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := open(t, s, 2)
		if b.UnmarshalBinary(statetest.Forge(good, body)) == nil {
			b.Next()
			again, _ := b.AppendBinary(nil)
			if len(again) != len(good) {
				t.Fatalf("the state grew to %d bytes", len(again))
			}
		}
	})
}

func TestArrivalsAllocs(t *testing.T) {
	for name, s := range sources(t) {
		a, b := open(t, s, 1), open(t, s, 1)
		for range 2 {
			drain(a)
			a.Reset(1)
		}
		drain(b)
		seed := uint64(1)
		if n := testing.AllocsPerRun(5, func() {
			a.Reset(seed)
			for _, ok := a.Next(); ok; _, ok = a.Next() {
			}
			a.SeekTo(Minute)
		}); n != 0 {
			t.Errorf("%s: drawing the workload allocates %v times", name, n)
		}
		if n := statetest.Allocations(func() {
			must.Do(t, b.CopyFrom(a))
		}); n != 0 {
			t.Errorf("%s: a copy allocates %v times", name, n)
		}
	}
}

func BenchmarkArrivals(b *testing.B) {
	for name, s := range sources(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			a := open(b, s, 1)
			for range b.N {
				if _, ok := a.Next(); !ok {
					a.SeekTo(0)
				}
			}
		})
	}
}

func BenchmarkSeek(b *testing.B) {
	b.ReportAllocs()
	s := sources(b)["azure2019"]
	a := open(b, s, 1)
	for i := range b.N {
		a.SeekTo(int64(i%1440) * Minute)
	}
}
