package workflow

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// Shape names what a generated workflow is made of.
type Shape string

// The shapes. All but Blocks have 3 functions or more.
const (
	// Blocks is a series of chains, fan-outs, choices and calls, wide rather than long: FaaSConf's workflows at scale.
	Blocks Shape = "blocks"
	// Chained functions run one after the other.
	Chained Shape = "chain"
	// Fan is nested fan-outs, which join.
	Fan Shape = "fan"
	// Branches is nested choices, which meet again.
	Branches Shape = "branches"
	// Loops is sections that repeat, one inside the other or one after the other.
	Loops Shape = "loops"
	// Nested is series, fan-outs, choices and loops inside each other.
	Nested Shape = "nested"
	// Crossing is a directed acyclic graph that no nesting gives: nodes wait for any one to three earlier ones. Some nodes
	// choose among their successors in place of starting all.
	Crossing Shape = "crossing"
	// Overlapping is a chain with loops whose sections overlap without lying inside each other.
	Overlapping Shape = "overlapping"
	// Mixed draws one of the shapes from Chained to Overlapping.
	Mixed Shape = "mixed"
)

// Shapes returns all shapes.
func Shapes() []Shape {
	return append([]Shape{Blocks}, append(slices.Clone(plain), Mixed)...)
}

// plain are the shapes that Mixed draws from.
var plain = []Shape{Chained, Fan, Branches, Loops, Nested, Crossing, Overlapping}

// maxChoices is the most choices of a workflow that lie below a fork. What a fork waits for depends on all choices below
// it at once, so that their combinations are enumerated: 2 to 3 each.
const maxChoices = 5

// shaped generates a workflow of any shape but Blocks.
func shaped(c GenerateConfig) Graph {
	b := &shaper{draw: rng.NewStream(c.Seed, "workflow/generate/shape"), choices: maxChoices, again: map[string]float64{}}
	b.graph.Name = fmt.Sprintf("generated-%s-%d-%d", c.Shape, c.Functions, c.Seed)
	shape := c.Shape
	if shape == Mixed {
		shape = plain[b.draw.IntN(len(plain))]
	}
	switch shape {
	case Crossing:
		b.crossing(c.Functions)
	case Overlapping:
		b.overlapping(c.Functions)
	default:
		b.kinds = map[Shape][]partKind{
			Fan: {inSeries, inParallel}, Branches: {inSeries, byChoice}, Loops: {inSeries, inLoop},
			Nested: {inSeries, inParallel, byChoice, inLoop},
		}[shape]
		_, last := b.part(c.Functions, false)
		b.link(last, End)
	}
	b.graph.Entry = b.graph.Nodes[0].Name
	return b.graph
}

// shaper builds a workflow. A part of it has one first and one last node.
type shaper struct {
	graph   Graph
	draw    *rng.Stream
	kinds   []partKind
	choices int                // choices that may still be added below forks
	again   map[string]float64 // per last node of a loop: the probability with which it repeats
}

type partKind int

const (
	inSeries partKind = iota
	inParallel
	byChoice
	inLoop
)

func (b *shaper) add() string {
	name := fmt.Sprintf("f%d", len(b.graph.Nodes)+1)
	b.graph.Nodes = append(b.graph.Nodes, Node{Name: name})
	return name
}

func (b *shaper) edges(es []Edge) { b.graph.Edges = append(b.graph.Edges, es...) }

// link leads from the last node of a part on.
func (b *shaper) link(from, to string) {
	switch p := b.again[from]; {
	case p > 0:
		b.edges(Choice(from, To(to, 1-p)))
	case to != End:
		b.edges(Chain(from, to))
	}
}

// part adds a part of n functions.
func (b *shaper) part(n int, forked bool) (first, last string) {
	if len(b.kinds) == 0 {
		return b.row(n)
	}
	kind := b.kinds[b.draw.IntN(len(b.kinds))]
	switch {
	case kind == inLoop:
		return b.loop(n, forked)
	case n == 1:
		first = b.add()
		return first, first
	case kind == inParallel && n >= 4:
		return b.fork(n)
	case kind == byChoice && n >= 4 && (!forked || b.choices > 0):
		return b.choice(n, forked)
	case n == 2:
		return b.row(n)
	}
	// In series: two parts.
	k := 1 + b.draw.IntN(n-1)
	first, middle := b.part(k, forked)
	next, last := b.part(n-k, forked)
	b.link(middle, next)
	return first, last
}

