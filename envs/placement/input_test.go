package placement

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// Whatever is wrong in a configuration is named, with where it is and what would be right.
func TestBadConfigurations(t *testing.T) {
	steps := func(s ...Step) func(*Config) {
		return func(c *Config) { c.Workflows[0].Steps = s }
	}
	for _, x := range []struct {
		change func(*Config)
		want   string
	}{
		{steps(Step{Name: "a", Function: "f", Work: 1, After: []string{"c"}},
			Step{Name: "b", Function: "f", Work: 1, After: []string{"a"}},
			Step{Name: "c", Function: "f", Work: 1, After: []string{"b"}}),
			"workflows[0] (w): its steps depend on each other in a cycle: "},
		{steps(Step{Name: "a", Function: "f", Work: 1, After: []string{"a"}}), "in a cycle: a → a"},
		{steps(Step{Name: "a", Function: "f", Work: 1, After: []string{"z"}}),
			`workflows[0] (w): steps[0] (a) comes after "z", which is not among the steps: the edge dangles`},
		{steps(Step{Name: "a", Function: "x", Work: 1}), `steps[0] (a) invokes "x", which is not among the functions`},
		{steps(Step{Name: "a", Function: "f", Work: 1}, Step{Name: "a", Function: "f", Work: 1}),
			`steps[1] is named "a" as one before it`},
		{steps(Step{Name: "a", Function: "f"}), "step a works for 0 s"},
		{steps(), "workflows[0] (w) has 0 steps"},
		{func(c *Config) { c.Functions[1].Memory = 2001 },
			"functions[1] (g) demands 2001 of memory, more than any node has: the largest has 2000"},
		{func(c *Config) { c.Functions[0].CPU = 0 }, "functions[0] (f) demands 0 of cpu, want at least 1"},
		{func(c *Config) {
			c.Nodes[0].GPU, c.Nodes[1].GPU = 1, 0
			c.Functions[1].Memory = 1500
		}, "functions[1] (g) demands [500 1500 10 1] of [cpu memory network gpu] together, more than any one node has"},
		{func(c *Config) { c.Functions[1].Name = "f" }, "functions[1] (f): there is another function of that name"},
		{func(c *Config) { c.Functions[1].Parallel = math.NaN() },
			"functions[1] (g) has an image of 0 MB and a parallel share of NaN"},
		{func(c *Config) { c.Workflows = nil }, "functions are 3 and workflows 0, want both or neither"},
		{func(c *Config) { c.Workload = Azure }, `functions are given, but workload "azure" has its own`},
		{func(c *Config) { c.Workflows[0].Share = 0 }, "workflows have shares of 0 in all"},
		{func(c *Config) { c.Nodes = nil }, "nodes are 0 in all"},
		{func(c *Config) { c.Nodes[1].Speed = 0 }, "nodes[1].speed is 0, want 0.001 to 1000"},
		{func(c *Config) { c.Prices.CPU, c.Nodes[0].Price = 1e6, 1e6 }, "USD an hour, want at most 1e+10"},
		{func(c *Config) { c.Nodes[1].Count = -1 }, "nodes[1].count is -1"},
		{func(c *Config) { c.Nodes[0].Network = 1 << 21 }, "nodes[0].network is 2097152"},
		{func(c *Config) { c.Amounts = []float64{0.5, 2} }, "amounts are [0.5 2], want at most 16 with 1 among them"},
		{func(c *Config) { c.Amounts = []float64{1, 0.5} }, "amounts[1] is 0.5, want them ascending"},
		{func(c *Config) { c.Priorities = nil }, "priorities are 0 with shares of 0 in all"},
		{func(c *Config) { c.Workload = "mad" }, `workload is "mad", want one of`},
		{func(c *Config) { c.Wait = "" }, `wait is "", want one of event, tick`},
		{func(c *Config) { c.Load = math.NaN() }, "load is NaN, want 0 to 100"},
		{func(c *Config) { c.MaxTime = 1 }, "max_time is 1, want"},
		{func(c *Config) { c.Window = 0 }, "window is 0, want 1 to"},
		{func(c *Config) { c.Classes = nil; c.Functions, c.Workflows = nil, nil }, "classes are none"},
		{func(c *Config) { c.Functions, c.Workflows = nil, nil; c.Classes[0].Work.Low = 9 }, "classes[0].work is 9 to 2"},
		{func(c *Config) { c.Workload, c.Burst.Factor = Bursty, -1 }, "burst.factor"},
		{func(c *Config) { c.Workload, c.Wave.Amplitude = Periodic, 2 }, "wave.amplitude"},
		{func(c *Config) { c.Workload, c.Functions, c.Workflows = TPCH, nil, nil }, "tpch.path is empty"},
	} {
		c := twoNodes(t, 1, Step{Name: "a", Function: "f", Work: 2})
		x.change(&c)
		if _, err := New(c, workload.Default()); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want one with %q", err, x.want)
		}
	}
	c := Default()
	c.Workload = Azure
	w := workload.Default()
	w.Functions.Names = []string{"no such function"}
	if _, err := New(c, w); err == nil || !strings.Contains(err.Error(), "workload.functions") {
		t.Errorf("a filter that keeps nothing gives %v", err)
	}
	c.Seconds, c.MaxTime = 1e6, 1e6
	if _, err := New(c, workload.Default()); err == nil || !strings.Contains(err.Error(),
		"seconds is 1e+06, but the trace has") {
		t.Errorf("more seconds than the trace's give %v", err)
	}
}

