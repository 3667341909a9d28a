package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func TestWhatif(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := stoker("whatif", "app4", "--yaml")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	file := filepath.Join(dir, "app.yaml")
	must.Do(t, os.WriteFile(file, []byte(out), 0o666))
	// What was written is the application.
	for _, args := range [][]string{{"--latency", "40", "--accuracy", "1"}, {}} {
		_, named, _ := stoker(append([]string{"whatif", "app4"}, args...)...)
		code, read, errs := stoker(append([]string{"whatif", file}, args...)...)
		if code != exitDone || read != named {
			t.Errorf("%v: exit %d (%s), and\n%s\nfrom the file, want\n%s", args, code, errs, read, named)
		}
		contains(t, "answer", read, "mean", "resnet-101", "yolov10l")
	}
	front, plot := filepath.Join(dir, "f.csv"), filepath.Join(dir, "f.svg")
	code, out, errs = stoker("whatif", file, "--budget", "400", "--json", "--front", front, "--plot", plot)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Problem struct{ Objective string }
		Plans   []struct {
			USD       float64
			Functions []struct{ USD float64 }
		}
	}
	must.Do(t, json.Unmarshal([]byte(out), &r))
	var sum float64
	for _, f := range r.Plans[0].Functions {
		sum += f.USD
	}
	if p := r.Plans[0]; r.Problem.Objective != "time" || p.USD > 400 || p.USD < sum*(1-1e-9) || p.USD > sum*(1+1e-9) {
		t.Errorf("%+v costs %g, its functions %g", r, p.USD, sum)
	}
	for _, f := range []string{front, plot} {
		if text, err := os.ReadFile(f); err != nil || len(text) < 1000 {
			t.Errorf("%s: %d bytes, %v", f, len(text), err)
		}
	}
}

