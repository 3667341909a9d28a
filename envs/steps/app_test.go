package steps_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// Every preset has the paper's number of steps, and a front with a choice for each.
func TestPresets(t *testing.T) {
	want := map[string]int{"ml": 10, "vp": 8, "dag": 16, "chain": 3, "diamond": 4} // ml has a state that forks
	for _, name := range steps.Presets() {
		m := compile(t, name)
		if m.NumSteps() != want[name] {
			t.Errorf("%s has %d steps, want %d", name, m.NumSteps(), want[name])
		}
		for s, options := range m.Options {
			if !m.Free(s) && len(options) < 3 {
				t.Errorf("%s: step %s has %d options", name, m.Steps[s].Name, len(options))
			}
		}
	}
	if _, err := steps.Preset("vpp"); err == nil || !strings.Contains(err.Error(), "want ml, vp, dag") {
		t.Errorf("the error for an unknown name is %v", err)
	}
}

// Generated workflows are the same for the same number, keep their bounds, and have no choices.
func TestGenerate(t *testing.T) {
	shapes := map[bool]int{}
	for n := range uint64(48) {
		g := steps.DefaultGenerated()
		if n >= 40 {
			g.Steps, g.Platform = []int{24, 32}, steps.Knative
		}
		a := must.Get(steps.Generate(n, g))(t)
		if b, _ := steps.Generate(n, g); !reflect.DeepEqual(a, b) {
			t.Fatalf("workflow %d differs from itself", n)
		}
		m := must.Get(a.Compile())(t)
		if k := m.NumSteps(); k < g.Steps[0] || k > g.Steps[1] {
			t.Errorf("workflow %d has %d steps, want %v", n, k, g.Steps)
		}
		for _, r := range m.Runs {
			if r != 1 {
				t.Errorf("workflow %d: a step runs %g times", n, r)
			}
		}
		shapes[len(a.Workflow.Edges) == len(a.Steps)-1]++
	}
	if shapes[true] < 10 || shapes[false] < 20 {
		t.Errorf("chains and others: %v", shapes)
	}
	g := steps.DefaultGenerated()
	for n := range uint64(20) {
		g.Shape = steps.ChainShape
		a, err := steps.Generate(n, g)
		if err != nil || len(a.Workflow.Edges) != len(a.Steps)-1 {
			t.Errorf("workflow %d is no chain: %v", n, err)
		}
	}
	g.Steps = []int{8, 3}
	if _, err := steps.Generate(0, g); err == nil || !strings.HasPrefix(err.Error(), "steps is [8 3]") {
		t.Errorf("steps [8, 3]: %v", err)
	}
}

// one is a workflow of one step on a platform where nothing varies and nothing is added.
func one(c steps.StepConfig) steps.App {
	c.Name = "a"
	p := steps.Lambda()
	p.Memory, p.ColdStart, p.ColdCV, p.StartEvery, p.ComputeCV = []int{884, 1769, 3538}, 0, 0, 0, 0
	p.SingleCore = 1769
	return steps.App{Name: "one", Workflow: workflow.Graph{Nodes: []workflow.Node{{Name: "a"}}}, Platform: steps.Own, Own: p,
		Steps: []steps.StepConfig{c}}
}

// A measured law counts a process's tasks, between measured numbers on a straight line and beyond them in proportion;
// half a core takes twice the time.
func TestMeasuredLaw(t *testing.T) {
	m := must.Get(one(steps.StepConfig{Tasks: 40, Law: steps.Law{Tasks: []int{1, 10, 20}, Seconds: []float64{2, 11, 31}}}).Compile())(t)
	for _, c := range []struct {
		mb, p, q int
		want     float64
	}{{1769, 40, 1, 2}, {1769, 4, 1, 11}, {1769, 2, 1, 31}, {1769, 1, 1, 62}, {1769, 8, 1, 6}, {3538, 2, 2, 11},
		{884, 4, 1, 11 * 1769.0 / 884}, {3538, 4, 1, 11}} {
		o := must.Get(m.Pack(0, c.mb, c.p, c.q))(t)
		if s := m.Seconds(0, o, 0.5, 0); math.Abs(s-c.want) > 1e-6 {
			t.Errorf("%d MB, %d instances, %d processes take %g s, want %g", c.mb, c.p, c.q, s, c.want)
		}
	}
}

