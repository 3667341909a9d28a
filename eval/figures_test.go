package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/golden"
	"github.com/stoker-rl/stoker/internal/must"
)

// goldenDPI keeps the images in testdata small; the figures themselves are drawn finer.
const goldenDPI = 60

// checkFigures draws every figure of an evaluation and compares each with testdata/prefix-name.png.
func checkFigures(t *testing.T, prefix string, p *Played, s *Summary, curves []Curve) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, writeData(dir, p, s, curves))
	painter := newPainter(dir, s)
	painter.save = func(f *chart.Figure, name string) ([]string, error) {
		var b bytes.Buffer
		if err := f.PNG(&b, goldenDPI); err != nil {
			return nil, err
		}
		golden.Image(t, prefix+"-"+name+".png", b.Bytes())
		return []string{name}, nil
	}
	must.Do(t, painter.drawAll())
}

// Known levels are drawn where the data is near them, and the key says what they are.
func TestLevels(t *testing.T) {
	levels := []envs.Level{{Of: "latency", Value: 4, Doc: "QoS, at most"}, {Of: "latency", Value: 90, Doc: "far away"},
		{Of: envs.ReturnLevel, Value: 3, Doc: "the best,"}}
	draw := func(m Metric, tag string) string {
		panel := chart.NewPanel("", "", "")
		panel.Line(chart.Styles(0), []float64{0, 1}, []float64{2, 3}, false)
		f := &chart.Figure{Panels: []*chart.Panel{panel}}
		if tag != "" {
			curveLevels(f, levels, tag, m.Unit)
		} else {
			level(f, levels, m, panel.LevelY)
		}
		var out []string
		for _, e := range f.Key {
			out = append(out, e.Text)
		}
		return strings.Join(out, "; ")
	}
	latency := Metric{Name: "latency", Unit: "s"}
	for tag, want := range map[string]string{
		"": "latency: QoS, at most 4 s", "eval/latency": "latency: QoS, at most 4 s",
		"eval/mean_reward": "return: the best, 3", "rollout/ep_rew_mean": "return: the best, 3", "train/loss": "",
	} {
		m := latency
		if want != "" && !strings.Contains(want, "latency") {
			m.Unit = ""
		}
		if got := draw(m, tag); got != want {
			t.Errorf("%q: the key says %q, want %q", tag, got, want)
		}
	}
}

// The figures of a comparison as the main job makes it.
func TestFigures(t *testing.T) {
	p := synthetic()
	s := summarise(t, p)
	checkFigures(t, "main", p, s, syntheticCurves())
	want := []string{"learning_curve", "scatter", "intervals", "improvement", "profile", "latency_cdf", "over_time"}
	if !slices.Equal(s.Figures, want) {
		t.Errorf("figures %v, want %v", s.Figures, want)
	}
}