// A plan that is chosen as measured keeps the bound that the mean model's plan misses.
func TestWhatifMeasured(t *testing.T) {
	mean := func(args ...string) float64 {
		t.Helper()
		code, out, errs := stoker(append([]string{"whatif", "app4", "--latency", "12", "--load", "0.02", "--json"}, args...)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		var r struct {
			Load  struct{ Platform struct{ ColdStart float64 } }
			Plans []struct {
				Measured struct {
					Requests int
					Mean     struct{ Value, Lo, Hi float64 }
				}
			}
		}
		must.Do(t, json.Unmarshal([]byte(out), &r))
		m := r.Plans[0].Measured
		if m.Requests < 5000 || !(m.Mean.Lo < m.Mean.Value && m.Mean.Value < m.Mean.Hi) {
			t.Errorf("%+v, want some 10,000 requests and an interval", r)
		}
		return m.Mean.Value
	}
	if model, measured := mean(), mean("--measured"); !(model > 12) || !(measured <= 12) {
		t.Errorf("a mean of %g s by the model and %g s as measured, want above and within 12 s", model, measured)
	}
	for _, args := range [][]string{{}, {"--latency", "12"}} {
		code, out, errs := stoker(append([]string{"whatif", "app2", "--load", "0.5"}, args...)...)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		contains(t, "answer", out, "measured under Poisson arrivals, 0.5 a second", "p95", "cold start")
	}
}

func TestWhatifWrong(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "app.yaml")
	must.Do(t, os.WriteFile(wrong, []byte("name: a\nworkflow: {nodes: [{name: f}]}\nfunctions:\n  - name: f\n    memory: {sizes: [0]}\n"+
		"    variants: [{law: {form: exponential, a: 1}}]\n"), 0o666))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "nearest: accuracy", []string{"app4", "--latency", "9", "--accuracy", "1"}},
		{exitFailed, "budget 1 USD cannot be met, even alone", []string{"app1", "--budget", "1"}},
		{exitUsage, "applications by name: app1", []string{"app9"}},
		{exitUsage, "app.yaml:5: functions[0].memory", []string{wrong}},
		{exitUsage, "no objective", []string{"app1", "--objective", "fun"}},
		{exitUsage, "the latency is -1", []string{"app1", "--latency", "-1"}},
		{exitUsage, "want one of both", []string{"app1", "--latency", "1", "--p95", "1"}},
		{exitUsage, ".png, .svg or .pdf", []string{"app1", "--plot", "f.jpg"}},
		{exitUsage, "--load: rate is -1", []string{"app1", "--load", "-1"}},
		{exitUsage, "such as 0.05", []string{"app1", "--load", "no.yaml"}},
		{exitUsage, "measured needs a load", []string{"app1", "--latency", "5", "--measured"}},
		{exitUsage, "bound on latency or p95", []string{"app1", "--load", "1", "--measured"}},
		{exitUsage, "--yaml prints the application's file", []string{"app1", "--yaml", "--json"}},
		{exitFailed, "the fastest plan takes", []string{"app1", "--latency", "0.01", "--load", "1", "--measured"}},
	} {
		code, _, errs := stoker(append([]string{"whatif"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d and %q, want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}

const stateMachine = `{"StartAt": "Resize", "States": {
	"Resize": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:resize", "Next": "Enough?"},
	"Enough?": {"Type": "Choice", "Choices": [{"Variable": "$.p", "NumericLessThan": 20, "Next": "Resize"}], "Default": "Rest"},
	"Rest": {"Type": "Wait", "Seconds": 2, "End": true}}}`

// A state machine with measured runs: its transitions cost more than its function.
func TestWhatifMachine(t *testing.T) {
	dir := t.TempDir()
	file, runs := filepath.Join(dir, "resize.asl.json"), filepath.Join(dir, "runs.csv")
	for name, text := range map[string]string{file: stateMachine, runs: strings.ReplaceAll(measuredRuns, "thumb", "resize")} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o666))
	}
	code, out, errs := stoker("whatif", file, "--profiles", runs, "--percent", "--latency", "4", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Plans []struct {
			Seconds float64
			Split   struct{ Orchestration float64 } `json:"usd_split"`
		}
	}
	must.Do(t, json.Unmarshal([]byte(out), &r))
	// 1.25 runs of Resize and of its choice, one of Rest: 3.5 transitions of 25 USD a million.
	if p := r.Plans[0]; p.Split.Orchestration < 87.49 || p.Split.Orchestration > 87.51 || p.Seconds < 2 || p.Seconds > 4 {
		t.Errorf("%+v, want 87.5 USD of transitions and 2 to 4 s", p)
	}
	for want, args := range map[string][]string{
		"name a CSV file of measured runs": {file},
		"a choice without probabilities":   {file, "--profiles", runs},
		"is no state machine":              {"app1", "--profiles", runs},
		"no such file":                     {file, "--profiles", filepath.Join(dir, "none.csv"), "--percent"},
	} {
		code, _, errs := stoker(append([]string{"whatif"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}

// The executors of a job's stages are found; a search that is stopped at once says what it has, or that it has nothing.
func TestWhatifJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.json")
	text := `{"dags": [{"query": 1, "size": "1g", "edges": [[0, 1]], "stages": [
		{"tasks": 10, "fresh_ms": {"2": 3000, "10": 5000}, "rest_wave_ms": {"2": 1000}}, {"tasks": 1, "fresh_ms": {"2": 500}}]}]}`
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	code, out, errs := stoker("whatif", file, "--job", "tpch-1-1g", "--latency", "6", "--executor-mb", "512")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "answer", out, "s1", "5,120", "5.50 s mean", "It is the optimum.")
	for _, c := range [][]string{{file, "--job", "x"}, {"app4", "--job", "x"}, {file, "--executor-mb", "0"}} {
		if code, _, _ := stoker(append([]string{"whatif"}, c...)...); code != exitUsage {
			t.Errorf("%v: exit %d, want %d", c, code, exitUsage)
		}
	}
	code, out, errs = stoker("whatif", "app6", "--p95", "20", "--accuracy", "0.95", "--limit", "1ns")
	if code != exitFailed || !strings.Contains(errs, "no plan was found within 1ns") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs = stoker("whatif", "app6", "--p95", "20", "--accuracy", "0.95", "--limit", "300ms")
	if code != exitDone && !strings.Contains(errs, "no plan was found") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
