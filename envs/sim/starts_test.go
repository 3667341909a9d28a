package sim

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/rng"
)

// bounded is a function that scales from zero, one request an instance, under a bound on starts.
func bounded(rate float64) Config {
	f := fixed(Function{BindCold: true, Sizing: Sizing{Max: NoLimit}, Queue: NoLimit, KeepAlive: Second})
	return Config{Functions: []Function{f}, StartRate: rate}
}

// Of n requests at once the k-th begins k/rate and a cold start later. After the last start the platform is free again.
func TestStartRate(t *testing.T) {
	for _, rate := range []float64{3, 10, 500, 1e6} {
		s := mustNew(t, bounded(rate), 1)
		const n = 60
		at := func(k int) Time { return Time(math.Round(float64(k) * 1e6 / rate)) }
		stair := func(begin Time, n int) {
			t.Helper()
			for k := range n {
				ok(t, s.Submit(Request{ID: uint64(begin) + uint64(k), At: begin}))
			}
			var got log
			s.Run(&got, begin+at(n)+Second)
			if len(got) != n {
				t.Fatalf("%d of %d requests ended", len(got), n)
			}
			for k, e := range got {
				if want := begin + at(k+1) + 50*ms + 100*ms; e.ended != want {
					t.Errorf("rate %g: request %d ended at %d, want %d", rate, k, e.ended, want)
				}
			}
			ok(t, s.check())
		}
		stair(0, n)
		stair(s.Now()+10*Second, n/2) // all have expired: a new flight of stairs
	}
}

// Without the bound all start at once, and the state that is saved has nothing of it. A function's instances that are
// warm at time 0 take no start.
func TestStartRateOff(t *testing.T) {
	s := mustNew(t, bounded(0), 1)
	ask(t, s, 0, 0, 0, 0)
	ends(t, s, Second, ended{0, 50 * ms, 150 * ms, Completed}, ended{1, 50 * ms, 150 * ms, Completed},
		ended{2, 50 * ms, 150 * ms, Completed})
	cfg := bounded(2)
	cfg.Functions[0].Warm, cfg.Functions[0].Sizing.Min = true, 2
	s = mustNew(t, cfg, 1)
	ask(t, s, 0, 0, 0, 0)
	ends(t, s, Second, ended{0, 0, 100 * ms, Completed}, ended{1, 0, 100 * ms, Completed},
		ended{2, 550 * ms, 650 * ms, Completed})
	cfg.StartRate = -1
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "StartRate is -1") {
		t.Errorf("a negative rate: %v", err)
	}
}

// A copy and a restored simulation go on as the original in the middle of its stairs; one without the bound is refused.
func TestStartRateCopies(t *testing.T) {
	cfg := bounded(3)
	cfg.Nodes = []Node{{CPU: 4000, Memory: 4000}}
	cfg.Functions[0].Sizing.CPU = 200
	fresh := func() *Sim { return mustNew(t, cfg, 4) }
	s := fresh()
	key := rng.New(4, "test/asked")
	for i := range uint64(60) {
		ok(t, s.Submit(Request{ID: i, At: Time(key.With(i).IntN(4_000_000))}))
	}
	s.Run(nil, 1500*ms)
	if s.starts.until(3) <= s.Now() {
		t.Fatal("no start is under way; the state would be too simple")
	}
	image := save(t, s)
	copied, restored := mustNew(t, farm(3, 2), 1), fresh()
	copied.CopyFrom(s)
	ok(t, restored.UnmarshalBinary(image))
	var a, b, c tape
	s.Run(&a, 20*Second)
	copied.Run(&b, 20*Second)
	restored.Run(&c, 20*Second)
	if len(a) == 0 || !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Error("the three went different ways")
	}
	cfg.StartRate = 0
	if err := fresh().UnmarshalBinary(image); err == nil {
		t.Error("a simulation without the bound takes the state of one with it")
	}
	cfg.StartRate = 3
	body := statetest.Body(image)
	for n := 0; n < len(body); n += 1 + len(body)/299 {
		bad := bytes.Clone(body)
		bad[n] ^= 0x5a
		if r := fresh(); r.UnmarshalBinary(statetest.Forge(image, bad)) == nil {
			r.Run(nil, r.Now()+Second)
		}
	}
}
