package workflow

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// prcp returns the six applications of PRCP's evaluation (pacslab/SLApp-PerfCost-MdlOpt, evaluations/alg; edges as
// FACTS of that code give them), with what its notebooks print for them.
func prcp() []struct {
	graph      Graph
	executions map[string]float64
	cost       [2]float64 // USD per million: every function at 128 MB, at 3008 MB
	response   [2]float64 // ms: at 3008 MB, at 128 MB, platform delays included
} {
	leave := To(End, 0.9)
	return []struct {
		graph      Graph
		executions map[string]float64
		cost       [2]float64
		response   [2]float64
	}{
		{New("App1", Repeat("2", "2", 0.1), Choice("2", leave)),
			map[string]float64{"2": 1 / 0.9}, [2]float64{6.9244, 16.5456}, [2]float64{303.32, 3300.68}},
		{New("App2", Chain("1", "2"), Repeat("2", "1", 0.1), Choice("2", leave)),
			map[string]float64{"1": 1 / 0.9, "2": 1 / 0.9}, [2]float64{20.0889, 60.2967}, [2]float64{1140.53, 9412.34}},
		{New("App3", Chain("1", "2", "4"), Repeat("4", "1", 0.1), Choice("4", leave)),
			map[string]float64{"1": 1 / 0.9, "2": 1 / 0.9, "4": 1 / 0.9}, [2]float64{34.64, 104.0478}, [2]float64{2046.02,
				16301.68}},
		{New("App4", Fork("1", "2", "3"), Join("4", "2", "3"), Repeat("4", "1", 0.1), Choice("4", leave)),
			map[string]float64{"1": 1 / 0.9, "3": 1 / 0.9, "4": 1 / 0.9}, [2]float64{40.64, 115.1522}, [2]float64{2046.13,
				16301.79}},
		{New("App5", Fork("1", "2", "3"), Join("4", "2", "3"), Choice("4", To("6", 0.7)), Repeat("4", "4", 0.2),
			Repeat("4", "1", 0.1)),
			map[string]float64{"1": 1 / 0.875, "2": 1 / 0.875, "4": 1 / 0.7, "6": 1}, [2]float64{60.0949, 154.3776},
			[2]float64{2853.46, 25433.23}},
		{New("App6", Fork("1", "2"), Choice("1", To("5", 0.2), To("3", 0.8)), Join("4", "2", "3", "5"),
			Choice("4", To("6", 0.7)), Repeat("4", "4", 0.2), Repeat("4", "1", 0.1)),
			map[string]float64{"1": 1 / 0.875, "5": 0.2 / 0.875, "3": 0.8 / 0.875, "4": 1 / 0.7, "6": 1},
			[2]float64{59.667, 154.3776}, [2]float64{2853.32, 25433.08}},
	}
}

// Mean duration in ms of each function of PRCP's profile (function_profiles.csv, 100 runs each) at 128 and 3008 MB.
var prcpProfile = map[string][2]float64{
	"1": {5500.4867, 753.4839}, "2": {2898.2189, 200.5942}, "3": {2409.1354, 169.7730},
	"4": {6180.6006, 795.1290}, "5": {1505.1143, 108.4231}, "6": {6853.3137, 475.2245},
}

// The published boundaries prove loops, cycles and branches, in money and, with the published count of delays, in time,
// to the last digit printed.
func TestPRCP(t *testing.T) {
	price := [2]float64{2.08e-7, 4.897e-6} // per 100 ms at 128 and 3008 MB
	for _, app := range prcp() {
		w := compile(t, app.graph)
		for name, want := range app.executions {
			if got := w.Executions()[node(t, w, name)]; !near(got, want, 1e-12) {
				t.Errorf("%s: node %s runs %v times, want %v", w.Name(), name, got, want)
			}
		}
		var response [2]float64
		for m := range 2 {
			times := make([]float64, w.NumNodes())
			var cost float64
			for n := range times {
				times[n] = prcpProfile[w.NodeName(n)][m]
				cost += w.Executions()[n] * (math.Ceil(times[n]/100)*price[m] + 2e-7) * 1e6
			}
			if !near(cost, app.cost[m], 1e-4) {
				t.Errorf("%s: costs %.4f USD per million, published %.4f", w.Name(), cost, app.cost[m])
			}
			response[m] = 1000 * w.Response(scaled(times, 1e-3), StepFunctions(Published))
		}
		for m, want := range []float64{app.response[1], app.response[0]} {
			if !near(response[m], want, 0.0051) {
				t.Errorf("%s: response time %.3f ms, published %.2f", w.Name(), response[m], want)
			}
		}
	}
}

// scaled returns times times a factor.
func scaled(times []float64, factor float64) []float64 {
	out := slices.Clone(times)
	for i := range out {
		out[i] *= factor
	}
	return out
}

