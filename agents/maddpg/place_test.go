package maddpg

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// sharedRun trains three agents in a line with one set of weights.
func sharedRun(t *testing.T, mix string) *run {
	t.Helper()
	c := quick()
	c.Mix, c.Shared = mix, true
	r := newRun(t, c, toyOptions{agents: 3, length: 5, sequence: line(3)}, envs.VectorOptions{})
	r.steps(30)
	return r
}

// line is the graph in which each agent's neighbours are the one before and the one after.
func line(n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		if i > 0 {
			out[i] = append(out[i], i-1)
		}
		if i < n-1 {
			out[i] = append(out[i], i+1)
		}
	}
	return out
}

// TestSharedWeightsActOnAnyGraph: in an environment of two separate copies of the trained graph, one of them in
// reverse order, and of an agent alone, the policy does in each copy what it does in one; the agent alone too gets an
// action.
func TestSharedWeightsActOnAnyGraph(t *testing.T) {
	both := [][]int{{1}, {0, 2}, {1}, {4}, {3, 5}, {4}, {}}
	from := []int{0, 1, 2, 2, 1, 0} // which trained agent each of the first six is
	for _, mix := range []string{Attention, Mean, None, Joint} {
		r := sharedRun(t, mix)
		p := must.Get(r.l.Policy())(t)
		f := stored(t, r)
		spec := newToy(toyOptions{agents: 7, sequence: both}).Spec()
		q, err := actor.Open(f, spec, native.New(native.Options{}))
		if err != nil {
			t.Fatalf("%s: %v", mix, err)
		}
		obs, act := observed(t, toyOptions{agents: 3, length: 5, sequence: line(3)}, 9)
		wide, got := envs.NewObservation(spec), envs.NewAction(spec)
		for i, j := range from {
			copy(wide.Kinds[0].Values[2*i:2*i+2], obs.Kinds[0].Values[2*j:2*j+2])
		}
		for i := range wide.Kinds[0].Active {
			wide.Kinds[0].Active[i] = true
		}
		must.Do(t, p.Act(obs, act, true))
		must.Do(t, q.Act(wide, got, true))
		for i, j := range from {
			near(t, mix, got.Kinds[0][2*i:2*i+2], act.Kinds[0][2*j:2*j+2])
		}
		if err := envs.CheckAction(spec, func(_, _ int) bool { return true }, got); err != nil {
			t.Errorf("%s: %v", mix, err)
		}
	}
}

// near compares actions in [−1, 3].
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for k := range got {
		if d := got[k] - want[k]; d > 1e-5 || d < -1e-5 {
			t.Errorf("%s: acts %v, want %v as in the trained graph", what, got, want)
			return
		}
	}
}

// TestSharedStatistics: the policy file has the same row for every agent, which is what lets an eighth one act.
func TestSharedStatistics(t *testing.T) {
	r := sharedRun(t, Attention)
	f := stored(t, r)
	rows := f.Arrays["toy.shift"].Data
	if !slices.Equal(rows[:2], rows[2:4]) || !slices.Equal(rows[:2], rows[4:]) {
		t.Fatalf("rows of shift are %v, want three equal ones", rows)
	}
	spec := newToy(toyOptions{agents: 4}).Spec()
	rows[2]++
	if _, err := actor.Open(f, spec, native.New(native.Options{})); err == nil ||
		!strings.Contains(err.Error(), "want equal rows with shared weights") {
		t.Errorf("unequal rows gave %v", err)
	}
}

// TestOtherGraphsRefused: what a policy cannot read is named.
func TestOtherGraphsRefused(t *testing.T) {
	for name, k := range map[string]struct {
		mix    string
		shared bool
		o      toyOptions
		width  int
		want   string
	}{
		"separate weights": {Attention, false, toyOptions{agents: 4, sequence: line(4)}, 2,
			"separate weights for 3 agents, the environment has 4 (toy); only a policy trained with agent.shared: true"},
		"another graph": {Mean, false, toyOptions{agents: 3, sequence: [][]int{{1, 2}, {0}, {0}}}, 2,
			"[[1] [0 2] [1]] were each other's neighbours, here [[1 2] [0] [0]] are"},
		"one for all": {Single, false, toyOptions{agents: 4}, 2, "mix: single controls all agents at once"},
		"wider observations": {Attention, true, toyOptions{agents: 4}, 3,
			"the environment has observations of 3 and actions of 2 per agent (toy)"},
	} {
		c := quick()
		c.Mix, c.Shared = k.mix, k.shared
		r := newRun(t, c, toyOptions{agents: 3, sequence: line(3)}, envs.VectorOptions{})
		f := stored(t, r)
		s := newToy(k.o).spec
		s.Kinds[0].Observation = envs.NewBox(k.width, -1, 1)
		if _, err := actor.Open(f, &s, native.New(native.Options{})); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, k.want)
		}
	}
}

// TestWeightsMoveToAnotherGraph: training can start from shared weights that were learned with other agents.
func TestWeightsMoveToAnotherGraph(t *testing.T) {
	c := quick()
	c.Shared = true
	from := sharedRun(t, Attention)
	to := newRun(t, c, toyOptions{agents: 5, length: 5, sequence: line(5)}, envs.VectorOptions{})
	s := agents.NewState()
	must.Do(t, from.l.Save(s))
	must.Do(t, to.l.Adopt(s))
	a, b := from.l.update.actor.Params(), to.l.update.actor.Params()
	x, y := make([]float32, nets.Size(a)), make([]float32, nets.Size(b))
	a.Get(x)
	b.Get(y)
	if !slices.Equal(x, y) {
		t.Error("the weights differ")
	}
	to.steps(10)
}
