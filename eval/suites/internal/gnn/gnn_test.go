package gnn

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// Configurations of stand-ins for the zoo's policies, trained for a few steps only.
const (
	deepRMYAML = `{name: d, seed: 1, env: {id: stoker/DeepRM-v1, observation: compact, rate: 1, sets: 100}, agent: {name: reinforce, hidden: [4]},
		train: {steps: 400, copies: 1}, eval: {stochastic: true}, engine: {workers: 1, threads: 1}}`
	gnnYAML = `{name: g, seed: 1, env: {id: stoker/Placement-v2, hold: false, seconds: 2, window: 4, running: 4, load: 0.3, load_to: 1},
		agent: {name: reinforce, graph: {hidden: 4, layers: 1}}, train: {steps: 100, copies: 1},
			engine: {workers: 1, threads: 1}}`
	dqnYAML = `{name: q, seed: 1, env: {id: stoker/PlacementFlat-v1, hold: false, seconds: 2, window: 2, running: 2},
		agent: {name: dqn, hidden: [4], learning_starts: 50, batch: 4}, train: {steps: 100, copies: 1},
			engine: {workers: 1, threads: 1}}`
)

// practice trains a stand-in and gives it the name of one of the zoo's.
func practice(t *testing.T, name, yaml string) *trained {
	t.Helper()
	x := must.Get(configs.Parse(name, []byte(yaml), nil, catalog.Default()))(t)
	res := must.Get(train.Start(t.Context(), x, train.Options{RunsDir: t.TempDir()}))(t)
	p := must.Get(eval.OpenTrained(catalog.Default(), res.Checkpoint, nil))(t)
	p.Source = zoo.Prefix + name
	return &trained{p}
}

// brief shortens episodes.
func brief(c *placement.Config) { c.Seconds, c.MaxTime = 2, 60 }

type run func(context.Context, suite.Options, *suite.Report) error

// same runs a suite with one and with several workers, and expects the same bytes.
func same(t *testing.T, s suite.Suite, do run, seeds ...uint64) *suite.Result {
	t.Helper()
	s.Run = do
	result := suitetest.Same(t, s, 3, seeds...)
	for _, r := range result.Rows {
		if r.Paper != nil && math.Abs(float64(r.Ours) / *r.Paper - float64(r.Ratio)) > 1e-9 {
			t.Errorf("%s: ratio %v of %v and %v", r.Quantity, r.Ratio, r.Ours, *r.Paper)
		}
	}
	if text := suite.Text(result); strings.Contains(text, "NaN") || strings.Contains(text, "n/a") {
		t.Errorf("something could not be computed:\n%s", text)
	}
	return result
}

// noted reports whether a note says something.
func noted(res *suite.Result, text string) bool {
	return slices.ContainsFunc(res.Notes, func(n string) bool { return strings.Contains(n, text) })
}

// claim is the claim that begins so.
func claim(t *testing.T, res *suite.Result, begin string) suite.Claim {
	t.Helper()
	for _, c := range res.Claims {
		if strings.HasPrefix(c.Claim, begin) {
			return c
		}
	}
	t.Fatalf("no claim begins with %q", begin)
	return suite.Claim{}
}

// Fig. 3 with stand-ins for all policies: rows with the paper's values for each, verdicts of each, and the rules
// alike in both readings.
func TestFig3(t *testing.T) {
	deep, gnn, dqn := practice(t, "deeprm-test", deepRMYAML), practice(t, gnnName, gnnYAML), practice(t, dqnName, dqnYAML)
	x, c := *deep.Experiment, *deep.deepRM()
	c.Slots = 20
	x.Env.Config = &c
	other := *deep.Trained
	other.Experiment, other.Source = &x, "zoo:deeprm-other"
	deeper := trained{&other}
	res := same(t, Fig3(), func(ctx context.Context, o suite.Options, r *suite.Report) error {
		err := deepRM(ctx, &o, r, deepRMSize{rates: []float64{0.4, 0.7, 1}, per: 2, zoo: []*trained{deep, &deeper}})
		return errors.Join(err, onNodes(ctx, &o, r,
			nodesSize{loads: []float64{0.7, 1.3, 1.9}, gnn: gnn, dqn: dqn, change: brief}))
	}, 1, 2, 3)
	for _, want := range []string{
		"number by number", "zoo:deeprm-other does not play on DeepRM's cluster: it was trained on another cluster",
	} {
		if !noted(res, want) {
			t.Errorf("notes do not say %q: %q", want, res.Notes)
		}
	}
	count := map[string]int{}
	for _, r := range res.Rows {
		switch {
		case strings.HasPrefix(r.Figure, "3, ") && r.Paper != nil:
			count["fig3"]++
		case strings.Contains(r.Quantity, "against") && r.Paper != nil:
			count["effects"]++
		case strings.Contains(r.Quantity, dqnName+" against"):
			count["dqn"]++
		}
	}
	if want := map[string]int{
		"fig3": 12 + 4, "effects": len(effects), "dqn": len(effects),
	}; !reflect.DeepEqual(count, want) {
		t.Errorf("rows: %v, want %v", count, want)
	}
	if len(res.Claims) != 7+6 || len(res.Figures) != 2 {
		t.Errorf("%d claims and %d figures", len(res.Claims), len(res.Figures))
	}
	for _, c := range res.Claims {
		if strings.Contains(c.Found, nobody) {
			t.Errorf("%q: %s", c.Claim, c.Found)
		}
	}
	// A policy of a few hundred steps is not below 5 at 190 %, and three seeds order nobody.
	if c := claim(t, res, "Fig. 3: the learned curve stays below 5"); c.Verdict == suite.Holds {
		t.Errorf("%+v", c)
	}
	for _, c := range res.Comparisons {
		if c.Verdict != "undecided" {
			t.Errorf("three seeds decide on %s: %s is %s than %s", c.Setting, c.A, c.Verdict, c.B)
		}
	}
}

