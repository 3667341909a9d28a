package asl

import (
	"math"
	"strings"
)

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
