package sizing

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
)

// Side by side a baseline decides in each workflow as it does in it alone, and its state is saved and copied.
func TestSideBySide(t *testing.T) {
	c := sizing.DefaultCounted()
	c.Features, c.Windows = sizing.Described, 20
	flows := []string{sizing.Branch, sizing.TcktApp}
	w := sizing.DefaultWorkload()
	w.Factor *= 2
	build := OfEach(NewAutoscaler)
	run := func(e envs.Env, seed uint64) (actions [][]float32, p envs.Policy) {
		p, err := build(DefaultAutoscaler(), e)
		must.Do(t, err)
		r := rollout.NewRunner(e)
		r.OnStep = func(s rollout.Step) { actions = append(actions, slices.Clone(s.Action.Kinds[0])) }
		if _, err := r.Episode(rollout.Actor{Policy: p}, seed); err != nil {
			t.Fatal(err)
		}
		return actions, p
	}
	c.Workflows = flows
	many, err := sizing.OpenCounted(c, w)
	must.Do(t, err)
	together, p := run(many, 3)
	first := many.(*sizing.Many).First()
	changed := false
	for i, flow := range flows {
		one := c
		one.Workflow, one.Workflows = flow, nil
		e, err := sizing.NewCounted(one, w)
		must.Do(t, err)
		alone, _ := run(e, sizing.SeedOf(3, i))
		for k := range alone {
			if got := together[k][4*first[i] : 4*first[i+1]]; !slices.Equal(got, alone[k]) {
				t.Fatalf("%s, window %d: %v side by side, %v alone", flow, k, got, alone[k])
			}
			changed = changed || !slices.Equal(alone[k], alone[0])
		}
	}
	if !changed {
		t.Error("the autoscaler never acted")
	}
	b, err := p.AppendBinary(nil)
	must.Do(t, err)
	q, err := build(DefaultAutoscaler(), many)
	must.Do(t, err)
	must.Do(t, q.UnmarshalBinary(b))
	if again, err := q.AppendBinary(nil); err != nil || !slices.Equal(again, b) {
		t.Errorf("a loaded policy saves something else (%v)", err)
	}
	if _, err := NewRandomSearch(DefaultRandomSearch(), many); err == nil || !strings.Contains(err.Error(), "2 side by side") {
		t.Errorf("a search in two workflows: %v", err)
	}
}

// The oracle plans for each workflow.
func TestOracleSideBySide(t *testing.T) {
	c := sizing.DefaultCounted()
	c.Features, c.Windows, c.Workflows = sizing.Described, 2, []string{sizing.Sequential, sizing.Branch}
	e := must.Get(sizing.OpenCounted(c, sizing.DefaultWorkload()))(t)
	p := must.Get(PlansOfEach(NewOracle)(DefaultOracle(), e))(t)
	r := rollout.NewRunner(e)
	r.OnStep = func(s rollout.Step) {
		at := slices.IndexFunc(e.Spec().Info, func(q envs.Quantity) bool { return q.Name == "price" })
		if price := s.Info[at]; price > 8 || price < 0.5 {
			t.Errorf("a window of the oracle costs %g USD/h", price)
		}
	}
	must.Get(r.Episode(rollout.Actor{Planner: p}, 1))(t)
}
