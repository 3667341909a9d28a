package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Presets returns the names of the workflows that [Preset] knows. TPC-H's are read from a file: see [ReadTPCH].
func Presets() []string { return slices.Clone(presets) }

var presets = []string{"ml", "vp", "dag", "chain", "diamond"}

// Preset returns a workflow by name. ml, vp and dag are StepConf's (§7.1): the paper says which steps there are, but
// publishes neither their laws nor their data, and draws the graphs without a list of edges. What it leaves open is this
// project's, and About says so. They run on its Knative cluster. chain and diamond are small ones on AWS, for trials.
func Preset(name string) (App, error) {
	switch name {
	case "ml":
		return machineLearning(), nil
	case "vp":
		return video(), nil
	case "dag":
		return primes(), nil
	case "chain":
		return App{Name: name, About: "Three steps in a row; this project's.",
			Workflow: workflow.New(name, workflow.Chain("split", "detect", "merge")), Platform: AWS,
			Steps: []StepConfig{small("split", 4, 3, 1), small("detect", 64, 1.5, 64), small("merge", 2, 6, 64)}}, nil
	case "diamond":
		many := small("train", 24, 5, 24)
		many.Multicore, many.Law = true, Law{A: 5, B: 1, C: 0.4, Fixed: 0.2}
		return App{Name: name, About: "A fork and a join; this project's.",
			Workflow: workflow.New(name, workflow.Fork("read", "train", "check"), workflow.Join("report", "train", "check")),
			Platform: AWS,
			Steps:    []StepConfig{small("read", 8, 2, 8), many, small("check", 16, 2, 16), small("report", 1, 4, 1)}}, nil
	}
	return App{}, fmt.Errorf("there is no workflow %q, want %s", name, strings.Join(presets, ", "))
}

// small is a step of code of one core whose instances each move a few objects.
func small(name string, tasks int, a float64, objects int) StepConfig {
	return StepConfig{Name: name, Tasks: tasks, Law: Law{A: a, B: 0.05, Fixed: 0.1}, Download: Transfer{objects, 4},
		Upload: Transfer{objects, 2}}
}

// single is a step of code of one core: a seconds a task with a whole core.
func single(name string, tasks int, a, fixed float64, in, out Transfer) StepConfig {
	return StepConfig{Name: name, Tasks: tasks, Law: Law{A: a, B: 0.02, Fixed: fixed}, Download: in, Upload: out}
}

// multi is a step of code of several cores: a seconds a task with one core; c is how fast more cores shorten it.
func multi(name string, tasks int, a, c, fixed float64, in, out Transfer) StepConfig {
	return StepConfig{Name: name, Tasks: tasks, Multicore: true, Download: in, Upload: out,
		Law: Law{A: rounded(a * portable.Exp(c)), B: a / 4, C: c, Fixed: fixed}}
}

// machineLearning is StepConf's ML workflow (Fig. 13).
func machineLearning() App {
	a := App{Name: "ml", Platform: Knative, About: "StepConf's machine learning workflow: three independent pipelines of " +
		"Preprocess, Train and Merge. Tasks, laws and data are this project's: the second and third pipeline have 1.5 and " +
		"2 times the data of the first."}
	a.Steps = []StepConfig{{Name: "start"}}
	var edges []workflow.Edge
	for i, size := range []int{2, 3, 4} {
		of := func(step string) string { return fmt.Sprintf("%s%d", step, i+1) }
		edges = append(edges, workflow.Chain("start", of("preprocess"), of("train"), of("merge"))...)
		a.Steps = append(a.Steps,
			multi(of("preprocess"), 8*size, 2.4, 0.3, 0.4, Transfer{8 * size, 16}, Transfer{8 * size, 4}),
			single(of("train"), 24*size, 1.8, 0.3, Transfer{8 * size, 4}, Transfer{24 * size, 1}),
			single(of("merge"), size, 1.5, 0.2, Transfer{24 * size, 1}, Transfer{1, 12}))
	}
	a.Workflow = workflow.New(a.Name, edges)
	return a
}

