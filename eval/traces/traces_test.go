package traces

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// Six minutes of three functions, worked out by hand: counts 12 0 0 6 0 0.
func TestDescribe(t *testing.T) {
	c := &workload.Contents{Name: "hand", PerMinute: []uint64{12, 0, 0, 6, 0, 0},
		Functions: []workload.FunctionTotal{{Name: "a", Total: 3}, {Name: "b", Total: 15}, {Name: "c"}}}
	r := must.Get(Describe(c))(t)
	if r.Requests != 18 || r.Functions != 3 || r.Active != 2 || r.Minutes != 6 || r.Rate != 0.05 {
		t.Errorf("%d requests of %d functions, %d active, in %d minutes at %v", r.Requests, r.Functions, r.Active, r.Minutes, r.Rate)
	}
	if r.Busiest != (Minute{0, "day 1 00:00", 12, 0.2}) {
		t.Errorf("the busiest minute is %+v", r.Busiest)
	}
	want := map[string]float64{"dispersion, 1 min": 21.0 / 3, "peak to mean": 4, "coefficient of variation": math.Sqrt(21) / 3,
		"idle minutes": 4.0 / 6}
	for _, m := range r.Bursts {
		if x, ok := want[m.Name]; ok && math.Abs(m.Value-x) > 1e-12 {
			t.Errorf("%s is %v, want %v", m.Name, m.Value, x)
		}
	}
	if len(r.Top) != 1 || r.Top[0] != (Share{1, 15.0 / 18}) {
		t.Errorf("the busiest functions have %v", r.Top)
	}
	if _, err := Describe(&workload.Contents{Name: "silent", PerMinute: make([]uint64, 9)}); err == nil ||
		!strings.Contains(err.Error(), "silent: 0 functions in 9 minutes have no request") {
		t.Errorf("a trace without requests: %v", err)
	}
}

// A Poisson process has a dispersion of 1 at every width, and the figure's data say so.
func TestPoissonDispersion(t *testing.T) {
	c := workload.Default()
	c.Kind, c.Rate, c.Length = workload.Poisson, 0.5, 14*1440
	s := must.Get(workload.Open(c))(t)
	a := must.Get(s.Arrivals(4))(t)
	counts := make([]uint64, c.Length)
	for x, ok := a.Next(); ok; x, ok = a.Next() {
		counts[x.Time/workload.Minute]++
	}
	r := must.Get(Describe(&workload.Contents{PerMinute: counts}))(t)
	minutes, index := r.dispersion()
	if len(minutes) != len(widths) {
		t.Errorf("the dispersion is at %v minutes, want %v", minutes, widths)
	}
	for i, x := range index { // five standard errors: √(2/n) each
		if n := float64(c.Length) / minutes[i]; math.Abs(x-1) > 5*math.Sqrt(2/n) {
			t.Errorf("in windows of %v minutes the dispersion is %v, want about 1", minutes[i], x)
		}
	}
}

