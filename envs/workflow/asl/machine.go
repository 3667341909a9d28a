// Package asl reads state machines of AWS Step Functions, written in the Amazon States Language, as workflows.
//
// [Read] reads the states, [Machine.Workflow] makes a graph of them. States that do nothing but lead on (Pass, Choice,
// Parallel, Map) become edges wherever edges can say the same, so that the graph's nodes are the functions; where they
// cannot, such as a choice that is the first state of a parallel branch, the state stays as a node that takes no time.
// How likely a choice's rules are is not in the file: it comes from [Facts], or, for machines whose choices compare a
// number that is drawn evenly from 0 to 100, from the rules' thresholds ([Options.Percent]).
package asl

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Type is the type of a state.
type Type string

// The types of states.
const (
	Task     Type = "Task"
	Parallel Type = "Parallel"
	Choice   Type = "Choice"
	Map      Type = "Map"
	Pass     Type = "Pass"
	Wait     Type = "Wait"
	Succeed  Type = "Succeed"
	Fail     Type = "Fail"
)

// Machine is a state machine, or a part of one: a branch of a Parallel state, or what a Map state does with each item.
type Machine struct {
	// Comment is the machine's own description.
	Comment string
	StartAt string
	// States in the order of the file.
	States []*State
	line   int
}

// State is a state of a machine. Names differ over all parts of a machine.
type State struct {
	Name string
	Type Type
	Line int
	// Next is the state that follows, End that none does.
	Next string
	End  bool
	// Resource is a Task's ARN; Function the name of the Lambda function that it invokes, empty for other services.
	Resource, Function string
	// Branches are those of a Parallel state.
	Branches []*Machine
	// Each is what a Map state does with each item. Concurrency bounds how many items are in work at once:
	// MaxConcurrency, and no more than the platform allows.
	Each        *Machine
	Concurrency int
	// Rules and Default are those of a Choice, the first rule that holds is taken.
	Rules   []Rule
	Default string
	// Seconds is a Wait's time where the file has it, else negative.
	Seconds float64
	// Retry is how a state is tried again after an error, nil where it is not; Catch is the state that follows an error,
	// empty where there is none. Of several rules it is the one for all errors (States.ALL), else the first.
	Retry *Retry
	Catch string
}

// Retry says how often a state is tried again, and after how many seconds: Interval before the first retry, Backoff times as
// long before each further one, and at most Most where that is above 0.
type Retry struct {
	Attempts                int
	Interval, Backoff, Most float64
}

// Rule is a rule of a Choice.
type Rule struct {
	Next string
	// Variable and Operator are those of a comparison with a number, Value the number; else Operator is empty.
	Variable, Operator string
	Value              float64
	line               int
}

// Bounds of a machine. AWS allows files of 1 MB.
const (
	maxFile   = 4 << 20 // bytes
	maxStates = 1000    // of one part
	maxRules  = 1000    // of a Choice
)

// Read reads a machine in the Amazon States Language (JSON). Errors name line, state and field. Fields that say nothing
// about which states run, such as InputPath, are not read.
func Read(r io.Reader) (*Machine, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("asl: the machine has more than %d MB", maxFile>>20)
	}
	v, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("asl: %w", err)
	}
	m, err := machine(v, map[string]int{})
	if err != nil {
		return nil, fmt.Errorf("asl: %w", err)
	}
	return m, nil
}

