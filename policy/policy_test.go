package policy_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// served opens a bundle.
func served(t testing.TB, f *bundle.File, o policy.Options) *policy.Policy {
	t.Helper()
	p := must.Get(policy.OpenBytes(policytest.Encode(t, f), o))(t)
	return p
}

// shown is an observation of the bundle's self-test.
func shown(t testing.TB, p *policy.Policy, i int) *envs.Observation {
	t.Helper()
	o := p.NewObservation()
	must.Do(t, policy.Show(&p.Bundle().SelfTest[i], o))
	return o
}

func decide(t testing.TB, p *policy.Policy, o *envs.Observation, out *envs.Action) policy.Decision {
	t.Helper()
	d := must.Get(p.Decide(t.Context(), o, out))(t)
	return d
}

// Beyond the range that was met by more than half of it, and where a number is not finite, the fallback decides.
func TestGuard(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 20)
	f.Seen[0].Features[3] = bundle.Range{Least: 0, Low: 0.1, Median: 0.25, High: 0.9, Greatest: 1}
	p := served(t, f, policy.Options{Workers: 1}) // a worker is made for its first decision
	out := p.NewAction()
	for _, c := range []struct {
		value  float32
		reason policy.Reason
	}{
		{1.499, ""}, {1.51, policy.OutOfRange}, {-0.499, ""}, {-0.51, policy.OutOfRange},
		{float32(math.NaN()), policy.NotFinite}, {float32(math.Inf(-1)), policy.NotFinite},
	} {
		o := shown(t, p, 0)
		o.Kinds[0].Values[3] = c.value
		d := decide(t, p, o, out)
		by := policy.ByPolicy
		if c.reason != "" {
			by = policy.ByFallback
		}
		if d.Reason != c.reason || d.By != by {
			t.Errorf("with %g: %v by %s, want %q by %s", c.value, d, d.By, c.reason, by)
		}
		if c.reason != "" && (d.Where.Feature != 3 || d.Where.Name != p.Spec().Kinds[0].Features[3] || d.Where.Low > -0.5) {
			t.Errorf("with %g the place is %+v", c.value, d.Where)
		}
		if c.reason != "" && out.Kinds[0][0] != 1 { // SPSS holds the price 1
			t.Errorf("with %g the fallback writes %v", c.value, out.Kinds[0])
		}
		if n := testing.AllocsPerRun(20, func() { decide(t, p, o, out) }); n != 0 {
			t.Errorf("with %g a decision allocates %v times", c.value, n)
		}
	}
	counts := p.Counts()
	if counts.Fallback[policy.OutOfRange] == 0 ||
		counts.Fallback[policy.OutOfRange] != counts.Fallback[policy.NotFinite] ||
		counts.Policy != counts.Fallback[policy.OutOfRange] || counts.Decisions != 3*counts.Policy {
		t.Errorf("counted %+v", counts)
	}
	var drift policy.Drift
	for _, d := range p.Drift() {
		if d.Name == p.Spec().Kinds[0].Features[3] {
			drift = d
		}
	}
	if drift.Outside != counts.Decisions || drift.Rows != counts.Decisions {
		t.Errorf("drift is %+v of %d decisions", drift, counts.Decisions)
	}
	// Without a guard the policy decides; what it cannot compute still goes to the fallback.
	p = served(t, f, policy.Options{NoGuard: true})
	o := shown(t, p, 0)
	o.Kinds[0].Values[3] = 1e3
	if d := decide(t, p, o, out); d.By != policy.ByPolicy {
		t.Errorf("without a guard: %v", d)
	}
}

// An old observation goes to the fallback.
func TestStale(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 5)
	synctest.Test(t, func(t *testing.T) { // no time passes
		p := served(t, f, policy.Options{MaxAge: time.Minute})
		r := policy.Request{Seen: shown(t, p, 0), Out: p.NewAction()}
		for age, reason := range map[time.Duration]policy.Reason{0: "", time.Minute: "", time.Minute + 1: policy.Stale,
			-time.Minute: "", -time.Hour: policy.Stale} {
			r.At = time.Now().Add(-age)
			if d, err := p.DecideFor(t.Context(), r); err != nil || d.Reason != reason {
				t.Errorf("after %v: %v, %v", age, d, err)
			}
		}
		r.At = time.Time{}
		if d, err := p.DecideFor(t.Context(), r); err != nil || d.Reason != "" {
			t.Errorf("without a time: %v, %v", d, err)
		}
	})
}

