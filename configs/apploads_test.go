package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

const coldLoad = `workload:
  kind: azure2019
  mean: 0.05
platform:
  cold_start: 2
  keep_alive: 300
  prewarmed: 1
warmup: 30
minutes: 600
seed: 4
`

func TestReadLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "load.yaml")
	must.Do(t, os.WriteFile(file, []byte(coldLoad), 0o600))
	l := must.Get(ReadLoad(file))(t)
	want := variants.DefaultLoad()
	want.Workload.Mean, want.Warmup, want.Minutes, want.Seed = 0.05, 30, 600, 4
	want.Platform.ColdStart, want.Platform.KeepAlive, want.Platform.Prewarmed = 2, 300, 1
	same := l.Platform == want.Platform && l.Workload.Identity() == want.Workload.Identity()
	if !same || l.Warmup != 30 || l.Minutes != 600 || l.Seed != 4 {
		t.Errorf("%+v, want %+v", l, want)
	}
	m := must.Get(ReadApp("app2"))(t)
	x, p, err := l.Measurer(m)
	must.Do(t, err)
	if got, err := x.Measure([]int{0, 0}, p); err != nil || got.Requests < 1000 || got.ColdRequests == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if l, err = ReadLoad("0.25"); err != nil || l.Workload.Kind != workload.Poisson || l.Workload.Rate != 0.25 {
		t.Errorf("a rate gives %+v, %v", l, err)
	}
	if _, err = ReadLoad("1e9"); err == nil || !strings.Contains(err.Error(), "want 1e-5 to 1e4") {
		t.Errorf("a rate of 1e9: %v", err)
	}
	if _, err = ReadLoad("no.yaml"); err == nil || !strings.Contains(err.Error(), "such as 0.05") {
		t.Errorf("no file: %v", err)
	}
}

// A trace is a load: the embedded one by its name, others by their folder or file.
func TestTraceLoads(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]workload.Config{
		"azure2019":                          {},
		dir:                                  {Path: dir},
		filepath.Join(dir, "100_inv.csv"):    {Path: dir, Sample: 100},
		filepath.Join(dir, "x", "7_inv.csv"): {Path: filepath.Join(dir, "x"), Sample: 7},
	} {
		l, err := ReadLoad(name)
		if err != nil || l.Workload.Kind != workload.Azure2019 || l.Workload.Path != want.Path || l.Workload.Sample != want.Sample {
			t.Errorf("%s: %+v (%v), want %+v", name, l.Workload, err, want)
		}
	}
	if _, err := ReadLoad("nothing_inv.csv"); err == nil || !strings.Contains(err.Error(), "a trace's folder") {
		t.Errorf("error %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":       {coldLoad, "", "load.yaml: the file is empty"},
		"unknown key": {"cold_start", "coldstart", "load.yaml:5: unknown key platform.coldstart; did you mean cold_start?"},
		"bound":       {"keep_alive: 300", "keep_alive: 0", "load.yaml:6: platform.keep_alive is 0"},
		"rate": {"prewarmed: 1", "start_rate: 1e-9",
			"load.yaml:7: platform.start_rate is 1e-09, want starts a second from 0.001"},
		"users": {"kind: azure2019\n  mean: 0.05", "kind: closed-loop",
			"load.yaml:2: workload.kind is closed-loop, want arrivals"},
		"kind": {"azure2019", "poison", `load.yaml:2: workload.kind is "poison"`},
		"factor": {"mean: 0.05", "mean: 0.05\n  factor: 2",
			"load.yaml:3: workload.mean is 0.05, want either a mean or a factor"},
		"type": {"seed: 4", "seed: four", "load.yaml:10"},
	} {
		_, err := ParseLoad("load.yaml", []byte(strings.Replace(coldLoad, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is\n%v\nwant it to say\n%s", name, err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(coldLoad))
	f.Add([]byte("platform: {cold_start: 1, cold_cv: 0, loading: 0, start_rate: 5}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		l, err := ParseLoad("load.yaml", text)
		if err != nil {
			if !strings.Contains(err.Error(), "load.yaml") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		if err := l.Validate(); err != nil {
			t.Errorf("what was read is not valid: %v", err)
		}
	})
}
