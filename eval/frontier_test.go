package eval

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// Baselines play under the values of a key; the first family has a ratio of 1.
func TestRunFrontier(t *testing.T) {
	q := FrontierRequest{Names: catalog.Default(), Config: "sizing/attmf", Baselines: []string{"autoscaler.cpu=0.3,0.7", "fixed"},
		Sets: []string{"env.windows=10", "eval.seeds=1-4"}, Levels: []float64{0.6, 1}, Resamples: 100, Workers: 2}
	r := must.Get(RunFrontier(t.Context(), q))(t)
	if len(r.Points) != 3 || r.Points[0].Setting != "cpu 0.3" || r.Points[2].Family != "fixed" || r.Objective != "price" {
		t.Errorf("points are %+v", r.Points)
	}
	if r.Points[0].Price.Mean <= r.Points[1].Price.Mean || r.Points[2].Price.Lo != r.Points[2].Price.Hi {
		t.Errorf("prices are %+v", r.Points)
	}
	if l := r.Levels[0]; l.Ratio.Mean != 1 || l.Price.Mean != r.Points[1].Price.Mean {
		t.Errorf("where a little more than %v may be violated the cheapest counts: %+v", r.Points[1].Violated, r.Levels)
	}
	if l := r.Levels[2]; !l.Below {
		t.Errorf("where far more than %v may be violated a cheaper setting may do: %+v", r.Points[1].Violated, r.Levels)
	}
	files, err := pareto.Write(t.TempDir(), r)
	if err != nil || len(files) < 4 || !strings.Contains(pareto.Text(r), "autoscaler.cpu") {
		t.Errorf("%v, %v", files, err)
	}
	oracle := q
	oracle.Baselines, oracle.Sets = []string{"fixed", "oracle.weight=1"}, []string{"env.windows=1", "eval.seeds=1-2"}
	if r := must.Get(RunFrontier(t.Context(), oracle))(t); !slices.Equal(r.Bounds, []string{"oracle.weight"}) {
		t.Errorf("bounds are %q, want the oracle", r.Bounds)
	}
	for text, want := range map[string]string{
		"autoscaler.cpu": "want a baseline's name", "autoscaler=1": "want a baseline's name", "autoscaler.cpu=0.3,": "want a baseline's name",
		"nobody": "nobody", "autoscaler.cp=1": "unknown key", "": "want a baseline's name",
		"autoscaler.cpu=0.3,0.3": `"autoscaler.cpu, cpu 0.3" is named twice`,
	} {
		q.Baselines = []string{text}
		if _, err := RunFrontier(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	q.Dial = []string{"1"}
	if _, err := RunFrontier(t.Context(), q); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "name a run") {
		t.Errorf("a dial of nobody: %v", err)
	}
	sets := q.Sets
	q.Paths, q.Config, q.Sets = of(t, "s1"), "", nil
	if _, err := RunFrontier(t.Context(), q); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "without a dial") {
		t.Errorf("a dial of a run that has none: %v", err)
	}
	q.Dial, q.Paths, q.Config, q.Sets = nil, nil, "sizing/attmf", sets
	q.Baselines = nil
	if _, err := RunFrontier(t.Context(), q); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "nothing to compare") {
		t.Errorf("nobody: %v", err)
	}
	q.Config, q.Baselines, q.Sets = "classic/lqr", []string{"random"}, nil
	if _, err := RunFrontier(t.Context(), q); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "better lower") {
		t.Errorf("an environment without a constraint: %v", err)
	}
}

// Plans that are served have frontiers, too: of the excess over episodes that miss the percentile. The ratio is that of the
// costs, which are 1 + excess of the same. A dial of theirs has the key of its range.
func TestServedFrontier(t *testing.T) {
	q := FrontierRequest{Names: catalog.Default(), Config: "variants/served-dial", Baselines: []string{"exact.margin=0.3,0.7", "linear"},
		Sets: []string{"env.requests=100", "eval.seeds=10001-10008", "env.functions=[3, 6]"}, Levels: []float64{1}, Resamples: 100, Workers: 2}
	r := must.Get(RunFrontier(t.Context(), q))(t)
	if len(r.Points) != 3 || r.Objective != "excess" || r.LimitUnit != "1" || r.Points[0].Price.Mean <= r.Points[1].Price.Mean ||
		r.Points[0].Violated.Mean > r.Points[1].Violated.Mean {
		t.Errorf("points are %+v", r)
	}
	one, other := r.Levels[0], r.Levels[1]
	if got, want := other.Ratio.Mean, (1+other.Price.Mean)/(1+one.Price.Mean); got != want || one.Price.Mean == other.Price.Mean {
		t.Errorf("the ratio is %g, want %g", got, want)
	}
	x := must.Get(configs.Load("variants/served-dial", nil, catalog.Default()))(t)
	if key, dial := dialOf(x); dialAt(key, "3") != "env.penalties=[3, 3]" || !slices.Equal(dial, []float64{1, 50}) {
		t.Errorf("the dial is %s, %v", key, dial)
	}
	x = must.Get(configs.Load("sizing/main", nil, catalog.Default()))(t)
	if key, dial := dialOf(x); dialAt(key, "3") != "env.reward.dial=[3]" || len(dial) != 2 {
		t.Errorf("the main job's dial is %s, %v", key, dial)
	}
}

// A share that rounding puts a bit below zero is none.
func TestShare(t *testing.T) {
	for violated, want := range map[float64]string{math.Nextafter(1, 2): "0 %", 1: "0 %", 0: "100 %", 0.025: "97.5 %"} {
		if got := share(1-violated, violated); got != want {
			t.Errorf("of %v violated %q is kept, want %q", violated, got, want)
		}
	}
}
