package workflow

import (
	"math"
	"testing"
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

// The published boundaries prove loops, cycles and branches. Costs are sums over nodes of expected executions times a
// price, so they check the executions to the last digit printed. Response times contain the platform's delays, which
// the published code counts once too often for some nodes; the span between both boundaries is free of them.
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
			response[m] = w.Response(times, Delays{})
		}
		if got, want := response[0]-response[1], app.response[1]-app.response[0]; !near(got, want, 0.011) {
			t.Errorf("%s: response times span %.3f ms, published %.3f", w.Name(), got, want)
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
