// Package insighttest checks that what a policy says of itself is what it does.
//
// Not here: the policies' own forms and networks, which each learner's tests open.
package insighttest

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Check compares an insight with its policy: outputs are the policy's actions, of choices the largest logit's; the
// gradient is that of finite differences; and numbers of another length are refused. Seen are observations of any number
// of rows of the only kind of agents of spec, all active and unmasked: [rows, agents, width]. The networks must be smooth.
func Check(t *testing.T, spec *envs.Spec, p agents.Policy, in agents.Insight, seen []float32) {
	t.Helper()
	out, err := in.Forward(seen)
	if err != nil {
		t.Fatal(err)
	}
	out = slices.Clone(out)
	actions(t, spec, p, in.Outputs(), seen, out)
	derivatives(t, in, seen, len(out))
	if _, err := in.Forward(seen[1:]); err == nil {
		t.Error("a truncated state was accepted")
	}
	if _, err := in.Gradient(out[1:]); err == nil {
		t.Error("too few weights were accepted")
	}
}

// actions compares outputs with what the policy does.
func actions(t *testing.T, spec *envs.Spec, p agents.Policy, outputs []agents.Output, seen, out []float32) {
	t.Helper()
	obs, act := envs.NewObservation(spec), envs.NewAction(spec)
	k := &obs.Kinds[0]
	for i := range k.Active {
		k.Active[i] = true
	}
	for i := range k.Mask {
		k.Mask[i] = true
	}
	n, components := spec.Kinds[0].Agents, spec.Kinds[0].Action.Width()
	for r := range len(seen) / len(k.Values) {
		copy(k.Values, seen[r*len(k.Values):])
		if err := p.Act(obs, act, true); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			want := decided(outputs, out[(r*n+j)*len(outputs):][:len(outputs)], components)
			for c, w := range want {
				if got := act.Kinds[0][j*components+c]; math.Abs(float64(got-w)) > 1e-5 {
					t.Errorf("row %d, agent %d, component %d: the policy does %g, the insight says %g", r, j, c, got, w)
				}
			}
		}
	}
}

// decided is the action that an agent's outputs stand for.
func decided(outputs []agents.Output, y []float32, components int) []float32 {
	best, action := make([]float32, components), make([]float32, components)
	for o, at := range outputs {
		switch c := at.Component; {
		case at.Choice < 0:
			action[c] = y[o]
		case at.Choice == 0 || y[o] > best[c]:
			best[c], action[c] = y[o], float32(at.Choice)
		}
	}
	return action
}

// derivatives compares the gradient of a random sum of outputs with finite differences.
func derivatives(t *testing.T, in agents.Insight, seen []float32, outputs int) {
	t.Helper()
	weights, s := make([]float32, outputs), rng.NewStream(4, "weights")
	for i := range weights {
		weights[i] = float32(s.Norm())
	}
	g, err := in.Gradient(weights)
	if err != nil {
		t.Fatal(err)
	}
	g = slices.Clone(g)
	value := func() (sum float64) {
		y, err := in.Forward(seen)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range y {
			sum += float64(weights[i]) * float64(x)
		}
		return sum
	}
	largest := 0.0
	for _, x := range g {
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 {
		t.Fatal("all derivatives are zero")
	}
	for i, x := range seen {
		const h = 1.0 / 512
		seen[i] = x + h
		up := value()
		seen[i] = x - h
		want := (up - value()) / (2 * h)
		seen[i] = x
		if math.Abs(want-float64(g[i])) > 0.002*(largest+0.1) {
			t.Errorf("the derivative by number %d is %g, finite differences give %g", i, g[i], want)
		}
	}
}