// Without a fallback what the guard stops is an error, and counted.
func TestNoFallback(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 5)
	f.Fallback = nil
	p := served(t, f, policy.Options{})
	o := shown(t, p, 0)
	o.Kinds[0].Values[0] = float32(math.NaN())
	d, err := p.Decide(t.Context(), o, p.NewAction())
	if !errors.Is(err, policy.ErrGuarded) || d.Reason != policy.NotFinite ||
		!strings.Contains(err.Error(), p.Spec().Kinds[0].Features[0]) {
		t.Errorf("%v, %v", d, err)
	}
	if c := p.Counts(); c.Errors != 1 || c.Fallback[policy.NotFinite] != 1 {
		t.Errorf("counted %+v", c)
	}
	if _, err := policy.OpenBytes(policytest.Encode(t, f), policy.Options{Shadow: true}); err == nil ||
		!strings.Contains(err.Error(), "stoker.fallback: there is none") {
		t.Errorf("shadow mode without a fallback: %v", err)
	}
}

// In shadow mode the policy decides and is counted, and the fallback acts.
func TestShadow(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 5)
	plain, shadow := served(t, f, policy.Options{}), served(t, f, policy.Options{Shadow: true})
	want, out, told := plain.NewAction(), plain.NewAction(), plain.NewAction()
	decide(t, plain, shown(t, plain, 0), want)
	d, err := shadow.DecideFor(t.Context(), policy.Request{Seen: shown(t, plain, 0), Out: out, Shadow: told})
	if err != nil || d.By != policy.ByFallback || d.Reason != "" {
		t.Errorf("%v, %v", d, err)
	}
	if out.Kinds[0][0] != 1 || told.Kinds[0][0] != want.Kinds[0][0] {
		t.Errorf("acted %v, the policy would have done %v, want %v", out.Kinds[0], told.Kinds[0], want.Kinds[0])
	}
	if c := shadow.Counts(); c.Policy != 1 || c.Shadowed != 1 || c.Agreed != 0 {
		t.Errorf("counted %+v", c)
	}
}

