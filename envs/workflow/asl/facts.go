package asl

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Facts are what a workflow needs and a machine's file does not say. States that the machine does not have are an error.
type Facts struct {
	// Choices has for each Choice state the probability of each state that it leads to. They sum to 1; a state that is not
	// named has 0 and is left out, with all that only it leads to.
	Choices map[string]map[string]float64 `yaml:"choices" json:"choices"`
	// Maps has for each Map state the number of items.
	Maps map[string]int `yaml:"maps" json:"maps"`
	// Waits has the seconds of Wait states whose time is not in the machine's file.
	Waits map[string]float64 `yaml:"waits" json:"waits"`
	// Errors has for Task states with a Retry or a Catch the share of their runs that fail. Without it they never do.
	Errors map[string]float64 `yaml:"errors" json:"errors"`
}

// maxItems is the most items of a Map state: each is a copy of the states inside.
const maxItems = 1000

// ReadFacts reads facts from YAML or JSON. A key that does not exist is an error with its line.
func ReadFacts(r io.Reader) (Facts, error) {
	var f Facts
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return f, err
	}
	if len(data) > maxFile {
		return f, fmt.Errorf("facts: the file has more than %d MB", maxFile>>20)
	}
	d := yaml.NewDecoder(strings.NewReader(string(data)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("facts: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return f, nil
}

// arm is one of the states that a Choice leads to.
type arm struct {
	to string
	p  float64
}

// arms returns where a Choice leads, with probabilities above 0.
func (s *State) arms(o Options) ([]arm, error) {
	given, ok := o.Facts.Choices[s.Name]
	if !ok {
		if o.Percent {
			return s.percent()
		}
		return nil, s.wrong(s.Line, "a choice without probabilities: say how likely %s are (choices in the file of facts)",
			strings.Join(s.targets(), ", "))
	}
	var out []arm
	var sum float64
	targets := s.targets()
	for _, to := range targets {
		p := given[to]
		if !(p >= 0 && p <= 1) {
			return nil, s.wrong(s.Line, "%q has the probability %g, want it in [0, 1]", to, p)
		}
		if p > 0 {
			out = append(out, arm{to, p})
		}
		sum += p
	}
	for to := range given {
		if !slices.Contains(targets, to) {
			return nil, s.wrong(s.Line, "there is a probability of %q, where it does not lead: want %s", to,
				strings.Join(targets, ", "))
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		return nil, s.wrong(s.Line, "its probabilities sum to %g, want 1", sum)
	}
	return out, nil
}

// percent reads the probabilities from the rules, each of which compares the same variable with a number: it is taken as
// drawn evenly from 0 to 100. The first rule that holds is taken.
func (s *State) percent() ([]arm, error) {
	cuts := []float64{0, 100}
	for i, r := range s.Rules {
		switch {
		case r.Operator == "":
			return nil, s.wrong(r.line, "Choices[%d] does not compare a variable with a number: say how likely it is (choices in "+
				"the file of facts)", i)
		case r.Variable != s.Rules[0].Variable:
			return nil, s.wrong(r.line, "Choices[%d] compares %q, an earlier one %q: say how likely they are (choices in the "+
				"file of facts)", i, r.Variable, s.Rules[0].Variable)
		}
		if r.Value > 0 && r.Value < 100 {
			cuts = append(cuts, r.Value)
		}
	}
	slices.Sort(cuts)
	share := map[string]float64{}
	for i := 1; i < len(cuts); i++ {
		x := (cuts[i-1] + cuts[i]) / 2
		to := s.Default
		for _, r := range s.Rules {
			holds, ok := compare(x, r.Operator, r.Value)
			if !ok {
				return nil, s.wrong(r.line, "%s is no comparison of a percentage: say how likely it is (choices in the file of "+
					"facts)", r.Operator)
			}
			if holds {
				to = r.Next
				break
			}
		}
		if to == "" && cuts[i] > cuts[i-1] {
			return nil, s.wrong(s.Line, "no rule holds for numbers from %g to %g, and there is no Default", cuts[i-1], cuts[i])
		}
		share[to] += cuts[i] - cuts[i-1]
	}
	var out []arm
	for _, to := range s.targets() {
		if share[to] > 0 {
			out = append(out, arm{to, share[to] / 100})
		}
	}
	return out, nil
}

// compare reports whether a rule holds for x, which is none of the rules' numbers.
func compare(x float64, operator string, with float64) (holds, ok bool) {
	switch operator {
	case "NumericLessThan", "NumericLessThanEquals":
		return x < with, true
	case "NumericGreaterThan", "NumericGreaterThanEquals":
		return x > with, true
	case "NumericEquals":
		return false, true
	}
	return false, false
}

// check reports facts about states that the machine does not have.
func (f *Facts) check(m *Machine) error {
	types := map[string]Type{}
	deaf := map[string]bool{} // to errors
	m.each(func(s *State) { types[s.Name], deaf[s.Name] = s.Type, s.Retry == nil && s.Catch == "" })
	for _, k := range []struct {
		key  string
		of   []string
		want Type
	}{{"choices", names(f.Choices), Choice}, {"maps", names(f.Maps), Map}, {"waits", names(f.Waits), Wait},
		{"errors", names(f.Errors), Task}} {
		for _, name := range k.of {
			switch t, ok := types[name]; {
			case !ok:
				return fmt.Errorf("facts: %s has %q, but the machine has no such state", k.key, name)
			case t != k.want:
				return fmt.Errorf("facts: %s has %q, which is a %s state, want a %s", k.key, name, t, k.want)
			}
		}
	}
	for _, name := range names(f.Maps) {
		if n := f.Maps[name]; n < 0 || n > maxItems {
			return fmt.Errorf("facts: maps: %s has %d items, want 0 to %d", name, n, maxItems)
		}
	}
	for _, name := range names(f.Errors) {
		if p := f.Errors[name]; !(p >= 0 && p < 1) {
			return fmt.Errorf("facts: errors: %s fails with probability %g, want it in [0, 1)", name, p)
		}
		if deaf[name] {
			return fmt.Errorf("facts: errors has %q, which has neither Retry nor Catch: nothing says what follows", name)
		}
	}
	for _, name := range names(f.Waits) {
		if t := f.Waits[name]; !(t >= 0) || math.IsInf(t, 0) {
			return fmt.Errorf("facts: waits: %s takes %g s, want a number from 0", name, t)
		}
	}
	return nil
}

// names returns a map's keys, sorted, so that errors do not depend on chance.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// each calls f for every state of the machine and of its parts.
func (m *Machine) each(f func(*State)) {
	for _, s := range m.States {
		f(s)
		for _, b := range s.Branches {
			b.each(f)
		}
		if s.Each != nil {
			s.Each.each(f)
		}
	}
}

// maxAttempts is the most attempts that a Retry may have: AWS' bound.
const maxAttempts = 99999999

// failures reads Retry and Catch.
func (s *State) failures(v *value) error {
	rule := func(name string) (*value, error) {
		list := v.get(name)
		if list == nil {
			return nil, nil
		}
		if list.kind != '[' || len(list.items) == 0 || len(list.items) > maxRules {
			return nil, s.wrong(list.line, "%s is not a list of 1 to %d rules", name, maxRules)
		}
		for _, r := range list.items {
			if e := r.get("ErrorEquals"); e == nil || e.kind != '[' {
				return nil, s.wrong(r.line, "%s has a rule without ErrorEquals, want a list of errors' names", name)
			}
		}
		all := slices.IndexFunc(list.items, func(r *value) bool {
			return slices.ContainsFunc(r.get("ErrorEquals").items, func(e *value) bool { return e.is("States.ALL") })
		})
		return list.items[max(0, all)], nil
	}
	r, err := rule("Retry")
	if err != nil {
		return err
	}
	if r != nil {
		s.Retry = &Retry{Attempts: 3, Interval: 1, Backoff: 2} // the language's defaults
		attempts := 3.0
		for _, f := range []struct {
			name      string
			to        *float64
			low, high float64
		}{{"MaxAttempts", &attempts, 0, maxAttempts}, {"IntervalSeconds", &s.Retry.Interval, 0, maxAttempts},
			{"BackoffRate", &s.Retry.Backoff, 1, 1e6}, {"MaxDelaySeconds", &s.Retry.Most, 0, maxAttempts}} {
			x := r.get(f.name)
			if x == nil {
				continue
			}
			if x.kind != 'n' || !(x.number >= f.low && x.number <= f.high) {
				return s.wrong(x.line, "Retry: %s is not a number from %g to %g", f.name, f.low, f.high)
			}
			*f.to = x.number
		}
		s.Retry.Attempts = int(attempts)
	}
	c, err := rule("Catch")
	if err != nil || c == nil {
		return err
	}
	next := c.get("Next")
	if next == nil || next.kind != 's' || next.text == "" {
		return s.wrong(c.line, "Catch has a rule without Next, want the name of a state")
	}
	s.Catch = next.text
	return nil
}

// failing is what errors do to a state.
type failing struct {
	again  float64 // probability that a run is followed by another try
	caught float64 // probability that the last try fails and the Catch's state follows
	wait   float64 // mean seconds before another try
}

// failing returns what errors do to a state, of whose runs a share fails. A run is tried again with one probability, which
// gives as many tries in expectation as the bound on attempts does.
func (s *State) failing(o Options) failing {
	p := o.Facts.Errors[s.Name]
	if p == 0 {
		return failing{}
	}
	k := 0
	if s.Retry != nil {
		k = s.Retry.Attempts
	}
	last := math.Pow(p, float64(k+1)) // all tries fail
	var f failing
	if k > 0 {
		f.again = (p - last) / (1 - last) // 1/(1-again) = 1 + p + … + pᵏ
		var sum, weight float64
		wait, q := s.Retry.Interval, p
		for i := 0; i < k && q > 1e-12; i++ {
			if s.Retry.Most > 0 {
				wait = min(wait, s.Retry.Most)
			}
			sum += float64(q * wait)
			weight += q
			wait, q = min(wait*s.Retry.Backoff, maxAttempts), q*p
		}
		f.wait = sum / weight
	}
	if s.Catch != "" {
		f.caught = last
	}
	return f
}
