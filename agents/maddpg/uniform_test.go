package maddpg

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// A policy with equal weights does what the attention does where all queries are zero, and only then.
func TestUniform(t *testing.T) {
	for _, shared := range []bool{false, true} {
		o := toyOptions{agents: 4, sequence: [][]int{{1, 2}, {0, 2, 3}, {1, 3}, {2}}}
		p, _, seen := opened(t, func(c *Config) { c.Shared, c.FinalBound = shared, 0 }, o, 3)
		act := func(of envs.Policy) []float32 {
			t.Helper()
			spec := newToy(o).Spec()
			obs, a := envs.NewObservation(spec), envs.NewAction(spec)
			k := &obs.Kinds[0]
			copy(k.Values, seen)
			for j := range k.Active {
				k.Active[j] = true
			}
			must.Do(t, of.Act(obs, a, true))
			return a.Kinds[0]
		}
		attends := act(p)
		equal := must.Get(p.Uniform(newToy(o).Spec(), native.New(native.Options{})))(t)
		got := act(equal)
		m := nets.MeanField{MLP: nets.MLP{Agents: 4, Shared: shared, In: []nets.Port{{Name: "observation", Width: 2}},
			Hidden: quick().Hidden, Out: 2, Activation: nets.ReLU}, Mix: nets.Attention, Keys: quick().Keys}
		f := must.Get(p.Export())(t)
		params := f.Arrays["toy.network"].Data
		slots, size := nets.Layout(m)
		for g := range m.Groups() {
			for _, s := range slots {
				if s.Name == "query.weight" {
					clear(params[g*size+s.Offset:][:s.Size()])
				}
			}
		}
		still := must.Get(actor.Open(f, newToy(o).Spec(), native.New(native.Options{})))(t)
		want, apart := act(still), 0.0
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5 {
				t.Errorf("shared %v: action %d is %g, want %g as with queries of zero", shared, i, got[i], want[i])
			}
			apart = max(apart, math.Abs(float64(got[i]-attends[i])))
		}
		if apart < 1e-6 {
			t.Errorf("shared %v: equal weights change nothing: the test shows nothing", shared)
		}
	}
	p, _, _ := opened(t, func(c *Config) { c.Mix = Joint }, toyOptions{agents: 2}, 1)
	if equal, err := p.Uniform(newToy(toyOptions{agents: 2}).Spec(), native.New(native.Options{})); equal != nil || err != nil {
		t.Errorf("without attention there is a policy %v and an error %v, want neither", equal, err)
	}
}