// Without the zoo's policies that is said, and the rules are compared.
func TestFig3Rules(t *testing.T) {
	res := same(t, Fig3(), func(ctx context.Context, o suite.Options, r *suite.Report) error {
		err := deepRM(ctx, &o, r, deepRMSize{rates: []float64{0.4, 0.7, 1}, per: 2})
		return errors.Join(err, onNodes(ctx, &o, r, nodesSize{loads: []float64{0.7, 1.3, 1.9}, change: brief}))
	}, 1, 2)
	for _, want := range []string{
		"no policy of stoker/DeepRM-v1", "zoo:gnn-placement does not play", "zoo:dqn-placement does not play",
	} {
		if !noted(res, want) {
			t.Errorf("notes do not say %q: %q", want, res.Notes)
		}
	}
	if c := claim(t, res, "above 110 %"); c.Verdict != suite.Unknown || c.Found != nobody {
		t.Errorf("%+v", c)
	}
	for _, c := range res.Comparisons {
		if c.A != starName && c.A != tetrisName {
			t.Errorf("%s is compared", c.A)
		}
	}
}

// The settings of generalisation: the trained one first, loads within the training's marked, TPC-H without data said
// to be missing; and transfer.
func TestGeneralise(t *testing.T) {
	gnn := practice(t, gnnName, gnnYAML)
	scratch := practice(t, scratchName, strings.Replace(gnnYAML, "hold: false", "hold: false, system: 5", 1))
	further, fifth := *scratch.Trained, *scratch.Experiment
	fifth.Train.Steps /= 5
	further.Experiment, further.Source = &fifth, zoo.Prefix+transferName
	moved := trained{&further}
	size := generalSize{
		gnn: gnn, scratch: scratch, transfer: &moved, kinds: []string{placement.Poisson, placement.Steady, placement.TPCH},
		systems: []uint64{0, 2},
		loads:   []float64{0.2, 0.7, 1.9}, load: 0.7, change: brief,
	}
	var all []*place
	res := same(t, Generalise(), func(ctx context.Context, o suite.Options, r *suite.Report) error {
		var err error
		if all, err = places(&suite.Report{}, size); err != nil {
			return err
		}
		return generalise(ctx, &o, r, size)
	}, 1, 2, 3)
	var names []string
	for _, p := range all {
		if p.known {
			names = append(names, p.name+" *")
		} else {
			names = append(names, p.name)
		}
	}
	if want := []string{
		"steady *", "poisson", "system 2", "load 20 %", "load 70 % *", "load 190 %",
	}; !slices.Equal(names, want) {
		t.Errorf("settings %q, want %q", names, want)
	}
	for _, want := range []string{
		"TPC-H's jobs are not played", "at loads from 30 to 100 %", "2 of the loads here lie outside",
	} {
		if !noted(res, want) {
			t.Errorf("notes do not say %q: %q", want, res.Notes)
		}
	}
	// The same policy with a fifth of the steps has all of the performance.
	if c := claim(t, res, "a policy fine-tuned"); c.Verdict != suite.Holds ||
		!strings.Contains(c.Found, "after 20 % of the steps") {
		t.Errorf("%+v", c)
	}
	if c := claim(t, res, "performance stays"); !strings.Contains(c.Found, "poisson") ||
		strings.Contains(c.Found, "load 190 %)") {
		t.Errorf("%+v", c)
	}
	size.data = t.TempDir()
	if _, err := places(&suite.Report{}, size); !errors.Is(err, train.ErrUsage) ||
		!strings.Contains(err.Error(), "tpch_dags_summary.json") {
		t.Errorf("%v, want an error that names the file", err)
	}
	size.gnn, size.data = dqnOf(t), ""
	if _, err := places(&suite.Report{}, size); err == nil || !strings.Contains(err.Error(), deeprm.ID) {
		t.Errorf("%v, want an error that names the environment of the training", err)
	}
}

