package workflow

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/internal/must"
)

// Whatever a graph says, it is refused or compiles to a workflow that has an answer to everything, and that is the same
// when it is written out and read back.
func FuzzGraph(f *testing.F) {
	for _, g := range append(FaaSConf(), diamond(), worst(4), crossed()) {
		b := must.Get(json.Marshal(g))(f)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var g Graph
		if json.Unmarshal(b, &g) != nil {
			return
		}
		w, err := g.Compile()
		if err != nil {
			return
		}
		checkAnswers(t, w)
		text := must.Get(json.Marshal(w.Graph()))(t)
		var back Graph
		must.Do(t, json.Unmarshal(text, &back))
		if again, err := back.Compile(); err != nil || again.fingerprint != w.fingerprint {
			t.Errorf("%s came back as another workflow, or as none: %v", text, err)
		}
	})
}

// A graph is a plain value: written out and read back it compiles to the same workflow.
func TestJSON(t *testing.T) {
	for _, g := range append(FaaSConf(), diamond()) {
		w := compile(t, g)
		b := must.Get(json.Marshal(w.Graph()))(t)
		var back Graph
		must.Do(t, json.Unmarshal(b, &back))
		if !reflect.DeepEqual(back, w.Graph()) {
			t.Errorf("%s came back as %s", g.Name, b)
		}
		if compile(t, back).fingerprint != w.fingerprint {
			t.Errorf("%s came back as another workflow", g.Name)
		}
	}
}

// checkAnswers asks a workflow everything and checks what holds for every graph.
func checkAnswers(t *testing.T, w *Workflow) {
	times := slices.Repeat([]float64{1}, w.NumNodes())
	var runs float64
	for n, x := range w.Executions() {
		if !(x >= 0) || math.IsInf(x, 0) {
			t.Fatalf("node %d runs %v times", n, x)
		}
		runs += x
	}
	plain := w.Response(times, Delays{})
	forked := false
	for n := range w.NumNodes() {
		forked = forked || w.forks(int32(n)) || w.mode[n] == Together
	}
	if !(plain > 0) || plain > runs*(1+1e-9)+1e-9 && w.overlap == nil || !forked && !near(plain, runs, 1e-9*runs) {
		t.Fatalf("response time %v s, of %v runs of 1 s (forks: %v)", plain, runs, forked)
	}
	for _, count := range []DelayCount{Once, Published} {
		if d := w.Response(times, Delays{Node: 1, Edge: 1, Count: count}); !(d >= plain) || math.IsInf(d, 0) {
			t.Fatalf("response time %v s with delays, %v s without", d, plain)
		}
	}
	if got := w.Evaluator(Delays{}).Response(times); got != plain {
		t.Fatalf("response time %v s, by its evaluator %v s", plain, got)
	}
	_, _ = w.CriticalPath(nil, times, Delays{})
	_, _ = w.Through(times, Delays{})
	_, _ = w.Paths(16)
	last := math.Inf(1)
	for k, way := range w.Ways(times, Delays{}) {
		if k == 4 {
			break
		}
		if way.Weight > last || len(way.Nodes) == 0 {
			t.Fatalf("way %d is %+v after weight %v", k, way, last)
		}
		last = way.Weight
	}
	if w.NumNodes() < 12 && plain < 1e6 {
		laws := slices.Repeat([]Law{exponential(1)}, w.NumNodes())
		if d, err := w.Distribution(laws, Delays{}, Grid{Points: 64}); err == nil && !(d.P50 <= d.P95 && d.P95 <= d.P99) {
			t.Fatalf("quantiles %v, %v, %v", d.P50, d.P95, d.P99)
		}
	}
	if w.Walkable() != nil || runs > 1000 {
		return
	}
	tr := NewTracker(w, 1)
	var step Step
	for k := range 4 {
		run := tr.Begin(0, uint64(k), &step)
		var queue []int32
		for n := 0; ; n++ {
			for _, v := range step.Start {
				queue = append(queue, v.Node)
			}
			if step.Finished || n > 1<<14 {
				break
			}
			if len(queue) == 0 {
				t.Fatal("a request waits for nothing")
			}
			m := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			must.Do(t, tr.Done(run, m, &step))
		}
	}
}

// crossed forks, branches below the fork, repeats around it and out of it.
func crossed() Graph {
	return New("crossed", Fork("a", "b", "c"), Choice("b", To("d", 0.5), To("e", 0.5)), Repeat("c", "c", 0.25),
		Choice("c", To("e", 0.75)), Join("f", "d", "e"), Repeat("f", "a", 0.125), Repeat("f", "f", 0.125),
		Choice("f", To(End, 0.75)))
}

// The graph in docs/workflows.md.
func TestDocs(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/workflows.md"))(t)
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var g Graph
	must.Do(t, yaml.Unmarshal([]byte(text), &g))
	if w := compile(t, g); w.Name() != "album" || !near(w.Executions()[3], 1/0.9, 1e-12) {
		t.Errorf("%s runs %v", w.Name(), w.Executions())
	}
}
