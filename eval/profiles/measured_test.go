package profiles_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/tools/proof"
)

// published is what SLApp says about a workflow: its own predictions, and their accuracies in percent.
type published struct {
	Milliseconds float64 `json:"RT_Model"`
	TimeAccuracy float64 `json:"RT_Accuracy"`
	USD          float64 `json:"Cost_Model"`
	CostAccuracy float64 `json:"Cost_Accuracy"`
}

// say makes a claim about measured data.
func say(t *testing.T, claim, bound string, holds bool, format string, args ...any) {
	t.Helper()
	proof.Claim(t, proof.Row{Topic: "figures", Claim: claim, Bound: bound, Measured: fmt.Sprintf(format, args...), Holds: holds,
		Command: "STOKER_DATA=FOLDER go test ./eval/profiles -run '^" + t.Name() + "$' -v"})
}

// leave writes a table into the proof's folder.
func leave(t *testing.T, name string, rows [][]string) {
	t.Helper()
	if dir := os.Getenv(proof.Folder); dir != "" {
		if err := report.WriteFile(dir, name, rows); err != nil {
			t.Error(err)
		}
	}
}

// distribution computes the distribution of a subject's response time.
func distribution(t *testing.T, s *profiles.Subject) workflow.Distribution {
	t.Helper()
	laws := make([]workflow.Law, s.Flow.NumNodes())
	for n := range laws {
		laws[n] = s.Functions[s.Flow.Function(n)].Law
	}
	d := must.Get(s.Flow.Distribution(laws, s.Delays, workflow.Grid{}))(t)
	return d
}

