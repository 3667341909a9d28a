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
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
	"github.com/stoker-rl/stoker/envs/workflow/dags"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/lists"
)

// ReadApp reads the application in a file, or where there is no such file the shipped one of that name (app4, or
// configs/variants/app4.yaml), and works it out.
func ReadApp(path string) (*variants.Model, error) {
	text, err := ReadFile(path)
	if info, e := os.Stat(path); e == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want an application's file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		a, unknown := variants.Preset(path)
		if unknown == nil {
			return a.Compile()
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "configs/")
		if text, e := shipped.ReadFile(name); e == nil && slices.Contains(ShippedApps(), name) {
			return ParseApp(path, text)
		}
		return nil, fmt.Errorf("%w; applications by name: %s", err, strings.Join(variants.Presets(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return ParseApp(path, text)
}

// ParseApp is [ReadApp] for a text already read. Source names it in errors; the application's other files are found
// from its folder.
func ParseApp(source string, text []byte) (*variants.Model, error) {
	r := reader{lines: map[string]int{}}
	var a variants.App
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty, want an application: name, workflow and functions", source)
	}
	root := r.document(text)
	switch {
	case root == nil:
	case value(root, "env") != nil && value(root, "functions") == nil:
		return nil, fmt.Errorf("%s is an experiment, want an application's file, with workflow and functions", source)
	case r.examine(root, reflect.TypeFor[variants.App](), ""):
		if err := root.Load(&a); err != nil {
			r.problems = append(r.problems, problems(err)...)
		}
	}
	if len(r.problems) > 0 {
		return nil, &Error{source, r.problems}
	}
	dir := filepath.Dir(source)
	within(dir, &a.Profiles)
	for i := range a.Functions {
		for j := range a.Functions[i].Variants {
			within(dir, &a.Functions[i].Variants[j].Profiles)
		}
	}
	m, err := a.Compile()
	var e *bounds.Error
	if errors.As(err, &e) {
		return nil, &Error{source, []Problem{{r.lineOf(e.Key), e.Error()}}}
	}
	return m, err
}

// within makes a file's path, where it is relative, one from a folder.
func within(dir string, file *string) {
	if *file != "" && !filepath.IsAbs(*file) {
		*file = filepath.Join(dir, *file)
	}
}

// lineOf returns the line of a key, or of the nearest key around it that stands in the file.
func (r *reader) lineOf(key string) int {
	for key != "" {
		if line := r.lines[key]; line > 0 {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// DumpApp writes an application as its file.
func DumpApp(m *variants.Model) ([]byte, error) { return yaml.Dump(m.App, yaml.WithIndent(2)) }

// Machine is what a state machine of AWS Step Functions does not say of an application.
type Machine struct {
	// Profiles is a CSV file of measured runs of its functions, by the names of their Lambda functions or of their states.
	Profiles string
	// Facts is a YAML file of probabilities, items and waits ([asl.ReadFacts]); Percent reads choices that compare a number
	// as percentages.
	Facts   string
	Percent bool
	// Tariff and Orchestration are as in [variants.App].
	Tariff        string
	Orchestration bill.Orchestration
}

// IsMachine reports whether a file is a state machine: its name ends in .json and it has StartAt.
func IsMachine(path string) bool {
	text, err := ReadFile(path)
	return err == nil && strings.HasSuffix(path, ".json") && bytes.Contains(text, []byte(`"StartAt"`))
}

// ReadMachine reads a state machine as an application: each function has the memory sizes at which it was measured.
func ReadMachine(path string, k Machine) (*variants.Model, error) {
	if k.Profiles == "" {
		return nil, fmt.Errorf("%s: a state machine says nothing about its functions' times: name a CSV file of measured runs "+
			"(function, memory, ms)", path)
	}
	o := asl.Options{Percent: k.Percent}
	if k.Facts != "" {
		f, err := os.Open(k.Facts)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if o.Facts, err = asl.ReadFacts(f); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Facts, err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	machine, err := asl.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "asl: "))
	}
	flow, err := machine.Workflow(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "asl: "))
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	a := variants.App{Name: name, Workflow: flow.Graph, Delays: workflow.StepFunctions(workflow.Once), Tariff: k.Tariff,
		Orchestration: k.Orchestration, Profiles: k.Profiles, Transitions: flow.Transitions}
	a.Workflow.Name = name
	for _, fn := range flow.Functions {
		f := variants.Function{Name: fn.Name, Fixed: fn.Fixed, Seconds: fn.Seconds}
		if fn.Lambda != "" && fn.Lambda != fn.Name {
			f.Variants = []variants.Variant{{Name: fn.Lambda}}
		}
		a.Functions = append(a.Functions, f)
	}
	m, err := a.Compile()
	var e *bounds.Error
	if errors.As(err, &e) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, err
}

// Job is what a file of jobs of stages ([dags.Read]) does not say of an application.
type Job struct {
	// Name is the job's, such as tpch-9-2g; it may be empty where the file has one job.
	Name string
	// ExecutorMB is the memory of an executor.
	ExecutorMB float64
	// Tariff is as in [variants.App]: what an executor's memory costs while its stage runs.
	Tariff string
}

// IsJobs reports whether a file has jobs of stages: its name ends in .json and it has dags.
func IsJobs(path string) bool {
	if !strings.HasSuffix(path, ".json") {
		return false
	}
	text, err := readAtMost(path, maxJobs)
	return err == nil && bytes.Contains(text, []byte(`"dags"`)) && !bytes.Contains(text, []byte(`"StartAt"`))
}

// JobNames returns the names of a file's jobs.
func JobNames(path string) ([]string, error) {
	jobs, err := readJobs(path)
	return lists.From(jobs, func(j dags.Job) string { return j.Name }), err
}

func readJobs(path string) ([]dags.Job, error) {
	text, err := readAtMost(path, maxJobs)
	if err != nil {
		return nil, err
	}
	jobs, err := dags.Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "dags: "))
	}
	return jobs, nil
}

