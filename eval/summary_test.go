package eval

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// match is two policies whose values differ by exactly shift, plus noise, over n workloads that differ by far more,
// in three metrics: lower better, higher better, and neither.
func match(n int, shift, noise float64) *Played {
	p := &Played{Spec: &envs.Spec{ID: "stoker/Match-v1", Info: []envs.Quantity{
		{Name: "down", Better: envs.Lower}, {Name: "up", Better: envs.Higher}, {Name: "aside"},
	}}, Seeds: seeds(n)}
	s := rng.NewStream(1, "match")
	var a, b []envs.Episode
	for range n {
		x := 100 * s.Norm()
		y := x + shift + noise*s.Norm()
		a = append(a, envs.Episode{Return: y, Info: []float64{y, y, y}})
		b = append(b, envs.Episode{Return: x, Info: []float64{x, x, x}})
	}
	p.Contestants = []Contestant{
		{Name: "a", Kind: catalog.Learned, Versions: []Version{{TrainingSeed: 4, Source: "runs/a"}}},
		{Name: "b", Kind: catalog.Heuristic, Versions: []Version{{}}},
	}
	p.Episodes = [][][]envs.Episode{{a}, {b}}
	return p
}

func all(t *testing.T, p *Played) *Summary {
	t.Helper()
	m := must.Get(Metrics(p.Spec, []string{"down", "up", "aside", "return"}))(t)
	s := must.Get(Summarise(p, Analysis{Metrics: m, Resamples: 1000, Seed: 1}))(t)
	return s
}

// The same numbers mean better or worse as the metric says, and nothing where it says nothing.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name                   string
		shift, noise           float64
		down, up, aside, yield string
		improvement            [3]float64 // by down, up, aside
	}{
		{"higher", 1, 0.1, Worse, Better, Undecided, Better, [3]float64{0, 1, 1}},
		{"lower", -1, 0.1, Better, Worse, Undecided, Worse, [3]float64{1, 0, 0}},
		{"constant difference", 1, 0, Worse, Better, Undecided, Better, [3]float64{0, 1, 1}},
		{"equal", 0, 0, Undecided, Undecided, Undecided, Undecided, [3]float64{0.5, 0.5, 0.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := all(t, match(20, c.shift, c.noise))
			for k, want := range []string{c.down, c.up, c.aside, c.yield} {
				got := s.against("a", s.Metrics[k].Name)[0]
				if got.Verdict != want {
					t.Errorf("%s: %q, want %q: %+v", got.Metric, got.Verdict, want, got)
				}
				if math.Abs(float64(got.Difference)-c.shift) > 0.2 || got.Lo > got.Difference || got.Hi < got.Difference ||
					got.SimultaneousLo > got.Lo || got.SimultaneousHi < got.Hi {
					t.Errorf("%s: difference %+v, want about %g inside its intervals", got.Metric, got, c.shift)
				}
				if k < 3 && float64(got.Improvement) != c.improvement[k] {
					t.Errorf("%s: probability of improvement %g, want %g", got.Metric, got.Improvement, c.improvement[k])
				}
				if got.ImprovementLo > got.Improvement || got.ImprovementHi < got.Improvement {
					t.Errorf("%s: probability of improvement outside its interval: %+v", got.Metric, got)
				}
			}
		})
	}
	for _, c := range all(t, match(20, 0.02, 0.3)).Comparisons {
		if c.Verdict != Undecided {
			t.Errorf("a difference within chance: %+v", c)
		}
		if !(c.ImprovementLo < c.Improvement && c.Improvement < c.ImprovementHi) {
			t.Errorf("probability of improvement outside its interval: %+v", c)
		}
	}
	if s := all(t, match(5, 1, 0.1)); s.Comparisons[0].Verdict != Undecided {
		t.Errorf("five workloads decide: %+v", s.Comparisons[0])
	}
}

