package workflow

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// diamond forks, joins, chooses and repeats: a -> (b || c), c -> d or e, all meet at f, which starts again from a in
// one of five cases; b calls two functions.
func diamond() Graph {
	g := New("diamond", Fork("a", "b", "c"), Choice("c", To("d", 0.5), To("e", 0.5)), Join("f", "b", "d", "e"),
		Repeat("f", "a", 0.2), Choice("f", To("g", 0.8)), Calls("b", "x", "y"))
	return g
}

func names(w *Workflow, vs []Visit) (out []string) {
	for _, v := range vs {
		out = append(out, w.NodeName(int(v.Node)))
	}
	return out
}

// One request, step by step.
func TestTrackerSteps(t *testing.T) {
	w := compile(t, diamond())
	tr := NewTracker(w, 1)
	var s Step
	run := tr.Begin(0, 3, &s)
	done := func(name string, start, returned []string) {
		t.Helper()
		must.Do(t, tr.Done(run, int32(node(t, w, name)), &s))
		if got := names(w, s.Start); !slices.Equal(got, start) {
			t.Fatalf("after %s start %v, want %v", name, got, start)
		}
		if got := names(w, s.Returned); !slices.Equal(got, returned) {
			t.Fatalf("after %s return %v, want %v", name, got, returned)
		}
	}
	if got := names(w, s.Start); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("it begins with %v", got)
	}
	done("a", []string{"b", "c"}, []string{"a"})
	done("b", []string{"x"}, nil)
	must.Do(t, tr.Done(run, int32(node(t, w, "c")), &s))
	arm := names(w, s.Start)[0] // d or e, as drawn
	done("x", []string{"y"}, []string{"x"})
	done(arm, nil, []string{arm}) // the join waits for b, whose calls are under way
	done("y", []string{"f"}, []string{"y", "b"})
}

func TestTrackerRefuses(t *testing.T) {
	w := compile(t, diamond())
	tr := NewTracker(w, 1)
	var s Step
	run := tr.Begin(0, 0, &s)
	for name, err := range map[string]error{
		"a node that does not run": tr.Done(run, int32(node(t, w, "b")), &s),
		"a node that is not there": tr.Done(run, 99, &s),
		"a negative node":          tr.Done(run, -1, &s),
		"a run that is not there":  tr.Done(run+1, 0, &s),
		"a negative run":           tr.Done(-1, 0, &s),
	} {
		if err == nil {
			t.Errorf("%s was done", name)
		}
	}
	if err := tr.Cancel(run); err != nil || tr.Live() != 0 {
		t.Errorf("cancelled: %v, %d in flight", err, tr.Live())
	}
	if tr.Cancel(run) == nil || tr.Done(run, 0, &s) == nil {
		t.Error("a cancelled run goes on")
	}
}

// script drives a tracker with requests served in an order drawn from r, and logs every visit.
type script struct {
	tr      *Tracker
	pending []struct{ run, node int32 }
	request uint64
	who     map[int32]uint64
	log     map[uint64][]Visit
}

func newScript(tr *Tracker) *script {
	return &script{tr: tr, who: map[int32]uint64{}, log: map[uint64][]Visit{}}
}

func (s *script) step(t *testing.T, r *rand.Rand, begin bool) {
	var st Step
	var run int32
	if begin || len(s.pending) == 0 {
		run = s.tr.Begin(7, s.request, &st)
		s.who[run] = s.request
		s.request++
	} else {
		i := r.IntN(len(s.pending))
		p := s.pending[i]
		s.pending = slices.Delete(s.pending, i, i+1)
		must.Do(t, s.tr.Done(p.run, p.node, &st))
		run = p.run
	}
	for _, v := range st.Start {
		s.pending = append(s.pending, struct{ run, node int32 }{run, v.Node})
	}
	s.log[s.who[run]] = append(s.log[s.who[run]], st.Start...)
}

// Which nodes a request runs does not depend on the order in which requests and nodes are served.
func TestTrackerDrawsAreKeyed(t *testing.T) {
	w := compile(t, diamond())
	sorted := func(seed uint64) map[uint64][]Visit {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScript(NewTracker(w, 9))
		for s.request < 50 || len(s.pending) > 0 {
			s.step(t, r, s.request < 50 && r.IntN(4) == 0)
		}
		for _, vs := range s.log {
			slices.SortFunc(vs, func(a, b Visit) int {
				if a.Number != b.Number {
					return int(a.Number - b.Number)
				}
				return int(a.Node - b.Node)
			})
		}
		return s.log
	}
	a := sorted(1)
	b := sorted(2)
	for k := range uint64(50) {
		if !reflect.DeepEqual(a[k], b[k]) {
			t.Fatalf("request %d runs %v in one order and %v in another", k, a[k], b[k])
		}
	}
}

