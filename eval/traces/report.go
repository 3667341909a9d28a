// Package traces says what a trace of requests holds: how many, how they come, how they burst, and by which factor an
// environment serves them. It is what `stoker trace` prints and draws.
package traces

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/shell"
)

// Report is what a trace holds.
type Report struct {
	// Trace says where it comes from; Files are those read, Missing those that are lacking, empty or without requests.
	Trace   string   `json:"trace"`
	Files   []string `json:"files"`
	Missing []string `json:"missing"`
	// Functions is their number, Active that of those with at least one request.
	Functions int    `json:"functions"`
	Active    int    `json:"active"`
	Minutes   int    `json:"minutes"`
	Requests  uint64 `json:"requests"`
	// Rate is the mean in requests a second, Rates is what describes its course.
	Rate  float64 `json:"rate"`
	Rates Rates   `json:"rates"`
	// Busiest is the minute with the most requests.
	Busiest Minute `json:"busiest"`
	// Bursts are measures of how unevenly requests come.
	Bursts []Measure `json:"burstiness"`
	// Top says which share of the requests the busiest functions have.
	Top []Share `json:"top"`
	// Scale is what a factor does in an environment, where one was named.
	Scale *Scale `json:"scale,omitempty"`
	// Stretch is a part of it with a calm, a swinging and a bursting third, where one was asked for.
	Stretch *Stretch `json:"stretch,omitempty"`
	// Figures are the files drawn.
	Figures []string `json:"figures,omitempty"`

	perMinute []uint64
	functions []workload.FunctionTotal // by their requests, the most first
}

