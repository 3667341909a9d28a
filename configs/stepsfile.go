package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
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

// DumpSteps writes a workflow of steps as its file.
func DumpSteps(a *steps.App) ([]byte, error) { return yaml.Dump(a, yaml.WithIndent(2)) }