// A copy, and a restored state, go on exactly as the original does.
func TestTrackerCopyAndSave(t *testing.T) {
	w := compile(t, diamond())
	s := newScript(NewTracker(w, 3))
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		s.step(t, r, r.IntN(6) == 0)
	}
	state := must.Get(s.tr.AppendBinary(nil))(t)
	restored, copied := NewTracker(w, 0), NewTracker(w, 0)
	must.Do(t, restored.UnmarshalBinary(state))
	must.Do(t, copied.CopyFrom(s.tr))
	if s.tr.Live() == 0 || restored.Live() != s.tr.Live() {
		t.Fatalf("%d in flight, %d restored", s.tr.Live(), restored.Live())
	}
	run := func(tr *Tracker) []byte {
		c := newScript(tr)
		c.pending, c.request = slices.Clone(s.pending), s.request
		r := rand.New(rand.NewPCG(2, 2))
		for range 500 {
			c.step(t, r, r.IntN(6) == 0)
		}
		b := must.Get(tr.AppendBinary(nil))(t)
		return b
	}
	want := run(s.tr)
	if !bytes.Equal(run(restored), want) {
		t.Error("the restored tracker went another way")
	}
	if !bytes.Equal(run(copied), want) {
		t.Error("the copied tracker went another way")
	}
	other := NewTracker(compile(t, FaaSConfBranch()), 1)
	if other.UnmarshalBinary(state) == nil || other.CopyFrom(s.tr) == nil {
		t.Error("a tracker took the state of another workflow")
	}
}

// A cut state is refused; a changed one is refused or at least harmless, and refusing changes nothing.
func TestTrackerDamaged(t *testing.T) {
	w := compile(t, diamond())
	s := newScript(NewTracker(w, 3))
	r := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		s.step(t, r, r.IntN(6) == 0)
	}
	state, _ := s.tr.AppendBinary(nil)
	tr := NewTracker(w, 0)
	empty, _ := tr.AppendBinary(nil)
	for n := range state {
		if tr.UnmarshalBinary(state[:n]) == nil {
			t.Fatalf("%d of %d bytes were accepted", n, len(state))
		}
	}
	if tr.UnmarshalBinary(append(slices.Clone(state), 0)) == nil {
		t.Fatal("a byte too many was accepted")
	}
	if after, _ := tr.AppendBinary(nil); !bytes.Equal(after, empty) {
		t.Fatal("a refused state left something behind")
	}
	body := statetest.Body(state)
	for i := range body {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(body)
			bad[i] ^= flip
			tr := NewTracker(w, 0)
			if tr.UnmarshalBinary(statetest.Forge(state, bad)) != nil {
				continue
			}
			var st Step
			for moved := true; moved; {
				moved = false
				for run := range int32(len(tr.runs)) {
					for n := range int32(w.NumNodes()) {
						moved = tr.Done(run, n, &st) == nil || moved
					}
				}
			}
		}
	}
}

func FuzzTrackerState(f *testing.F) {
	w := compile(f, diamond())
	tr := NewTracker(w, 3)
	var st Step
	tr.Begin(1, 2, &st)
	saved := must.Get(tr.AppendBinary(nil))(f)
	f.Add(statetest.Body(saved))
	f.Fuzz(func(t *testing.T, body []byte) {
		tr := NewTracker(w, 0)
		if tr.UnmarshalBinary(statetest.Forge(saved, body)) != nil {
			return
		}
		var st Step
		for run := range int32(min(len(tr.runs), 8)) {
			for n := range int32(w.NumNodes()) {
				_ = tr.Done(run, n, &st)
			}
		}
	})
}

func TestTrackerAllocs(t *testing.T) {
	for _, g := range []Graph{diamond(), FaaSConfTcktApp(OneByOne)} {
		w := compile(t, g)
		tr, cp := NewTracker(w, 1), NewTracker(w, 1)
		var st Step
		var queue []int32
		k := uint64(0)
		serve := func() {
			run := tr.Begin(0, k, &st)
			k++
			for queue = queue[:0]; ; {
				for _, v := range st.Start {
					queue = append(queue, v.Node)
				}
				if st.Finished {
					break
				}
				n := queue[0]
				queue = append(queue[:0], queue[1:]...)
				must.Do(t, tr.Done(run, n, &st))
			}
		}
		for range 100 {
			serve()
		}
		tr.Reset(2)
		if n := testing.AllocsPerRun(100, serve); n != 0 {
			t.Errorf("%s: a request allocates %v times", g.Name, n)
		}
		if n := statetest.Allocations(func() {
			must.Do(t, cp.CopyFrom(tr))
		}); n != 0 {
			t.Errorf("%s: a copy allocates %v times", g.Name, n)
		}
	}
}

func BenchmarkTracker(b *testing.B) {
	b.ReportAllocs()
	w := compile(b, FaaSConfParallel())
	tr := NewTracker(w, 1)
	var st Step
	var queue []int32
	for k := range b.N {
		run := tr.Begin(0, uint64(k), &st)
		for queue = append(queue[:0], st.Start[0].Node); !st.Finished; {
			n := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			must.Do(b, tr.Done(run, n, &st))
			for _, v := range st.Start {
				queue = append(queue, v.Node)
			}
		}
	}
}
