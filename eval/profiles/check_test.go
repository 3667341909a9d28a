package profiles_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// machine runs a, then with 0.75 b in parallel with c, else only d.
const machine = `{"StartAt": "a", "States": {
"a": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:app_a", "Next": "more?"},
"more?": {"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericLessThan": 75, "Next": "both"}], "Default": "d"},
"both": {"Type": "Parallel", "End": true, "Branches": [
  {"StartAt": "b", "States": {"b": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:app_b", "End": true}}},
  {"StartAt": "c", "States": {"c": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:app_c", "End": true}}}]},
"d": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:app_d", "End": true}}}`

// functions are even from 1 to 2 s, from 0 to 1 s, and 0.25 and 3 s always.
const functions = "function,memory,p0,p100\na,1024,1000,2000\napp_b,1024,0,1000\nc,512,250,250.000001\nd,128,3000,3000.000001\n"

// write leaves files in a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}

// requests draws measured requests of the machine, with a delay for each of its two or three nodes on the way.
func requests(n int, delay float64) string {
	s := rng.NewStream(7, "test/requests")
	var b strings.Builder
	b.WriteString(",Duration,usd\n")
	for i := range n {
		seconds := 1 + s.Float64() + delay
		if s.Float64() < 0.75 {
			seconds += 2*delay + math.Max(s.Float64(), 0.25) // both is a node, too
		} else {
			seconds += delay + 3
		}
		fmt.Fprintf(&b, "%d,%g,%g\n", i, 1000*seconds, 3e-5)
	}
	return b.String()
}

