package variants

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
)

// Presets returns the names of the six applications, app1 to app6.
func Presets() []string { return slices.Clone(presets) }

var presets = []string{"app1", "app2", "app3", "app4", "app5", "app6"}

// Preset returns one of the six applications. Like OptiServe's App_i, app i has i functions, up to three of them models.
// Of OptiServe's only App3 was published: its graph, memory sizes and formula, and the laws of resnet-18, -50 and -101,
// yolov10n and yolov10s. All other graphs and laws are this project's. Every formula is normalised, as in the paper's
// figures: the best models give an accuracy of 1.
func Preset(name string) (App, error) {
	a := App{Name: name, Delays: workflow.StepFunctions(workflow.Once), Normalize: true}
	ours := "This project's application with %s; OptiServe did not publish its own."
	f1, f4, f6 := general("f1", 0.72, 7.3, 310), general("f4", 0.95, 8, 330), general("f6", 0.11, 2.1, 310)
	ml := ML()
	models := workflow.Fork("f1", "resnet", "yolo")
	join := workflow.Join("f4", "resnet", "yolo")
	switch name {
	case "app1":
		a.About = fmt.Sprintf(ours, "one function")
		a.Workflow = workflow.Graph{Name: name, Nodes: []workflow.Node{{Name: "f1"}}}
		a.Functions = []Function{f1}
	case "app2":
		a.About = fmt.Sprintf(ours, "a model behind a function")
		a.Workflow = workflow.New(name, workflow.Chain("f1", "resnet"))
		a.Functions = []Function{f1, resnet(ml)}
	case "app3":
		a.About = "OptiServe's App3. Its laws of f1, resnet-34, yolov10m and yolov10l are this project's."
		a.Workflow = workflow.New(name, workflow.Chain("f1", "resnet"), workflow.Repeat("resnet", "f1", 0.3),
			workflow.Choice("resnet", workflow.To("yolo", 0.7)), workflow.Repeat("yolo", "yolo", 0.2),
			workflow.Choice("yolo", workflow.To(workflow.End, 0.8)))
		a.Functions = []Function{f1, resnet(Range(2048, 9999, 512)), yolo(Range(2048, 9999, 800))}
		a.Accuracy = "2*resnet + yolo"
	case "app4":
		a.About = fmt.Sprintf(ours, "two models in parallel")
		a.Workflow = workflow.New(name, models, join)
		a.Functions = []Function{f1, resnet(ml), yolo(ml), f4}
	case "app5":
		a.About = fmt.Sprintf(ours, "two models in parallel, and a third in 4 of 10 requests")
		a.Workflow = workflow.New(name, models, join,
			workflow.Choice("f4", workflow.To("bert", 0.4), workflow.To(workflow.End, 0.6)))
		a.Functions = []Function{f1, resnet(ml), yolo(ml), f4, bert(ml)}
	case "app6":
		a.About = fmt.Sprintf(ours, "two models and a function in parallel, a third model in a branch, and a way back")
		a.Workflow = workflow.New(name, workflow.Fork("f1", "resnet", "yolo", "f6"), workflow.Join("f4", "resnet", "yolo", "f6"),
			workflow.Repeat("f4", "f1", 0.1),
			workflow.Choice("f4", workflow.To("bert", 0.4), workflow.To(workflow.End, 0.5)))
		a.Functions = []Function{f1, resnet(ml), yolo(ml), f4, bert(ml), f6}
	default:
		return App{}, fmt.Errorf("no application %q, there are %s", name, strings.Join(presets, ", "))
	}
	return a, nil
}

// exponential is the law a + b·exp(-m/scale).
func exponential(a, b, scale float64) Law {
	return Law{Form: memory.Exponential, A: a, B: b, C: 1 / scale}
}

func general(name string, a, b, scale float64) Function {
	return Function{Name: name, Memory: General(), Variants: []Variant{{Law: exponential(a, b, scale)}}}
}

func model(name string, accuracy, a, b, scale float64) Variant {
	return Variant{Name: name, Accuracy: &accuracy, Law: exponential(a, b, scale)}
}

// resnet classifies 24 images; accuracies are top-1 on ImageNet.
func resnet(grid Grid) Function {
	return Function{Name: "resnet", Memory: grid, Variants: []Variant{
		model("resnet-18", 0.698, 0.516, 6.5, 1510), model("resnet-34", 0.733, 0.83, 10.7, 1550),
		model("resnet-50", 0.761, 1.14, 14.9, 1590), model("resnet-101", 0.774, 2.15, 25.7, 1490)}}
}

// yolo finds objects in 24 images; accuracies are mean average precisions on COCO.
func yolo(grid Grid) Function {
	return Function{Name: "yolo", Memory: grid, Variants: []Variant{
		model("yolov10n", 0.385, 1.16, 8.74, 2480), model("yolov10s", 0.462, 2.65, 21.6, 2350),
		model("yolov10m", 0.511, 5.2, 42, 2350), model("yolov10l", 0.532, 8, 64, 2350)}}
}

// bert classifies 16 texts; accuracies are those on SST-2.
func bert(grid Grid) Function {
	return Function{Name: "bert", Memory: grid, Variants: []Variant{
		model("distilbert", 0.913, 1.6, 18, 1500), model("bert-base", 0.927, 3.1, 35, 1500),
		model("roberta-base", 0.948, 3.2, 36, 1500)}}
}

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
