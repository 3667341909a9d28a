package serve_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// lively is a walk with everything: gates, calls, tasks, a loop, instances that start in stairs, failures.
func lively(t testing.TB, k *book, users bool) *serve.Walk {
	t.Helper()
	flow := compile(t, workflow.New("lively", workflow.Chain("front", "map", "check"),
		workflow.Repeat("check", "map", 0.2), workflow.Choice("check", workflow.To("done", 0.8)),
		workflow.Calls("front", "stock", "price")))
	platform := pools(flow, 2)
	platform.StartRate = 5
	for f, name := range flow.Functions() {
		if name == "map" {
			platform.Functions[f] = servers("map", sim.NoLimit)
			platform.Functions[f].ColdStart, platform.Functions[f].KeepAlive = sim.Law{Mean: 0.3}, 2*sim.Second
			platform.Functions[f].Timeout = sim.Second
		} else {
			platform.Functions[f] = servers(name, 2)
		}
	}
	source := poisson(t, 4, 60)
	if users {
		c := workload.Default()
		c.Kind, c.Users.Count, c.Users.Think = workload.ClosedLoop, 12, 0.5
		var err error
		source, err = workload.Open(c)
		ok(t, err)
	}
	key := rng.New(6, "test/work")
	w := newWalk(t, serve.Config{
		Flow: flow, Platform: platform, Source: source, Delay: sim.Millisecond, Hop: sim.Millisecond,
		Hooks: serve.Hooks{
			Work:   exponential(key, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1),
			Tasks:  func(v *serve.Visit) (int, int) { return 1 + int(v.B%6), 3 },
			Places: func(int) int { return 2 },
			Ended:  k.end,
		},
	})
	k.walk = w
	return w
}

func start(t testing.TB, w *serve.Walk, seed uint64, until sim.Time) {
	t.Helper()
	ok(t, w.Reset(seed))
	users := 0
	if w.Closed() {
		users = w.Users().Count()
	}
	w.Load(users, 0)
	w.Begin(0)
	w.Open(until)
	ok(t, w.Run(until))
}

func goOn(t testing.TB, w *serve.Walk, until sim.Time) {
	t.Helper()
	w.Open(until)
	ok(t, w.Run(until))
}

// A copy and a restored walk go on as the original, bit for bit, also onto whatever they held before.
func TestCopyAndRestore(t *testing.T) {
	for _, users := range []bool{false, true} {
		var a, b, c book
		first, copied, restored := lively(t, &a, users), lively(t, &b, users), lively(t, &c, users)
		start(t, first, 1, 20*sim.Second)
		start(t, copied, 2, 30*sim.Second)
		start(t, restored, 3, 9*sim.Second)
		if first.Live() == 0 {
			t.Fatal("no request is in flight; the state would be too simple")
		}
		image, err := state.Append(nil, "walk", first)
		ok(t, err)
		ok(t, copied.CopyFrom(first))
		ok(t, state.Load(image, "walk", restored))
		a.ended, b.ended, c.ended = nil, nil, nil
		for _, w := range []*serve.Walk{first, copied, restored} {
			goOn(t, w, 60*sim.Second)
		}
		if len(a.ended) < 50 || !slices.Equal(a.ended, b.ended) || !slices.Equal(a.ended, c.ended) {
			t.Errorf("users %v: the three went different ways after %d ends", users, len(a.ended))
		}
		if !slices.ContainsFunc(a.ended, func(e ended) bool { return e.failed }) {
			t.Error("no request failed; the state would be too simple")
		}
		var images [3][]byte
		for i, w := range []*serve.Walk{first, copied, restored} {
			images[i], err = state.Append(nil, "walk", w)
			ok(t, err)
		}
		if !bytes.Equal(images[0], images[1]) || !bytes.Equal(images[0], images[2]) || bytes.Equal(images[0], image) {
			t.Errorf("users %v: the three ended differently", users)
		}
		// After Reset a walk goes as a new one.
		var d book
		fresh := lively(t, &d, users)
		a.ended = nil
		start(t, fresh, 4, 9*sim.Second)
		start(t, first, 4, 9*sim.Second)
		if len(d.ended) == 0 || !slices.Equal(a.ended, d.ended) {
			t.Errorf("users %v: Reset leaves something behind", users)
		}
	}
}

// Nothing is lost when everything in flight is dropped: gates, tasks and users begin again.
func TestDrop(t *testing.T) {
	for _, users := range []bool{false, true} {
		var k book
		w := lively(t, &k, users)
		start(t, w, 1, 20*sim.Second)
		for f := range w.Sim().Functions() {
			ok(t, w.Sim().Flush(f))
			ok(t, w.Sim().Redeploy(f, w.Sim().Sizing(f), false))
		}
		w.Drop(1, 1)
		if w.Live() != 0 {
			t.Errorf("%d requests are in flight after all were dropped", w.Live())
		}
		w.Begin(int64(w.Sim().Now()))
		k.ended = nil
		goOn(t, w, 50*sim.Second)
		if n := len(k.ended); n < 50 {
			t.Errorf("users %v: %d requests ended in 30 s, want about 100", users, n)
		}
		w.Close()
		ok(t, w.Run(5*sim.Minute))
		for f := range w.Sim().Functions() {
			if w.Gated(f) && w.Inside(f) != 0 {
				t.Errorf("users %v: %d requests hold a place at function %d when all have ended", users, w.Inside(f), f)
			}
		}
		if w.Live() != 0 {
			t.Errorf("users %v: %d requests never end", users, w.Live())
		}
	}
}

// Nothing allocates per event once all shapes of work have been seen.
func TestNoAllocation(t *testing.T) {
	var k book
	k.ended = make([]ended, 0, 1<<16)
	w, o := lively(t, &k, false), lively(t, new(book), false)
	k.walk = w
	start(t, w, 1, 30*sim.Minute)
	ok(t, o.CopyFrom(w))
	until := 30 * sim.Minute
	if n := testing.AllocsPerRun(20, func() {
		k.ended = k.ended[:0]
		until += 10 * sim.Second
		w.Open(until)
		if w.Run(until) != nil || o.CopyFrom(w) != nil {
			t.Error("failed")
		}
	}); n > 0 {
		t.Errorf("ten seconds allocate %g times", n)
	}
}

// Damaged states are refused or are another state; none panics, also not when run.
func FuzzState(f *testing.F) {
	var k book
	w := lively(f, &k, true)
	start(f, w, 1, 20*sim.Second)
	image, err := state.Append(nil, "walk", w)
	ok(f, err)
	body := statetest.Body(image)
	f.Add(body)
	for n := 0; n < len(body); n += 1 + len(body)/199 {
		bad := bytes.Clone(body)
		bad[n] ^= 0x5a
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := state.Load(statetest.Forge(image, body), "walk", w); err != nil {
			statetest.FieldsRead(t, err)
			return
		}
		until := w.Sim().Now() + sim.Second
		w.Open(until)
		_ = w.Run(until) // an error is fine
	})
}