// OptiServe's code gives these response times in ms without delays and with Step Functions' delays, and these expected
// runs (golden figures of its repository).
func TestOptiServe(t *testing.T) {
	for _, c := range []struct {
		graph           Graph
		times           map[string]float64
		without, delays float64
		runs            map[string]float64
	}{
		{New("branch", Choice("1", To("2", 0.3), To("3", 0.7))), map[string]float64{"1": 100, "2": 400, "3": 900},
			850, 928.24, map[string]float64{"1": 1, "2": 0.3, "3": 0.7}},
		{New("parallel", Fork("1", "2", "3"), Join("4", "2", "3")),
			map[string]float64{"1": 50, "2": 300, "3": 700, "4": 40}, 790, 888.05,
			map[string]float64{"1": 1, "2": 1, "3": 1, "4": 1}},
		{New("self-loop", Chain("1", "2"), Repeat("2", "2", 0.25), Choice("2", To(End, 0.75))),
			map[string]float64{"1": 100, "2": 200}, 366.666667, 471.32, map[string]float64{"1": 1, "2": 1.333333}},
		{New("mixed", Choice("1", To("2", 0.2), To("3", 0.8)), Chain("1", "4"), Join("5", "2", "3", "4"),
			Choice("5", To("6", 0.7)), Repeat("6", "6", 0.2), Choice("6", To(End, 0.8)), Repeat("5", "1", 0.3)),
			map[string]float64{"1": 100, "2": 500, "3": 1000, "4": 210, "5": 130, "6": 100}, 1739.285714, 1898.888214,
			map[string]float64{"1": 1.428571, "2": 0.285714, "3": 1.142857, "4": 1.428571, "5": 1.428571, "6": 1.25}},
	} {
		w := compile(t, c.graph)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = c.times[w.NodeName(n)] / 1000
			if got, want := w.Executions()[n], c.runs[w.NodeName(n)]; !near(got, want, 5.1e-7) {
				t.Errorf("%s: node %s runs %.6f times, want %.6f", w.Name(), w.NodeName(n), got, want)
			}
		}
		if got := 1000 * w.Response(times, Delays{}); !near(got, c.without, 5.1e-7) {
			t.Errorf("%s: response time %.6f ms without delays, want %.6f", w.Name(), got, c.without)
		}
		if got := 1000 * w.Response(times, StepFunctions(Published)); !near(got, c.delays, 5.1e-7) {
			t.Errorf("%s: response time %.6f ms with delays, want %.6f", w.Name(), got, c.delays)
		}
	}
}

// The tracker's requests behave as the analysis expects, on every one of PRCP's applications.
func TestPRCPSimulated(t *testing.T) {
	for _, app := range prcp() {
		w := compile(t, app.graph)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = prcpProfile[w.NodeName(n)][1]
		}
		const requests = 20000
		response, visits := simulate(t, w, times, requests)
		for n, want := range w.Executions() {
			if !near(visits[n], want, 5*math.Sqrt((want+want*want)/requests)) {
				t.Errorf("%s: node %s runs %.4f times, expected %.4f", w.Name(), w.NodeName(n), visits[n], want)
			}
		}
		if want := w.Response(times, Delays{}); !near(response, want, 0.02*want) {
			t.Errorf("%s: mean response %.1f ms, expected %.1f", w.Name(), response, want)
		}
	}
}

// On graphs drawn at random with series, forks, branches and loops inside each other, SLApp's code (pacslab's repository
// at 4173c98) gives the response times in ms in testdata/slapp.json, without delays and with those of Step Functions. It
// rounds probabilities below forks to four digits.
func TestSLApp(t *testing.T) {
	b := must.Get(os.ReadFile("testdata/slapp.json"))(t)
	var cases []struct {
		Entry         string
		MS            []float64
		Edges         [][3]float64 // from, to (0: the end), probability
		Plain, Delays float64
	}
	must.Do(t, json.Unmarshal(b, &cases))
	loops := 0
	for i, c := range cases {
		g := Graph{Name: fmt.Sprint(i), Entry: c.Entry}
		for n := range c.MS {
			g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(n + 1)})
		}
		for _, e := range c.Edges {
			to := End
			if e[1] > 0 {
				to = fmt.Sprint(e[1])
			}
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(e[0]), To: to, Probability: e[2]})
		}
		loops += markLoops(&g)
		w := compile(t, g)
		times := scaled(c.MS, 1e-3)
		if got := 1000 * w.Response(times, Delays{}); !near(got, c.Plain, 2e-4*c.Plain) {
			t.Errorf("graph %d: response time %.4f ms without delays, want %.4f", i, got, c.Plain)
		}
		if got := 1000 * w.Response(times, StepFunctions(Published)); !near(got, c.Delays, 2e-4*c.Delays) {
			t.Errorf("graph %d: response time %.4f ms with delays, want %.4f", i, got, c.Delays)
		}
	}
	if len(cases) < 40 || loops < 20 {
		t.Errorf("%d graphs with %d loops", len(cases), loops)
	}
}

// markLoops makes the edges that lead back loop edges, and counts them.
func markLoops(g *Graph) int {
	out := map[string][]*Edge{}
	for i := range g.Edges {
		e := &g.Edges[i]
		out[e.From] = append(out[e.From], e)
	}
	open, done, loops := map[string]bool{}, map[string]bool{}, 0
	var visit func(n string)
	visit = func(n string) {
		open[n] = true
		for _, e := range out[n] {
			switch {
			case open[e.To]:
				e.Kind = Loop
				loops++
			case e.To != End && !done[e.To]:
				visit(e.To)
			}
		}
		open[n], done[n] = false, true
	}
	visit(g.Entry)
	return loops
}
