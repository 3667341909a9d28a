package safe

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func newGuard(step float64) *Guard {
	r := Default()
	r.MinHistory, r.History, r.LoadStep = 10, 40, step
	return New(r, 2, rng.NewStream(1, "test"))
}

func ranges(g *Guard, load float64) [2]float64 {
	lo, hi, ok := g.Range(load)
	if !ok {
		return [2]float64{math.Inf(1), math.Inf(-1)}
	}
	return [2]float64{lo, hi}
}

// τ is the cheapest fifth of the feasible history, and the range is mean ± 2 standard deviations of its prices. It is
// made once the history is long enough, and again after three violations.
func TestRange(t *testing.T) {
	g := newGuard(0)
	u := []float32{0.5, 0.5}
	for price := 10.0; price > 1; price-- {
		g.Observe(0, price, false, u)
	}
	if _, _, ok := g.Range(0); ok {
		t.Fatal("there is a range after 9 steps, want 10")
	}
	g.Observe(0, 0.5, true, u) // misses its objectives: not in the history
	g.Observe(0, 1, false, []float32{0.25, 0.75})
	// τ = {1, 2}: mean 1.5, deviation 0.5.
	if got := ranges(g, 0); got != [2]float64{0.5, 2.5} {
		t.Fatalf("range is %v, want [0.5, 2.5]", got)
	}
	if !slices.Equal(g.bands[0].safe, []float32{0.25, 0.75, 0.5, 0.5}) {
		t.Errorf("τ is %v, want the configurations of prices 1 and 2", g.bands[0].safe)
	}
	for range 20 { // cheaper ones, but the range stays until there are violations
		g.Observe(0, 0.1, false, u)
	}
	for n := 1; n <= 3; n++ {
		if ranges(g, 0)[0] != 0.5 {
			t.Fatalf("the range changed after %d violations, want 3", n-1)
		}
		g.Observe(0, 9, true, u)
	}
	if got := ranges(g, 0); math.Abs(got[0]-0.1)+math.Abs(got[1]-0.1) > 1e-9 {
		t.Errorf("range is %v after three violations, want [0.1, 0.1]", got)
	}
	if b := g.Bands("a"); len(b) != 1 || b[0].Remade != 1 || b[0].Rows != 30 {
		t.Errorf("bands are %+v", b)
	}
}

// A range stays as it is while the history has fewer steps of its class than a range needs: those that it was made of are
// in a file, or steps of other classes have pushed them out.
func TestRangeOfFew(t *testing.T) {
	u := []float32{0.5, 0.5}
	filed, pushed := newGuard(10), newGuard(10)
	filed.Take([]Band{{Application: "a", Load: 20, Low: 4, High: 6, Rows: 228}})
	for i := range 12 {
		pushed.Observe(20, 4+float64(i), false, u)
	}
	for range 39 {
		pushed.Observe(40, 4, false, u)
	}
	for name, g := range map[string]*Guard{"a file's": filed, "pushed out": pushed} {
		want := ranges(g, 20)
		for range 3 {
			g.Observe(20, 9, true, u)
		}
		g.Observe(20, 7, false, u)
		if got := ranges(g, 20); got != want {
			t.Errorf("%s: the range is %v after three violations and one feasible step, want %v as before", name, got, want)
		}
		for range 9 {
			g.Observe(20, 7, false, u)
		}
		if got := ranges(g, 20); got == want {
			t.Errorf("%s: the range is %v as before, want another one of ten steps", name, got)
		}
	}
}

// Each class of loads has a range of its own, and violations under one do not touch the other's. A load without one has
// the nearest load's, of two as near that of the larger load.
func TestLoads(t *testing.T) {
	g := newGuard(10)
	for i := range 10 {
		g.Observe(10, 2+float64(i%2), false, []float32{0.2, 0.2})
		g.Observe(30, 6+float64(i%2), false, []float32{0.6, 0.6})
	}
	low, high := ranges(g, 10), ranges(g, 30)
	if low[1] >= high[0] {
		t.Fatalf("ranges are %v under 10 users and %v under 30", low, high)
	}
	for load, want := range map[float64][2]float64{1: low, 14: low, 20: high, 26: high, 100: high} {
		if got := ranges(g, load); got != want {
			t.Errorf("the range for a load of %g is %v, want %v", load, got, want)
		}
	}
	u := []float32{0, 0}
	if !g.Filter(100, 2, u) || u[0] < 0.3 {
		t.Errorf("a price of 2 under a load of 100 was left: %v", u)
	}
	for range 3 {
		g.Observe(30, 9, true, u)
	}
	if got := g.Bands("a"); got[0].Remade != 0 || got[1].Remade != 1 || got[0].Load != 10 || got[1].Load != 30 {
		t.Errorf("bands are %+v", got)
	}
}