// The settings that a report names bring the environments to the utilisation that was asked for.
func TestScale(t *testing.T) {
	names := catalog.Default()
	for _, id := range Loaded(names) {
		r := must.Get(Read(Source{}))(t)
		must.Do(t, r.ScaleFor(names, Source{}, id, 0.5))
		s := r.Scale
		if math.Abs(s.Mean/s.Serves-0.5) > 1e-3 || !(s.Utilisation > 0) {
			t.Errorf("%s: %+v, want half of what is served", id, s)
		}
		if !strings.Contains(Text(r), "--set "+s.Set[len(s.Set)-1]) {
			t.Errorf("%s: the text lacks %s:\n%s", id, s.Set, Text(r))
		}
	}
	r := must.Get(Read(Source{}))(t)
	for want, f := range map[string]func() error{
		"stoker/CartPole-v1 has no load":   func() error { return r.ScaleFor(names, Source{}, "stoker/CartPole-v1", 0.5) },
		"the target utilisation is 0":      func() error { return r.ScaleFor(names, Source{}, "stoker/Sizing-v2", 0) },
		`no environment "stoker/Sizig-v2"`: func() error { return r.ScaleFor(names, Source{}, "stoker/Sizig-v2", 1) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What is written can be read, and holds every minute and function. A fortnight is drawn by blocks.
func TestWrite(t *testing.T) {
	r, err := Read(Source{})
	must.Do(t, err)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	must.Do(t, Write(dir, r))
	for file, lines := range map[string]int{rateFile: 1441, functionsFile: 51, dispersionFile: 9} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || strings.Count(string(b), "\n") != lines {
			t.Errorf("%s has %d lines, %v; want %d", file, strings.Count(string(b), "\n"), err, lines)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, jsonFile))
	must.Do(t, err)
	var back Report
	if err := json.Unmarshal(b, &back); err != nil || back.Requests != r.Requests || len(back.Figures) < 5 {
		t.Errorf("%s came back as %+v, %v", jsonFile, back, err)
	}
	for _, f := range back.Figures {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	long := &workload.Contents{Name: "long", PerMinute: make([]uint64, 14*1440)}
	for i := range long.PerMinute {
		long.PerMinute[i] = uint64(i % 28)
	}
	if r, err = Describe(long); err != nil {
		t.Fatal(err)
	}
	hours, mean, low, high := r.blocks()
	if len(hours) != most || math.Abs(mean[0]-6.5/60) > 1e-12 || low[1] != 14.0/60 || high[1] != 27.0/60 {
		t.Errorf("%d blocks, the first %v, the second %v to %v", len(hours), mean[0], low[1], high[1])
	}
	if line, _ := r.spark(); len([]rune(line)) != columns {
		t.Errorf("the sparkline has %d columns", len([]rune(line)))
	}
}

// The published samples, as their description counts them.
func TestRealTraces(t *testing.T) {
	dir := filepath.Join(realdata.Dir(t), "azure2019")
	for file, want := range map[string]uint64{"50_inv.csv": 179342, "100_inv.csv": 513418} {
		r, err := Read(Source{Path: filepath.Join(dir, file)})
		if err != nil || r.Requests != want || len(r.Missing) != 0 || r.Minutes != 1440 {
			t.Errorf("%s: %+v, %v; want %d requests", file, r, err, want)
		}
	}
	if _, err := Read(Source{Path: dir}); err == nil || !strings.Contains(err.Error(), "workload.sample is 0") {
		t.Errorf("a folder with two samples: %v", err)
	}
	if r, err := Read(Source{Path: dir, Sample: 100}); err != nil || r.Functions != 100 {
		t.Errorf("sample 100: %v", err)
	}
}

// A last third that is mostly idle has no finite peak over its median. The report is written all the same.
func TestIdleStretch(t *testing.T) {
	var counts []uint64
	for i := range 100 {
		switch {
		case i < 80: // the evaluation part begins at 70
			counts = append(counts, 10+uint64(i%2))
		case i < 90:
			counts = append(counts, 8+uint64(5*(i%2)))
		default:
			counts = append(counts, 0)
		}
	}
	counts[94] = 50
	r := must.Get(Describe(&workload.Contents{Name: "sparse", PerMinute: counts}))(t)
	must.Do(t, r.FindStretch(30))
	if text := Text(r); !strings.Contains(text, "bursting   minutes 20 to 30") || !strings.Contains(text, "peak over median +Inf") {
		t.Errorf("the text is\n%s", text)
	}
	dir := t.TempDir()
	must.Do(t, Write(dir, r))
	b := must.Get(os.ReadFile(filepath.Join(dir, jsonFile)))(t)
	var back Report
	must.Do(t, json.Unmarshal(b, &back))
	if p := back.Stretch.Peak; !(p[0] == 1.1) || !math.IsNaN(float64(p[2])) {
		t.Errorf("the peaks came back as %v, want 1.1, another one and null", p)
	}
}

// The stretch is found in the last 30 % of the trace, and the settings play its minutes: the window before the first,
// then two for each.
func TestFindStretch(t *testing.T) {
	c := must.Get(workload.ReadContents("", workload.ReadOptions{}))(t)
	r := must.Get(Describe(c))(t)
	must.Do(t, r.FindStretch(85))
	s := r.Stretch
	if s.Part != 1008 || s.From != 223 || strings.Join(s.Set, " ") != "env.windows=170 env.warmup=1 env.start=222.5" {
		t.Errorf("found %+v", s)
	}
	if text := Text(r); !strings.Contains(text, "bursting   minutes 279 to 308") {
		t.Errorf("the text is\n%s", text)
	}
	dir := t.TempDir()
	must.Do(t, Write(dir, r))
	b, err := os.ReadFile(filepath.Join(dir, stretchFile))
	if err != nil || strings.Count(string(b), "\n") != 86 || !strings.Contains(string(b), "\n284,bursting,high,632,") {
		t.Errorf("%v: %s", err, b)
	}
	x := must.Get(configs.Load("faasconf/trace", nil, catalog.Default()))(t)
	if e := x.Env.Config.(*sizing.Config); e.Windows != 170 || e.Warmup != 1 || e.Start != 222.5 {
		t.Errorf("configs/faasconf/trace.yaml plays %d windows from %v", e.Windows, e.Start)
	}
	if err := r.FindStretch(433); err == nil || !strings.Contains(err.Error(), "433 minutes, want 9 to the 432") {
		t.Errorf("longer than the part: %v", err)
	}
}
