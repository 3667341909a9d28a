package onnx

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/firm"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy/onnx/internal/model"
)

// firm adds maddpg's actor, bounded, and who moves in this window: of the critical path from each function that follows
// none, those whose 95th percentile grew most. The others keep their configuration. The percentiles of the window
// before are an input.
func (p *policy) firm() error {
	var d struct {
		Move      int
		Low, High float32
		Actor     json.RawMessage
	}
	if err := json.Unmarshal(p.file.Description, &d); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	inside := *p.file
	inside.Description = d.Actor
	p.file = &inside
	wants, err := actor.Read(p.file, p.spec)
	if err != nil {
		return err
	}
	v, u, err := p.network(0, &wants.Kinds[0])
	if err != nil {
		return err
	}
	b, ok := v.kind.Action.(envs.Box)
	if !ok || wants.Kinds[0].Head != actor.Interval {
		return fmt.Errorf("the actor gives %q of %v, want %q of a Box", wants.Kinds[0].Head, v.kind.Action, actor.Interval)
	}
	if slices.Contains(b.Integer, true) {
		return fmt.Errorf("firm moves within a share of ranges of whole numbers, want ranges of any numbers")
	}
	action, _ := p.numbers(b, p.spread(b, u), model.Float)
	n := b.Width()
	low, high := make([]float32, n), make([]float32, n)
	for i := range n {
		reach := b.High[i] - b.Low[i]
		low[i], high[i] = b.Low[i]+float32(d.Low*reach), b.Low[i]+float32(d.High*reach)
	}
	action = p.within(p.do("Where", v.here, action, p.number(0)), p.floats("low", []int{n}, low),
		p.floats("high", []int{n}, high))
	if action, err = p.culprits(v, d.Move, action); err != nil {
		return err
	}
	// What is held is what was seen, which need not be within the bounds.
	bounded := p.within(action, p.floats("low", []int{n}, b.Low), p.floats("high", []int{n}, b.High))
	p.give(v, bounded, action, scoresOfNumbers)
	return nil
}

// culprits keeps the last action of all functions but those that move.
func (p *policy) culprits(v *vectors, move int, action string) (string, error) {
	k := v.kind
	if k.Next == nil {
		return "", fmt.Errorf("there is no order of the %ss, want a workflow", k.Name)
	}
	before := p.input(v.prefix+"before", "feature p95 of the observation one window before; 0 in an episode's "+
		"first window",
		model.Float, batch(), model.Dim{Size: k.Agents})
	p.under = "culprits/"
	defer func() { p.under = "" }()
	column := func(name string) (string, error) {
		i := slices.Index(k.Features, name)
		if i < 0 {
			return "", fmt.Errorf("%s see no %q, want it: who moves follows from it", k.Name, name)
		}
		return p.slice(v.raw, 2, int64(i), int64(i+1)), nil
	}
	p95, err := column("p95")
	if err != nil {
		return "", err
	}
	var last []string
	for _, a := range k.Actions {
		x, err := column("last " + a)
		if err != nil {
			return "", err
		}
		last = append(last, x)
	}
	w := &ways{policy: p, next: k.Next, move: move}
	if w.order, w.roots = firm.Order(k.Next); len(w.order) != k.Agents {
		return "", fmt.Errorf("the order of the functions has a cycle or is missing, want a workflow")
	}
	now := p.cast(p.squeeze(p95, 2), model.Double)
	moves := w.moves(now, p.do("Sub", now, p.cast(before, model.Double)))
	return p.do("Where", p.unsqueeze(moves, 2), action, p.concat(2, last...)), nil
}

// ways finds critical paths in a graph of functions, which is known: each step is an operator on [batch, 1].
type ways struct {
	*policy
	next         [][]int
	move         int
	order, roots []int // each function before those that follow it; those that follow none
	never        string
}

// moves says who moves, [batch, agents], by latencies and their growth, both [batch, agents].
func (w *ways) moves(now, growth string) string {
	n := len(w.order)
	some := w.slice(now, 1, 0, 1)
	w.never = w.do("Less", some, some)
	length := make([]string, n)
	// after[j][i] says whether the longest way from j goes on to its i-th follower.
	after := make([][]string, n)
	for _, j := range slices.Backward(w.order) {
		length[j] = w.slice(now, 1, int64(j), int64(j+1))
		if len(w.next[j]) == 0 {
			continue
		}
		var ahead []string
		for _, f := range w.next[j] {
			ahead = append(ahead, length[f])
		}
		all := w.concat(1, ahead...)
		best := w.on("ArgMax", "axis", 1, all)
		for i := range ahead {
			after[j] = append(after[j], w.do("Equal", best, w.ints(int64(i))))
		}
		most := w.op("ReduceMax", []model.Attribute{{Name: "keepdims", Value: int64(1)}}, all, w.ints(1))
		length[j] = w.do("Add", length[j], most)
	}
	order := make([]int64, n)
	back := make([]int64, n)
	for at, j := range w.order {
		order[at], back[j] = int64(j), int64(at)
	}
	// From here on by place in the order, so that of equals the earlier on a way is the first.
	growth = w.on("Gather", "axis", 1, growth, w.ints(order...))
	places := w.ints(slices.Sorted(slices.Values(order))...)
	moves := w.do("Less", growth, growth) // nobody
	for _, root := range w.roots {
		free := w.way(root, after)
		for range w.move {
			free = w.do("And", free, w.do("Not", moves))
			worst := w.on("ArgMax", "axis", 1, w.do("Where", free, growth, w.double(-maxDouble)))
			moves = w.do("Or", moves, w.do("And", free, w.do("Equal", worst, places)))
		}
	}
	return w.on("Gather", "axis", 1, moves, w.ints(back...))
}

// maxDouble is beyond any growth.
const maxDouble = 1e300

// way says who is on the longest way from a root, [batch, agents] by place in the order.
func (w *ways) way(root int, after [][]string) string {
	on := make([]string, len(w.order))
	for _, j := range w.order {
		if j == root {
			on[j] = w.do("Not", w.never)
		}
		if on[j] == "" {
			continue
		}
		for i, f := range w.next[j] {
			goes := w.do("And", on[j], after[j][i])
			if on[f] != "" {
				goes = w.do("Or", on[f], goes)
			}
			on[f] = goes
		}
	}
	parts := make([]string, len(w.order))
	for at, j := range w.order {
		if parts[at] = on[j]; on[j] == "" {
			parts[at] = w.never
		}
	}
	return w.concat(1, parts...)
}