// ReadJob reads a job as an application: each stage is a function whose memory is that of its executors. A stage can have
// as many executors as there are measured times for, and no more than it has tasks; its time is that of its waves of tasks on
// executors that are new to it, during all of which every executor is paid.
func ReadJob(path string, k Job) (*variants.Model, error) {
	jobs, err := readJobs(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(jobs, func(j dags.Job) bool { return j.Name == k.Name })
	switch {
	case i < 0 && k.Name == "" && len(jobs) == 1:
		i = 0
	case i < 0 && k.Name == "":
		return nil, fmt.Errorf("%s has %d jobs: name one, such as %s", path, len(jobs), jobs[0].Name)
	case i < 0:
		names := lists.From(jobs[:min(len(jobs), 12)], func(j dags.Job) string { return j.Name })
		return nil, fmt.Errorf("%s has no job %q, it has %d: %s …", path, k.Name, len(jobs), strings.Join(names, ", "))
	case !(k.ExecutorMB >= 1 && k.ExecutorMB <= 1e6):
		return nil, fmt.Errorf("an executor has %g MB, want 1 to 1e6", k.ExecutorMB)
	}
	j := &jobs[i]
	a := variants.App{Name: j.Name, Workflow: j.Graph(), Tariff: k.Tariff,
		About: fmt.Sprintf("A job of %d stages from %s. MB is that of a stage's executors, %g each.", len(j.Stages), filepath.Base(path), k.ExecutorMB)}
	for n := range a.Workflow.Nodes {
		fn := variants.Function{Name: a.Workflow.Nodes[n].Name}
		if n == len(j.Stages) { // what leads to the stages that wait for none
			fn.Fixed = true
		} else {
			law := stageLaw(&j.Stages[n], k.ExecutorMB)
			fn.Memory, fn.Variants = variants.Sizes(law.MB...), []variants.Variant{{Law: law}}
		}
		a.Functions = append(a.Functions, fn)
	}
	m, err := a.Compile()
	if err != nil {
		return nil, fmt.Errorf("%s: job %s: %w", path, j.Name, err)
	}
	return m, nil
}

// stageLaw has a stage's times by the memory of its executors. More executors that are no faster are left out.
func stageLaw(s *dags.Stage, mb float64) variants.Law {
	executors := []int{1, min(s.Tasks, 100)}
	for _, list := range [][]dags.Duration{s.Fresh, s.First, s.Rest} {
		for _, d := range list {
			executors = append(executors, min(d.Executors, s.Tasks))
		}
	}
	slices.Sort(executors)
	law := variants.Law{Form: "table"}
	for _, e := range slices.Compact(executors) {
		t := s.Seconds(e, true)
		if n := len(law.Seconds); n == 0 || t < law.Seconds[n-1] {
			law.MB, law.Seconds = append(law.MB, mb*float64(e)), append(law.Seconds, t)
		}
	}
	return law
}

// ReadLoad reads the load on an application from a file. A number is the rate of Poisson arrivals in requests a second; a
// trace's folder or file, or azure2019, is that trace as it is.
func ReadLoad(name string) (variants.Load, error) {
	if rate, err := strconv.ParseFloat(name, 64); err == nil {
		return variants.PoissonLoad(rate)
	}
	if l, ok := traceLoad(name); ok {
		return l, nil
	}
	text, err := ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return variants.Load{}, fmt.Errorf("%w; want a file with workload and platform, a trace's folder, azure2019, or a rate such as 0.05", err)
	}
	if err != nil {
		return variants.Load{}, err
	}
	return ParseLoad(name, text)
}

// traceLoad returns the load of a trace: azure2019 (the embedded sample), a folder in the publisher's format, or a file
// N_inv.csv, In-Vitro's sample of N functions.
func traceLoad(name string) (variants.Load, bool) {
	l := variants.DefaultLoad()
	if name == workload.Azure2019 {
		return l, true
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		l.Workload.Path = name
		return l, true
	}
	count, ok := strings.CutSuffix(filepath.Base(name), "_inv.csv")
	n, err := strconv.Atoi(count)
	if l.Workload.Path, l.Workload.Sample = filepath.Dir(name), n; !ok || err != nil {
		return l, false
	}
	return l, true
}

// ParseLoad is [ReadLoad] for a file already read. Source names it in errors. Keys that are left out have the values of
// [variants.DefaultLoad].
func ParseLoad(source string, text []byte) (variants.Load, error) {
	l := variants.DefaultLoad()
	if len(bytes.TrimSpace(text)) == 0 {
		return l, fmt.Errorf("%s: the file is empty, want workload or platform", source)
	}
	r := reader{lines: map[string]int{}}
	if root := r.document(text); root != nil && r.examine(root, reflect.TypeFor[variants.Load](), "") {
		if err := root.Load(&l); err != nil {
			r.problems = append(r.problems, problems(err)...)
		}
	}
	if len(r.problems) == 0 {
		var w *bounds.Error
		var field *workload.FieldError
		if err := l.Workload.Validate(); errors.As(err, &field) {
			key := "workload." + field.Field
			r.add(r.lineOf(key), "%s %s", key, field.Text)
		} else if err != nil {
			r.add(r.lineOf("workload"), "workload: %v", err)
		} else if err := l.Validate(); errors.As(err, &w) {
			r.add(r.lineOf(w.Key), "%v", w)
		} else if err != nil {
			r.add(0, "%v", err)
		}
	}
	if len(r.problems) > 0 {
		return l, &Error{source, r.problems}
	}
	return l, nil
}