// machine reads a machine. seen has the lines of the names that were met so far.
func machine(v *value, seen map[string]int) (*Machine, error) {
	m := &Machine{line: v.line}
	if c := v.get("Comment"); c != nil && c.kind == 's' {
		m.Comment = c.text
	}
	start, states := v.get("StartAt"), v.get("States")
	if start == nil || start.kind != 's' {
		return nil, fmt.Errorf("line %d: StartAt is missing, want the name of the first state", v.line)
	}
	m.StartAt = start.text
	if states == nil || states.kind != '{' || len(states.fields) == 0 {
		return nil, fmt.Errorf("line %d: States is missing, want an object with at least one state", v.line)
	}
	if n := len(states.fields); n > maxStates {
		return nil, fmt.Errorf("line %d: %d states in one part of the machine, want at most %d", states.line, n, maxStates)
	}
	for _, f := range states.fields {
		if f.name == "" {
			return nil, fmt.Errorf("line %d: a state has no name", f.line)
		}
		if line, ok := seen[f.name]; ok {
			return nil, fmt.Errorf("line %d: state %q is there twice, first in line %d", f.line, f.name, line)
		}
		seen[f.name] = f.line
		s, err := state(f.name, f.value, seen)
		if err != nil {
			return nil, err
		}
		m.States = append(m.States, s)
	}
	if m.state(m.StartAt) == nil {
		return nil, fmt.Errorf("line %d: StartAt is %q, which is no state here: want one of %s", start.line, m.StartAt, m.names())
	}
	for _, s := range m.States {
		for _, to := range s.targets() {
			if m.state(to) == nil {
				return nil, fmt.Errorf("line %d: state %q leads to %q, which is no state here: want one of %s", s.Line, s.Name, to,
					m.names())
			}
		}
	}
	return m, nil
}