// Wrong actions, options and masks' questions are named too.
func TestBadActions(t *testing.T) {
	w := newWorld(t, twoNodes(t, 2, Step{Name: "a", Function: "f", Work: 2}))
	w.wait()
	wait := w.e.layout.Wait()
	for _, x := range []struct {
		which, amount, node int
		want                string
	}{
		{1, 1, 0, "invocation 1 is chosen, but 1 wait in the window"},
		{0, 2, 0, "invocation 0 of f does not fit node 0 with amount 2 (2)"},
		{wait, 1, 0, "waiting takes amount 0 and node 0, not 1 and 0"},
		{0, 3, 0, "component 1 is 3"},
		{0, 0, 2, "component 2 is 2"},
		{wait + 1, 0, 0, "component 0 is"},
	} {
		if err := w.do(x.which, x.amount, x.node); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v gives %v, want an error with %q", x, err, x.want)
		}
	}
	o, mask := &w.obs.Kinds[0], make([]bool, 3)
	if err := w.e.layout.MaskAfter(o, 0, []float32{5}, mask); err == nil ||
		!strings.Contains(err.Error(), "no choice is legal after [5]: invocation 5 does not wait") {
		t.Errorf("a mask after an invocation that is not there: %v", err)
	}
	if err := w.e.layout.MaskAfter(o, 0, []float32{float32(wait + 1)}, mask); err == nil ||
		!strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("a mask after an invocation that runs: %v", err)
	}
	// A table without room: no node is legal, and that is said.
	clear(o.Legal)
	if err := w.e.layout.MaskAfter(o, 0, []float32{0}, mask); err == nil ||
		!strings.Contains(err.Error(), "no choice is legal after [0]: invocation 0 does not wait, or fits none of 2 nodes") {
		t.Errorf("a mask without a legal action: %v", err)
	}
	for _, v := range []any{1, -0.1, math.NaN(), 2 * w.e.c.Load} {
		if err := w.e.Reset(1, envs.Options{"load": v}, w.obs); err == nil ||
			!strings.Contains(err.Error(), "option load is") {
			t.Errorf("load %v gives %v", v, err)
		}
	}
}

