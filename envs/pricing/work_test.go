package pricing

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// measuredWork has jobs as the small files of testdata say.
func measuredWork(c *Config) {
	c.Work.Service, c.Work.Latencies = MeasuredService, filepath.Join("testdata", "latencies")
	c.Work.Width, c.Work.Pods = PodsWidth, filepath.Join("testdata", "pods.csv")
}

// Rates 1/latency are interpolated between shares and quotas, by hand: at 30 of 20 and 40 percent the rate is (1/20 +
// 1/10)/2 = 0.075.
func TestLatencies(t *testing.T) {
	tables := must.Get(readLatencies(filepath.Join("testdata", "latencies"), nil))(t)
	if len(tables) != 2 || tables[0].model != "big" || tables[1].model != "tiny_net" {
		t.Fatalf("models %v", tables)
	}
	for _, c := range []struct {
		model            int
		batch            int
		sm, quota, wants float64
	}{
		{0, 8, 20, 100, 20}, {0, 8, 40, 50, 20}, {0, 1, 20, 100, 10}, {1, 8, 25, 100, 4},
		{0, 8, 30, 100, 1 / 0.075}, {0, 8, 20, 75, 1 / 0.0375}, {0, 8, 25, 60,
			1 / (0.75*(0.8*0.025+0.2*0.05) + 0.25*(0.8*0.05+0.2*0.1))},
	} {
		got, err := tables[c.model].latency(c.batch, c.sm, c.quota)
		if err != nil || math.Abs(got-c.wants) > 1e-12*c.wants {
			t.Errorf("batch %d, sm %g, quota %g: %g (%v), want %g", c.batch, c.sm, c.quota, got, err, c.wants)
		}
	}
	for want, f := range map[string][3]float64{
		"batch is 2, want one that is measured for big":            {2, 20, 100},
		"sm is 10, want a share of big's measured ones, from 20":   {8, 10, 100},
		"quota is 40, want one of big's measured ones, from 50 to": {8, 20, 40},
	} {
		if _, err := tables[0].latency(int(f[0]), f[1], f[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// A quarter of a GPU serves 20,000 inferences of "big" in 2500 batches of 1/(0.75/20 + 0.25/10) = 16 ms: 40 s.
// "tiny_net" takes 10 s. In slots of 10 s that is 4 and 1 slots, and a request asks for 4, 2, 8, 1 or 1 vGPUs.
func TestMeasuredWork(t *testing.T) {
	c := Default()
	measuredWork(&c)
	c.SlotSeconds, c.Slots, c.Windows = 10, 60, 2
	w := must.Get(newWorld(c, workload.Default(), ID))(t)
	if got := w.work.slots; len(got) != 2 || math.Abs(got[0]-4) > 1e-9 || math.Abs(got[1]-1) > 1e-9 {
		t.Errorf("services of %v slots, want 4 and 1", got)
	}
	if w.fn[0].mean != w.fn[6].mean || math.Abs(w.fn[0].mean-4) > 1e-9 || math.Abs(w.fn[1].mean-1) > 1e-9 {
		t.Errorf("functions' means %v, %v; %v", w.fn[0].mean, w.fn[1].mean, w.fn[6].mean)
	}
	if w.work.mean != 16.0/5 || len(w.work.width) != 8 || w.work.width.length(0.39) != 1 ||
		w.work.width.length(0.41) != 2 || w.work.width.length(0.99) != 8 {
		t.Errorf("widths %v with the mean %v", w.work.width, w.work.mean)
	}
	for mean, want := range map[float64]law{0.3: {1}, 1: {1}, 2.25: {0, 0.75, 1}, 4: {0, 0, 0, 1}} {
		if got := constantLaw(mean); !slices.Equal(got, want) {
			t.Errorf("a service of %g slots has the law %v, want %v", mean, got, want)
		}
	}
	c.SlotSeconds, c.Slots = 60, 10
	envtest.Run(t, func() (envs.Env, error) { return New(c, workload.Default(), nil) },
		envtest.Options{Seeds: []uint64{1, 2}, Steps: 5})
}

// Requests of several vGPUs leave the mean number of jobs as it is: over 4,000 slots of a constant load it is within 3
// %, some four standard errors.
func TestWidthsKeepTheLoad(t *testing.T) {
	c := Default()
	generated(&c)
	measuredWork(&c)
	c.Work.Service = ProfileService
	c.Demand.Amplitude, c.Demand.Noise, c.Windows, c.Slots, c.Burst.Factor = 0, 0, 40, 100, 1
	e := must.Get(New(c, workload.Default(), nil))(t)
	runEpisode(t, e, 1, envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec))
	if got := e.total[accArrived] / 4000; got < 45*0.97 || got > 45*1.03 {
		t.Errorf("%g jobs a slot, want 45", got)
	}
}

// What is wrong with a file is said by its name, line and field.
func TestWorkErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		sub := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(sub, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(sub, "m_25.json"), []byte(text), 0o644))
		return sub
	}
	pods := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	const head = "{\"model_name\": \"m\",\n \"profiling_result\": [\n"
	const good = `  {"batch": 8, "sm": 25, "quota": 100, "latency": 4}`
	for want, latencies := range map[string]string{
		`m_25.json: line 4: profiling_result[1].latency is -4, want`: file("a",
			head+good+",\n"+strings.Replace(good, ": 4}", ": -4}", 1)+"]}"),
		`m_25.json: line 3: profiling_result[0].quota is a string, want a number`: file("b",
			head+strings.Replace(good, "100", `"x"`, 1)+"]}"),
		`line 3: profiling_result[0].sm is missing, want`: file("c",
			head+strings.Replace(good, `"sm": 25, `, "", 1)+"]}"),
		`line 3: profiling_result[0].batch is 0, want`: file("d",
			head+strings.Replace(good, `8`, "0", 1)+"]}"),
		`line 1: model_name is "m2", want "m"`: file("e",
			strings.Replace(head, `"m"`, `"m2"`, 1)+good+"]}"),
		`profiling_result has batch 8, sm 25, quota 100 twice`: file("f", head+good+","+good+"]}"),
		`m_25.json: line 3: EOF`:                               file("g", head+good),
		`there is a field name, want model_name`:               file("h", `{"name": 3}`),
		`model_name or profiling_result is missing`:            file("i", `{"model_name": "m"}`),
		`profiling_result begins with {, want [`: file("j",
			`{"profiling_result": {}}`),
		`work.latencies: open ` + filepath.Join(dir, "nothing"):                          filepath.Join(dir, "nothing"),
		`testdata has no files MODEL_SM.json`:                                            "testdata",
		`work.sm is 25, want a share of big's measured ones, from 30 to 30`:              "",
		`work.latencies is "", want a folder of measured latencies where work.service`:   " ",
		`has no file other_SM.json for work.models`:                                      "  ",
		`work.inferences is 1e+09, want at most 1000 slots of 60 s; tiny_net takes 8333`: "   ",
	} {
		c := Default()
		c.Work.Service, c.Work.Latencies = MeasuredService, latencies
		switch latencies {
		case "":
			c.Work.Latencies = file("k", strings.ReplaceAll(head+good+"]}", "25", "30"))
			must.Do(t, os.Rename(filepath.Join(c.Work.Latencies, "m_25.json"),
				filepath.Join(c.Work.Latencies, "big_30.json")))
			must.Do(t, os.WriteFile(filepath.Join(c.Work.Latencies, "big_30.json"),
				[]byte(strings.ReplaceAll(strings.Replace(head, `"m"`, `"big"`, 1)+good+"]}", "25", "30")), 0o644))
		case " ":
			c.Work.Latencies = ""
		case "  ":
			c.Work.Latencies, c.Work.Models = filepath.Join("testdata", "latencies"), []string{"big", "other"}
		case "   ":
			c.Work.Latencies, c.Work.Models, c.Work.Inferences = filepath.Join("testdata",
				"latencies"), []string{"tiny_net"}, 1e9
		}
		if _, err := New(c, workload.Default(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	for want, path := range map[string]string{
		`a.csv: line 3: gpu_milli is "x", want a whole number from 0 to 1000`: pods("a.csv",
			"num_gpu,gpu_milli\n1,1000\n1,x\n"),
		`b.csv: line 2: num_gpu is "-1", want`:        pods("b.csv", "num_gpu,gpu_milli\n-1,1000\n"),
		`c.csv: line 1: there is no column gpu_milli`: pods("c.csv", "num_gpu,gpu\n1,1\n"),
		`d.csv: record on line 3: wrong number of fields`: pods("d.csv",
			"num_gpu,gpu_milli\n1,1000\n1\n"),
		`e.csv: no pod asks for a GPU`:              pods("e.csv", "num_gpu,gpu_milli\n0,0\n"),
		`f.csv: line 1: EOF, want names of columns`: pods("f.csv", ""),
		`work.pods: open`:                           filepath.Join(dir, "none.csv"),
		`work.pods is ""`:                           "",
	} {
		c := Default()
		c.Work.Width, c.Work.Pods = PodsWidth, path
		if _, err := New(c, workload.Default(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// The published files: 800 measurements of each of three models, 7,064 pods with GPUs. Quotas 60 and 80 by
// interpolation are near the measured ones, and a day of Azure's trace runs from end to end, 24 windows, with service
// and widths as measured.
func TestRealWork(t *testing.T) {
	dir := realdata.Dir(t)
	c := Default()
	c.Work.Service, c.Work.Latencies = MeasuredService, filepath.Join(dir, "hasgpu", "latency")
	c.Work.Width, c.Work.Pods = PodsWidth, filepath.Join(dir, "alibaba-gpu2023", "openb_pod_list_default.csv")
	tables := must.Get(readLatencies(c.Work.Latencies, nil))(t)
	var off []float64
	for i := range tables {
		n := 0
		for batch, shares := range tables[i].at {
			for _, s := range shares {
				n += len(s.points)
				for _, hidden := range []float64{60, 80} {
					j := slices.IndexFunc(s.points, func(p quotaPoint) bool { return p.quota == hidden })
					if j < 0 {
						continue
					}
					without := latencyTable{"", map[int][]sharePoints{batch: {{s.sm, slices.Delete(slices.Clone(s.points), j, j+1)}}}}
					ms := must.Get(without.latency(batch, s.sm, hidden))(t)
					off = append(off, math.Abs(ms/s.points[j].ms-1))
				}
			}
		}
		if n != 800 {
			t.Errorf("%s has %d measurements, want 800", tables[i].model, n)
		}
	}
	slices.Sort(off)
	t.Logf("quotas 60 and 80 by interpolation: off by %.1f %% in the median, %.1f %% at the 95th percentile of %d",
		100*off[len(off)/2], 100*off[len(off)*95/100], len(off))
	if len(tables) != 3 || off[len(off)/2] > 0.1 {
		t.Errorf("%d models; the median error of interpolation is %g, want at most 0.1", len(tables), off[len(off)/2])
	}
	w := must.Get(newWorld(c, workload.Default(), ID))(t)
	t.Logf("services of %.3g slots (%s, %s, %s); requests of %.3g vGPUs in the mean, %d at most", w.work.slots,
		tables[0].model, tables[1].model, tables[2].model, w.work.mean, len(w.work.width))
	// 7,064 pods: ceil(4 num_gpu gpu_milli/1000) of each; 20,000 inferences of ResNet-50 in batches of 8 take 27.4 ms each
	// on a quarter.
	if len(w.work.width) != 32 || math.Abs(w.work.slots[1]-2500*27.4e-3/60) > 0.01 {
		t.Errorf("widths to %d, services %v", len(w.work.width), w.work.slots)
	}
	day(t, c)
}

// A day of Azure's trace is one episode of 24 windows.
func TestDay(t *testing.T) { day(t, Default()) }

// day runs the embedded trace from midnight to midnight and compares what arrives with what the trace has.
func day(t *testing.T, c Config) {
	t.Helper()
	c.Windows, c.Demand.Start = 24, 0
	e := must.Get(New(c, workload.Default(), nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	var arrived float64
	for i := range 24 {
		must.Do(t, NewStatic(&c).Act(obs, act, true))
		must.Do(t, e.Step(act, obs, out))
		n, want := out.Info[6], 60*e.load.fixed[i]
		// Arrivals of functions are Poisson with bursts and groups: the variance is at most some ten times the mean.
		if math.Abs(n-want) > 5*math.Sqrt(10*want) {
			t.Errorf("window %d: %g jobs, want about %g", i, n, want)
		}
		arrived += n
	}
	if !out.Truncated || math.Abs(arrived/(24*60*45)-1) > 0.05 {
		t.Errorf("a day has %g jobs, want 24·60·45", arrived)
	}
}

// Whatever the bytes, reading ends in a table or in an error.
func FuzzLatencies(f *testing.F) {
	for _, name := range []string{"big_20.json", "tiny_net_25.json"} {
		b := must.Get(os.ReadFile(filepath.Join("testdata", "latencies", name)))(f)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		model, rows, err := parseLatencies(b)
		if err != nil {
			return
		}
		table := latencyTable{model, map[int][]sharePoints{}}
		for _, r := range rows {
			if table.add(r) != nil {
				return
			}
		}
		for _, r := range rows {
			if ms, err := table.latency(r.batch, r.sm, r.quota); err != nil || math.Abs(ms-r.ms) > 1e-9*r.ms {
				t.Errorf("%v reads back as %g (%v)", r, ms, err)
			}
		}
	})
}

// Whatever the bytes, reading ends in counts or in an error.
func FuzzPods(f *testing.F) {
	b := must.Get(os.ReadFile(filepath.Join("testdata", "pods.csv")))(f)
	f.Add(string(b), 4)
	f.Fuzz(func(t *testing.T, s string, perGPU int) {
		perGPU = 1 + perGPU&63
		sizes, err := parsePods(strings.NewReader(s), perGPU)
		if err != nil {
			return
		}
		if _, mean := cumulate(sizes); !(mean >= 1) || len(sizes) > 64*perGPU || sizes[len(sizes)-1] == 0 {
			t.Errorf("%v with the mean %g", sizes, mean)
		}
	})
}