func (m *Machine) state(name string) *State {
	i := slices.IndexFunc(m.States, func(s *State) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.States[i]
}

func (m *Machine) names() string {
	var out []string
	for i, s := range m.States {
		if i == 12 {
			out = append(out, "…")
			break
		}
		out = append(out, s.Name)
	}
	return strings.Join(out, ", ")
}

// targets returns the states that a state names as the next ones.
func (s *State) targets() []string {
	if s.Type != Choice {
		var out []string
		for _, to := range []string{s.Next, s.Catch} {
			if to != "" {
				out = append(out, to)
			}
		}
		return out
	}
	var out []string
	for _, r := range s.Rules {
		if !slices.Contains(out, r.Next) {
			out = append(out, r.Next)
		}
	}
	if s.Default != "" && !slices.Contains(out, s.Default) {
		out = append(out, s.Default)
	}
	return out
}

// wrong is an error about a state.
func (s *State) wrong(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: state %q: %s", line, s.Name, fmt.Sprintf(format, args...))
}

// state reads a state.
func state(name string, v *value, seen map[string]int) (*State, error) {
	s := &State{Name: name, Line: v.line, Seconds: -1}
	if v.kind != '{' {
		return nil, s.wrong(v.line, "want an object")
	}
	t := v.get("Type")
	if t == nil || t.kind != 's' {
		return nil, s.wrong(v.line, "Type is missing, want Task, Parallel, Choice, Map, Pass, Wait, Succeed or Fail")
	}
	s.Type = Type(t.text)
	if err := s.failures(v); err != nil {
		return nil, err
	}
	if err := s.follow(v); err != nil {
		return nil, err
	}
	switch s.Type {
	case Pass, Succeed, Fail:
		return s, nil
	case Task:
		return s, s.task(v)
	case Wait:
		if x := v.get("Seconds"); x != nil && x.kind == 'n' {
			if s.Seconds = x.number; s.Seconds < 0 {
				return nil, s.wrong(x.line, "Seconds is %g, want a number from 0", s.Seconds)
			}
		}
		return s, nil
	case Choice:
		return s, s.choice(v)
	case Parallel:
		return s, s.parallel(v, seen)
	case Map:
		return s, s.each(v, seen)
	}
	return nil, s.wrong(t.line, "Type is %q, want Task, Parallel, Choice, Map, Pass, Wait, Succeed or Fail", t.text)
}

// follow reads what comes after the state: exactly one of Next and End, where the type has either.
func (s *State) follow(v *value) error {
	next, end := v.get("Next"), v.get("End")
	if next != nil && next.kind != 's' {
		return s.wrong(next.line, "Next is not a text, want the name of a state")
	}
	if end != nil && end.kind != 'b' {
		return s.wrong(end.line, "End is not true or false")
	}
	s.End = end != nil && end.truth
	if next != nil {
		s.Next = next.text
	}
	switch s.Type {
	case Choice, Succeed, Fail:
		if s.Next != "" || s.End {
			return s.wrong(v.line, "a %s has no Next and no End", s.Type)
		}
		s.End = s.Type != Choice
	default:
		if s.Next == "" && !s.End {
			return s.wrong(v.line, "neither Next nor End says what follows: want one of them")
		}
		if s.Next != "" && s.End {
			return s.wrong(v.line, "Next and End are both there: want one of them")
		}
	}
	return nil
}

// lambdaInvoke is the resource of tasks that name their Lambda function in their arguments.
const lambdaInvoke = ":states:::lambda:invoke"

// task reads the resource of a task, and the Lambda function that it invokes.
func (s *State) task(v *value) error {
	r := v.get("Resource")
	if r == nil || r.kind != 's' || r.text == "" {
		return s.wrong(v.line, "Resource is missing, want the ARN of what the task runs")
	}
	s.Resource = r.text
	arn := r.text
	if strings.Contains(arn, lambdaInvoke) {
		arn = ""
		for _, at := range []string{"Parameters", "Arguments"} {
			if f := v.get(at).get("FunctionName"); f != nil && f.kind == 's' {
				arn = f.text
			}
		}
		if arn != "" && !strings.Contains(arn, ":") {
			s.Function = arn
			return nil
		}
	}
	if _, name, ok := strings.Cut(arn, ":function:"); ok {
		s.Function, _, _ = strings.Cut(name, ":") // without the alias
	}
	return nil
}

// choice reads the rules. Comparisons that are not of one variable with one number have no Operator.
func (s *State) choice(v *value) error {
	rules := v.get("Choices")
	if rules == nil || rules.kind != '[' || len(rules.items) == 0 {
		return s.wrong(v.line, "Choices is missing, want a list of at least one rule")
	}
	if n := len(rules.items); n > maxRules {
		return s.wrong(rules.line, "%d Choices, want at most %d", n, maxRules)
	}
	for i, x := range rules.items {
		next := x.get("Next")
		if next == nil || next.kind != 's' {
			return s.wrong(x.line, "Choices[%d]: Next is missing, want the name of a state", i)
		}
		r := Rule{Next: next.text, line: x.line}
		if variable := x.get("Variable"); variable != nil && variable.kind == 's' {
			for _, f := range x.fields {
				if strings.HasPrefix(f.name, "Numeric") && f.kind == 'n' {
					r.Variable, r.Operator, r.Value = variable.text, f.name, f.number
				}
			}
		}
		s.Rules = append(s.Rules, r)
	}
	if d := v.get("Default"); d != nil {
		if d.kind != 's' {
			return s.wrong(d.line, "Default is not a text, want the name of a state")
		}
		s.Default = d.text
	}
	return nil
}

func (s *State) parallel(v *value, seen map[string]int) error {
	b := v.get("Branches")
	if b == nil || b.kind != '[' || len(b.items) == 0 {
		return s.wrong(v.line, "Branches is missing, want a list of at least one")
	}
	for i, x := range b.items {
		if x.kind != '{' {
			return s.wrong(x.line, "Branches[%d] is not an object with StartAt and States", i)
		}
		m, err := machine(x, seen)
		if err != nil {
			return err
		}
		s.Branches = append(s.Branches, m)
	}
	return nil
}

// What Step Functions runs at once of a Map state, whatever its MaxConcurrency says: in its inline and its distributed mode.
const inline, distributed = 40, 10000

func (s *State) each(v *value, seen map[string]int) error {
	p := v.get("ItemProcessor")
	if p == nil {
		p = v.get("Iterator") // its name until 2022
	}
	if p == nil || p.kind != '{' {
		return s.wrong(v.line, "ItemProcessor is missing, want an object with StartAt and States")
	}
	if p.get("ProcessorConfig").get("Mode").is("DISTRIBUTED") {
		s.Concurrency = distributed
	} else {
		s.Concurrency = inline
	}
	if c := v.get("MaxConcurrency"); c != nil && c.kind == 'n' {
		if c.number < 0 || c.number > math.MaxInt32 || c.number != math.Trunc(c.number) {
			return s.wrong(c.line, "MaxConcurrency is %g, want a whole number from 0", c.number)
		}
		if c.number > 0 {
			s.Concurrency = min(s.Concurrency, int(c.number))
		}
	}
	var err error
	s.Each, err = machine(p, seen)
	return err
}