// The predictions are those of the closed forms, and the delay comes out of half of the requests.
func TestCheck(t *testing.T) {
	dir := write(t, map[string]string{"m.asl.json": machine, "f.csv": functions, "r.csv": requests(4000, 0.05)})
	source := profiles.DefaultSource()
	source.Machine.Functions, source.Machine.Percent = filepath.Join(dir, "f.csv"), true
	source.Machine.Orchestration, source.Machine.Delays = bill.Standard, workflow.Delays{Node: 0.05}
	s, err := profiles.Open(filepath.Join(dir, "m.asl.json"), source)
	must.Do(t, err)
	r, err := profiles.OpenRequests(filepath.Join(dir, "r.csv"), "")
	must.Do(t, err)
	c, err := profiles.Check(s, r, profiles.DefaultCheck())
	must.Do(t, err)
	for _, r := range c.Rows {
		proof.Log(t, "%s: predicted %.6g, measured %.6g", r.Quantity, r.Predicted, r.Measured)
	}
	// E max(U, 1/4) = 1/2 + 1/32; a runs once, both is a node.
	want := 1.5 + 0.05 + 0.75*(0.1+0.53125) + 0.25*(0.05+3)
	if got := c.Rows[0]; math.Abs(got.Predicted-want) > 4*float64(got.SE) || math.Abs(got.Error) > 0.02 ||
		float64(got.Low) > want || float64(got.High) < want {
		t.Errorf("mean %+v, want %g", got, want)
	}
	if d := distribution(t, s); math.Abs(d.Mean-want) > 1e-3 || math.Abs(d.P95-c.Rows[2].Predicted) > 4*float64(c.Rows[2].SE)+d.Error {
		t.Errorf("the computed distribution has mean %g s and p95 %g s (± %g), the simulated requests %+v", d.Mean, d.P95, d.Error, c.Rows[2])
	}
	// In the quarter of requests with d, from 4.1 to 5.1 s, all are slower than those without it.
	if got := c.Rows[2]; got.Quantity != "p95" || math.Abs(got.Predicted-(4.1+0.8)) > 0.02 || math.Abs(got.Error) > 0.02 {
		t.Errorf("p95 %+v, want 4.9", got)
	}
	// GB·seconds in steps of 1 ms: half a step more than the mean, for times that vary.
	gb := 1.5005 + 0.75*(0.5005+0.5*0.251) + 0.25*3.001/8
	usd := 1e6 * (gb*bill.Lambda().GBSecond + 2.75*bill.Lambda().Request)
	if got := c.Rows[4]; got.Quantity != "cost" || math.Abs(got.Predicted/usd-1) > 1e-4 || math.Abs(got.Measured-30) > 1e-9 {
		t.Errorf("cost %+v, want %g", got, usd)
	}
	if got, want := c.Moved.USD, 25*(2+0.75*3+0.25); math.Abs(got-want) > 1e-9 {
		t.Errorf("orchestration costs %g USD, want %g", got, want)
	}
	o := profiles.DefaultCheck()
	o.Estimate = true
	c, err = profiles.Check(s, r, o)
	must.Do(t, err)
	// The standard error of the mean of 2,000 requests is 0.03 s, over 2.75 delays.
	if got := c.Delays.Node; math.Abs(got-0.05) > 0.03 || !c.Estimated || c.Requests != 2000 {
		t.Errorf("a delay of %g s from %d requests, want about 0.05 from 2,000", got, c.Requests)
	}
	for _, want := range []string{"m: 2000 measured requests, every second one", "p95", "Orchestration (standard): 112.50 USD"} {
		if text := profiles.CheckText(c); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestCheckWrong(t *testing.T) {
	dir := write(t, map[string]string{"m.asl.json": machine, "f.csv": functions, "few.csv": "function,memory,ms\na,128,1\n",
		"two.csv": "function,memory,ms\na,128,1\na,256,1\n", "falls.csv": "function,memory,p0,p50,p100\na,128,1,3,2\n",
		"end.csv": "function,memory,p0,p50\na,128,1,3\n", "mean.csv": "function,memory,p0,p100,mean\na,128,1,3,4\n",
		"zero.csv": "function,memory,ms\na,0,1\n", "empty.csv": "function,memory,ms\n", "none.csv": "function,ms\n",
		"word.csv": "function,memory,ms\na,128,long\n", "facts.yaml": "choices: {more?: {both: 2}}\n"})
	for want, set := range map[string]func(*profiles.Machine){
		"name a file of them":                                 func(m *profiles.Machine) { m.Functions = "" },
		`no tariff "gold", there are lambda`:                  func(m *profiles.Machine) { m.Tariff = "gold" },
		`no orchestration "slow"`:                             func(m *profiles.Machine) { m.Orchestration = "slow" },
		`m.asl.json: line 3: state "more?": a choice without`: func(m *profiles.Machine) { m.Percent = false },
		`"both" has the probability 2`:                        func(m *profiles.Machine) { m.Facts = "facts.yaml" },
		`there are no runs of function d (Lambda function "app_d"), only of a`: func(m *profiles.Machine) {
			m.Functions = "few.csv"
		},
		"line 3: function a has 256 MB here and 128 MB before": func(m *profiles.Machine) { m.Functions = "two.csv" },
		"line 2: quantile 2 (probability 1: 0.002 s)":          func(m *profiles.Machine) { m.Functions = "falls.csv" },
		"the quantiles go from p0 to p100":                     func(m *profiles.Machine) { m.Functions = "end.csv" },
		"line 2: a mean of 0.004 s does not agree":             func(m *profiles.Machine) { m.Functions = "mean.csv" },
		"line 2: a memory size of 0 MB":                        func(m *profiles.Machine) { m.Functions = "zero.csv" },
		"no rows":                                              func(m *profiles.Machine) { m.Functions = "empty.csv" },
		"no column for the memory size":                        func(m *profiles.Machine) { m.Functions = "none.csv" },
		`line 2: column 3: "long" is no number`:                func(m *profiles.Machine) { m.Functions = "word.csv" },
	} {
		source := profiles.DefaultSource()
		m := &source.Machine
		m.Functions, m.Percent = "f.csv", true
		set(m)
		for _, path := range []*string{&m.Functions, &m.Facts} {
			if *path != "" {
				*path = filepath.Join(dir, *path)
			}
		}
		if _, err := profiles.Open(filepath.Join(dir, "m.asl.json"), source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// An application's file: the option that ran is chosen, and must be where there are several.
func TestCheckApp(t *testing.T) {
	source := profiles.DefaultSource()
	for choices, want := range map[string]string{"": "function f1 has 16 options", "f1=130": "has no such option: 128, 320",
		"f2=128": "the workflow runs no such function", "f1=big": `"big" is no memory size`} {
		source.Choices = map[string]string{}
		if f, mb, ok := strings.Cut(choices, "="); ok {
			source.Choices[f] = mb
		}
		if _, err := profiles.Open("app1", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("choice %q: error %v, want one with %q", choices, err, want)
		}
	}
	source.Choices = map[string]string{"f1": "1088", "resnet": "resnet-18@2048"}
	s := must.Get(profiles.Open("app2", source))(t)
	if s.Functions[0].MB != 1088 || s.Functions[1].MB != 2048 {
		t.Errorf("functions %+v", s.Functions)
	}
	free := profiles.Requests{Seconds: []float64{1, 2}, USD: []float64{0, 0}}
	_, err := profiles.Check(s, free, profiles.DefaultCheck())
	if err == nil || !strings.Contains(err.Error(), "all 2 measured costs are 0 USD") {
		t.Errorf("requests that cost nothing: %v", err)
	}
	source.Machine.Percent = true
	if _, err := profiles.Open("app2", source); err == nil || !strings.Contains(err.Error(), "no state machine") {
		t.Errorf("an application with percentages: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add(functions)
	f.Add(requests(3, 0))
	f.Add("function,memory,ms\na,128,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := profiles.ReadDeployed(strings.NewReader(text)); err == nil {
			for _, d := range d {
				if x := d.Law.Mean(); !(x >= 0) {
					t.Fatalf("%s takes %g s", d.Name, x)
				}
			}
		}
		if r, err := profiles.ReadRequests(strings.NewReader(text)); err == nil && len(r.Seconds)+len(r.USD) == 0 {
			t.Fatal("no error and no requests")
		}
	})
}
