package steps

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/dags"
	"github.com/stoker-rl/stoker/rng"
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

// FirstUnseen is the number of the first generated workflow that is kept for tests: nothing is trained or chosen on
// workflows from here on.
const FirstUnseen = 5000

// Shapes of generated workflows.
const (
	AnyShape   = "mixed"
	ChainShape = "chain"
	DAGShape   = "dag"
	WideShape  = "wide"
)

// mostCrossing bounds the steps of graphs whose edges cross: the exact plans of larger ones take minutes.
const mostCrossing = 12

// Generated says which workflows are generated.
type Generated struct {
	// Steps is the smallest and the largest number of steps.
	Steps []int `yaml:"steps" json:"steps" range:"[3,32]"`
	// Shape is chain, dag (nested fan-outs, or, up to 12 steps, steps that each wait for one to three earlier ones), mixed
	// (either), or wide (forks of many steps side by side).
	Shape string `yaml:"shape" json:"shape" oneof:"mixed|chain|dag|wide"`
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
	graph, err := wide(count, key.With(8)), error(nil)
	if g.Shape != WideShape {
		graph, err = workflow.Generate(workflow.GenerateConfig{Functions: count, Seed: n, Shape: shape})
	}
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

// wide returns forks of 3 to 8 steps side by side, or some more in the last one, each of which joins before the next.
func wide(count int, key rng.Key) workflow.Graph {
	name := func(i int) string { return fmt.Sprintf("f%d", i+1) }
	var edges []workflow.Edge
	for at, block := 0, uint64(0); at < count-1; block++ {
		width, rest := 3+key.With(block).IntN(6), count-1-at
		if width+1 > rest-4 {
			width = max(rest-1, 1)
		}
		join := at + width + 1
		for i := at + 1; i < join; i++ {
			edges = append(edges, workflow.Chain(name(at), name(i), name(join))...)
		}
		at = join
	}
	return workflow.New("wide", edges)
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

// TPCHFile is where the TPC-H jobs lie in a folder of published data.
const TPCHFile = "dags/tpch_dags_summary.json"

// ReadTPCH reads TPC-H queries as workflows: a stage is a step. dir is the folder of published data or the file itself;
// empty is the folder that STOKER_DATA names. Its jobs are those on which Decima was trained: 22 queries on seven sizes
// of data, with task times on Spark by number of executors. An executor counts as a process with a whole core, and half
// a core takes twice the time. Reading and writing are in those times, so that the steps have no transfers.
func ReadTPCH(dir string) ([]App, error) {
	if dir == "" {
		if dir = os.Getenv("STOKER_DATA"); dir == "" {
			return nil, fmt.Errorf("the workflows tpch are measured jobs that do not come with Stoker: name the folder with " +
				TPCHFile + " in data or in the variable STOKER_DATA")
		}
	}
	file := dir
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		file = filepath.Join(dir, filepath.FromSlash(TPCHFile))
	}
	f, err := os.Open(file)
	if err != nil {
		if os.IsNotExist(err) {
			err = fs.ErrNotExist
		}
		return nil, fmt.Errorf("%s with the workflows tpch cannot be read: %w", file, err)
	}
	defer f.Close()
	jobs, err := dags.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "dags: "))
	}
	out := make([]App, len(jobs))
	for i := range jobs {
		out[i] = ofJob(&jobs[i])
	}
	return out, nil
}

// ofJob returns a job as a workflow.
func ofJob(j *dags.Job) App {
	a := App{Name: j.Name, Platform: AWS, Workflow: j.Graph(),
		About: fmt.Sprintf("TPC-H query %d on %s of data, with task times measured on Spark.", j.Query, j.Size)}
	for k, node := range a.Workflow.Nodes {
		s := StepConfig{Name: node.Name}
		if k < len(j.Stages) {
			s.Tasks, s.Law = j.Stages[k].Tasks, ofStage(&j.Stages[k])
		}
		a.Steps = append(a.Steps, s)
	}
	return a
}

// ofStage is the law of a stage: where executors have n tasks each, there are as many as that needs.
func ofStage(s *dags.Stage) (l Law) {
	for n := 1; ; n = max(n+1, n*5/4) {
		n = min(n, s.Tasks)
		l.Tasks = append(l.Tasks, n)
		l.Seconds = append(l.Seconds, s.Seconds((s.Tasks+n-1)/n, true))
		if n == s.Tasks {
			break
		}
	}
	// With fewer executors a task can be quicker, since they disturb each other less, but a whole stage cannot: a
	// quicker stage is noise.
	for i := 1; i < len(l.Seconds); i++ {
		l.Seconds[i] = max(l.Seconds[i], l.Seconds[i-1])
	}
	l.Seconds = slices.Clip(l.Seconds)
	return l
}

// TPCH returns the one of some jobs with a name such as tpch-9-20g.
func TPCH(apps []App, name string) (App, error) {
	i := slices.IndexFunc(apps, func(a App) bool { return a.Name == name })
	if i < 0 {
		return App{}, fmt.Errorf("there is no workflow %q, want tpch-QUERY-SIZE, such as %s", name, apps[0].Name)
	}
	return apps[i], nil
}