// Rates are percentiles of the minutes' rates in requests a second.
type Rates struct {
	P5  float64 `json:"p5"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Minute is a minute of the trace, counted from 0.
type Minute struct {
	Minute   int     `json:"minute"`
	At       string  `json:"at"` // its day and time, where the trace begins at midnight
	Requests uint64  `json:"requests"`
	Rate     float64 `json:"rate"` // requests a second
}

// Measure is a number and what it means.
type Measure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Meaning string  `json:"meaning"`
}

// Share is the share of requests of the busiest functions.
type Share struct {
	Functions int     `json:"functions"`
	Share     float64 `json:"share"`
}

// Describe reports on the contents of a trace. One without any request is an error.
func Describe(c *workload.Contents) (*Report, error) {
	s := workload.Describe(c.PerMinute)
	if s.Total == 0 {
		return nil, fmt.Errorf("%s: %d functions in %d minutes have no request at all, want some", c.Name, len(c.Functions),
			len(c.PerMinute))
	}
	r := &Report{Trace: c.Name, Files: c.Report.Files, Missing: c.Report.Missing, Functions: len(c.Functions),
		Minutes: s.Minutes, Requests: s.Total, Rate: s.Mean / 60, perMinute: c.PerMinute}
	if r.Missing == nil {
		r.Missing = []string{}
	}
	sorted := slices.Sorted(slices.Values(c.PerMinute))
	at := func(p float64) float64 { return float64(sorted[int(math.Round(p*float64(len(sorted)-1)))]) / 60 }
	r.Rates = Rates{at(0.05), at(0.5), at(0.95), at(0.99)}
	most := slices.Index(c.PerMinute, s.Peak)
	r.Busiest = Minute{most, clock(most), s.Peak, float64(s.Peak) / 60}
	r.Bursts = bursts(s)
	r.functions = slices.Clone(c.Functions)
	slices.SortStableFunc(r.functions, func(a, b workload.FunctionTotal) int { return cmp.Compare(b.Total, a.Total) })
	var sum uint64
	for i, f := range r.functions {
		if f.Total > 0 {
			r.Active++
		}
		sum += f.Total
		if n := i + 1; n == 1 || n < len(r.functions) && slices.Contains(tops, n) {
			r.Top = append(r.Top, Share{n, float64(sum) / float64(s.Total)})
		}
	}
	return r, nil
}

// tops are the numbers of functions whose share is told.
var tops = []int{1, 5, 10, 50, 100, 1000}

// clock is a minute's day and time.
func clock(minute int) string {
	return fmt.Sprintf("day %d %02d:%02d", minute/1440+1, minute%1440/60, minute%60)
}

// bursts are the usual measures of how unevenly counts per minute come.
func bursts(s workload.Stats) []Measure {
	const poisson = "; 1 for a Poisson process"
	return []Measure{
		{"dispersion, 1 min", s.Dispersion, "index of dispersion: variance of the counts per minute over their mean" + poisson},
		{"dispersion, 10 min", s.Dispersion10, "the same of counts per 10 minutes; larger where bursts last for minutes" + poisson},
		{"dispersion, 60 min", s.Dispersion60, "the same of counts per hour" + poisson},
		{"peak to mean", float64(s.Peak) / s.Mean, "requests of the busiest minute over the mean minute's"},
		{"coefficient of variation", s.CV, "standard deviation of the counts per minute over their mean"},
		{"lag-1 correlation", s.Lag1, "correlation of a minute's count with the next one's; 0 where minutes are independent"},
		{"idle minutes", s.Idle, "share of the minutes without a request"},
	}
}

// Stretch is a part of a trace's evaluation part with a calm, a swinging and a bursting third. Its minutes count from
// the beginning of that part.
type Stretch struct {
	workload.Stretch
	// Peak is workload.Stretch's; null in JSON where a third's median is 0.
	Peak [3]report.Number `json:"peak"`
	// Part is the trace's minute at which the evaluation part begins.
	Part int `json:"part"`
	// Set are the settings with which stoker/Sizing-v3 plays it.
	Set []string `json:"set"`
}

// FindStretch adds the stretch of so many minutes in the part of the trace on which policies are evaluated.
func (r *Report) FindStretch(minutes int) error {
	train := workload.Default().TrainFraction
	part := min(max(int(math.Round(train*float64(len(r.perMinute)))), 1), len(r.perMinute)-1)
	found, err := workload.FindStretch(r.perMinute[part:], minutes)
	if err != nil {
		return fmt.Errorf("%s, its last %.0f %%: %w", r.Trace, 100*(1-train), err)
	}
	// One window before the first minute, under the initial configuration, gives the first observation.
	window := sizing.Window.Seconds() / 60
	r.Stretch = &Stretch{Stretch: found, Part: part, Set: []string{
		fmt.Sprintf("env.windows=%d", int(float64(minutes)/window)), "env.warmup=1",
		"env.start=" + strconv.FormatFloat(float64(found.From)-window, 'g', -1, 64)}}
	for i, x := range found.Peak {
		r.Stretch.Peak[i] = report.Number(x)
	}
	if found.From == 0 {
		r.Stretch.Set[1], r.Stretch.Set[2] = "env.warmup=0", "env.start=0"
	}
	return nil
}

func (s *Stretch) text(perMinute []uint64) string {
	counts := perMinute[s.Part:]
	rate := func(m int) string { return short(float64(counts[m]) / 60) }
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d minutes of the evaluation part, from its minute %d (%s):\n\n", s.Minutes, s.From, clock(s.Part+s.From))
	bounds := [...]int{s.From, s.Ends[0], s.Ends[1], s.From + s.Minutes}
	for i, name := range thirds {
		fmt.Fprintf(&b, "%-10s minutes %d to %d  coefficient of variation %s, peak over median %s\n", name, bounds[i], bounds[i+1],
			short(s.Variation[i]), short(float64(s.Peak[i])))
	}
	fmt.Fprintf(&b, "low, middle and high minute: %d, %d, %d with %s, %s and %s requests/s\n\n ", s.Low, s.Middle, s.High, rate(s.Low),
		rate(s.Middle), rate(s.High))
	for _, set := range s.Set {
		b.WriteString(" --set " + shell.Quote(set))
	}
	return b.String() + "\n"
}

var thirds = [...]string{"calm", "swinging", "bursting"}

// rows are the stretch's minutes for its CSV file.
func (s *Stretch) rows(perMinute []uint64) [][]string {
	rows := [][]string{{"minute", "third", "mark", "requests", "requests_per_s"}}
	for m := s.From; m < s.From+s.Minutes; m++ {
		third := thirds[2]
		switch {
		case m < s.Ends[0]:
			third = thirds[0]
		case m < s.Ends[1]:
			third = thirds[1]
		}
		n := perMinute[s.Part+m]
		mark := map[int]string{s.Low: "low", s.Middle: "middle", s.High: "high"}[m]
		rows = append(rows, []string{strconv.Itoa(m), third, mark, strconv.FormatUint(n, 10), report.Exact(float64(n) / 60)})
	}
	return rows
}

// panel draws the stretch, its thirds and its three minutes.
func (s *Stretch) panel(perMinute []uint64, line, marks chart.Style) *chart.Panel {
	p := chart.NewPanel(fmt.Sprintf("%d minutes: calm, swinging, bursting", s.Minutes), "minute of the evaluation part",
		"requests/s")
	var x, y []float64
	for m := s.From; m < s.From+s.Minutes; m++ {
		x, y = append(x, float64(m)), append(y, float64(perMinute[s.Part+m])/60)
	}
	p.Line(line, x, y, false)
	for _, end := range s.Ends {
		p.Rule(float64(end) - 0.5)
	}
	for _, m := range []int{s.Low, s.Middle, s.High} {
		p.Cross(marks, chart.Exactly(float64(m)), chart.Exactly(float64(perMinute[s.Part+m])/60))
	}
	p.RangeY(0, 0)
	return p
}

// Scale is what brings a trace to a utilisation of an environment.
type Scale struct {
	Env  string `json:"env"`
	Unit string `json:"unit"`
	// Serves is about the largest mean load that the action ranges serve, in the unit; Utilisation is the trace's own mean
	// load over it.
	Serves      float64 `json:"serves"`
	Utilisation float64 `json:"utilisation"`
	// Target is the utilisation asked for. Key and Value make it; Mean is the load's mean then, and Above the share of
	// minutes (windows) above what is served.
	Target float64 `json:"target_utilisation"`
	Key    string  `json:"key"`
	Value  float64 `json:"value"`
	Mean   float64 `json:"mean"`
	Above  float64 `json:"above"`
	Part   string  `json:"part"`
	// Set are the settings of stoker train and stoker eval that make it.
	Set []string `json:"set"`
}

// Source names a trace, and the part of it that is meant.
type Source struct {
	// Path is a folder or a file of invocations; empty is the embedded sample.
	Path   string
	Sample int
	Days   []int
	// Progress, where set, is told after every day how many of how many are read.
	Progress func(done, all int)
}

// Read reads what a trace holds.
func Read(s Source) (*Report, error) {
	c, err := workload.ReadContents(s.Path, workload.ReadOptions{Sample: s.Sample, Days: s.Days, Progress: s.Progress})
	if err != nil {
		return nil, err
	}
	return Describe(c)
}

// ScaleFor finds the settings that bring a trace to a utilisation of an environment with its default configuration.
func (r *Report) ScaleFor(names *catalog.Catalog, s Source, id string, target float64) error {
	row, err := names.Env(id)
	if err != nil {
		return err
	}
	if !(target > 0 && target <= 10) {
		return fmt.Errorf("the target utilisation is %g, want more than 0 and at most 10", target)
	}
	config := row.Config()
	out := &Scale{Env: id, Target: target}
	if s.Path != "" {
		out.Set = append(out.Set, "workload.path="+filepath.ToSlash(s.Path))
	}
	if s.Sample > 0 {
		out.Set = append(out.Set, fmt.Sprintf("workload.sample=%d", s.Sample))
	}
	if len(s.Days) > 0 {
		out.Set = append(out.Set, "workload.days="+strings.ReplaceAll(fmt.Sprint(s.Days), " ", ","))
	}
	if c, ok := config.(*placement.Config); ok {
		c.Workload = placement.Azure
		out.Set = append(out.Set, "env.workload="+placement.Azure)
	}
	w := workload.Default()
	w.Path, w.Sample, w.Days, w.Mean = s.Path, s.Sample, s.Days, r.Rate
	own, serves, err := loadOf(row, config, w)
	if err != nil {
		return err
	}
	w.Mean, w.Factor, w.TargetUtilisation = 0, workload.Auto, target
	scaled, _, err := loadOf(row, config, w)
	if err != nil {
		return err
	}
	out.Unit, out.Serves, out.Utilisation = own.Unit, serves, own.Mean/serves
	out.Key, out.Part = scaled.Key, scaled.Part
	if out.Value, err = strconv.ParseFloat(strconv.FormatFloat(scaled.Value, 'g', 4, 64), 64); err != nil {
		return err
	}
	out.Mean = scaled.Mean * out.Value / scaled.Value
	out.Above = scaled.Above(serves)
	if out.Key != "workload.factor" {
		out.Set = append(out.Set, "workload.factor=1")
	}
	out.Set = append(out.Set, fmt.Sprintf("%s=%g", out.Key, out.Value))
	r.Scale = out
	return nil
}

// loadOf is the load of an environment under a workload, and what it serves.
func loadOf(row catalog.Env, config any, w workload.Config) (envs.Load, float64, error) {
	env, err := row.New(config, w)
	if err != nil {
		return envs.Load{}, 0, fmt.Errorf("%s: %w", row.ID, err)
	}
	loaded, ok := envs.As[envs.Loaded](env)
	if !ok {
		return envs.Load{}, 0, fmt.Errorf("%s has no load that a trace could make, want an environment such as %s", row.ID,
			"stoker/Sizing-v2")
	}
	serves, err := loaded.Serves()
	if err == nil && serves == 0 {
		err = fmt.Errorf("%s: nothing within the action ranges serves any load", row.ID)
	}
	return loaded.Workload(), serves, err
}

// Loaded are the ids of the environments that serve a trace.
func Loaded(names *catalog.Catalog) []string {
	var out []string
	for _, row := range names.Envs {
		env, err := row.New(row.Config(), workload.Default())
		if err != nil {
			continue
		}
		if _, ok := envs.As[envs.Loaded](env); ok {
			out = append(out, row.ID)
		}
	}
	return slices.Clip(out)
}
