package variants

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
)

// drawn are the shapes of generated applications.
var drawn = []workflow.Shape{workflow.Chained, workflow.Fan, workflow.Branches, workflow.Loops, workflow.Nested,
	workflow.Crossing}

// mostCrossing bounds the functions of graphs whose edges cross: the exact plans of larger ones take minutes.
const mostCrossing = 12

// Generate returns generated application number n with low to high functions: a workflow in which up to three functions
// are models with two to four variants, and a law for each variant. Equal numbers give equal applications, on every
// machine.
func Generate(n uint64, low, high int) (*App, error) {
	key := rng.New(n, "variants/app")
	count := low + key.With(0).IntN(high-low+1)
	shape := drawn[key.With(5).IntN(len(drawn))]
	if shape == workflow.Crossing {
		count = min(count, mostCrossing)
	}
	graph, err := workflow.Generate(workflow.GenerateConfig{Functions: count, Seed: n, Shape: shape})
	if err != nil {
		return nil, err
	}
	a := &App{Name: fmt.Sprintf("app-%d", n), Workflow: graph}
	names := functionsOf(graph)
	models := 1 + key.With(1).IntN(min(3, len(names)))
	rated := make([]bool, len(names))
	for k := range models {
		rated[key.With(2).With(uint64(k)).IntN(len(names))] = true
	}
	for f, name := range names {
		k := key.With(3).With(uint64(f))
		if !rated[f] {
			a.Functions = append(a.Functions, Function{Name: name, Memory: General(),
				Variants: []Variant{{Law: drawLaw(k, 0.2, 5, 200, 2000), CV: drawCV(k)}}})
			continue
		}
		a.Functions = append(a.Functions, drawModel(k, name))
	}
	a.Accuracy = Templates()[key.With(4).IntN(len(Templates()))]
	return a, nil
}

// functionsOf lists a generated graph's functions: each runs at a node of its name.
func functionsOf(g workflow.Graph) (names []string) {
	for _, n := range g.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// drawModel draws a function that is a model: each variant is slower than the one before, and more accurate.
func drawModel(k rng.Key, name string) Function {
	f := Function{Name: name, Memory: ML()}
	law := drawLaw(k, 1, 15, 800, 6000)
	cv := drawCV(k)
	accuracy := 0.5 + float64(0.3*k.With(10).Float64())
	for v := range 2 + k.With(11).IntN(3) {
		d := k.With(12).With(uint64(v))
		if v > 0 {
			slower := 1.2 + float64(1.3*d.With(0).Float64())
			law.A, law.B = law.A*slower, law.B*slower
			accuracy += float64((1 - accuracy) * (0.1 + float64(0.4*d.With(1).Float64())))
		}
		a := math.Round(accuracy*1000) / 1000
		f.Variants = append(f.Variants, Variant{Name: fmt.Sprintf("v%d", v+1), Accuracy: &a, Law: law, CV: cv})
	}
	return f
}

// drawCV draws the coefficient of variation of run times.
func drawCV(k rng.Key) float64 {
	return math.Round(100*(0.05+float64(0.55*k.With(20).Float64()))) / 100
}

// drawLaw draws a law, exponential or with a knee. With little memory it takes quick to slow seconds; with much memory
// a part of this time remains. near and far bound, in MB, the memory beyond which more does not help.
func drawLaw(k rng.Key, quick, slow, near, far float64) Law {
	between := func(i uint64, low, high float64) float64 {
		return low * math.Pow(high/low, k.With(i).Float64())
	}
	seconds, stays := between(0, quick, slow), between(1, 0.05, 0.6)
	reach := between(2, near, far)
	if k.With(3).Float64() < 0.5 {
		return Law{Form: memory.Exponential, A: seconds * stays, B: seconds * (1 - stays) * 1.2, C: 2 / reach}
	}
	return Law{Form: memory.Knee, A: seconds * stays / 4, B: seconds * near / 1.5, K: reach}
}
