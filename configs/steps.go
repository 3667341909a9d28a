package configs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
)

// stepsFile is a workflow of steps as a file has it: the graph in workflow, or in a state machine of AWS Step Functions;
// the laws as numbers, or as measured runs.
type stepsFile struct {
	steps.App `yaml:",inline"`
	// Machine is a state machine in the Amazon States Language. Its Task states are the steps; a Map state with one Task is
	// a step whose tasks are the items. Facts is a YAML file of probabilities and items ([asl.ReadFacts]); Percent reads
	// choices that compare a number as percentages.
	Machine string `yaml:"machine"`
	Facts   string `yaml:"facts"`
	Percent bool   `yaml:"percent"`
	// Profiles is a CSV file of measured runs (step, mb, tasks, processes, seconds), for all steps without a law.
	Profiles string `yaml:"profiles"`
}

// ReadSteps reads the workflow of steps in a file, or where there is no such file the shipped one of that name (vp, or
// configs/steps/apps/vp.yaml), and checks it. A state machine (NAME.json or NAME.asl.json) has its steps in
// NAME.steps.yaml beside it.
func ReadSteps(path string) (*steps.App, error) {
	text, err := ReadFile(path)
	if info, e := os.Stat(path); e == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a workflow's file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if a, unknown := steps.Preset(path); unknown == nil {
			return &a, nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "configs/")
		if text, e := shipped.ReadFile(name); e == nil && slices.Contains(ShippedSteps(), name) {
			return ParseSteps(path, text)
		}
		return nil, fmt.Errorf("%w; workflows by name: %s", err, strings.Join(steps.Presets(), ", "))
	}
	if err != nil {
		return nil, err
	}
	if IsMachine(path) {
		return stepsOfMachine(path)
	}
	return ParseSteps(path, text)
}

// stepsOfMachine reads a state machine with the file of its steps beside it.
func stepsOfMachine(path string) (*steps.App, error) {
	beside := strings.TrimSuffix(strings.TrimSuffix(path, ".json"), ".asl") + ".steps.yaml"
	text, err := ReadFile(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: a state machine says nothing about the times of its steps: want %s beside it, with the tasks, "+
			"laws and transfers of each in steps", path, filepath.Base(beside))
	}
	if err != nil {
		return nil, err
	}
	return parseSteps(beside, text, path)
}

// ParseSteps is [ReadSteps] for a text already read. Source names it in errors; the files that it names are found from
// its folder.
func ParseSteps(source string, text []byte) (*steps.App, error) { return parseSteps(source, text, "") }

// parseSteps reads a file of steps. machine is the state machine beside which it lies, or empty.
func parseSteps(source string, text []byte, machine string) (*steps.App, error) {
	r := reader{lines: map[string]int{}}
	var f stepsFile
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty, want a workflow of steps: name, workflow and steps", source)
	}
	root := r.document(text)
	switch {
	case root == nil:
	case value(root, "env") != nil && value(root, "steps") == nil:
		return nil, fmt.Errorf("%s is an experiment, want a workflow's file, with workflow and steps", source)
	case value(root, "functions") != nil && value(root, "steps") == nil:
		return nil, fmt.Errorf("%s is an application of functions and variants, want a workflow's file, with workflow and steps "+
			"(docs/steps.md)", source)
	case r.examine(root, reflect.TypeFor[stepsFile](), ""):
		if err := root.Load(&f); err != nil {
			r.problems = append(r.problems, problems(err)...)
		}
	}
	if len(r.problems) == 0 {
		f.complete(&r, source, machine, root)
	}
	if len(r.problems) > 0 {
		return nil, &Error{source, r.problems}
	}
	return &f.App, nil
}

// complete reads the files that a file of steps names and checks the whole.
func (f *stepsFile) complete(r *reader, source, machine string, root *yaml.Node) {
	at := func(err error) {
		var e *bounds.Error
		if errors.As(err, &e) {
			r.add(r.lineOf(e.Key), "%v", e)
		} else {
			r.add(0, "%v", err)
		}
	}
	dir := filepath.Dir(source)
	within(dir, &f.Machine)
	within(dir, &f.Facts)
	within(dir, &f.Profiles)
	if machine != "" {
		f.Machine = machine
	}
	if f.Name == "" {
		f.Name, _, _ = strings.Cut(filepath.Base(source), ".")
	}
	if f.Workflow.Name == "" {
		f.Workflow.Name = f.Name
	}
	for _, w := range bounds.Wrong(&f.App) {
		if f.Platform == steps.Own || !strings.HasPrefix(w.Key, "own.") {
			at(w)
		}
	}
	f.transfers(r)
	if len(r.problems) > 0 {
		return
	}
	var lambdas map[string]string
	if f.Machine != "" {
		var err error
		if lambdas, err = f.machine(value(root, "workflow") != nil); err != nil {
			at(err)
			return
		}
	}
	if f.Profiles != "" {
		if err := f.fit(lambdas); err != nil {
			at(err)
			return
		}
	}
	if _, err := f.Compile(); err != nil {
		at(err)
	}
}

