//go:build libtorch

package torch

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// A wrong choice gives the same error in a recorded update (after the run) as outside one.
func TestWrongChoicesAreFoundAfterTheRun(t *testing.T) {
	c := lossCases()["clipped surrogate"]
	e := newEngine(t, nets.Float32)
	var args []nets.Tensor
	for i, v := range c.args {
		args = append(args, made(e, v, c.shapes[i]...))
	}
	value, grad := e.NewTensor(lossAgents), e.NewTensor(c.shapes[0]...)
	early := false
	r := e.Record("policy", func() {
		e.Loss(nets.PolicyGradient{}, value, grad, args[:4]...)
		e.Loss(c.loss, value, grad, args...)
		early = e.back.Failed()
	})
	for name, wrong := range map[string]struct {
		row    int
		choice float64
	}{
		"illegal by the mask": {1, 0}, "too large": {0, lossWidth}, "negative": {7, -1}, "between two": {2, 0.5},
		"no number": {5, math.NaN()}, "infinite": {6, math.Inf(1)}, "huge": {3, 1e30},
	} {
		t.Run(name, func(t *testing.T) {
			choices := append([]float64(nil), c.args[1]...)
			choices[wrong.row] = wrong.choice
			legal := false
			for _, m := range c.args[3][wrong.row*lossWidth:][:lossWidth] {
				legal = legal || m != 0
			}
			args[1].Set64(choices)
			err := r.Run()
			if early {
				t.Error("the error was there before the update was over")
			}
			e.Loss(nets.PolicyGradient{}, value, grad, args[:4]...)
			direct := e.Err()
			if !legal {
				if err != nil || direct != nil {
					t.Errorf("no choice is legal, but %v, %v", err, direct)
				}
				return
			}
			wants(t, direct, "policy gradient: the choice of agent", "want the number of a legal one below 3")
			wants(t, err, `recorded update "policy"`, direct.Error())
			for _, v := range append(values(value), values(grad)...) {
				if math.IsNaN(v) {
					t.Error("a wrong choice spoils the others' numbers")
				}
			}
		})
	}
	// The error names the first wrong row, and later runs do not repeat it.
	choices := append([]float64(nil), c.args[1]...)
	choices[5], choices[6] = 9, 8
	args[1].Set64(choices)
	wants(t, r.Run(), "the choice of agent 1 in sample 1 is 9")
	args[1].Set64(c.args[1])
	before := Live()
	for range 3 {
		must.Do(t, r.Run())
	}
	if n := Live(); n != before {
		t.Errorf("%d tensors after three runs, %d before", n, before)
	}
}

// An update whose first run meets a wrong choice is captured in the next one.
func TestAWrongChoiceInTheFirstRunIsNotTheEndOfCapture(t *testing.T) {
	c := lossCases()["clipped surrogate"]
	e := newEngine(t, nets.Float32)
	var args []nets.Tensor
	for i, v := range c.args {
		args = append(args, made(e, v, c.shapes[i]...))
	}
	value, grad := e.NewTensor(lossAgents), e.NewTensor(c.shapes[0]...)
	e.back.graphs = fakeGrapher(func() []nets.Tensor { return []nets.Tensor{value, grad} })
	r := e.Record("policy", func() { e.Loss(c.loss, value, grad, args...) }).(*recorded)
	wrong := slices.Clone(c.args[1])
	wrong[0] = lossWidth
	args[1].Set64(wrong)
	wants(t, r.Run(), "want the number of a legal one")
	args[1].Set64(c.args[1])
	must.Do(t, r.Run())
	if r.graph == nil {
		t.Errorf("the second run was not captured: %v", r.obstacle)
	}
}
