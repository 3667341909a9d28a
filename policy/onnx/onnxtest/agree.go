package onnxtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/policy/onnx"
)

// Tie is how near to another action a decision may be so that rounding can change it: a difference of scores, or of
// numbers before they are rounded to whole ones, both relative where they are larger than 1.
const Tie = 1e-5

// Agreement says how far a model and the policy that it was made from agree.
type Agreement struct {
	// Inputs is the number of observations, Actions that of agents that acted.
	Inputs, Actions int
	// Largest is the largest error of a score or of a continuous action, relative where the number is larger than 1.
	Largest float64
	// Unequal is the number of agents whose actions differ by more than rounding, AtTie how many of these are within [Tie]
	// of a tie. Beyond is how many are farther from a tie than that and than the agent's own errors of scores.
	Unequal, AtTie, Beyond int
	Report                 Report
}

// Add takes in what other inputs of the same model gave.
func (a *Agreement) Add(b Agreement) {
	a.Inputs, a.Actions = a.Inputs+b.Inputs, a.Actions+b.Actions
	a.Largest = max(a.Largest, b.Largest)
	a.Unequal, a.AtTie, a.Beyond = a.Unequal+b.Unequal, a.AtTie+b.AtTie, a.Beyond+b.Beyond
	a.Report = b.Report
}

// Step is an observation and what the policy does.
type Step struct {
	Seen *envs.Observation
	Act  *envs.Action
	// Before is, for firm's policies, feature p95 of each agent a window before.
	Before []float32
}

// side holds a model against a policy.
type side struct {
	kind      *envs.Kind
	reference Scores           // of choices; nil without
	observer  *sizing.Observer // nil where actions are in the platform's units already
	out       Agreement
	own       []float64 // the largest error of each agent's scores in the present step
}

// Agree runs the model of a bundle on observations and holds it against what the policy did. spec is the environment's.
func Agree(tb testing.TB, f *bundle.File, model []byte, spec *envs.Spec, steps []Step) Agreement {
	tb.Helper()
	s := &side{kind: &spec.Kinds[0]}
	s.out.Inputs = len(steps)
	var err error
	if s.kind.Action.MaskWidth() > 0 {
		s.reference, err = NewScores(f, spec)
	}
	if id := f.Environment.ID; err == nil && (id == sizing.ID || id == sizing.CountedID) {
		s.observer, err = sizing.OpenObserver(id, f.Environment.Config, f.Environment.Workload)
	}
	if err != nil {
		tb.Fatal(err)
	}
	_, graph := s.kind.Observation.(envs.Graph)
	asked, err := callsOf(spec, steps, graph)
	if err != nil {
		tb.Fatal(err)
	}
	a := Run(tb, model, asked.inputs)
	s.out.Report = a.Report
	i := 0
	for at, n := range asked.steps {
		action, scores := a.Outputs[at]["action"], a.Outputs[at]["scores"]
		w, v := len(action)/n, len(scores)/n
		for j := range n {
			if err := s.hold(&steps[i], action[j*w:(j+1)*w], scores[j*v:(j+1)*v]); err != nil {
				tb.Fatalf("input %d: %v", i, err)
			}
			i++
		}
	}
	return s.out
}

// calls are a model's inputs, and how many steps each call has.
type calls struct {
	inputs [][]onnx.Tensor
	steps  []int
}

// callsOf are vectors all together, and one to eight graphs at once.
func callsOf(spec *envs.Spec, steps []Step, graph bool) (calls, error) {
	var out calls
	for len(steps) > 0 {
		n := len(steps)
		if graph {
			n = min(n, 1+len(out.steps)%8)
		}
		var all []*envs.Observation
		before := onnx.Tensor{Name: "before", Shape: []int{n, spec.Kinds[0].Agents}}
		for _, s := range steps[:n] {
			all, before.Floats = append(all, s.Seen), append(before.Floats, s.Before...)
		}
		c, err := onnx.Inputs(spec, all...)
		if err != nil {
			return out, err
		}
		if len(before.Floats) > 0 {
			c = append(c, before)
		}
		out.inputs, out.steps, steps = append(out.inputs, c), append(out.steps, n), steps[n:]
	}
	return out, nil
}

// hold compares what the model gave for one observation.
func (s *side) hold(step *Step, action, scores []float32) error {
	if s.reference != nil {
		want, err := s.reference(step.Seen, step.Act)
		if err != nil {
			return err
		}
		if err := s.errors(step, action, scores, want); err != nil {
			return err
		}
		return s.choices(step, action, scores)
	}
	if err := s.numbers(step, action, scores); err != nil {
		return err
	}
	if s.observer == nil {
		return nil
	}
	return s.settings(step, action)
}

// errors takes in the errors of the present agents' scores. In a graph, scores behind a component in which model and
// policy chose differently follow from other choices, and do not count.
func (s *side) errors(step *Step, action, got, want []float32) error {
	n := s.kind.Agents
	if len(got) != len(want) || len(got)%n != 0 {
		return fmt.Errorf("%d scores, want %d", len(got), len(want))
	}
	if step.Seen.Kinds[0].Graphs != nil {
		end := 0
		for c, choices := range envs.Choices(s.kind.Action) {
			if end += choices; action[c] != step.Act.Kinds[0][c] {
				break
			}
		}
		got = got[:end]
	}
	w := len(want) / n
	s.own = make([]float64, n)
	for i, x := range got {
		if !step.Seen.Kinds[0].Active[i/w] || x == want[i] { // both may be infinite
			continue
		}
		s.own[i/w] = max(s.own[i/w], s.error(float64(x), float64(want[i])))
	}
	return nil
}