// What a step's own limits leave out.
func TestLimits(t *testing.T) {
	m := must.Get(one(steps.StepConfig{Tasks: 40, Law: steps.Law{A: 1}, MinMemory: 1000, MaxInstances: 3, MaxProcesses: 1}).Compile())(t)
	for _, o := range m.Full(0) {
		if o.MB < 1000 || o.Instances > 3 || o.Processes > 1 {
			t.Errorf("there is %+v", o)
		}
	}
	if _, err := m.Pack(0, 884, 1, 1); err == nil || !strings.Contains(err.Error(), "want at least the 1000 MB") {
		t.Errorf("884 MB: %v", err)
	}
	if _, err := m.Pack(0, 1769, 4, 1); err == nil || !strings.Contains(err.Error(), "want 1 to 3") {
		t.Errorf("4 instances: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	for want, c := range map[string]steps.StepConfig{
		"steps[0].law is missing":                       {Tasks: 3},
		"steps[0].tasks is 0 or missing":                {Law: steps.Law{A: 1}},
		"steps[0].law.a is missing":                     {Tasks: 3, Law: steps.Law{B: 1}},
		"steps[0].law.a is -1":                          {Tasks: 3, Law: steps.Law{A: -1}},
		"steps[0].law.c and cores are of code":          {Tasks: 3, Law: steps.Law{A: 1, C: 1}},
		"steps[0].law.tasks are there beside":           {Tasks: 3, Law: steps.Law{A: 1, Tasks: []int{1}, Seconds: []float64{1}}},
		"steps[0].law.tasks are times of one core":      {Tasks: 3, Multicore: true, Law: steps.Law{Tasks: []int{1}, Seconds: []float64{1}}},
		"steps[0].law.tasks is [2 1], want ascending":   {Tasks: 3, Law: steps.Law{Tasks: []int{2, 1}, Seconds: []float64{1, 2}}},
		"steps[0].law.seconds has 1 times for 2":        {Tasks: 3, Law: steps.Law{Tasks: []int{1, 2}, Seconds: []float64{1}}},
		"steps[0].law.seconds is [2 1], want no time":   {Tasks: 3, Law: steps.Law{Tasks: []int{1, 2}, Seconds: []float64{2, 1}}},
		"steps[0].download.mb is missing":               {Tasks: 3, Law: steps.Law{A: 1}, Download: steps.Transfer{Objects: 2}},
		"steps[0].upload.objects is missing":            {Tasks: 3, Law: steps.Law{A: 1}, Upload: steps.Transfer{MB: 2}},
		"steps[0].upload.mb is -2":                      {Tasks: 3, Law: steps.Law{A: 1}, Upload: steps.Transfer{Objects: 1, MB: -2}},
		"steps[0].max_instances is 61, want at most 60": {Tasks: 3, Law: steps.Law{A: 1}, MaxInstances: 61},
		"steps[0].max_processes is 7, want at most 6":   {Tasks: 3, Law: steps.Law{A: 1}, MaxProcesses: 7},
		"steps[0].min_memory is 9999, want at most 35":  {Tasks: 3, Law: steps.Law{A: 1}, MinMemory: 9999},
	} {
		if _, err := one(c).Compile(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error of %+v is\n%v, want\n%s", c, err, want)
		}
	}
}

// TPC-H's queries are workflows whose steps take what was measured.
func TestTPCH(t *testing.T) {
	apps := must.Get(steps.ReadTPCH(realdata.Dir(t)))(t)
	if len(apps) != 154 {
		t.Errorf("%d workflows, want 154", len(apps))
	}
	for i := 0; i < len(apps); i += 7 {
		if _, err := apps[i].Compile(); err != nil {
			t.Errorf("%s: %v", apps[i].Name, err)
		}
	}
	a := must.Get(steps.TPCH(apps, "tpch-1-2g"))(t)
	m := must.Get(a.Compile())(t)
	// Stage 0 has 12 tasks. On 2 executors the first takes 4.3695 s, each of the other five 1.9587 s; a core is 1,769 MB,
	// and 1,024 MB are slower by as much.
	o := must.Get(m.Pack(0, 1024, 2, 1))(t)
	want := (4.3695 + 5*1.9587) * 1769 / 1024
	if s := m.Seconds(0, o, 0.5, 2); math.Abs(s/want-1) > 0.05 {
		t.Errorf("stage 0 takes %g s with 2 executors, want about %g", s, want)
	}
	t.Setenv("STOKER_DATA", "")
	if _, err := steps.ReadTPCH(""); err == nil || !strings.Contains(err.Error(), "STOKER_DATA") {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := steps.ReadTPCH(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("in an empty folder: %v", err)
	}
}