// Policies whose names make one file name have figures of their own.
func TestFreeNames(t *testing.T) {
	taken := map[string]bool{}
	for i, want := range []string{"a_b", "A_b_", "a_b__"} {
		if got := free(taken, fileName([]string{"a<b", "A>b", "a b"}[i])); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// small is one run against one heuristic by two metrics with long names, under three workloads, in steps that take no
// time, with two samples each.
func small(t *testing.T) (*Played, *Summary, []Curve) {
	t.Helper()
	spec := &envs.Spec{ID: "stoker/Small-v1",
		Info:    []envs.Quantity{{Name: "a long name indeed", Unit: "a long unit as well", Better: envs.Lower}},
		Samples: []envs.Quantity{{Name: "wait", Unit: "s"}}}
	p := &Played{Spec: spec, Seeds: []uint64{1, 2, 3}}
	for c, name := range []string{"learner", "something with a long name"} {
		con := Contestant{Name: name, Kind: []catalog.Kind{catalog.Learned, catalog.Heuristic}[c], Versions: []Version{{}}}
		eps := []envs.Episode{}
		var steps []StepRow
		for k := range 3 {
			x := float64(1 + c + k)
			eps = append(eps, envs.Episode{Return: -x, Info: []float64{x}})
			steps = append(steps, StepRow{Seed: 1, Step: k, Reward: -x, Info: []float64{x}})
		}
		p.Contestants, p.Episodes = append(p.Contestants, con), append(p.Episodes, [][]envs.Episode{eps})
		p.Steps, p.Samples = append(p.Steps, steps), append(p.Samples, []SampleSet{{1, float64(2 + c)}})
	}
	m := Metric{Name: "a long name indeed", Unit: "a long unit as well", Better: envs.Lower}
	s := must.Get(Summarise(p, Analysis{Metrics: []Metric{m},
		Plots: Plots{Scatter: []Metric{m, ReturnMetric}, Series: []Metric{ReturnMetric}}, Resamples: 100}))(t)
	return p, s, []Curve{{Group: "learner", Run: "runs/learner", Metric: "rollout/ep_rew_mean", Steps: []int64{0, 1000},
		Values: []float64{-3, -1}}}
}

// Figures of one panel, whole steps along the axis, names that are too long for their panels.
func TestSmallFigures(t *testing.T) {
	p, s, curves := small(t)
	checkFigures(t, "small", p, s, curves)
}

// Many policies: the key breaks into rows, the palette goes round with other dashes.
func TestManyPolicies(t *testing.T) {
	p := synthetic()
	for k := range 9 {
		c := p.Contestants[1]
		c.Name = fmt.Sprintf("another-%d", k)
		p.Contestants = append(p.Contestants, c)
		p.Episodes, p.Steps, p.Samples = append(p.Episodes, p.Episodes[1]), append(p.Steps, p.Steps[1]),
			append(p.Samples, p.Samples[1])
	}
	s := must.Get(Summarise(p, Analysis{Metrics: []Metric{ReturnMetric}, Resamples: 100}))(t)
	checkFigures(t, "many", p, s, nil)
}

// What cannot be drawn is left out, whatever it is: missing and infinite scores, constants, a single workload, no
// samples, samples of one value or none above zero. Nothing panics, nothing fails, and every figure is written.
func TestOddFigures(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, x := range map[string][]float64{
		"NaN": {nan, nan, nan}, "half NaN": {1, nan, 2}, "infinite": {inf, -inf, inf}, "zero": {0, 0, 0},
		"constant": {5, 5, 5},
		"huge":     {1e300, -1e300, 1e308}, "tiny": {1e-300, 2e-300, 5e-324}, "close": {1, 1 + 1e-15, 1}, "one": {3},
		"large and close": {1e17, 1e17 + 16, 1e17},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &envs.Spec{ID: "stoker/Odd-v1", Info: []envs.Quantity{{Name: "x/y", Better: envs.Lower}},
				Samples: []envs.Quantity{{Name: "s"}, {Name: "none"}}}
			p := &Played{Spec: spec}
			for k := range x {
				p.Seeds = append(p.Seeds, uint64(k))
			}
			for c := range 2 {
				var eps []envs.Episode
				var steps []StepRow
				for k, v := range x {
					eps = append(eps, envs.Episode{Return: v * float64(1-c), Info: []float64{v}})
					steps = append(steps, StepRow{Step: k, Time: v, Reward: v, Info: []float64{v}})
				}
				p.Contestants = append(p.Contestants,
					Contestant{Name: fmt.Sprint("p", c), Kind: catalog.Learned, Versions: []Version{{}}})
				p.Episodes, p.Steps = append(p.Episodes, [][]envs.Episode{eps}), append(p.Steps, steps)
				p.Samples = append(p.Samples, []SampleSet{x, nil})
			}
			m := must.Get(Metrics(spec, nil))(t)
			s := must.Get(Summarise(p, Analysis{Metrics: m, Plots: Plots{Scatter: m, Series: m}, Resamples: 100}))(t)
			dir := t.TempDir()
			curve := Curve{Group: "p0", Run: "r", Metric: "m"}
			for k, v := range x {
				curve.Steps, curve.Values = append(curve.Steps, int64(k)), append(curve.Values, v)
			}
			must.Do(t, writeData(dir, p, s, []Curve{curve}))
			painter := newPainter(dir, s)
			painter.save = func(f *chart.Figure, name string) ([]string, error) {
				return []string{name}, errors.Join(f.PNG(io.Discard, 20), f.SVG(io.Discard))
			}
			must.Do(t, painter.drawAll())
			if len(s.Figures) < 6 {
				t.Errorf("only %d figures: %v", len(s.Figures), s.Figures)
			}
			if Text(s) == "" || Markdown(s) == "" {
				t.Error("no table")
			}
			b := must.Get(json.Marshal(s))(t)
			var back Summary
			must.Do(t, json.Unmarshal(b, &back))
			if got, want := float64(back.Policies[0].Metrics["x/y"].IQM), float64(s.Policies[0].Metrics["x/y"].IQM); got != want && !math.IsNaN(got) {
				t.Errorf("IQM read back as %g, was %g", got, want)
			}
		})
	}
}

// A policy looks the same in every figure, and the oracle is no peer.
func TestStyles(t *testing.T) {
	s := styles([]PolicyResult{{Kind: catalog.Oracle}, {Kind: catalog.Learned}, {Kind: catalog.Oracle},
		{Kind: catalog.Heuristic}})
	want := []chart.Style{chart.Bound(), chart.Styles(0), chart.Styles(1), chart.Styles(2)}
	for i := range want {
		if s[i].Colour != want[i].Colour {
			t.Errorf("style %d has colour %v, want %v", i, s[i].Colour, want[i].Colour)
		}
	}
}
