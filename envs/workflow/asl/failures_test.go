package asl_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workflow/asl"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// pay is a machine with a Task that is tried again and whose last failure is caught, inside a Parallel state.
func pay(retry string) string {
	return `{"StartAt": "Both", "States": {
		"Both": {"Type": "Parallel", "Next": "Done", "Branches": [
			{"StartAt": "Pay", "States": {
				"Pay": {"Type": "Task", "Resource": "r", "End": true, "Retry": [` + retry + `],
					"Catch": [{"ErrorEquals": ["Soft"], "Next": "Other"}, {"ErrorEquals": ["States.ALL"], "Next": "Refund"}]},
				"Other": {"Type": "Pass", "End": true},
				"Refund": {"Type": "Task", "Resource": "r", "End": true}}},
			{"StartAt": "Log", "States": {"Log": {"Type": "Task", "Resource": "r", "End": true}}}]},
		"Done": {"Type": "Task", "Resource": "r", "End": true}}}`
}

// A run is tried again as often as a bound on attempts gives in expectation; what is left of failures is caught.
func TestFailures(t *testing.T) {
	const p = 0.3
	for _, c := range []struct {
		retry string
		tries float64 // expected
		last  float64 // probability that all tries fail
		wait  float64 // before another try
	}{
		{`{"ErrorEquals": ["States.ALL"]}`, 1 + p + p*p + p*p*p, p * p * p * p, (p + 2*p*p + 4*p*p*p) / (p + p*p + p*p*p)},
		{`{"ErrorEquals": ["E"], "MaxAttempts": 1, "IntervalSeconds": 0}`, 1 + p, p * p, 0},
		{`{"ErrorEquals": ["E"], "MaxAttempts": 0}`, 1, p, 0},
		{`{"ErrorEquals": ["E"], "MaxAttempts": 2, "IntervalSeconds": 5, "BackoffRate": 4, "MaxDelaySeconds": 10}`, 1 + p + p*p, p * p * p,
			(5*p + 10*p*p) / (p + p*p)},
	} {
		m := must.Get(asl.Read(strings.NewReader(pay(c.retry))))(t)
		f := must.Get(m.Workflow(asl.Options{Facts: asl.Facts{Errors: map[string]float64{"Pay": p}}}))(t)
		w := must.Get(f.Graph.Compile())(t)
		want := map[string]float64{"Pay": c.tries, "Refund": c.last, "Log": 1, "Done": 1, "Pay (before a retry)": c.tries - 1}
		for n, x := range w.Executions() {
			if name := w.NodeName(n); want[name] > 0 && math.Abs(x-want[name]) > 1e-12 {
				t.Errorf("%s: %s runs %g times, want %g", c.retry, name, x, want[name])
			}
		}
		if got, want := f.Transitions, 1+c.tries+c.last+1+1; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g transitions, want %g", c.retry, got, want)
		}
		waits := false
		for _, fn := range f.Functions {
			if fn.Name == "Pay (before a retry)" {
				waits = fn.Fixed && math.Abs(fn.Seconds-c.wait) < 1e-12
			}
		}
		if waits != (c.wait > 0) || len(f.Ignored) > 0 {
			t.Errorf("%s: functions %v, want a wait of %g s; ignored %v", c.retry, f.Functions, c.wait, f.Ignored)
		}
		// The branch of Pay is the longer one whatever happens: its mean is a sum.
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = map[string]float64{"Pay": 2, "Refund": 1, "Log": 1, "Pay (before a retry)": c.wait}[w.NodeName(n)]
		}
		if got, want := w.Response(times, workflow.Delays{}), 2*c.tries+c.wait*(c.tries-1)+c.last; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: a response takes %g s, want %g", c.retry, got, want)
		}
	}
}

// A Catch may lead to the state that follows anyway, or to its own.
func TestCatchLeadsOn(t *testing.T) {
	for _, c := range []struct {
		retry, to string
		runs      float64
	}{{"0", "Next", 1}, {"1", "Next", 1.25}, {"0", "Task", 4.0 / 3}, {"1", "Task", 4.0 / 3}} {
		m := must.Get(asl.Read(strings.NewReader(`{"StartAt": "Task", "States": {
			"Task": {"Type": "Task", "Resource": "r", "Next": "Next",
				"Retry": [{"ErrorEquals": ["E"], "IntervalSeconds": 0, "MaxAttempts": ` + c.retry + `}],
				"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "` + c.to + `"}]},
			"Next": {"Type": "Task", "Resource": "r", "End": true}}}`)))(t)
		f := must.Get(m.Workflow(asl.Options{Facts: asl.Facts{Errors: map[string]float64{"Task": 0.25}}}))(t)
		w := must.Get(f.Graph.Compile())(t)
		if x := w.Executions(); math.Abs(x[0]-c.runs) > 1e-12 || math.Abs(x[1]-1) > 1e-12 || math.Abs(f.Transitions-c.runs-1) > 1e-12 {
			t.Errorf("%s retries, then %s: runs %v and %g transitions, want %g and 1", c.retry, c.to, x, f.Transitions, c.runs)
		}
	}
}

// Without facts nothing fails, and what is not read is said. Wrong facts and fields are refused.
func TestFailuresRefused(t *testing.T) {
	m := must.Get(asl.Read(strings.NewReader(pay(`{"ErrorEquals": ["E"]}`))))(t)
	f, err := m.Workflow(asl.Options{})
	if err != nil || len(f.Graph.Nodes) != 4 || len(f.Ignored) != 2 {
		t.Errorf("%v (%v): want 4 nodes and two ignored fields", f, err)
	}
	for name, c := range map[string]struct {
		errors map[string]float64
		want   string
	}{
		"certain": {map[string]float64{"Pay": 1}, "fails with probability 1, want it in [0, 1)"},
		"deaf":    {map[string]float64{"Log": 0.1}, "neither Retry nor Catch"},
		"type":    {map[string]float64{"Both": 0.1}, "want a Task"},
		"name":    {map[string]float64{"No": 0.1}, "no such state"},
	} {
		if _, err := m.Workflow(asl.Options{Facts: asl.Facts{Errors: c.errors}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	for retry, want := range map[string]string{
		`{"MaxAttempts": 2}`:                              "without ErrorEquals",
		`{"ErrorEquals": ["E"], "BackoffRate": 0.5}`:      "BackoffRate is not a number from 1",
		`{"ErrorEquals": ["E"], "MaxAttempts": "2"}`:      "MaxAttempts is not a number from 0",
		`{"ErrorEquals": ["E"], "IntervalSeconds": -0.1}`: "IntervalSeconds is not a number from 0",
	} {
		if _, err := asl.Read(strings.NewReader(pay(retry))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", retry, err, want)
		}
	}
}