func (b *shaper) row(n int) (first, last string) {
	first = b.add()
	last = first
	for range n - 1 {
		next := b.add()
		b.edges(Chain(last, next))
		last = next
	}
	return first, last
}

// loop adds a part that repeats as a whole with a probability of 0.1 to 0.3. A part that ends with a loop of its own does
// not get a second one.
func (b *shaper) loop(n int, forked bool) (first, last string) {
	k := min(n, 1+b.draw.IntN(6))
	if k == 1 {
		first, last = b.row(1)
	} else {
		first, last = b.part(k, forked)
	}
	if b.again[last] == 0 {
		b.again[last] = float64(1+b.draw.IntN(3)) / 10
		b.edges(Repeat(last, first, b.again[last]))
	}
	if k == n {
		return first, last
	}
	next, end := b.part(n-k, forked)
	b.link(last, next)
	return first, end
}

// fork adds a node, two to four parts that run in parallel after it, and the node that waits for them.
func (b *shaper) fork(n int) (first, last string) {
	first = b.add()
	var ends []string
	for _, size := range b.split(n-2, min(n-2, 2+b.draw.IntN(3))) {
		head, end := b.part(size, true)
		b.edges(Chain(first, head))
		ends = append(ends, end)
	}
	last = b.add()
	b.graph.Nodes[len(b.graph.Nodes)-1].Join = true
	for _, e := range ends {
		b.link(e, last)
	}
	return first, last
}

// choice adds a node, two or three parts of which one runs after it, and the node at which they meet.
func (b *shaper) choice(n int, forked bool) (first, last string) {
	if forked {
		b.choices--
	}
	first = b.add()
	sizes := b.split(n-2, min(n-2, 2+b.draw.IntN(2)))
	var ends []string
	for i, p := range b.shares(len(sizes)) {
		head, end := b.part(sizes[i], forked)
		b.edges(Choice(first, To(head, p)))
		ends = append(ends, end)
	}
	last = b.add()
	for _, e := range ends {
		b.link(e, last)
	}
	return first, last
}

// split draws k positive numbers whose sum is n.
func (b *shaper) split(n, k int) []int {
	out := slices.Repeat([]int{1}, k)
	for range n - k {
		out[b.draw.IntN(k)]++
	}
	return out
}

// shares draws k probabilities in twentieths whose sum is 1.
func (b *shaper) shares(k int) []float64 {
	var out []float64
	for _, n := range b.split(20, k) {
		out = append(out, float64(n)/20)
	}
	return out
}

// crossing adds n nodes, each after one to three of the eight before it.
func (b *shaper) crossing(n int) {
	after := make([][]int, n)
	for i := range n {
		b.add()
		if i == 0 {
			continue
		}
		near := min(i, 8)
		for range 1 + b.draw.IntN(3) {
			if from := i - 1 - b.draw.IntN(near); !slices.Contains(after[from], i) {
				after[from] = append(after[from], i)
			}
		}
	}
	name := func(i int) string { return b.graph.Nodes[i].Name }
	for from, to := range after {
		if len(to) > 1 && b.choices > 0 && b.draw.IntN(4) == 0 {
			b.choices--
			for k, p := range b.shares(len(to)) {
				b.edges(Choice(name(from), To(name(to[k]), p)))
			}
			continue
		}
		for _, t := range to {
			b.edges(Chain(name(from), name(t)))
		}
	}
}

// overlapping adds a chain of n nodes with loops: each leads back from one node, over the start of the loop before it.
func (b *shaper) overlapping(n int) {
	for range n {
		b.add()
	}
	name := func(i int) string { return b.graph.Nodes[i].Name }
	back := make([]int, n) // per node: where its loop leads, plus 1
	for source := 1; source < n; source += 2 + b.draw.IntN(2) {
		back[source] = 1 + max(0, source-2-b.draw.IntN(3))
	}
	for i := range n {
		to := End
		if i < n-1 {
			to = name(i + 1)
		}
		switch {
		case back[i] > 0:
			p := float64(1+b.draw.IntN(3)) / 20
			b.edges(Repeat(name(i), name(back[i]-1), p))
			b.edges(Choice(name(i), To(to, 1-p)))
		case to != End:
			b.edges(Chain(name(i), to))
		}
	}
}
