package asl_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workflow/asl"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

func order(t testing.TB) *asl.Machine {
	t.Helper()
	f := must.Get(os.Open(filepath.Join("testdata", "order.asl.json")))(t)
	defer f.Close()
	m := must.Get(asl.Read(f))(t)
	return m
}

// A way back that is always taken: a state that mends something before the next try.
func TestWayBack(t *testing.T) {
	m := must.Get(asl.Read(strings.NewReader(`{"StartAt": "try", "States": {
		"try": {"Type": "Task", "Resource": "r", "Next": "good?"},
		"good?": {"Type": "Choice", "Choices": [{"Next": "mend"}], "Default": "done"},
		"mend": {"Type": "Task", "Resource": "r", "Next": "try"},
		"done": {"Type": "Task", "Resource": "r", "End": true}}}`)))(t)
	f := must.Get(m.Workflow(asl.Options{Facts: asl.Facts{Choices: map[string]map[string]float64{"good?": {"mend": 0.2, "done": 0.8}}}}))(t)
	w := must.Get(f.Graph.Compile())(t)
	want := map[string]float64{"try": 1.25, "mend": 0.25, "done": 1}
	for n, x := range w.Executions() {
		if name := w.NodeName(n); math.Abs(x-want[name]) > 1e-12 {
			t.Errorf("%s runs %g times, want %g", name, x, want[name])
		}
	}
	if w.NumNodes() != 3 || w.Walkable() != nil {
		t.Errorf("%d nodes, %v", w.NumNodes(), w.Walkable())
	}
}

