package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
)

const thumbs = `name: thumbs
workflow:
  nodes: [{name: split}, {name: resize}, {name: pack}]
  edges: [{from: split, to: resize}, {from: resize, to: pack}]
platform: aws
steps:
  - name: split
    tasks: 2
    law: {a: 1.5, fixed: 0.2}
    download: {objects: 2, mb: 50}
    upload: {objects: 60, mb: 3}
  - name: resize
    tasks: 60
    law: {a: 0.8, b: 0.05}
    download: {objects: 60, mb: 3}
    upload: {objects: 60, mb: 0.5}
  - name: pack
    tasks: 1
    multicore: true
    law: {a: 9, b: 1, c: 0.3}
    download: {objects: 60, mb: 0.5}
    upload: {objects: 1, mb: 20}
`

// The shipped files are the workflows that Go programs get by name.
func TestShippedSteps(t *testing.T) {
	names := ShippedSteps()
	if len(names) != 3 {
		t.Fatalf("shipped are %v, want ml, vp and dag", names)
	}
	for _, path := range names {
		got := must.Get(ReadSteps("configs/" + path))(t)
		want := must.Get(steps.Preset(got.Name))(t)
		a, b := got.Workflow, want.Workflow
		if a.Entry == "" {
			a.Entry = b.Entry
		}
		for i := range a.Edges {
			a.Edges[i].Kind = b.Edges[i].Kind
		}
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(got.Steps, want.Steps) || got.About != want.About {
			t.Errorf("the file of %s differs from the preset", got.Name)
		}
	}
}

// What is dumped is read back as the same.
func TestDumpSteps(t *testing.T) {
	a := must.Get(ParseSteps("thumbs.yaml", []byte(thumbs)))(t)
	text := must.Get(DumpSteps(a))(t)
	b, err := ParseSteps("again.yaml", text)
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("read back: %v\n%s", err, text)
	}
}

func TestStepsErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":        {thumbs, "", "thumbs.yaml: the file is empty"},
		"experiment":   {thumbs, "name: a\nenv: {id: x}\n", "is an experiment"},
		"application":  {thumbs, "name: a\nfunctions: []\n", "is an application of functions and variants"},
		"unknown key":  {"platform: aws", "platfrom: aws", "thumbs.yaml:5: unknown key platfrom; did you mean platform?"},
		"platform":     {"platform: aws", "platform: azure", `thumbs.yaml:5: platform is "azure"`},
		"no law":       {"    law: {a: 1.5, fixed: 0.2}\n", "", "thumbs.yaml:7: steps[0].law is missing"},
		"negative law": {"a: 0.8", "a: -0.8", "thumbs.yaml:14: steps[1].law.a is -0.8"},
		"text":         {"a: 0.8", "a: fast", `thumbs.yaml:14: steps[1].law.a is "fast", want a number`},
		"no download": {"    download: {objects: 2, mb: 50}\n", "",
			"thumbs.yaml:7: steps[0].download is missing, want {objects: 8, mb: 4}"},
		"no size":  {"download: {objects: 2, mb: 50}", "download: {objects: 2}", "thumbs.yaml:10: steps[0].download.mb is missing"},
		"negative": {"upload: {objects: 60, mb: 3}", "upload: {objects: 60, mb: -3}", "thumbs.yaml:11: steps[0].upload.mb is -3"},
		"zero size": {"upload: {objects: 60, mb: 3}", "upload: {objects: 60, mb: 0}",
			"thumbs.yaml:11: steps[0].upload.mb is missing, want the size of each of the 60 objects"},
		"unknown step": {"- name: pack", "- name: pact", `thumbs.yaml:17: steps[2].name is "pact", which is no node`},
		"step missing": {thumbs[strings.Index(thumbs, "  - name: pack"):], "", `thumbs.yaml:7: steps lack "pack"`},
		"loop":         {"{from: resize, to: pack}", "{from: resize, to: pack}, {from: pack, to: split, kind: loop, probability: 0.5}", "thumbs.yaml:"},
		"slo":          {"platform: aws", "slo: 2", "thumbs.yaml:5: slo is 2 s, which is "},
		"limits": {"tasks: 60", "tasks: 60\n    max_instances: 100",
			"thumbs.yaml:14: steps[1].max_instances is 100, want at most 60, the platform's limit"},
		"memory": {"tasks: 60", "tasks: 60\n    min_memory: 20480",
			"thumbs.yaml:14: steps[1].min_memory is 20480, want at most 10240 MB"},
		"profiles": {"platform: aws", "profiles: no.csv", "thumbs.yaml:5: profiles cannot be read"},
		"machine":  {"platform: aws", "machine: no.json", "thumbs.yaml:3: workflow is there beside a machine"},
	} {
		text := strings.Replace(thumbs, c.old, c.new, 1)
		if text == thumbs {
			t.Errorf("%s: nothing was changed", name)
		}
		_, err := ParseSteps("thumbs.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is\n%v\nwant it to say\n%s", name, err, c.want)
		}
	}
	for path, want := range map[string]string{"no.yaml": "workflows by name: ml, vp, dag", t.TempDir(): "is a folder"} {
		if _, err := ReadSteps(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want it to say %s", path, err, want)
		}
	}
}