// transfers reports steps whose file does not say what they move: a transfer that is forgotten would be taken as free.
func (f *stepsFile) transfers(r *reader) {
	for i, s := range f.Steps {
		if s.Tasks == 0 && f.Machine == "" {
			continue
		}
		key := fmt.Sprintf("steps[%d]", i)
		for _, what := range []string{"download", "upload"} {
			if r.lines[key+"."+what] == 0 {
				r.add(r.lineOf(key), "%s.%s is missing, want {objects: 8, mb: 4} for 8 objects of 4 MB each, or {objects: 0, mb: 0} "+
					"where nothing is moved", key, what)
				continue
			}
			for _, part := range []string{"objects", "mb"} {
				if k := key + "." + what + "." + part; r.lines[k] == 0 {
					r.add(r.lineOf(k), "%s is missing: want both objects and mb", k)
				}
			}
		}
	}
}

// machine makes the workflow of a state machine. It returns the Lambda functions of the steps.
func (f *stepsFile) machine(drawn bool) (lambdas map[string]string, err error) {
	wrong := func(key string, err error) error {
		file := map[string]string{"machine": f.Machine, "facts": f.Facts}[key]
		return bounds.Errorf(key, "%s: %s", file, strings.TrimPrefix(err.Error(), "asl: "))
	}
	if drawn {
		return nil, bounds.Errorf("workflow", "is there beside a machine, want one of them")
	}
	o := asl.Options{Percent: f.Percent}
	if f.Facts != "" {
		file, err := os.Open(f.Facts)
		if err != nil {
			return nil, bounds.Errorf("facts", "cannot be read: %v", err)
		}
		defer file.Close()
		if o.Facts, err = asl.ReadFacts(file); err != nil {
			return nil, wrong("facts", err)
		}
	}
	file, err := os.Open(f.Machine)
	if err != nil {
		return nil, bounds.Errorf("machine", "cannot be read: %v", err)
	}
	defer file.Close()
	m, err := asl.Read(file)
	if err != nil {
		return nil, wrong("machine", err)
	}
	if err := f.items(m, &o.Facts); err != nil {
		return nil, wrong("machine", err)
	}
	flow, err := m.Workflow(o)
	if err != nil {
		return nil, wrong("machine", err)
	}
	return f.flow(flow)
}

