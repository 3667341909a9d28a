package asl

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Options say how a machine becomes a workflow.
type Options struct {
	Facts Facts
	// Percent takes the probabilities of choices that Facts does not have from their rules, read as percentages: a variable
	// that a rule compares with a number is drawn evenly from 0 to 100.
	Percent bool
	// Keep makes a node of every state, also of those that only lead on.
	Keep bool
}

// Flow is a machine as a workflow.
type Flow struct {
	Graph workflow.Graph
	// Functions are the workflow's functions, in the order of the graph's.
	Functions []Function
	// Transitions is the expected number of states that an execution enters, Pass and Choice included: what Step Functions
	// bills as state transitions.
	Transitions float64
	// Ignored says which fields were not read although they change what runs.
	Ignored []string
}

// Function is a function of a machine's workflow.
type Function struct {
	// Name is that of its Task state, or of the Lambda function where several states run the same one.
	Name string
	// Resource is the ARN of what runs, Lambda the name of the Lambda function; empty where it is another service.
	Resource, Lambda string
	// Fixed says that this is a state without a function, which takes Seconds: a Wait, or a state that only leads on.
	Fixed   bool
	Seconds float64
}

// maxNodes is the most nodes of a workflow, copies for the items of Map states included.
const maxNodes = 20000

// Workflow makes a workflow of the machine. A Map state becomes as many copies of its states as it has items; where its
// Concurrency is less, they stand in as many rows, item k in row k modulo Concurrency. A Task of whose runs a share fails
// ([Facts].Errors) is tried again as its Retry says, and what fails in the last try goes on as its Catch says; without a
// Catch it goes on as if it had not failed. Errors name line and state.
func (m *Machine) Workflow(o Options) (*Flow, error) {
	if err := o.Facts.check(m); err != nil {
		return nil, fmt.Errorf("asl: %w", err)
	}
	b := &builder{o: o, functions: m.functions(), name: m.Comment}
	if err := b.visits(m, 1); err != nil {
		return nil, fmt.Errorf("asl: %w", err)
	}
	entry, _, err := b.place(m, "", 0)
	if err != nil {
		return nil, fmt.Errorf("asl: %w", err)
	}
	b.entry = entry
	if !o.Keep {
		b.contract()
	}
	out := &Flow{Transitions: b.transitions}
	m.each(func(s *State) {
		_, known := o.Facts.Errors[s.Name]
		for what, has := range map[string]bool{"Retry": s.Retry != nil, "Catch": s.Catch != ""} {
			if has && !known {
				out.Ignored = append(out.Ignored, fmt.Sprintf("line %d: %s of state %q", s.Line, what, s.Name))
			}
		}
	})
	slices.Sort(out.Ignored)
	b.graph(out)
	return out, nil
}

// functions names the function of each Task state.
func (m *Machine) functions() map[string]string {
	runs, states := map[string]int{}, map[string]bool{}
	m.each(func(s *State) {
		states[s.Name] = true
		if s.Function != "" {
			runs[s.Function]++
		}
	})
	out := map[string]string{}
	m.each(func(s *State) {
		out[s.Name] = s.Name
		if runs[s.Function] > 1 {
			out[s.Name] = s.Function
			if states[s.Function] {
				out[s.Name] = "lambda:" + s.Function
			}
		}
	})
	return out
}

// builder is a graph in the making.
type builder struct {
	o           Options
	name        string
	functions   map[string]string // per state
	nodes       []node
	entry       int
	transitions float64
	waits       map[*State]*State // before another try
}

// node is a state, or a copy of one.
type node struct {
	name  string
	state *State
	next  []int // all are taken
	alts  []way // one of them is taken
	gone  bool
}

type way struct {
	to int // end for the end
	p  float64
}

const end = -1

// place adds a machine's states. It returns its first node and those that end it.
func (b *builder) place(m *Machine, prefix string, depth int) (entry int, ends []int, err error) {
	at := map[string]int{}
	var names []string // states that are reached, in the order in which they are met
	meet := func(name string) int {
		if i, ok := at[name]; ok {
			return i
		}
		at[name] = len(b.nodes)
		full := prefix + name
		if full == workflow.End {
			full += " (state)" // the graph's own word for its end
		}
		b.nodes = append(b.nodes, node{name: full, state: m.state(name)})
		names = append(names, name)
		return at[name]
	}
	entry = meet(m.StartAt)
	for k := 0; k < len(names); k++ {
		if len(b.nodes) > maxNodes {
			return 0, nil, fmt.Errorf("the workflow has more than %d nodes, copies for the items of Map states included", maxNodes)
		}
		i := at[names[k]]
		s := b.nodes[i].state
		last := []int{i}
		switch s.Type {
		case Choice:
			arms, err := s.arms(b.o)
			if err != nil {
				return 0, nil, err
			}
			var alts []way
			for _, a := range arms {
				alts = append(alts, way{meet(a.to), a.p})
			}
			b.nodes[i].alts = alts
			continue
		case Parallel:
			last = nil
			for j, branch := range s.Branches {
				first, out, err := b.place(branch, prefix, depth+1)
				if err != nil {
					return 0, nil, err
				}
				if len(out) == 0 {
					return 0, nil, s.wrong(s.Line, "Branches[%d] never ends", j)
				}
				b.nodes[i].next = append(b.nodes[i].next, first)
				last = append(last, out...)
			}
		case Task:
			if f := s.failing(b.o); f.again+f.caught > 0 {
				ends = append(ends, b.fails(i, prefix, f, meet)...)
				continue
			}
		case Map:
			if last, err = b.items(s, i, prefix, depth); err != nil {
				return 0, nil, err
			}
		case Wait:
			if _, ok := b.o.Facts.Waits[s.Name]; !ok && s.Seconds < 0 {
				return 0, nil, s.wrong(s.Line, "its time is not in the file: say how many seconds it takes (waits in the file of facts)")
			}
		case Fail:
			if depth > 0 {
				return 0, nil, s.wrong(s.Line, "a Fail inside a Parallel or Map state ends all its branches, which a workflow cannot "+
					"say: give the way to it the probability 0 (choices in the file of facts)")
			}
		}
		if s.Next == "" {
			ends = append(ends, last...)
			continue
		}
		to := meet(s.Next)
		for _, l := range last {
			b.nodes[l].next = append(b.nodes[l].next, to)
		}
	}
	return entry, ends, nil
}