// write puts files into a new folder.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// Laws are fitted to measured runs: here to exact ones, so that the numbers come back.
func TestStepsProfiles(t *testing.T) {
	runs := "step,mb,tasks,processes,seconds\n"
	for _, r := range []string{"512,1,1,2.764", "512,8,1,22.1", "1769,1,1,0.8", "1769,4,2,3.2", "3538,4,2,1.6", "3538,8,2,3.2"} {
		runs += "resize," + r + "\n"
	}
	text := strings.Replace(thumbs, "    law: {a: 0.8, b: 0.05}\n", "", 1)
	text = strings.Replace(text, "platform: aws", "profiles: runs.csv", 1)
	a := must.Get(ReadSteps(filepath.Join(write(t, map[string]string{"thumbs.yaml": text, "runs.csv": runs}), "thumbs.yaml")))(t)
	if l := a.Steps[1].Law; l.A < 0.79 || l.A > 0.81 || l.B > 0.01 || l.Fixed > 0.01 {
		t.Errorf("the fitted law is %+v, want a of 0.8", l)
	}
	for want, runs := range map[string]string{
		"thumbs.yaml:12: steps[1].law is missing, and ":             "step,mb,seconds\nother,512,1\n",
		"thumbs.yaml:12: steps[1].law cannot be fitted to the runs": "step,mb,seconds\nresize,512,1\n",
		"line 2, column 3: seconds is \"fast\"":                     "step,mb,seconds\nresize,512,fast\n",
		"no column mb among":                                        "step,seconds\nresize,1\n",
		"the file has a header and no runs":                         "step,mb,seconds\n",
		"line 2, column 2: mb is \"-512\", want a number above 0":   "step,mb,seconds\nresize,-512,1\n",
	} {
		_, err := ReadSteps(filepath.Join(write(t, map[string]string{"thumbs.yaml": text, "runs.csv": runs}), "thumbs.yaml"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is\n%v\nwant it to say\n%s", err, want)
		}
	}
}

// machine has a Map whose items are a step's tasks, two parallel branches, a choice and a wait.
const machine = `{"StartAt": "Split", "States": {
 "Split": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:split", "Next": "Frames"},
 "Frames": {"Type": "Map", "ItemProcessor": {"StartAt": "Resize", "States": {
   "Resize": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:resize", "End": true}}}, "Next": "Both"},
 "Both": {"Type": "Parallel", "Next": "Rest", "Branches": [
   {"StartAt": "Pack", "States": {"Pack": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:pack", "End": true}}},
   {"StartAt": "Index", "States": {"Index": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:index", "End": true}}}]},
 "Rest": {"Type": "Wait", "Seconds": 3, "Next": "Good?"},
 "Good?": {"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericLessThan": 30, "Next": "Again"}], "Default": "Done"},
 "Again": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:again", "Next": "Done"},
 "Done": {"Type": "Succeed"}}}`

const machineSteps = `percent: true
facts: facts.yaml
steps:
  - {name: Split, tasks: 1, law: {a: 1}, download: {objects: 1, mb: 9}, upload: {objects: 40, mb: 2}}
  - {name: Resize, tasks: 0, law: {a: 1}, download: {objects: 40, mb: 2}, upload: {objects: 40, mb: 1}}
  - {name: Pack, tasks: 4, law: {a: 2}, download: {objects: 40, mb: 1}, upload: {objects: 1, mb: 30}}
  - {name: Index, tasks: 4, law: {a: 1}, download: {objects: 40, mb: 1}, upload: {objects: 1, mb: 1}}
  - {name: Again, tasks: 2, law: {a: 5}, download: {objects: 0, mb: 0}, upload: {objects: 0, mb: 0}}
`

// A state machine with its steps beside it is a workflow: a Map is one step, a wait takes its time, a choice is a branch.
func TestStepsOfMachine(t *testing.T) {
	files := map[string]string{"thumbs.asl.json": machine, "thumbs.steps.yaml": machineSteps, "facts.yaml": "maps: {Frames: 40}\n"}
	path := func(files map[string]string) string { return filepath.Join(write(t, files), "thumbs.asl.json") }
	a := must.Get(ReadSteps(path(files)))(t)
	m := must.Get(a.Compile())(t)
	runs := map[string]float64{"Split": 1, "Resize": 1, "Pack": 1, "Index": 1, "Rest": 1, "Again": 0.3}
	if m.NumSteps() != len(runs) {
		t.Errorf("%d steps, want %d: %v", m.NumSteps(), len(runs), m.Flow.Functions())
	}
	for s, c := range m.Steps {
		if want, ok := runs[c.Name]; !ok || m.Runs[s] < want-1e-9 || m.Runs[s] > want+1e-9 {
			t.Errorf("step %s runs %g times, want %g", c.Name, m.Runs[s], want)
		}
		if c.Name == "Resize" && c.Tasks != 40 || c.Name == "Rest" && (c.Wait != 3 || m.Seconds(s, 0, 0.9, 0) != 3) {
			t.Errorf("step %+v", c)
		}
	}
	delete(files, "thumbs.steps.yaml")
	if _, err := ReadSteps(path(files)); err == nil || !strings.Contains(err.Error(), "want thumbs.steps.yaml beside it") {
		t.Errorf("without steps: %v", err)
	}
	files["thumbs.steps.yaml"] = strings.Replace(machineSteps, "tasks: 2", "tasks: 2, wait: 1", 1)
	if _, err := ReadSteps(path(files)); err == nil || !strings.Contains(err.Error(), "thumbs.steps.yaml:8: steps[4].wait is 1") {
		t.Errorf("a step that waits: %v", err)
	}
	files["thumbs.steps.yaml"] = machineSteps
	files["thumbs.asl.json"] = strings.Replace(machine, `function:resize", "End": true`, `function:resize", "Next": "Last"}, `+
		`"Last": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:l", "End": true`, 1)
	if _, err := ReadSteps(path(files)); err == nil || !strings.Contains(err.Error(), `state "Frames" has 2 states for each item`) {
		t.Errorf("a Map of two states: %v", err)
	}
}

func FuzzSteps(f *testing.F) {
	f.Add([]byte(thumbs))
	f.Add([]byte("name: a\nworkflow: {nodes: [{name: f}]}\nsteps: [{name: f, tasks: 1, law: {tasks: [1], seconds: [1]}, " +
		"download: {objects: 0, mb: 0}, upload: {objects: 0, mb: 0}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<13 {
			t.Skip()
		}
		a, err := ParseSteps("thumbs.yaml", text)
		if err != nil {
			if !strings.Contains(err.Error(), "thumbs.yaml") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		m := must.Get(a.Compile())(t)
		for s, options := range m.Options {
			for i, o := range options {
				if !(o.P90 >= 0 && o.USD >= 0 && o.P90 < 1e300) {
					t.Errorf("step %d: option %d is %+v", s, i, o)
				}
			}
		}
	})
}

// DumpSteps writes a workflow of steps as its file.
func DumpSteps(a *steps.App) ([]byte, error) { return yaml.Dump(a, yaml.WithIndent(2)) }
