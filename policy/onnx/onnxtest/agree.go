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
	// of a tie.
	Unequal, AtTie int
	Report         Report
}

// Add takes in what other inputs of the same model gave.
func (a *Agreement) Add(b Agreement) {
	a.Inputs, a.Actions = a.Inputs+b.Inputs, a.Actions+b.Actions
	a.Largest = max(a.Largest, b.Largest)
	a.Unequal, a.AtTie = a.Unequal+b.Unequal, a.AtTie+b.AtTie
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
	cases, err := cases(spec, steps, graph)
	if err != nil {
		tb.Fatal(err)
	}
	a := Run(tb, model, cases)
	s.out.Report = a.Report
	for i := range steps {
		o := a.Outputs[0]
		at := i
		if graph {
			o, at = a.Outputs[i], 0
		}
		n := len(steps)
		if graph {
			n = 1
		}
		action, scores := o["action"], o["scores"]
		action, scores = action[at*len(action)/n:(at+1)*len(action)/n], scores[at*len(scores)/n:(at+1)*len(scores)/n]
		if err := s.hold(&steps[i], action, scores); err != nil {
			tb.Fatalf("input %d: %v", i, err)
		}
	}
	return s.out
}

// cases are the model's inputs: vectors all together, graphs one by one.
func cases(spec *envs.Spec, steps []Step, graph bool) ([][]onnx.Tensor, error) {
	var all []*envs.Observation
	before := onnx.Tensor{Name: "before", Shape: []int{len(steps), spec.Kinds[0].Agents}}
	var out [][]onnx.Tensor
	for i := range steps {
		all, before.Floats = append(all, steps[i].Seen), append(before.Floats, steps[i].Before...)
		if graph {
			c, err := onnx.Inputs(spec, steps[i].Seen)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	if graph {
		return out, nil
	}
	c, err := onnx.Inputs(spec, all...)
	if len(before.Floats) > 0 {
		c = append(c, before)
	}
	return [][]onnx.Tensor{c}, err
}

// hold compares what the model gave for one observation.
func (s *side) hold(step *Step, action, scores []float32) error {
	if s.reference != nil {
		want, err := s.reference(step.Seen, step.Act)
		if err != nil {
			return err
		}
		if err := s.errors(step, scores, want); err != nil {
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

// errors takes in the errors of the present agents' scores.
func (s *side) errors(step *Step, got, want []float32) error {
	n := s.kind.Agents
	if len(got) != len(want) || len(got)%n != 0 {
		return fmt.Errorf("%d scores, want %d", len(got), len(want))
	}
	w := len(got) / n
	for i, x := range got {
		if !step.Seen.Kinds[0].Active[i/w] || x == want[i] { // both may be infinite
			continue
		}
		s.error(float64(x), float64(want[i]))
	}
	return nil
}

func (s *side) error(got, want float64) {
	e := math.Abs(got-want) / max(1, math.Abs(want))
	if math.IsNaN(e) {
		e = math.Inf(1)
	}
	s.out.Largest = max(s.out.Largest, e)
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
		s.out.Unequal++
		// The first component that differs decides: those after it may depend on it.
		from := j * width
		for c, choices := range envs.Choices(k.Action) {
			if a[c] != b[c] {
				x, y := float64(scores[from+int(a[c])]), float64(scores[from+int(b[c])])
				if math.Abs(x-y) <= Tie*max(1, math.Abs(x)) {
					s.out.AtTie++
				}
				break
			}
			from += choices
		}
	}
	return nil
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
	for j, here := range step.Seen.Kinds[0].Active {
		if !here {
			continue
		}
		if s.observer == nil {
			s.out.Actions++
		}
		unequal, tie := false, true
		for c := range n {
			x, w := float64(scores[j*n+c]), float64(want[j*n+c])
			if box.Integer == nil || !box.Integer[c] {
				s.error(x, w)
				continue
			}
			if a := float64(action[j*n+c]); a != w {
				unequal = true
				near := Tie * max(1, math.Abs(x))
				tie = tie && math.Abs(math.Abs(x-math.Floor(x))-0.5) <= near
			}
		}
		s.count(unequal, tie)
	}
	return nil
}

func (s *side) count(unequal, tie bool) {
	if unequal {
		s.out.Unequal++
		if tie {
			s.out.AtTie++
		}
	}
}

// settings compares with what the sizing environment makes of the policy's action.
func (s *side) settings(step *Step, action []float32) error {
	n := s.kind.Agents
	at := func(by float32) ([]sizing.Settings, error) {
		act := &envs.Action{Kinds: [][]float32{slices.Clone(step.Act.Kinds[0])}}
		for i, x := range act.Kinds[0] {
			act.Kinds[0][i] = min(max(x+by, 0), 1)
		}
		out := make([]sizing.Settings, n)
		return out, s.observer.Settings(act, out)
	}
	want, err := at(0)
	if err != nil {
		return err
	}
	low, err := at(-Tie)
	if err != nil {
		return err
	}
	high, err := at(Tie)
	if err != nil {
		return err
	}
	if len(action) != 4*n {
		return fmt.Errorf("%d numbers of actions, want %d", len(action), 4*n)
	}
	for j, here := range step.Seen.Kinds[0].Active {
		if !here {
			continue
		}
		s.out.Actions++
		got := action[j*4 : j*4+4]
		unequal, tie := false, true
		for c, x := range numbersOf(want[j]) {
			if float32(x) == got[c] {
				continue
			}
			unequal = true
			least, most := float32(numbersOf(low[j])[c]), float32(numbersOf(high[j])[c])
			tie = tie && got[c] >= least && got[c] <= most
		}
		s.count(unequal, tie)
	}
	return nil
}

func numbersOf(s sizing.Settings) [4]float64 {
	return [4]float64{s.Cores, float64(s.MB), float64(s.Replicas), float64(s.Concurrency)}
}