// fails has node i lead to another try, to the node after a run that ends well, and to the one after the last failure. It
// returns the node that ends the part of the machine, if there is one. meet returns the node of a state.
func (b *builder) fails(i int, prefix string, f failing, meet func(name string) int) (ends []int) {
	s := b.nodes[i].state
	good := len(b.nodes)
	if s.Next != "" {
		good = meet(s.Next)
	} else { // a node that only leads on
		b.nodes = append(b.nodes, node{name: prefix + s.Name + " (done)", state: &State{Name: s.Name, Type: Succeed}})
		ends = []int{good}
	}
	again, caught := i, good
	if f.caught > 0 {
		caught = meet(s.Catch)
	}
	if f.again > 0 && f.wait > 0 {
		w := b.waits[s]
		if w == nil {
			w = &State{Name: s.Name + " (before a retry)", Type: Wait, Line: s.Line, Seconds: f.wait}
			for b.functions[w.Name] != "" {
				w.Name += "'"
			}
			b.functions[w.Name] = w.Name
			if b.waits == nil {
				b.waits = map[*State]*State{}
			}
			b.waits[s] = w
		}
		again = len(b.nodes)
		b.nodes = append(b.nodes, node{name: prefix + w.Name, state: w, next: []int{i}})
	}
	alts := []way{{good, (1 - f.again) * (1 - f.caught)}}
	if f.again > 0 {
		alts = slices.Insert(alts, 0, way{again, f.again})
	}
	if f.caught > 0 {
		alts = append(alts, way{caught, (1 - f.again) * f.caught})
	}
	b.nodes[i].choose(alts)
	return ends
}

// items adds what a Map state, node i, does with each item, and returns the last nodes.
func (b *builder) items(s *State, i int, prefix string, depth int) ([]int, error) {
	n, ok := b.o.Facts.Maps[s.Name]
	if !ok {
		return nil, s.wrong(s.Line, "a Map state without a number of items: say how many (maps in the file of facts)")
	}
	if n == 0 {
		return []int{i}, nil
	}
	rows := min(n, s.Concurrency)
	last := make([][]int, rows)
	for k := range n {
		first, out, err := b.place(s.Each, fmt.Sprintf("%s%s[%d]/", prefix, s.Name, k+1), depth+1)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 {
			return nil, s.wrong(s.Line, "what it does with an item never ends")
		}
		if k < rows {
			b.nodes[i].next = append(b.nodes[i].next, first)
		} else {
			for _, l := range last[k%rows] {
				b.nodes[l].next = append(b.nodes[l].next, first)
			}
		}
		last[k%rows] = out
	}
	return slices.Concat(last...), nil
}

// visits adds to transitions how often the machine's states are expected to be entered in so many runs of it. Within one
// part of a machine states follow each other as in a Markov chain, so that the expected entries v solve v = e + Pᵀv with
// e = 1 at StartAt; parts inside run once for each entry of their state, or item.
func (b *builder) visits(m *Machine, runs float64) error {
	at := map[string]int{m.StartAt: 0}
	names := []string{m.StartAt}
	var ways [][]arm
	for k := 0; k < len(names); k++ {
		s := m.state(names[k])
		var arms []arm
		if s.Type == Choice {
			var err error
			if arms, err = s.arms(b.o); err != nil {
				return err
			}
		} else {
			f := s.failing(b.o)
			if f.again > 0 {
				arms = append(arms, arm{s.Name, f.again})
			}
			if s.Next != "" {
				arms = append(arms, arm{s.Next, (1 - f.again) * (1 - f.caught)})
			}
			if f.caught > 0 {
				arms = append(arms, arm{s.Catch, (1 - f.again) * f.caught})
			}
		}
		for _, a := range arms {
			if _, ok := at[a.to]; !ok {
				at[a.to] = len(names)
				names = append(names, a.to)
			}
		}
		ways = append(ways, arms)
	}
	n := len(names)
	a, e := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	e.SetVec(0, 1)
	for i := range n {
		a.Set(i, i, 1)
	}
	for from, arms := range ways {
		for _, w := range arms {
			to := at[w.to]
			a.Set(to, from, a.At(to, from)-w.p)
		}
	}
	var v mat.VecDense
	err := v.SolveVec(a, e)
	for i, name := range names {
		s := m.state(name)
		x := v.AtVec(i)
		if err != nil || !(x > 0 && x < maxVisits) || math.IsNaN(x) {
			return s.wrong(s.Line, "no way leads from here to an end: want a choice that leaves the cycle")
		}
		b.transitions += float64(runs * x)
		inside := runs * x
		for _, p := range s.Branches {
			if err := b.visits(p, inside); err != nil {
				return err
			}
		}
		if s.Each != nil {
			if items := b.o.Facts.Maps[s.Name]; items > 0 {
				if err := b.visits(s.Each, inside*float64(items)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// maxVisits is how often a state is entered at most. Beyond it an execution practically never ends.
const maxVisits = 1e9
