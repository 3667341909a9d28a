package steps

import (
	"fmt"
	"strconv"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// FirstUnseen is the number of the first generated workflow that is kept for tests: nothing is trained or chosen on
// workflows from here on.
const FirstUnseen = 5000

// Shapes of generated workflows.
const (
	AnyShape   = "mixed"
	ChainShape = "chain"
	DAGShape   = "dag"
)

// mostCrossing bounds the steps of graphs whose edges cross: the exact plans of larger ones take minutes.
const mostCrossing = 12

// Generated says which workflows are generated.
type Generated struct {
	// Steps is the smallest and the largest number of steps.
	Steps []int `yaml:"steps" json:"steps" range:"[3,32]"`
	// Shape is chain, dag (nested fan-outs, or, up to 12 steps, steps that each wait for one to three earlier ones), or
	// mixed.
	Shape string `yaml:"shape" json:"shape" oneof:"mixed|chain|dag"`
	// Platform is aws or knative.
	Platform string `yaml:"platform" json:"platform" oneof:"aws|knative"`
}

// DefaultGenerated is workflows of 3 to 16 steps of all shapes on AWS.
func DefaultGenerated() Generated {
	return Generated{Steps: []int{3, 16}, Shape: AnyShape, Platform: AWS}
}

// Validate says what is wrong, naming the key.
func (g *Generated) Validate() error {
	if err := bounds.Check(g); err != nil {
		return err
	}
	if len(g.Steps) != 2 || g.Steps[0] > g.Steps[1] {
		return bounds.Errorf("steps", "is %v, want the smallest and the largest number, as [3, 16]", g.Steps)
	}
	return nil
}

// Generate returns generated workflow number n. Equal numbers give equal workflows, on every machine. The steps of a
// workflow differ: a task takes 0.1 to 4 s with one core, a step has 1 to 200 tasks, a third of the steps is code of
// several cores, and the data of a step is from 1 to 400 MB in as many objects as the step has tasks, or in fewer.
func Generate(n uint64, g Generated) (App, error) {
	if err := g.Validate(); err != nil {
		return App{}, err
	}
	key := rng.New(n, "steps/app")
	count := g.Steps[0] + key.With(0).IntN(g.Steps[1]-g.Steps[0]+1)
	shape := workflow.Chained
	switch part := key.With(1).IntN(3); {
	case g.Shape == ChainShape || g.Shape == AnyShape && part == 0:
	case g.Shape == DAGShape && key.With(2).IntN(2) == 0, g.Shape == AnyShape && part == 1:
		shape = workflow.Fan
	case count > mostCrossing:
		shape = workflow.Fan
	default:
		shape = workflow.Crossing
	}
	graph, err := workflow.Generate(workflow.GenerateConfig{Functions: count, Seed: n, Shape: shape})
	if err != nil {
		return App{}, err
	}
	for i := range graph.Edges { // choices become forks: every step runs
		graph.Edges[i].Kind, graph.Edges[i].Probability = workflow.Next, 0
	}
	a := App{Name: fmt.Sprintf("generated-%d", n), Workflow: graph, Platform: g.Platform}
	a.Workflow.Name = a.Name
	for i, node := range graph.Nodes {
		a.Steps = append(a.Steps, draw(key.With(3).With(uint64(i)), node.Name))
	}
	return a, nil
}

// draw draws a step.
func draw(k rng.Key, name string) StepConfig {
	between := func(i uint64, low, high float64) float64 {
		return float64(low * portable.Pow(high/low, k.With(i).Float64()))
	}
	s := StepConfig{Name: name, Tasks: int(between(0, 1, 201))}
	a := between(1, 0.1, 4)
	s.Law = Law{A: rounded(a), B: rounded(0.1 * k.With(2).Float64()), Fixed: rounded(0.6 * k.With(3).Float64())}
	if s.Multicore = k.With(4).IntN(3) == 0; s.Multicore {
		c := 0.2 + float64(0.16*k.With(5).Float64())
		s.Law.A, s.Law.B, s.Law.C = rounded(a*portable.Exp(c)), rounded(a*k.With(2).Float64()), rounded(c)
	}
	s.Download, s.Upload = drawTransfer(k.With(6), s.Tasks), drawTransfer(k.With(7), s.Tasks)
	return s
}

// drawTransfer draws 1 to 400 MB in a quarter as many objects as there are tasks, or more, up to as many.
func drawTransfer(k rng.Key, tasks int) Transfer {
	mb := portable.Pow(400, k.With(0).Float64())
	least := (tasks + 3) / 4
	objects := least + k.With(1).IntN(tasks-least+1)
	return Transfer{Objects: objects, MB: rounded(mb / float64(objects))}
}

// rounded has four digits.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x // no float64 is written so that it cannot be read
	}
	return r
}