// Buffers of another shape are the caller's errors, and name the place.
func TestWrongInput(t *testing.T) {
	p := served(t, policytest.Zoo(t, "gnn-placement", 5), policy.Options{})
	for want, change := range map[string]func(*envs.Observation, *envs.Action){
		"has 0 kinds of agents, want 1":    func(o *envs.Observation, _ *envs.Action) { o.Kinds = nil },
		"active has 0 entries, want 1":     func(o *envs.Observation, _ *envs.Action) { o.Kinds[0].Active = nil },
		"legal has 1 entries":              func(o *envs.Observation, _ *envs.Action) { o.Kinds[0].Legal = o.Kinds[0].Legal[:1] },
		"graph 0 is nil":                   func(o *envs.Observation, _ *envs.Action) { o.Kinds[0].Graphs[0] = nil },
		"nodes of kind \"function\", want": func(o *envs.Observation, _ *envs.Action) { o.Kinds[0].Graphs[0].Nodes[0].Len = 1 << 20 },
		"dangles": func(o *envs.Observation, _ *envs.Action) {
			g := o.Kinds[0].Graphs[0]
			g.Edges[0].Len, g.Edges[0].From[0] = 1, 1000
		},
		"waiting is 1 for the first 0, want": func(o *envs.Observation, _ *envs.Action) {
			clear(o.Kinds[0].Graphs[0].Nodes[2].Features)
			o.Kinds[0].Legal[0] = 1
		},
		"no legal choice in component 0":     func(o *envs.Observation, _ *envs.Action) { clear(o.Kinds[0].Mask) },
		"action: kind \"scheduler\" has 2 n": func(_ *envs.Observation, a *envs.Action) { a.Kinds[0] = a.Kinds[0][:2] },
	} {
		o, a := shown(t, p, 0), p.NewAction()
		change(o, a)
		if _, err := p.Decide(t.Context(), o, a); !errors.Is(err, policy.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := p.Decide(t.Context(), nil, p.NewAction()); !errors.Is(err, policy.ErrInput) {
		t.Errorf("nil gives %v", err)
	}
}

// liar is a policy of a program's own that does what it is told, right or wrong.
type liar struct {
	agents.Policy
	does  []float32
	err   error
	panic bool
}

func (*liar) Reset(uint64) error { return nil }

func (l *liar) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	if l.panic {
		panic("broken")
	}
	copy(act.Kinds[0], l.does)
	return l.err
}

// What a policy does must be in its space and allowed by the masks, also by those that depend on choices before; an
// error of its own goes to the fallback too.
func TestIllegalGoesToTheFallback(t *testing.T) {
	f := policytest.Zoo(t, "gnn-placement", 5)
	right := f.SelfTest[0].Kinds[0].Action
	f.SelfTest = f.SelfTest[:1]
	l := &liar{does: right}
	p := served(t, f, policy.Options{Agents: []policy.Agent{{Name: f.Agent.Name,
		Open: func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) { return l, nil }}}})
	o, out := shown(t, p, 0), p.NewAction()
	space, nan := p.Spec().Kinds[0].Action.(envs.MultiDiscrete), float32(math.NaN())
	for _, c := range []struct {
		does   []float32
		err    error
		reason policy.Reason
		at     int
	}{
		{right, nil, "", 0}, {right, errors.New("broken"), policy.Failed, 0},
		{[]float32{float32(space.N[0]), 0, 0}, nil, policy.Illegal, 0}, {[]float32{-1, 0, 0}, nil, policy.Illegal, 0},
		{[]float32{nan, 0, 0}, nil, policy.Illegal, 0}, {[]float32{right[0], 0.5, 0}, nil, policy.Illegal, 1},
		// An invocation that does not wait.
		{[]float32{float32(space.N[0] - 2), 0, 0}, nil, policy.Illegal, 0},
	} {
		l.does, l.err = c.does, c.err
		d := decide(t, p, o, out)
		if d.Reason != c.reason || c.reason != "" && (d.By != policy.ByFallback || d.Where.Feature != c.at) {
			t.Errorf("doing %v, %v: %v by %s at %+v, want %q", c.does, c.err, d, d.By, d.Where, c.reason)
		}
	}
}

// Where whole numbers are wanted others are illegal, and so is what is beyond a range.
func TestIllegalNumbers(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 2)
	right := f.SelfTest[0].Kinds[0].Action
	l := &liar{does: right}
	f.SelfTest = f.SelfTest[:1]
	p := served(t, f, policy.Options{Agents: []policy.Agent{{Name: f.Agent.Name,
		Open: func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) { return l, nil }}}})
	o, out := shown(t, p, 0), p.NewAction()
	for c, x := range map[int]float32{0: 1e6, 3: 7.5, 5: -1} {
		l.does = slices.Clone(right)
		l.does[c] = x
		d := decide(t, p, o, out)
		if d.By != policy.ByFallback || d.Reason != policy.Illegal || d.Where.Feature != c ||
			d.Where.Name != p.Spec().Kinds[0].Actions[c] {
			t.Errorf("component %d of %g: %v by %s at %+v", c, x, d, d.By, d.Where)
		}
	}
}

// witness is a policy with a state: it remembers number 3 of what it sees.
type witness struct {
	liar
	saw *[]float32
}

func (w *witness) Act(o *envs.Observation, act *envs.Action, deterministic bool) error {
	*w.saw = append(*w.saw, o.Kinds[0].Values[3])
	return w.liar.Act(o, act, deterministic)
}