// All kinds of states: a choice after a task, a Parallel whose branches are a loop and a Map with two items at once, a
// Wait, two kinds of ends, two states of one Lambda function.
func TestWorkflow(t *testing.T) {
	f := must.Get(order(t).Workflow(asl.Options{Percent: true, Facts: asl.Facts{Maps: map[string]int{"Items": 3}}}))(t)
	var edges []string
	for _, e := range f.Graph.Edges {
		edges = append(edges, fmt.Sprintf("%s>%s %s %.4g", e.From, e.To, e.Kind, e.Probability))
	}
	want := []string{"Check>end branch 0.1", "Check>Reserve branch 0.1", "Check>Handle branch 0.8", "Reserve>Handle next 0",
		"Handle>Pay next 0", "Handle>Items[1]/Pack next 0", "Handle>Items[2]/Pack next 0", "Pay>Pay loop 0.2",
		"Pay>Cool off branch 0.8", "Items[1]/Pack>Items[3]/Pack next 0", "Items[2]/Pack>Cool off next 0",
		"Items[3]/Pack>Cool off next 0", "Cool off>Ship next 0"}
	if !reflect.DeepEqual(edges, want) {
		t.Errorf("edges\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(want, "\n"))
	}
	var functions []string
	for _, fn := range f.Functions {
		functions = append(functions, fmt.Sprintf("%s %s %v %g", fn.Name, fn.Lambda, fn.Fixed, fn.Seconds))
	}
	if got := fmt.Sprint(functions); got != "[Check check false 0 Reserve reserve false 0 Handle  true 0 Pay pay false 0 "+
		"pack pack false 0 Cool off  true 2]" {
		t.Errorf("functions %s", got)
	}
	// 1 + 1, then in 9 of 10 runs: reserve in 1, Handle, 1.25 of Pay and its choice, Receipt, Items, 3 of Pack, three more;
	// else Sorry.
	if w := 2 + 0.1 + 0.1 + 0.9*(1+2.5+1+1+3+3); math.Abs(f.Transitions-w) > 1e-12 {
		t.Errorf("%g transitions, want %g", f.Transitions, w)
	}
	if got := fmt.Sprint(f.Ignored); got != `[line 5: Retry of state "Check"]` {
		t.Errorf("ignored %s", got)
	}
	w := must.Get(f.Graph.Compile())(t)
	times := make([]float64, w.NumNodes())
	for n := range times {
		times[n] = map[string]float64{"Check": 1, "Reserve": 0.5, "Pay": 4, "pack": 1, "Cool off": 2}[w.Functions()[w.Function(n)]]
	}
	if got, want := w.Response(times, workflow.Delays{}), 1+0.9*(4/0.8+2+1)+0.1*0.5; math.Abs(got-want) > 1e-12 {
		t.Errorf("a response takes %g s, want %g", got, want)
	}
}

// Keep leaves every state: the executions of the nodes are the transitions.
func TestKeep(t *testing.T) {
	for _, items := range []int{0, 1, 5} {
		f := must.Get(order(t).Workflow(asl.Options{Percent: true, Keep: true, Facts: asl.Facts{Maps: map[string]int{"Items": items}}}))(t)
		w := must.Get(f.Graph.Compile())(t)
		var sum float64
		for _, x := range w.Executions() {
			sum += x
		}
		if math.Abs(sum-f.Transitions) > 1e-9 {
			t.Errorf("%d items: the nodes run %g times, but there are %g transitions", items, sum, f.Transitions)
		}
	}
}

// Facts in place of thresholds: what has the probability 0 is left out.
func TestFacts(t *testing.T) {
	facts := must.Get(asl.ReadFacts(strings.NewReader("choices:\n  In stock?: {Handle: 0.75, Reserve: 0.25}\n  Paid?: {Receipt: 1}\nmaps: {Items: 1}\n" +
		"waits: {Cool off: 60}\n")))(t)
	f := must.Get(order(t).Workflow(asl.Options{Facts: facts}))(t)
	for _, e := range f.Graph.Edges {
		if e.Kind == workflow.Loop || e.To == workflow.End {
			t.Errorf("there is an edge %+v", e)
		}
	}
	if got := f.Functions[len(f.Functions)-1]; got.Seconds != 60 {
		t.Errorf("the wait takes %g s, want 60", got.Seconds)
	}
}

func TestWrong(t *testing.T) {
	machine := func(states string) string { return "{\"StartAt\": \"A\",\n\"States\": {" + states + "}}" }
	task := `"A": {"Type": "Task", "Resource": "arn:x", "End": true}`
	for text, want := range map[string]string{
		"":                          "line 1: the file ends too early",
		"{":                         "line 1: the file ends too early",
		"[]":                        "line 1: want an object",
		"{\n\"StartAt\": 3}":        "line 1: StartAt is missing",
		`{"StartAt": "A"}`:          "States is missing",
		machine(""):                 "States is missing",
		machine(task) + "x":         "there is more after",
		machine(`"B": {"Type": 1}`): `line 2: state "B": Type is missing`,
		machine(task + "," + task):  `line 2: the field "A" is there twice`,
		machine(`"B": {"Type": "Pass", "End": true}`):                `StartAt is "A", which is no state here: want one of B`,
		machine(`"A": {"Type": "Pass"}`):                             "neither Next nor End",
		machine(`"A": {"Type": "Pass", "Next": "B"}`):                `leads to "B", which is no state here`,
		machine(`"A": {"Type": "Pass", "Next": "B", "End":true}`):    "Next and End are both there",
		machine(`"A": {"Type": "Task", "End": true}`):                "Resource is missing",
		machine(`"A": {"Type": "Choice", "End": true}`):              "a Choice has no Next and no End",
		machine(`"A": {"Type": "Choice", "Choices": []}`):            "Choices is missing",
		machine(`"A": {"Type": "Choice", "Choices": [{}]}`):          "Choices[0]: Next is missing",
		machine(`"A": {"Type": "Parallel", "End": true}`):            "Branches is missing",
		machine(`"A": {"Type": "Map", "End": true}`):                 "ItemProcessor is missing",
		machine(`"A": {"Type": "Loop", "End": true}`):                `Type is "Loop", want Task`,
		machine(`"A": {"Type": "Wait", "Seconds": -1, "End": true}`): "Seconds is -1",
		machine(`"A": {"Type": "Parallel", "End": true, "Branches": [{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}]}`): `state "A" is there twice, first in line 2`,
	} {
		if _, err := asl.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// What Workflow refuses, with what would be right.
func TestWrongFacts(t *testing.T) {
	maps := map[string]int{"Items": 1}
	choices := func(state string, p map[string]float64) asl.Facts {
		return asl.Facts{Maps: maps, Choices: map[string]map[string]float64{state: p}}
	}
	for want, o := range map[string]asl.Options{
		`line 12: state "In stock?": a choice without probabilities: say how likely Sorry, Reserve, Handle`: {Facts: asl.Facts{Maps: maps}},
		`state "Items": a Map state without a number of items`:                                              {Percent: true},
		"its probabilities sum to 0.5, want 1":                                                              {Percent: true, Facts: choices("Paid?", map[string]float64{"Pay": 0.5})},
		`there is a probability of "Ship", where it does not lead`:                                          {Percent: true, Facts: choices("Paid?", map[string]float64{"Pay": 0.5, "Ship": 0.5})},
		`choices has "Paid", but the machine has no such state`:                                             {Percent: true, Facts: choices("Paid", nil)},
		`choices has "Pay", which is a Task state, want a Choice`:                                           {Percent: true, Facts: choices("Pay", nil)},
		`no way leads from here to an end`:                                                                  {Percent: true, Facts: choices("Paid?", map[string]float64{"Pay": 1})},
		`"Pay" has the probability -1`:                                                                      {Percent: true, Facts: choices("Paid?", map[string]float64{"Pay": -1, "Receipt": 2})},
		`facts: maps: Items has -1 items`:                                                                   {Percent: true, Facts: asl.Facts{Maps: map[string]int{"Items": -1}}},
		`facts: waits: Cool off takes -1 s`:                                                                 {Percent: true, Facts: asl.Facts{Maps: maps, Waits: map[string]float64{"Cool off": -1}}},
		`facts: waits has "Coffee", but the machine has no such state`:                                      {Percent: true, Facts: asl.Facts{Maps: maps, Waits: map[string]float64{"Coffee": 1}}},
	} {
		if _, err := order(t).Workflow(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for text, want := range map[string]string{
		"choice: {}":               "line 1: field choice not found",
		"choices: {A: {B: often}}": "cannot",
	} {
		if _, err := asl.ReadFacts(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// The published state machines of App8, App10 and App12: 8, 10 and 12 functions, and nothing else at the nodes.
func TestPublished(t *testing.T) {
	dir := filepath.Join(realdata.Dir(t), "slapp", "apps")
	for name, functions := range map[string]int{"App8": 8, "App10": 10, "App12": 12} {
		file := must.Get(os.Open(filepath.Join(dir, name+".json")))(t)
		defer file.Close()
		m := must.Get(asl.Read(file))(t)
		f := must.Get(m.Workflow(asl.Options{Percent: true}))(t)
		w := must.Get(f.Graph.Compile())(t)
		if w.NumNodes() != functions || w.NumFunctions() != functions {
			t.Errorf("%s: %d nodes, %d functions: %v", name, w.NumNodes(), w.NumFunctions(), w.Functions())
		}
		for i, f := range f.Functions {
			if f.Lambda != name+"_"+f.Name || f.Fixed || w.Functions()[i] != f.Name {
				t.Errorf("%s: function %+v", name, f)
			}
		}
	}
}

// Nothing that is read panics or gives a graph that does not compile for another reason than its cycles.
func FuzzRead(f *testing.F) {
	b := must.Get(os.ReadFile(filepath.Join("testdata", "order.asl.json")))(f)
	f.Add(b, "maps: {Items: 2}")
	f.Add([]byte(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"r","Next":"B"},"B":{"Type":"Choice","Choices":[{"Next":"A"}],"Default":"C"},"C":{"Type":"Fail"}}}`), "choices: {B: {A: 0.5, C: 0.5}}")
	f.Fuzz(func(t *testing.T, data []byte, side string) {
		m, err := asl.Read(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		facts, err := asl.ReadFacts(strings.NewReader(side))
		if err != nil {
			return
		}
		for _, keep := range []bool{false, true} {
			w, err := m.Workflow(asl.Options{Facts: facts, Percent: true, Keep: keep})
			if err != nil {
				return
			}
			if !(w.Transitions >= 1) || len(w.Graph.Nodes) == 0 {
				t.Fatalf("%g transitions, %d nodes", w.Transitions, len(w.Graph.Nodes))
			}
			if len(w.Graph.Nodes) > 200 {
				continue
			}
			if c, err := w.Graph.Compile(); err == nil && c.NumFunctions() != len(w.Functions) {
				t.Fatalf("%d functions, %d in the graph", len(w.Functions), c.NumFunctions())
			}
		}
	})
}