// The reader of TPC-H's jobs names file and field.
func TestTPCHErrors(t *testing.T) {
	good := `{"tasks":4,"fresh_ms":{},"first_wave_ms":{"2":100},"rest_wave_ms":{"2":10}}`
	for _, x := range []struct{ file, want string }{
		{``, "unexpected end of JSON input"},
		{`{"dags":[]}`, "dags is empty"},
		{`{"dags":[{"query":"one"}]}`, "dags.query"},
		{`{"dags":[{"size":"2g","edges":[[0,3]],"stages":[` + good + `]}]}`,
			"dags[0].edges[0] names stage 3, want 0 to 0: it dangles"},
		{`{"dags":[{"size":"2g","edges":[[0]],"stages":[` + good + `]}]}`, "dags[0].edges[0] has 1 ends, want 2"},
		{`{"dags":[{"size":"2g","edges":[[0,1],[1,0]],"stages":[` + good + `,` + good + `]}]}`, "in a cycle: stages["},
		{`{"dags":[{"size":"2g","stages":[]}]}`, "dags[0] has 0 steps"},
		{`{"dags":[{"size":"9g","stages":[` + good + `]}]}`, "tpch.sizes is [2g], but"},
		{`{"dags":[{"size":"2g","stages":[{"tasks":0}]}]}`, "dags[0].stages[0].tasks is 0, want 1 to"},
		{`{"dags":[{"size":"2g","stages":[{"tasks":1}]}]}`, "dags[0].stages[0] has neither first_wave_ms nor fresh_ms"},
		{`{"dags":[{"size":"2g","stages":[{"tasks":1,"first_wave_ms":{"x":1}}]}]}`,
			`dags[0].stages[0].first_wave_ms has the key "x", want a number of executors`},
		{`{"dags":[{"size":"2g","stages":[{"tasks":1,"first_wave_ms":{"2":1,"02":9}}]}]}`,
			`first_wave_ms has the key "02", want a number of executors`},
		{`{"dags":[{"size":"2g","stages":[{"tasks":1,"first_wave_ms":{"2":-1}}]}]}`,
			`dags[0].stages[0].first_wave_ms["2"] is -1 ms`},
	} {
		path := filepath.Join(t.TempDir(), "jobs.json")
		must.Do(t, os.WriteFile(path, []byte(x.file), 0o600))
		c := Default()
		c.Workload, c.TPCH.Path = TPCH, path
		_, err := New(c, workload.Default())
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s\ngives %v, want an error with %q and the file's name", x.file, err, x.want)
		}
	}
	c := Default()
	c.Workload, c.TPCH.Path = TPCH, "no such file"
	if _, err := New(c, workload.Default()); err == nil || !strings.Contains(err.Error(), "tpch.path: open no such file") {
		t.Errorf("no file gives %v", err)
	}
}

// A stage's work: 2 executors' first tasks at 100 ms and 2 later ones at 10 ms, times the scale; functions by the
// stage's place.
func TestTPCHWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.json")
	stage := `{"tasks":4,"fresh_ms":{"2":900},"first_wave_ms":{"2":100,"9":300},"rest_wave_ms":{"2":10}}`
	must.Do(t, os.WriteFile(path, []byte(`{"dags":[{"query":7,"size":"2g","edges":[[0,1],[1,2]],"stages":[`+stage+`,`+stage+`,`+stage+`]}]}`), 0o600))
	c := Default()
	c.Workload, c.TPCH.Path, c.TPCH.Executors, c.TPCH.Scale = TPCH, path, 2, 10
	s := must.Get(NewSystem(c, workload.Default()))(t)
	tpl := s.workflows[0]
	if tpl.name != "query-7-2g" || !near(tpl.ideal, 6.6) {
		t.Errorf("%s takes %g s, want 3·(200 + 20) ms · 10", tpl.name, tpl.ideal)
	}
	for i, want := range []string{"scan", "shuffle", "result"} {
		if got := s.functions[tpl.steps[i].function].name; got != want {
			t.Errorf("stage %d invokes %s, want %s", i, got, want)
		}
	}
}

// A state of another system is refused, to copy and to restore, and changes nothing.
func TestForeignStates(t *testing.T) {
	c := twoNodes(t, 3, Step{Name: "a", Function: "f", Work: 2})
	w, other := newWorld(t, c), newWorld(t, twoNodes(t, 3, Step{Name: "a", Function: "f", Work: 3}))
	w.wait()
	w.start(0, 1, 0)
	b := must.Get(w.e.AppendBinary(nil))(t)
	before := must.Get(other.e.AppendBinary(nil))(t)
	if err := other.e.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "another system") {
		t.Errorf("another system's state gives %v", err)
	}
	if err := other.e.CopyFrom(w.e); err == nil || !strings.Contains(err.Error(), "another system") {
		t.Errorf("another system's environment gives %v", err)
	}
	if after, _ := other.e.AppendBinary(nil); string(after) != string(before) {
		t.Error("what was refused changed the state")
	}
	if err := w.e.UnmarshalBinary(b); err != nil {
		t.Error(err)
	}
}