// video is StepConf's VP workflow (Fig. 14).
func video() App {
	frames := Transfer{Objects: 120, MB: 3}
	a := App{Name: "vp", Platform: Knative, About: "StepConf's video processing workflow of eight steps, on 120 groups of " +
		"frames. The paper's text has the steps, pull frame first and merge frame last; the edges between the others, tasks, " +
		"laws and data are this project's."}
	a.Workflow = workflow.New(a.Name,
		workflow.Chain("pull-frame", "object-detection", "text-addition", "merge-frame"),
		workflow.Chain("pull-frame", "color-filtering", "watermarking", "merge-frame"),
		workflow.Chain("pull-frame", "super-resolution", "frame-interpolation", "merge-frame"))
	a.Steps = []StepConfig{
		multi("pull-frame", 12, 3.5, 0.25, 0.3, Transfer{12, 25}, frames),
		multi("object-detection", 120, 2.2, 0.3, 0.8, frames, Transfer{120, 0.2}),
		single("watermarking", 120, 0.35, 0.1, frames, frames),
		multi("super-resolution", 120, 3.2, 0.35, 1, frames, Transfer{120, 6}),
		single("color-filtering", 120, 0.5, 0.1, frames, frames),
		single("text-addition", 120, 0.3, 0.1, Transfer{120, 0.2}, frames),
		single("frame-interpolation", 120, 1.4, 0.2, Transfer{120, 6}, Transfer{120, 6}),
		multi("merge-frame", 12, 4, 0.25, 0.5, Transfer{120, 6}, Transfer{12, 20}),
	}
	return a
}

// primes is StepConf's synthetic DAG workflow (Fig. 15).
func primes() App {
	a := App{Name: "dag", Platform: Knative, About: "StepConf's synthetic workflow of 16 steps that test numbers for being " +
		"prime, in four difficulties, with different amounts of data. Edges, difficulties, tasks, laws and data of the steps " +
		"are this project's."}
	a.Workflow = workflow.New(a.Name,
		workflow.Fork("v1", "v2", "v3", "v4"), workflow.Fork("v2", "v5", "v6"), workflow.Fork("v3", "v7", "v8"),
		workflow.Chain("v4", "v9", "v13", "v15"), workflow.Join("v10", "v5", "v6"), workflow.Join("v11", "v7", "v8"),
		workflow.Chain("v8", "v12", "v15"), workflow.Join("v14", "v10", "v11"), workflow.Join("v16", "v14", "v15"))
	seconds := [...]float64{0.4, 0.8, 1.6, 3.2} // a number's test, by difficulty
	for i, s := range [...]struct {
		difficulty, tasks int
		in, out           float64 // MB of an object
	}{{0, 24, 2, 4}, {2, 48, 4, 2}, {3, 64, 4, 8}, {1, 40, 4, 1}, {3, 20, 2, 2}, {1, 60, 2, 4}, {2, 80, 8, 2}, {3, 48, 8, 4},
		{2, 36, 1, 6}, {0, 90, 4, 2}, {2, 56, 4, 1}, {1, 72, 4, 8}, {3, 30, 6, 2}, {1, 64, 2, 6}, {0, 100, 8, 4}, {2, 24, 6, 1}} {
		name, in, out := fmt.Sprintf("v%d", i+1), Transfer{s.tasks, s.in}, Transfer{s.tasks, s.out}
		if i%3 == 2 { // every third one is optimised for several cores
			a.Steps = append(a.Steps, multi(name, s.tasks, seconds[s.difficulty], 0.35, 0.1, in, out))
			continue
		}
		a.Steps = append(a.Steps, single(name, s.tasks, seconds[s.difficulty], 0.1, in, out))
	}
	return a
}