// An action within the range stays; another becomes one of τ with noise, within the clip.
func TestFilter(t *testing.T) {
	g := newGuard(0)
	u := []float32{0, 0}
	if g.Filter(0, -2, u) {
		t.Error("an action was replaced before there was a range")
	}
	for i := range 10 {
		g.Observe(0, 2+0.1*float64(i%2), false, []float32{0.5, 0.88})
	}
	for range 200 {
		u = []float32{0, 0}
		if !g.Filter(0, -2, u) {
			t.Fatal("an action out of range was left")
		}
		for i, want := range []float32{0.5, 0.88} {
			if d := math.Abs(float64(u[i] - want)); d > 0.25 || u[i] > 0.9 || u[i] < 0.1 {
				t.Fatalf("replaced by %v, want 0.5 and 0.88 with noise of 0.05, within [0.1, 0.9]", u)
			}
		}
	}
	u = []float32{0, 1}
	if g.Filter(0, 2, u) || u[1] != 1 {
		t.Errorf("an action in range became %v", u)
	}
}

// A file of bands comes back as it was; ranges taken from it hold without history, and are made again after violations.
func TestFile(t *testing.T) {
	g := newGuard(5)
	for i := range 10 {
		g.Observe(10, 3+float64(i)/10, false, []float32{0.5, 0.5})
	}
	text := must.Get(Bands{}.With("b", []Band{{Application: "b", Load: 5, Low: 1, High: 2}}).With("a", g.Bands("a")).Encode())(t)
	b := must.Get(Decode("bands.json", text))(t)
	if again, err := b.Encode(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s became %s (%v)", text, again, err)
	}
	of, err := b.Of("a", "bands.json")
	if err != nil || len(of) != 1 {
		t.Fatalf("bands of a: %+v, %v", of, err)
	}
	other := newGuard(5)
	other.Take(of)
	if ranges(other, 10) != ranges(g, 10) {
		t.Errorf("range is %v, want %v", ranges(other, 10), ranges(g, 10))
	}
	if other.Filter(10, 99, []float32{0, 0}) {
		t.Error("an action was replaced though there is no safe one")
	}
	for i := range 10 {
		other.Observe(10, 7+float64(i)/10, false, []float32{0.5, 0.5})
	}
	if ranges(other, 10) != ranges(g, 10) {
		t.Error("a range from the file changed without violations")
	}
	for range 3 {
		other.Observe(10, 7, true, []float32{0.5, 0.5})
	}
	if ranges(other, 10)[0] < 5 {
		t.Errorf("range is %v after violations, want one about 7", ranges(other, 10))
	}
	if _, err := b.Of("c", "bands.json"); err == nil || !strings.Contains(err.Error(), "the bands are of a, b, want those of c") {
		t.Errorf("bands of another application: %v", err)
	}
	for want, text := range map[string]string{
		"bands[0].application is missing": `{"bands": [{"workload": 1}]}`,
		"bands[0].workload is -1":         `{"bands": [{"application": "a", "workload": -1}]}`,
		"bands[0]: lb is 3 and ub 2":      `{"bands": [{"application": "a", "lb": 3, "ub": 2}]}`,
		`unknown field "low"`:             `{"bands": [{"application": "a", "low": 3}]}`,
		"bands.json: ":                    `{`,
	} {
		if _, err := Decode("bands.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A state comes back bit for bit; a forged one is refused and changes nothing.
func TestState(t *testing.T) {
	g := newGuard(10)
	for i := range 12 {
		g.Observe(10*float64(i%2), 1, i > 8, []float32{0.1, 0.2})
		g.Observe(0, 2, false, []float32{0.1, 0.2})
	}
	b := must.Get(state.Append(nil, "safe", g))(t)
	h := newGuard(10)
	if err := state.Load(b, "safe", h); err != nil || ranges(h, 0) != ranges(g, 0) {
		t.Fatalf("%v, %v", ranges(h, 0), err)
	}
	for want, change := range map[string]func(*Guard){
		"-1 feasible steps, want 0":   func(g *Guard) { g.n = -1 },
		"-2 violations":               func(g *Guard) { g.bands[0].violations = -2 },
		"want configurations of 2":    func(g *Guard) { g.bands[0].safe = []float32{1} },
		"the bands' loads do not asc": func(g *Guard) { g.bands[1].class = -5 },
		"elements, want":              func(g *Guard) { g.prices = g.prices[:1] },
	} {
		k := newGuard(10)
		must.Do(t, state.Load(b, "safe", k))
		change(k)
		bad := must.Get(state.Append(nil, "safe", k))(t)
		if err := state.Load(bad, "safe", h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if again, err := state.Append(nil, "safe", h); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: the refused state changed something (%v)", want, err)
		}
	}
}
