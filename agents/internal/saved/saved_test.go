package saved_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// learner is the least that has every kind of part.
type learner struct {
	e      nets.Engine
	net    nets.Net
	adam   nets.Optimizer
	steps  int64
	first  number
	second number
}

type number struct{ x float64 }

func (n *number) State(c *state.Codec) {
	state.Value(c, &n.x)
	saved.Finite(c, "number", n.x)
}

func newLearner(t *testing.T, weight float32) *learner {
	t.Helper()
	l := &learner{e: native.New(native.Options{Threads: 1}), steps: int64(weight), first: number{float64(weight)}}
	var err error
	l.net, err = l.e.NewNet(nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU})
	must.Do(t, err)
	l.net.Params().Set([]float32{weight, weight})
	if l.adam, err = l.e.NewAdam(l.net, nets.Adam{Rate: 1}); err != nil {
		t.Fatal(err)
	}
	l.adam.SetSteps(l.steps)
	return l
}

func (l *learner) parts() *saved.Parts {
	p := saved.New("test", l.e)
	p.Weights["w"] = l.net.Params()
	p.Adam("net", l.adam)
	p.Counters["steps"] = &l.steps
	p.Blobs["first"], p.Blobs["second"] = &l.first, &l.second
	return p
}

func save(t *testing.T, l *learner) *agents.State {
	t.Helper()
	s := agents.NewState()
	must.Do(t, l.parts().Save(s))
	return s
}

func equal(a, b *agents.State) bool {
	arrays := func(x, y agents.Array) bool { return slices.Equal(x.Data, y.Data) }
	return maps.EqualFunc(a.Weights, b.Weights, arrays) && maps.EqualFunc(a.Optimiser, b.Optimiser, arrays) &&
		maps.Equal(a.Counters, b.Counters) && maps.EqualFunc(a.Blobs, b.Blobs, slices.Equal[[]byte])
}

func TestLoad(t *testing.T) {
	a, b := newLearner(t, 3), newLearner(t, 5)
	want := save(t, a)
	if want.Counters["net_updates"] != 3 || want.Counters["steps"] != 3 {
		t.Errorf("counters are %v", want.Counters)
	}
	must.Do(t, b.parts().Load(want))
	if !equal(save(t, b), want) {
		t.Error("what was loaded is saved as something else")
	}
}

// Whatever is wrong is named, and nothing has changed: not even the parts that come before it.
func TestLoadChangesNothing(t *testing.T) {
	other := must.Get(state.Append(nil, "test: other", &number{1}))(t)
	nan := must.Get(state.Append(nil, "test: second", &number{math.NaN()}))(t)
	for want, spoil := range map[string]func(*agents.State){
		`test: weights: agents: state has no array "w"`: func(s *agents.State) { delete(s.Weights, "w") },
		`test: optimiser: agents: state has no array "net.first`: func(s *agents.State) {
			delete(s.Optimiser,
				"net.first_moment")
		},
		`array "net.second_moment" has shape [1]`: func(s *agents.State) {
			s.Optimiser["net.second_moment"] = agents.Array{Shape: []int{1}, Data: []float32{1}}
		},
		`test: state has no counter "steps", it has [net_updates]`: func(s *agents.State) { delete(s.Counters, "steps") },
		`test: counter "net_updates" of the state is -1, want 0`:   func(s *agents.State) { s.Counters["net_updates"] = -1 },
		`counter "steps" of the state is 9223372036854775807`:      func(s *agents.State) { s.Counters["steps"] = math.MaxInt64 },
		`state has no entry "second"`:                              func(s *agents.State) { delete(s.Blobs, "second") },
		`test: second: saved state of 3 bytes: cut short`: func(s *agents.State) {
			s.Blobs["second"] = []byte{1, 2,
				3}
		},
		`of a "test: other", want a "test: second"`: func(s *agents.State) { s.Blobs["second"] = other },
		`number 0 is NaN, want a finite number`:     func(s *agents.State) { s.Blobs["second"] = nan },
	} {
		s, l := save(t, newLearner(t, 3)), newLearner(t, 5)
		before := save(t, l)
		spoil(s)
		if err := l.parts().Load(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if !equal(save(t, l), before) {
			t.Errorf("%s: the refused state changed something", want)
		}
	}
}

// Adopting takes the weights and the entries named.
func TestAdopt(t *testing.T) {
	a, b := newLearner(t, 3), newLearner(t, 5)
	s := save(t, a)
	must.Do(t, b.parts().Adopt(s, "first"))
	if got := save(t, b); b.first.x != 3 || b.steps != 5 || b.adam.Steps() != 5 ||
		!slices.Equal(got.Weights["w"].Data, s.Weights["w"].Data) {
		t.Errorf("adopted %+v", got)
	}
	c := newLearner(t, 7)
	delete(s.Blobs, "first")
	if err := c.parts().Adopt(s, "first"); err == nil || !strings.Contains(err.Error(), `no entry "first"`) {
		t.Errorf("a missing entry gave %v", err)
	}
	if got := save(t, c); got.Weights["w"].Data[0] != 7 {
		t.Error("the refused state changed the weights")
	}
}

// counting is a policy with one number of state, of a configuration.
type counting struct {
	config uint64
	n      int
}

func (p *counting) State(c *state.Codec) {
	c.Same("configuration", p.config)
	state.Value(c, &p.n)
}
func (*counting) Name() string                                    { return "counting" }
func (*counting) Reset(uint64) error                              { return nil }
func (*counting) Act(*envs.Observation, *envs.Action, bool) error { return nil }
func (p *counting) CopyFrom(src envs.Policy) error                { return envs.CopyPolicy(p, src) }
func (p *counting) AppendBinary(b []byte) ([]byte, error)         { return state.Append(b, p.Name(), p) }
func (p *counting) UnmarshalBinary(b []byte) error                { return state.Load(b, p.Name(), p) }

// other is another policy.
type other struct{ counting }

func (*other) AppendBinary([]byte) ([]byte, error) { return nil, errors.New("not used") }

func TestCopyPolicy(t *testing.T) {
	p, q := &counting{1, 2}, &counting{1, 3}
	if err := p.CopyFrom(q); err != nil || p.n != 3 {
		t.Errorf("copied %+v (%v)", p, err)
	}
	if err := p.CopyFrom(&counting{9, 4}); err == nil || p.n != 3 || !strings.Contains(err.Error(),
		"counting: cannot be copied from another configuration") {
		t.Errorf("another configuration gave %v, %+v", err, p)
	}
	if err := p.CopyFrom(&other{counting{1, 5}}); err == nil || p.n != 3 ||
		!strings.Contains(err.Error(), "cannot be copied from a *saved_test.other") {
		t.Errorf("another policy gave %v, %+v", err, p)
	}
	if n := testing.AllocsPerRun(100, func() { _ = p.CopyFrom(q) }); n != 0 {
		t.Errorf("a copy allocates %g times", n)
	}
}