// A verdict holds of what was trained: of one checkpoint, or of the method.
func TestScopes(t *testing.T) {
	p := run(t, request())
	other := p.Contestants[0]
	other.Name, other.Versions = "other", other.Versions[:1]
	p.Contestants = append(p.Contestants, other)
	p.Episodes = append(p.Episodes, p.Episodes[0][:1])
	s := summary(t, p)
	got := map[string]string{}
	for _, c := range s.Comparisons {
		got[c.A+" "+c.B] = c.Scope
	}
	want := map[string]string{
		"learned idle": "the method, over 3 training seeds", "learned tuner": "the method, over 3 training seeds",
		"learned planner": "the method, over 3 training seeds",
		"learned other":   "the method, over 3 training seeds, against one checkpoint",
		"other learned":   "this checkpoint", "other idle": "this checkpoint", "other tuner": "this checkpoint",
		"other planner": "this checkpoint",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("scopes %v, want %v", got, want)
	}
	if p := s.Policies[0]; !slices.Equal(p.TrainingSeeds, []uint64{1, 2, 3}) || p.Sources[2] != "checkpoint 3" {
		t.Errorf("seeds and sources of %+v", p)
	}
	// Where nobody has learned, the first is compared.
	p.Contestants, p.Episodes = p.Contestants[1:4], p.Episodes[1:4]
	s = summary(t, p)
	if !slices.Equal(s.compared(), []string{"idle"}) || s.Comparisons[0].Scope != "this policy" {
		t.Errorf("without learned policies: %+v", s.Comparisons[0])
	}
	p.Contestants, p.Episodes = p.Contestants[:1], p.Episodes[:1]
	if s = summary(t, p); s.Comparisons == nil || len(s.Comparisons) != 0 {
		t.Errorf("one policy alone: %v", s.Comparisons)
	}
}

// A learned policy's seeds are drawn anew: its interval is that of the method, wider than that of each checkpoint.
func TestTwoSources(t *testing.T) {
	p := match(20, 0, 0)
	lucky := slices.Clone(p.Episodes[1][0])
	for i := range lucky {
		lucky[i].Info = []float64{lucky[i].Info[0] - 50, 0, 0}
	}
	p.Contestants[0].Versions = append(p.Contestants[0].Versions, Version{TrainingSeed: 5, Source: "runs/b"})
	p.Episodes[0] = append(p.Episodes[0], lucky)
	s := all(t, p)
	if c := s.Comparisons[0]; c.Verdict != Undecided || c.Lo > -49 || c.Hi < -1 {
		t.Errorf("of two training seeds one is equal, one better by 50: %+v", c)
	}
}

// A missing score makes null of what depends on it, not of the rest, and eval.json can be written and read.
func TestMissingScore(t *testing.T) {
	p := match(20, 1, 0.1)
	p.Episodes[0][0][3].Info[1] = math.NaN()
	s := all(t, p)
	if c := s.against("a", "up")[0]; c.Verdict != Undecided || c.PHolm != 1 {
		t.Errorf("with a missing score: %+v", c)
	}
	if c := s.against("a", "down")[0]; c.Verdict != Worse {
		t.Errorf("without: %+v", c)
	}
	b := must.Get(json.Marshal(s))(t)
	if !strings.Contains(string(b), `"up":{"iqm":null,"lo":null,"hi":null,"mean":null,"mean_lo":null,"mean_hi":null}`) {
		t.Errorf("no null in %s", b)
	}
	var back Summary
	must.Do(t, json.Unmarshal(b, &back))
	if !math.IsNaN(float64(back.Policies[0].Metrics["up"].IQM)) ||
		!reflect.DeepEqual(back.Policies[1].Metrics["up"], s.Policies[1].Metrics["up"]) {
		t.Errorf("read back as %+v", back.Policies)
	}
	if err := json.Unmarshal([]byte(`{"policies":[{"metrics":{"x":{"iqm":"many"}}}]}`), &back); err == nil {
		t.Error("a word was read as a number")
	}
}

