package steps

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

func contended() EnvConfig {
	c := DefaultEnv()
	c.Workflow, c.Platform, c.Contention, c.SLO = "dag", Knative, Seen, []float64{1.2, 2}
	return c
}

// With contention seen the world and what was seen before are the same, byte for byte; what is new is behind it.
func TestContentionAddsColumns(t *testing.T) {
	hidden := contended()
	hidden.Contention = Hidden
	a, b := must.Get(New(hidden, Given{}))(t), must.Get(New(contended(), Given{}))(t)
	x, y := envs.NewObservation(a.Spec()), envs.NewObservation(b.Spec())
	act, out := envs.NewAction(a.Spec()), envs.NewOutcome(a.Spec())
	must.Do(t, a.Reset(3, nil, x))
	must.Do(t, b.Reset(3, nil, y))
	held := false
	for a.Running() {
		for k := range a.Spec().Kinds[0].Observation.(envs.Graph).Nodes {
			g, h := x.Kinds[0].Graphs[0].Nodes[k], y.Kinds[0].Graphs[0].Nodes[k]
			w, v := a.Spec().Kinds[0].Observation.(envs.Graph).Nodes[k].Width, b.Spec().Kinds[0].Observation.(envs.Graph).Nodes[k].Width
			if g.Len != h.Len || v <= w {
				t.Fatalf("kind %d: %d nodes of %d, and %d of %d", k, g.Len, w, h.Len, v)
			}
			for i := range g.Len {
				if !slices.Equal(g.Features[i*w:(i+1)*w], h.Features[i*v:i*v+w]) {
					t.Fatalf("kind %d, node %d: %v, want %v", k, i, h.Features[i*v:i*v+w], g.Features[i*w:(i+1)*w])
				}
			}
			if k == RequestNode {
				held = held || h.Features[w] < 1
			}
		}
		act.Kinds[0][0] = float32(len(a.Model().Options[a.NextStep()]) / 3)
		must.Do(t, a.Step(act, x, out))
		reward := out.Rewards[0][0]
		must.Do(t, b.Step(act, y, out))
		if out.Rewards[0][0] != reward {
			t.Fatalf("a reward of %g, want %g", out.Rewards[0][0], reward)
		}
	}
	if !held {
		t.Error("the cluster was free at every decision")
	}
}

func TestContentionRefused(t *testing.T) {
	c := contended()
	c.Platform = AWS
	if _, err := New(c, Given{}); err == nil || !strings.Contains(err.Error(), "contention is of a cluster") {
		t.Errorf("on AWS: %v", err)
	}
	if _, err := NewFlat(contended(), Given{}); err == nil || !strings.Contains(err.Error(), "contention is seen") {
		t.Errorf("as a vector: %v", err)
	}
}