// A policy with a state also sees what the guard keeps it from deciding on: within range, so that the next decision follows
// from the one before.
func TestStateSeesEveryObservation(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 20)
	f.Seen[0].Features[3] = bundle.Range{Least: 0, Low: 0.1, Median: 0.25, High: 0.9, Greatest: 1}
	var saw []float32
	w := &witness{liar{does: f.SelfTest[0].Kinds[0].Action}, &saw}
	f.SelfTest = f.SelfTest[:1]
	p := served(t, f, policy.Options{Agents: []policy.Agent{{Name: f.Agent.Name, State: true,
		Open: func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) { return w, nil }}}})
	o, out := shown(t, p, 0), p.NewAction()
	saw = saw[:0]
	var by []policy.By
	for _, x := range []float32{0.5, 3, float32(math.NaN()), 0.75} {
		o.Kinds[0].Values[3] = x
		by = append(by, decide(t, p, o, out).By)
	}
	if want := []float32{0.5, 1, 0.25, 0.75}; !slices.Equal(saw, want) {
		t.Errorf("it saw %v, want %v", saw, want)
	}
	if want := []policy.By{policy.ByPolicy, policy.ByFallback, policy.ByFallback, policy.ByPolicy}; !slices.Equal(by, want) {
		t.Errorf("decided by %v, want %v", by, want)
	}
}

// Without ranges numbers of absent agents count as little as with them.
func TestAbsentWithoutRanges(t *testing.T) {
	f := policytest.Zoo(t, "faasconf", 5)
	f.Seen = nil
	p := served(t, f, policy.Options{})
	o, out := shown(t, p, 0), p.NewAction()
	o.Kinds[0].Values[1] = float32(math.NaN())
	for _, active := range []bool{true, false} {
		o.Kinds[0].Active[0] = active
		want := map[bool]policy.Reason{true: policy.NotFinite, false: ""}[active]
		if d := decide(t, p, o, out); d.Reason != want {
			t.Errorf("a NaN of an agent that is present, %v: %v, want %q", active, d, want)
		}
	}
}

// A policy that panics takes no worker with it.
func TestPanic(t *testing.T) {
	f := policytest.Zoo(t, "hops-pricer", 2)
	l := &liar{does: f.SelfTest[0].Kinds[0].Action}
	f.SelfTest = f.SelfTest[:1]
	p := served(t, f, policy.Options{Workers: 1, Agents: []policy.Agent{{Name: f.Agent.Name,
		Open: func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) { return l, nil }}}})
	o, out := shown(t, p, 0), p.NewAction()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic got lost")
			}
		}()
		l.panic = true
		_, _ = p.Decide(t.Context(), o, out)
	}()
	l.panic = false
	if _, err := p.Decide(t.Context(), o, out); err != nil {
		t.Error(err)
	}
}

// A decision that needs more than the machines have goes to the fallback.
func TestBeyondMachines(t *testing.T) {
	f := policytest.Zoo(t, "faasconf", 5)
	l := &liar{does: f.SelfTest[0].Kinds[0].Action}
	f.SelfTest = f.SelfTest[:1]
	p := served(t, f, policy.Options{Agents: []policy.Agent{{Name: f.Agent.Name,
		Open: func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) { return l, nil }}}})
	o, out := shown(t, p, 0), p.NewAction()
	if d := decide(t, p, o, out); d.By != policy.ByPolicy {
		t.Errorf("what was recorded: %v", d)
	}
	l.does = slices.Repeat([]float32{1}, len(l.does)) // all that the ranges have: more than eight machines
	if d := decide(t, p, o, out); d.By != policy.ByFallback || d.Reason != policy.BeyondMachines || out.Kinds[0][0] == 1 {
		t.Errorf("the most of everything: %v by %s, %v", d, d.By, out.Kinds[0])
	}
	if c := p.Counts(); c.Fallback[policy.BeyondMachines] != 1 {
		t.Errorf("counted %+v", c)
	}
}