// dqnOf is a policy of another environment.
func dqnOf(t *testing.T) *trained { return practice(t, "deeprm-test", deepRMYAML) }

// Without policies the rules are shown in every setting.
func TestGeneraliseRules(t *testing.T) {
	res := same(t, Generalise(), func(ctx context.Context, o suite.Options, r *suite.Report) error {
		return generalise(ctx, &o, r, generalSize{kinds: []string{placement.Poisson}, load: 0.7, loads: []float64{1.9},
			change: brief})
	}, 1, 2)
	if len(res.Figures) != 1 || len(res.Tables) != 1 || claim(t, res, "performance").Found != nobody {
		t.Errorf("%v, %v, %+v", res.Figures, res.Tables, res.Claims)
	}
}

// Fig. 1 on two small graphs: rows for each, slopes, and no GPU is said where there is none.
func TestFig1(t *testing.T) {
	s := Fig1()
	s.Run = func(ctx context.Context, o suite.Options, r *suite.Report) error {
		return fig1(ctx, &o, r, fig1Size{edges: []int{100, 1000}, time: time.Millisecond})
	}
	res := must.Get(suite.Run(t.Context(), s, suite.Options{Seeds: []uint64{1, 2}}, filepath.Join(t.TempDir(), "out"),
		suite.Made{}))(t)
	if len(res.Rows) != 6 && len(res.Rows) != 12 || len(res.Figures) != 1 ||
		res.Rows[0].Quantity != "a training step, 10² edges" || !(res.Rows[0].Ours > 0) {
		t.Errorf("%d rows, %d figures: %+v", len(res.Rows), len(res.Figures), res.Rows)
	}
	if !noted(res, "no GPU is measured") && len(res.Rows) == 6 {
		t.Errorf("that no GPU is measured is not said: %q", res.Notes)
	}
	if c := claim(t, res, "training time stays"); c.Verdict != suite.Unknown {
		t.Errorf("without a million edges it is said that it %s", c.Verdict)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
	if got := slopes([]int{10, 100, 1000}, [][]float64{{2}, {20}, {200}})[0][0]; math.Abs(got-1) > 1e-12 {
		t.Errorf("in proportion has the slope %v", got)
	}
}

// What the zoo has plays; nobody is given other constants than the packages'.
func TestZoo(t *testing.T) {
	deep := must.Get(shipped(deepRMPrefix))(t)
	c := deeprm.Default()
	c.Observation = deeprm.Compact
	for _, p := range deep {
		if _, why := p.onDeepRM(c); why != "" {
			t.Errorf("%s: %s", p.Source, why)
		}
	}
	for _, name := range []string{gnnName, dqnName, scratchName, transferName} {
		p := must.Get(fromZoo(name))(t)
		if p == nil {
			continue
		}
		w := newWorld()
		if name == scratchName || name == transferName {
			w.config.Workload, w.config.System, w.config.TPCH = p.serverless().Workload, p.serverless().System,
				p.serverless().TPCH
		}
		if _, why := p.onNodes(w); why != "" {
			t.Errorf("%s: %s", p.Source, why)
		}
	}
	if got := newWorld().config; !reflect.DeepEqual(got, placement.Default()) {
		t.Errorf("the cluster is %+v", got)
	}
}

// The paper's words are held against an interval as they are meant.
func TestSaid(t *testing.T) {
	for _, c := range []struct {
		value  paperValue
		lo, hi float64
		want   string
	}{
		{paperValue{lo: 5, hi: 5, word: "under"}, 3, 4.9, suite.Holds},
		{paperValue{lo: 5, hi: 5, word: "under"}, 4, 6, suite.Unknown},
		{paperValue{lo: 5, hi: 5, word: "under"}, 5.1, 6, suite.Fails},
		{paperValue{lo: 12, hi: 12, word: "over"}, 13, 14, suite.Holds},
		{paperValue{lo: 12, hi: 12, word: "over"}, 11, 14, suite.Unknown},
		{paperValue{lo: 12, hi: 12, word: "over"}, 9, 11, suite.Fails},
		{paperValue{lo: 8, hi: 9}, 8.9, 9.5, suite.Holds},
		{paperValue{lo: 8, hi: 9}, 9.1, 9.5, suite.Fails},
		{paperValue{lo: 7, hi: 7, word: "about"}, 5, 6.2, suite.Fails},
		{paperValue{lo: 7, hi: 7, word: "about"}, 5, 6.4, suite.Holds},
	} {
		if got := c.value.rule()(report.Estimate{Low: c.lo, High: c.hi}); got != c.want {
			t.Errorf("%v to %v against %s: %s, want %s", c.lo, c.hi, c.value.says(), got, c.want)
		}
	}
}
