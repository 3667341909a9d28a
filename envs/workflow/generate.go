package workflow

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/rng"
)

// GenerateConfig describes workflows to generate.
type GenerateConfig struct {
	// Functions is the number of functions; each runs at one node. Blocks need 5.
	Functions int `yaml:"functions" json:"functions" range:"[3,1000]"`
	// Seed selects the workflow.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Shape is what the workflow is made of: blocks (also the empty word), chain, fan, branches, loops, nested, crossing,
	// overlapping, or mixed, which draws one of the seven after blocks.
	Shape Shape `yaml:"shape,omitempty" json:"shape,omitempty" oneof:"blocks|chain|fan|branches|loops|nested|crossing|overlapping|mixed|"`
}

// generatedBlocks is about the number of blocks of a generated workflow. With many functions blocks are wide, not many:
// a request must end within a few windows.
const generatedBlocks = 5

// minBlocks is the least number of functions of a workflow of blocks.
const minBlocks = 5

// Generate returns a random workflow. Equal configurations give equal workflows, on every machine.
//
// A workflow of shape [Blocks], the default, is a series of blocks, each entered and left at one node, which every request passes. A block is
//
//   - a chain of one to three functions;
//   - a fan-out: parallel arms of one to three functions each, which join;
//   - a choice: two or three arms of one or two functions each, one of which is taken, which join;
//   - calls: one to four functions that a function calls, one by one or together.
//
// A block of many functions is a wide fan-out, some of whose functions call others. Functions are f1, f2, … in the order
// of the series. The other shapes are those of the constants of [Shape].
func Generate(c GenerateConfig) (Graph, error) {
	if err := bounds.Check(&c); err != nil {
		return Graph{}, err
	}
	if c.Shape != "" && c.Shape != Blocks {
		return shaped(c), nil
	}
	if c.Functions < minBlocks {
		return Graph{}, bounds.Errorf("functions", "is %d, want at least %d for the shape %s", c.Functions, minBlocks, Blocks)
	}
	g := &generator{left: c.Functions, draw: rng.NewStream(c.Seed, "workflow/generate")}
	g.graph.Name = fmt.Sprintf("generated-%d-%d", c.Functions, c.Seed)
	last := g.add()
	g.graph.Entry = last
	mean := max(2, float64(c.Functions)/generatedBlocks)
	for g.left > 0 {
		size := 1 + int(2*mean*g.draw.Float64())
		last = g.block(last, min(size, g.left))
	}
	return g.graph, nil
}

// generator builds a graph from the entry on.
type generator struct {
	graph Graph
	left  int // functions still to add
	draw  *rng.Stream
}

// add adds a function.
func (g *generator) add() string {
	g.left--
	name := fmt.Sprintf("f%d", len(g.graph.Nodes)+1)
	g.graph.Nodes = append(g.graph.Nodes, Node{Name: name})
	return name
}

func (g *generator) edges(es []Edge) { g.graph.Edges = append(g.graph.Edges, es...) }

// upTo draws a number from 1 to n.
func (g *generator) upTo(n int) int { return 1 + g.draw.IntN(n) }

// chain adds functions in a row after a node and returns the last.
func (g *generator) chain(from string, n int) string {
	for range n {
		next := g.add()
		g.edges(Chain(from, next))
		from = next
	}
	return from
}

// block adds a block of so many functions after a node, and returns the node at which it ends.
func (g *generator) block(from string, size int) string {
	switch kind := g.draw.IntN(4); {
	case size < 3 || size == 3 && kind == 0:
		return g.chain(from, size)
	case size <= 7 && kind == 1:
		return g.choice(from, size)
	case size <= 5 && kind == 2:
		caller := g.add()
		g.edges(Chain(from, caller))
		g.calls(caller, size-1)
		return caller
	}
	return g.fan(from, size)
}

// calls lets a node call new functions.
func (g *generator) calls(caller string, n int) {
	if n > 1 && g.draw.IntN(2) == 0 {
		g.graph.Nodes[len(g.graph.Nodes)-1].Calls = Together
	}
	for range n {
		g.edges(Calls(caller, g.add()))
	}
}

// choice adds two or three alternatives after a node, and the function at which they meet.
func (g *generator) choice(from string, size int) string {
	arms := min(size-1, 1+g.upTo(2))
	var ends []string
	rest := 1.0
	for k := range arms {
		p := rest
		if k < arms-1 {
			// Tenths, so that a reader of the graph sees round numbers.
			p = float64(g.upTo(int(float64(rest*10)+0.5)-(arms-1-k))) / 10
		}
		rest = float64(int(float64((rest-p)*10)+0.5)) / 10
		first := g.add()
		g.edges(Choice(from, To(first, p)))
		n := (size - 1 - arms) / arms
		if k < (size-1-arms)%arms {
			n++
		}
		ends = append(ends, g.chain(first, n))
	}
	end := g.add()
	g.edges(Join(end, ends...))
	return end
}

// fan adds parallel arms after a node, and the function at which they join. In one arm of four the last function calls
// the others.
func (g *generator) fan(from string, size int) string {
	var ends []string
	for left := size - 1; left > 0; {
		n := min(left, g.upTo(3))
		if len(ends) == 0 && n == left && n > 1 {
			n-- // two arms at least
		}
		left -= n
		if n > 1 && g.draw.IntN(4) == 0 {
			caller := g.add()
			g.edges(Chain(from, caller))
			g.calls(caller, n-1)
			ends = append(ends, caller)
			continue
		}
		ends = append(ends, g.chain(from, n))
	}
	end := g.add()
	g.edges(Join(end, ends...))
	g.graph.Nodes[len(g.graph.Nodes)-1].Join = len(ends) > 1
	return end
}