// Decisions of a sequence follow each other, those of another do not touch them; sequences are bounded and end.
func TestSequences(t *testing.T) {
	f := policytest.Zoo(t, "faasconf", 20)
	spec := must.Get(envs.DecodeSpec(f.Spec, nil))(t)
	used := slices.Index(spec.Kinds[0].Features, "cpu share")
	f.Seen[0].Features[used] = bundle.Range{Greatest: 5}
	p := served(t, f, policy.Options{Sequences: 2, Idle: time.Hour, Workers: 1})
	if !p.Stateful() {
		t.Fatal("the autoscaler in its place has no state")
	}
	r := policy.Request{Seen: shown(t, p, 0), Out: p.NewAction()}
	width := spec.Kinds[0].Observation.Width()
	r.Seen.Kinds[0].Values[width-1] = float32(math.NaN()) // the autoscaler acts
	for i := range spec.Kinds[0].Agents {
		r.Seen.Kinds[0].Values[i*width+used] = 2 // and wants more replicas
	}
	act := func(id string, end bool) []float32 {
		r.Sequence, r.End = id, end
		if d, err := p.DecideFor(t.Context(), r); err != nil || d.By != policy.ByFallback {
			t.Fatalf("sequence %q: %v, %v", id, d, err)
		}
		return slices.Clone(r.Out.Kinds[0])
	}
	base := act("a", false)
	if next := act("a", false); slices.Equal(base, next) {
		t.Errorf("the second decision is the first one, %v: its metrics should have moved it", base)
	}
	if first := act("b", false); !slices.Equal(first, base) {
		t.Errorf("another sequence begins with %v, want %v", first, base)
	}
	r.Sequence = "c"
	if _, err := p.DecideFor(t.Context(), r); !errors.Is(err, policy.ErrBusy) || p.Sequences() != 2 {
		t.Errorf("a third of two sequences: %v, %d are kept", err, p.Sequences())
	}
	act("a", true)
	if first := act("c", true); !slices.Equal(first, base) || p.Sequences() != 1 {
		t.Errorf("after the end of one a new one begins with %v, want %v; %d are kept", first, base, p.Sequences())
	}
	if n := testing.AllocsPerRun(20, func() { act("b", false) }); n > 1 { // the test's own copy
		t.Errorf("a decision of a sequence allocates %v times", n-1)
	}
	synctest.Test(t, func(t *testing.T) { // those that no one uses make room
		q := served(t, f, policy.Options{Sequences: 1, Idle: time.Hour})
		for _, id := range []string{"a", "b", "c"} {
			r.Sequence = id
			if _, err := q.DecideFor(t.Context(), r); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour + 1)
		}
	})
	synctest.Test(t, func(t *testing.T) { // and are forgotten, also where there is room
		p = served(t, f, policy.Options{Idle: time.Hour})
		act("a", false)
		time.Sleep(time.Hour)
		if next := act("a", false); slices.Equal(next, base) {
			t.Error("a sequence that was idle for an hour was forgotten, want it kept")
		}
		time.Sleep(time.Hour + 1)
		if next := act("a", false); !slices.Equal(next, base) {
			t.Errorf("a sequence that was idle for more than an hour decided %v, want %v", next, base)
		}
	})
}

// Many goroutines get what one gets, whoever waits for whom.
func TestManyAtOnce(t *testing.T) {
	for _, name := range policytest.Names() {
		f := policytest.Zoo(t, name, 30)
		p := served(t, f, policy.Options{Workers: 3, NoGuard: true})
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				out := p.NewAction()
				for i := range 60 {
					k := (g + i) % len(f.SelfTest)
					o := shown(t, p, k)
					if d, err := p.Decide(t.Context(), o, out); err != nil || d.By != policy.ByPolicy {
						t.Errorf("%s: %v, %v", name, d, err)
						return
					}
					for j, x := range f.SelfTest[k].Kinds[0].Action {
						if out.Kinds[0][j] != x {
							t.Errorf("%s: vector %d gives %v, want %v", name, k, out.Kinds[0], f.SelfTest[k].Kinds[0].Action)
							return
						}
					}
				}
			})
		}
		all.Wait()
	}
}

// A call that is given up while it waits says so.
func TestContext(t *testing.T) {
	p := served(t, policytest.Zoo(t, "hops-pricer", 5), policy.Options{Workers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	release := policy.Hold(p)
	if _, err := p.Decide(ctx, shown(t, p, 0), p.NewAction()); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	release()
	if _, err := p.Decide(t.Context(), shown(t, p, 0), p.NewAction()); err != nil {
		t.Error(err)
	}
}