// Three workflows on AWS, 3,000 requests each: mean within 1 %, p95 within 3 %, cost within 0.3 %, with the delays that
// SLApp's authors measured and the probabilities of the machines' thresholds: nothing is fitted to the requests. Then the
// same where the delay is estimated from one half of the requests and judged on the other.
func TestMeasuredApps(t *testing.T) {
	dir := filepath.Join(realdata.Dir(t), "slapp", "apps")
	var checks []*profiles.Checked
	var ours, papers struct{ time, cost, costOverTime float64 }
	for _, app := range []string{"App8", "App10", "App12"} {
		source := profiles.DefaultSource()
		m := &source.Machine
		m.Functions, m.Percent, m.Tariff = filepath.Join(dir, app+"_functions.csv"), true, "table"
		s := must.Get(profiles.Open(filepath.Join(dir, app+".json"), source))(t)
		r := must.Get(profiles.OpenRequests(filepath.Join(dir, app+"_Duration_AWS.csv"), filepath.Join(dir, app+"_Cost_AWS.csv")))(t)
		text := must.Get(os.ReadFile(filepath.Join(dir, app+".results.json")))(t)
		var p published
		must.Do(t, json.Unmarshal(text, &p))
		d := distribution(t, s)
		for _, estimate := range []bool{false, true} {
			o := profiles.DefaultCheck()
			o.Estimate = estimate
			c := must.Get(profiles.Check(s, r, o))(t)
			checks = append(checks, c)
			mean, p95, cost := c.Rows[0], c.Rows[2], c.Rows[4]
			what := app + ", 3,000 requests: errors of predicted mean, p95 and cost"
			bound, holds := "within 1, 3 and 0.3 %", math.Abs(mean.Error) <= 0.01 && math.Abs(p95.Error) <= 0.03 && math.Abs(cost.Error) <= 0.003
			if estimate {
				// Half of the requests: the mean is known to ± 0.9 %, p95 to ± 2 %.
				what = app + ", delay estimated from half of the requests: errors of mean and p95 on the other half"
				bound, holds = "within 2 and 5 %", math.Abs(mean.Error) <= 0.02 && math.Abs(p95.Error) <= 0.05
				say(t, what, bound, holds, "%+.2f and %+.2f %%; %.1f ms for each function's run", 100*mean.Error, 100*p95.Error,
					1000*c.Delays.Node)
				continue
			}
			low, high := d.Bounds(0.95)
			say(t, app+": p95 of the simulated requests between the bounds of the computed distribution", "between them",
				p95.Predicted >= low && p95.Predicted <= high, "%.3f s, %.3f to %.3f s; computed %.3f s", p95.Predicted, low, high, d.P95)
			say(t, what, bound, holds, "%+.2f, %+.2f and %+.2f %%; SLApp's own predictions %+.2f %% of the mean, %+.2f %% of the cost",
				100*mean.Error, 100*p95.Error, 100*cost.Error, 100*(p.Milliseconds/1000/mean.Measured-1), 100*(p.USD/cost.Measured-1))
			ours.time += 100 * (1 - math.Abs(mean.Error)) / 3
			ours.cost += 100 * (1 - math.Abs(cost.Error)) / 3
			ours.costOverTime += 100 * (1 - math.Abs(cost.Predicted-cost.Measured)/(1000*mean.Predicted)) / 3
			papers.time += 100 * (1 - math.Abs(p.Milliseconds/1000/mean.Measured-1)) / 3
			papers.cost += 100 * (1 - math.Abs(p.USD/cost.Measured-1)) / 3
			papers.costOverTime += p.CostAccuracy / 3
			// Their formulas: a difference over the prediction, and a difference in USD over a time in ms.
			d := math.Abs(p.Milliseconds/1000 - mean.Measured)
			if a := 100 * (1 - d/(p.Milliseconds/1000)); math.Abs(a-p.TimeAccuracy) > 1e-3 {
				t.Errorf("%s: accuracy of the mean %.4f, published %.4f", app, a, p.TimeAccuracy)
			}
			if a := 100 * (1 - math.Abs(p.USD-cost.Measured)/p.Milliseconds); math.Abs(a-p.CostAccuracy) > 1e-3 {
				t.Errorf("%s: accuracy of the cost %.4f, published %.4f", app, a, p.CostAccuracy)
			}
		}
	}
	say(t, "OptiServe, Fig. 5.3 on App8, App10, App12: mean accuracy of the mean response time, 1 - |error| (paper, five workflows: 99.1 %)",
		"at least 99 %", ours.time >= 99, "%.2f %%; SLApp's predictions %.2f %%", ours.time, papers.time)
	say(t, "OptiServe, Fig. 5.4: mean accuracy of the cost, 1 - |error|; the published formula divides USD by milliseconds (paper: 99.89 %)",
		"at least 99.7 %", ours.cost >= 99.7, "%.2f %%, by the published formula %.3f %%; SLApp's predictions %.2f and %.3f %%", ours.cost,
		ours.costOverTime, papers.cost, papers.costOverTime)
	leave(t, "apps.csv", profiles.CheckTable(checks...))
}

// Parrotfish's profiling on the functions that were measured at 46 sizes.
func TestMeasuredReplay(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "slapp", "function_profiles.csv")))(t)
	defer f.Close()
	r := must.Get(profiles.Replay(f, profiles.DefaultReplay()))(t)
	var parrotfish, even profiles.DesignError
	for _, d := range r.Designs {
		if d.Sizes == 8 && d.Design == "parrotfish" {
			parrotfish = d
		} else if d.Sizes == 8 {
			even = d
		}
	}
	say(t, "Parrotfish's profiling of six functions, until its own rule ends it: mean error of the exponential law over 46 sizes (its claim: about 10 % at the 80th percentile)",
		"at most 12 %", r.Stops.MAPE <= 0.12, "%.1f %% after %.1f sizes and %.1f runs", 100*r.Stops.MAPE, r.Stops.Sizes, r.Stops.Runs)
	say(t, "eight sizes: error of the law that errs least at sizes left out, at Parrotfish's sizes and at even ones", "at most 4 % at both",
		parrotfish.Chosen <= 0.04 && even.Chosen <= 0.04, "%.1f %% of %.0f runs, %.1f %% of %.0f runs", 100*parrotfish.Chosen, parrotfish.Runs,
		100*even.Chosen, even.Runs)
	leave(t, "replay.csv", profiles.ReplayTable(r))
}
