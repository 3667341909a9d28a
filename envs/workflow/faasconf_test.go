package workflow

import (
	"reflect"
	"testing"
)

func TestFaaSConf(t *testing.T) {
	want := map[string]struct {
		functions, nodes int
		executions       map[string]float64
	}{
		"sequential": {5, 5, map[string]float64{"starter": 1, "load": 1, "resnet": 1}},
		"parallel":   {6, 6, map[string]float64{"update": 1, "resnet": 1, "mobilenet": 1}},
		"branch":     {7, 7, map[string]float64{"starter": 1, "rgb": 0.4, "mobilenet": 0.4, "load": 0.6, "resnet": 0.6}},
		"tcktapp": {12, 17, map[string]float64{"get-left-trip-tickets": 1, "get-route-by-routeid": 3,
			"query-for-station-id-by-station-name": 2}},
	}
	for _, g := range FaaSConf() {
		w := compile(t, g)
		c := want[g.Name]
		if w.NumFunctions() != c.functions || w.NumNodes() != c.nodes {
			t.Errorf("%s has %d functions at %d nodes, want %d at %d", g.Name, w.NumFunctions(), w.NumNodes(), c.functions,
				c.nodes)
		}
		for f, name := range w.Functions() {
			if want, ok := c.executions[name]; ok && !near(w.FunctionExecutions()[f], want, 1e-12) {
				t.Errorf("%s: %s runs %v times, want %v", g.Name, name, w.FunctionExecutions()[f], want)
			}
		}
	}
}

// The adjacency of TcktApp is the matrix in FaaSConf's code, row by row.
func TestTcktAppNeighbours(t *testing.T) {
	want := [][]int{
		{1, 3, 6, 8, 10, 11}, {0, 4, 5, 7, 9}, {11}, {0, 4, 11}, {1, 3}, {1}, {0, 7, 11}, {1, 6}, {0}, {1}, {0, 11}, {0, 2, 3,
			6, 10},
	}
	for _, mode := range []CallMode{OneByOne, Together} {
		if got := compile(t, FaaSConfTcktApp(mode)).Neighbours(); !reflect.DeepEqual(got, want) {
			t.Errorf("neighbours are %v, want %v", got, want)
		}
	}
}

// A caller's visit spans its callees', and calls made together take the longest.
func TestTcktAppCalls(t *testing.T) {
	for mode, want := range map[CallMode]float64{OneByOne: 17, Together: 4} {
		w := compile(t, FaaSConfTcktApp(mode))
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = 1
		}
		if got := w.Response(times, Delays{}); got != want {
			t.Errorf("%s: 17 nodes of 1 s each respond in %v s, want %v", mode, got, want)
		}
		response, visits := simulate(t, w, times, 1)
		if response != want {
			t.Errorf("%s: a request takes %v s, want %v", mode, response, want)
		}
		for n, v := range visits {
			if v != 1 {
				t.Errorf("%s: node %s runs %v times, want once", mode, w.NodeName(n), v)
			}
		}
		path, length := w.CriticalPath(nil, times, Delays{})
		if float64(len(path)) != want || length != want {
			t.Errorf("%s: the critical path has %d nodes and %v s, want %v", mode, len(path), length, want)
		}
	}
}

// FaaSConf returns FaaSConf's four workflows, with their functions in the order of the agents.
func FaaSConf() []Graph {
	return []Graph{FaaSConfSequential(), FaaSConfParallel(), FaaSConfBranch(), FaaSConfTcktApp(OneByOne)}
}