// error takes in an error, and returns it.
func (s *side) error(got, want float64) float64 {
	e := math.Abs(got-want) / max(1, math.Abs(want))
	if math.IsNaN(e) {
		e = math.Inf(1)
	}
	s.out.Largest = max(s.out.Largest, e)
	return e
}

// choices compares chosen indices.
func (s *side) choices(step *Step, got, scores []float32) error {
	k := s.kind
	n, width := k.Action.Width(), k.Action.MaskWidth()
	want := step.Act.Kinds[0]
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers of actions, want %d", len(got), len(want))
	}
	for j, here := range step.Seen.Kinds[0].Active {
		a, b := got[j*n:(j+1)*n], want[j*n:(j+1)*n]
		if here {
			s.out.Actions++
		}
		if slices.Equal(a, b) {
			continue
		}
		// The first component that differs decides: those after it may depend on it.
		from := j * width
		for c, choices := range envs.Choices(k.Action) {
			if a[c] != b[c] {
				x, y := float64(scores[from+int(a[c])]), float64(scores[from+int(b[c])])
				s.count(math.Abs(x-y)/max(1, math.Abs(x)), 2*s.own[j])
				break
			}
			from += choices
		}
	}
	return nil
}

// count takes in an action that is unequal: so far from a tie, with an error of scores that explains so much.
func (s *side) count(distance, explains float64) {
	s.out.Unequal++
	if distance <= Tie {
		s.out.AtTie++
	} else if distance > explains {
		s.out.Beyond++
	}
}

// numbers compares continuous actions as the environment takes them: scores before they are rounded, and whole numbers
// with the policy's.
func (s *side) numbers(step *Step, action, scores []float32) error {
	box, ok := s.kind.Action.(envs.Box)
	want := step.Act.Kinds[0]
	if !ok || len(scores) != len(want) {
		return fmt.Errorf("%d scores of %v, want %d of a Box", len(scores), s.kind.Action, len(want))
	}
	n := box.Width()
	s.own = make([]float64, s.kind.Agents)
	for j, here := range step.Seen.Kinds[0].Active {
		if !here {
			continue
		}
		if s.observer == nil {
			s.out.Actions++
		}
		distance := -1.0
		for c := range n {
			x, w := float64(scores[j*n+c]), float64(want[j*n+c])
			if box.Integer == nil || !box.Integer[c] {
				s.own[j] = max(s.own[j], s.error(x, w))
				continue
			}
			if float64(action[j*n+c]) != w { // a half is a tie
				distance = max(distance, math.Abs(x-math.Floor(x)-0.5)/max(1, math.Abs(x)))
			}
		}
		if distance >= 0 {
			s.count(distance, 0)
		}
	}
	return nil
}

// settings compares with what the sizing environment makes of the policy's action.
func (s *side) settings(step *Step, action []float32) error {
	n := s.kind.Agents
	if len(action) != 4*n {
		return fmt.Errorf("%d numbers of actions, want %d", len(action), 4*n)
	}
	want, err := s.around(step, 0)
	if err != nil {
		return err
	}
	for j, here := range step.Seen.Kinds[0].Active {
		if !here {
			continue
		}
		s.out.Actions++
		got := action[j*4 : j*4+4]
		if want[0][j].equal(got) {
			continue
		}
		// How far the policy's action is from one that gives these settings.
		distance := math.Inf(1)
		for _, by := range []float64{Tie, s.own[j]} {
			ends, err := s.around(step, by)
			if err != nil {
				return err
			}
			if ends[0][j].within(got, ends[1][j]) {
				distance = by
				break
			}
		}
		s.count(distance, s.own[j])
	}
	return nil
}

// numbersOf are a function's settings in the model's order.
type numbersOf [4]float32

func (a numbersOf) equal(got []float32) bool { return slices.Equal(a[:], got) }

// within reports whether numbers lie between a and b.
func (a numbersOf) within(got []float32, b numbersOf) bool {
	for c, x := range got {
		if x < a[c] || x > b[c] {
			return false
		}
	}
	return true
}

// around are the settings of all functions for the policy's action, less and more by so much.
func (s *side) around(step *Step, by float64) (ends [2][]numbersOf, err error) {
	for i, by := range []float64{-by, by} {
		act := &envs.Action{Kinds: [][]float32{slices.Clone(step.Act.Kinds[0])}}
		for i, x := range act.Kinds[0] {
			act.Kinds[0][i] = float32(min(max(float64(x)+by, 0), 1))
		}
		to := make([]sizing.Settings, s.kind.Agents)
		if err := s.observer.Settings(act, to); err != nil {
			return ends, err
		}
		for _, x := range to {
			ends[i] = append(ends[i], numbersOf{float32(x.Cores), float32(x.MB), float32(x.Replicas), float32(x.Concurrency)})
		}
	}
	return ends, nil
}