// items makes each Map state one step. The work on one item is one task of the step.
func (f *stepsFile) items(m *asl.Machine, facts *asl.Facts) error {
	items := facts.Maps
	facts.Maps = map[string]int{}
	var visit func(*asl.Machine) error
	visit = func(m *asl.Machine) error {
		for _, s := range m.States {
			for _, b := range s.Branches {
				if err := visit(b); err != nil {
					return err
				}
			}
			if s.Type != asl.Map {
				continue
			}
			if len(s.Each.States) != 1 || s.Each.States[0].Type != asl.Task {
				return fmt.Errorf("line %d: state %q has %d states for each item, want one Task: a step runs one function on all "+
					"its tasks", s.Line, s.Name, len(s.Each.States))
			}
			facts.Maps[s.Name] = 1
			if n, ok := items[s.Name]; ok {
				f.share(s.Each.States[0].Name, n)
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(items)) {
		if items[name] < 1 {
			return fmt.Errorf("maps: %s has %d items, want at least 1", name, items[name])
		}
	}
	return visit(m)
}

// share gives a step that has no tasks of its own so many.
func (f *stepsFile) share(step string, tasks int) {
	for i := range f.Steps {
		if f.Steps[i].Name == step && f.Steps[i].Tasks == 0 {
			f.Steps[i].Tasks = tasks
		}
	}
}

// flow takes the graph of a machine. A node has the name of its state.
func (f *stepsFile) flow(flow *asl.Flow) (lambdas map[string]string, err error) {
	fixed, lambdas := map[string]float64{}, map[string]string{}
	of := map[string]asl.Function{}
	for _, fn := range flow.Functions {
		of[fn.Name] = fn
	}
	bare := func(node string) string { return node[strings.LastIndex(node, "]/")+1:] }
	name := func(node string) string { return strings.TrimPrefix(bare(node), "/") }
	g := workflow.Graph{Name: f.Name, Entry: name(flow.Graph.Entry)}
	for _, n := range flow.Graph.Nodes {
		step, fn := name(n.Name), of[n.Function]
		if n.Function == "" {
			fn = of[n.Name]
		}
		lambdas[step] = fn.Lambda
		if fn.Fixed {
			fixed[step] = fn.Seconds
		}
		g.Nodes = append(g.Nodes, workflow.Node{Name: step, Join: n.Join})
	}
	for _, e := range flow.Graph.Edges {
		e.From = name(e.From)
		if e.To != workflow.End {
			e.To = name(e.To)
		}
		g.Edges = append(g.Edges, e)
	}
	f.Workflow = g
	for _, n := range g.Nodes { // states without a function
		seconds, ok := fixed[n.Name]
		if !ok || slices.ContainsFunc(f.Steps, func(s steps.StepConfig) bool { return s.Name == n.Name }) {
			continue
		}
		f.Steps = append(f.Steps, steps.StepConfig{Name: n.Name, Wait: seconds})
	}
	return lambdas, nil
}

// fit fits the laws of all steps that have none to measured runs of an instance (StepConf, eq. 1).
func (f *stepsFile) fit(lambdas map[string]string) error {
	file, err := os.Open(f.Profiles)
	if err != nil {
		return bounds.Errorf("profiles", "cannot be read: %v", err)
	}
	defer file.Close()
	names, runs, err := readRuns(file)
	if err != nil {
		return bounds.Errorf("profiles", "%s: %v", f.Profiles, err)
	}
	platform := f.Where()
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Tasks == 0 || !s.Law.Empty() {
			continue
		}
		of := runs[s.Name]
		if of == nil {
			of = runs[lambdas[s.Name]]
		}
		key := fmt.Sprintf("steps[%d].law", i)
		if of == nil {
			return bounds.Errorf(key, "is missing, and %s has no runs of %q: it has those of %s", f.Profiles, s.Name,
				strings.Join(names, ", "))
		}
		p, err := memory.FitPieces(of, s.Multicore, memory.Options{SingleCore: platform.SingleCore})
		if err != nil {
			return bounds.Errorf(key, "cannot be fitted to the runs of %q in %s: %s", s.Name, f.Profiles,
				strings.TrimPrefix(err.Error(), "memory: "))
		}
		if s.Law = (steps.Law{A: p.Inverse.A, B: p.Inverse.B, Fixed: p.Inverse.F}); s.Multicore {
			s.Law = steps.Law{A: p.Exponential.A, B: p.Exponential.B, C: p.Exponential.C, Fixed: p.Exponential.F}
		}
	}
	return nil
}

// runColumns are the columns of a file of measured runs of steps, lower case. The first three have no default.
var runColumns = []struct {
	names []string
	scale float64
	value float64 // where the column is missing
}{
	{names: []string{"step", "function", "name"}},
	{names: []string{"mb", "memory", "memory size", "memory_mb"}, scale: 1},
	{names: []string{"seconds", "duration_s", "s"}, scale: 1},
	{names: []string{"tasks", "jobs"}, scale: 1, value: 1},
	{names: []string{"processes", "cores"}, scale: 1, value: 1},
}

// milliseconds are names of the third column in another unit.
var milliseconds = []string{"ms", "duration", "duration_ms", "milliseconds"}

// readRuns reads measured runs of instances from a CSV file with a header: the step, the memory size in MB, the time in
// seconds (or ms), and how many tasks and processes the instance had (1 where the column is missing). It returns the
// steps in the order of the file. Errors name line and column.
func readRuns(r io.Reader) (names []string, runs map[string][]memory.Job, err error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the header: %w", err)
	}
	at := slices.Repeat([]int{-1}, len(runColumns))
	scale := 1.0
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		for k, col := range runColumns {
			if slices.Contains(col.names, name) && at[k] < 0 {
				at[k] = i
			}
		}
		if slices.Contains(milliseconds, name) && at[2] < 0 {
			at[2], scale = i, 1e-3
		}
	}
	for k := range 3 {
		if at[k] < 0 {
			return nil, nil, fmt.Errorf("line 1: no column %s among %q: want step, mb, seconds, and where they are not 1 tasks "+
				"and processes", runColumns[k].names[0], head)
		}
	}
	runs = map[string][]memory.Job{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := c.FieldPos(0)
		var x [5]float64
		for k := 1; k < len(runColumns); k++ {
			x[k] = runColumns[k].value
			if at[k] < 0 {
				continue
			}
			x[k], err = strconv.ParseFloat(strings.TrimSpace(row[at[k]]), 64)
			if err != nil || !(x[k] > 0 && x[k] <= 1e9) {
				return nil, nil, fmt.Errorf("line %d, column %d: %s is %q, want a number above 0", line, at[k]+1,
					runColumns[k].names[0], row[at[k]])
			}
		}
		name := strings.TrimSpace(row[at[0]])
		if runs[name] == nil {
			names = append(names, name)
		}
		runs[name] = append(runs[name], memory.Job{MB: x[1], Seconds: float64(x[2] * scale), Jobs: x[3], Q: x[4]})
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("the file has a header and no runs")
	}
	return names, runs, nil
}