func TestMetrics(t *testing.T) {
	spec := match(1, 0, 0).Spec
	names := func(ms []Metric) (out []string) {
		for _, m := range ms {
			out = append(out, m.Name)
		}
		return out
	}
	all, err := Metrics(spec, nil)
	if err != nil || !slices.Equal(names(all), []string{"down", "up", "return"}) {
		t.Errorf("all with a direction: %v, %v", names(all), err)
	}
	some, err := Metrics(spec, []string{"return", "aside"})
	if err != nil || !slices.Equal(names(some), []string{"return", "aside"}) {
		t.Errorf("in the order named: %v, %v", names(some), err)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"sideways"}, `metric "sideways": stoker/Match-v1 reports down, up, aside, return`},
		{[]string{"up", "up"}, `metric "up" is named twice`},
	} {
		if _, err := Metrics(spec, c.names); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %q", c.names, err, c.want)
		}
	}
	for _, c := range []struct {
		scatter, series []string
		want            string
	}{
		{[]string{"up"}, nil, "eval.scatter names 1 quantities, want two: x and y"},
		{[]string{"up", "x"}, nil, `eval.scatter: metric "x"`},
		{nil, []string{"x"}, `eval.series: metric "x"`},
	} {
		if _, err := NewPlots(spec, c.scatter, c.series); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, %v: %v, want %q", c.scatter, c.series, err, c.want)
		}
	}
}

// What the scatter figure shows is estimated, also where other metrics were asked for.
func TestAnalysis(t *testing.T) {
	p := match(20, 1, 0.1)
	m := must.Get(Metrics(p.Spec, []string{"up"}))(t)
	plots := must.Get(NewPlots(p.Spec, []string{"up", "down"}, nil))(t)
	s := must.Get(Summarise(p, Analysis{Metrics: m, Plots: plots, Resamples: 100}))(t)
	if _, ok := s.Policies[0].Metrics["down"]; !ok || len(s.Metrics) != 2 || len(m) != 1 {
		t.Errorf("metrics %v", s.Metrics)
	}
	for _, c := range []struct {
		a    Analysis
		want string
	}{
		{Analysis{Metrics: m, Resamples: 99}, "99 resamples, want at least 100"},
		{Analysis{Resamples: 100}, "no metrics"},
		{Analysis{Metrics: []Metric{{Name: "sideways"}}, Resamples: 100},
			`a: sideways: stoker/Match-v1 reports no quantity "sideways"`},
	} {
		if _, err := Summarise(p, c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	p.Episodes[1][0] = p.Episodes[1][0][:5]
	if _, err := Summarise(p, Analysis{Metrics: m, Resamples: 100}); err == nil ||
		!strings.Contains(err.Error(), "b: up: ") {
		t.Errorf("ragged scores: %v", err)
	}
}

// Where episodes draw recorded traces a trace counts once: twenty episodes of four traces are a sample of four.
func TestSampleOfTraces(t *testing.T) {
	p := service(0.05, [2]float64{4, 0.1}, [2]float64{5, 0.1})
	p.Traces = []string{"a", "b", "c", "d", "never drawn"}
	for s := range p.Seeds {
		p.TraceOf = append(p.TraceOf, s%4)
	}
	price := must.Get(Metrics(p.Spec, []string{"price"}))(t)[0]
	all, means := must.Get(p.Scores(0, price))(t), must.Get(p.Sample(0, price))(t)
	if len(means[0]) != 4 || math.Abs(means[0][1]-(all[0][1]+all[0][5]+all[0][9]+all[0][13]+all[0][17])/5) > 1e-12 {
		t.Errorf("the means of four traces are %v, of episodes %v", means, all)
	}
	s := judged(t, p, "")
	if s.Traces != 4 || !strings.Contains(s.Summary, "20 workload seeds of 4 traces") ||
		!strings.Contains(s.Summary, "too few traces for any verdict: 4; with 1 other policy it takes at least 6") {
		t.Errorf("%d traces: %s", s.Traces, s.Summary)
	}
	if !strings.Contains(Text(s), "20 workload seeds of 4 traces") || !strings.HasPrefix(s.Statistic, "a trace counts once") {
		t.Errorf("the text does not say it: %s", Text(s))
	}
	narrow := judged(t, service(0.05, [2]float64{4, 0.1}, [2]float64{5, 0.1}), "")
	width := func(s *Summary) Number { m := s.Policies[0].Metrics["price"]; return m.MeanHi - m.MeanLo }
	if width(s) < width(narrow) {
		t.Errorf("the interval over 4 traces has a width of %v, over 20 loads %v", width(s), width(narrow))
	}
}
