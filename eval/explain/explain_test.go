package explain

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/tools/proof"
)

// linear scores the two choices of CartPole by ±w·x.
type linear struct {
	agents.Policy // what is not used here
	w             [4]float64
}

func (l *linear) Name() string       { return "linear" }
func (l *linear) Reset(uint64) error { return nil }

func (l *linear) score(x []float32) (sum float64) {
	for k, w := range l.w {
		sum += w * float64(x[k])
	}
	return sum
}

func (l *linear) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = 0
	if l.score(obs.Kinds[0].Values) < 0 {
		act.Kinds[0][0] = 1
	}
	return nil
}

func (l *linear) Insight(_ nets.Engine, rows int) (agents.Insight, error) {
	return &linearInsight{l, make([]float32, 2*rows), make([]float32, 4*rows)}, nil
}

type linearInsight struct {
	l       *linear
	out, by []float32
}

func (x *linearInsight) Outputs() []agents.Output { return []agents.Output{{Choice: 0}, {Choice: 1}} }

func (x *linearInsight) Forward(seen []float32) ([]float32, error) {
	for b := range len(x.out) / 2 {
		y := float32(x.l.score(seen[4*b : 4*b+4]))
		x.out[2*b], x.out[2*b+1] = y, -y
	}
	return x.out, nil
}

func (x *linearInsight) Gradient(weights []float32) ([]float32, error) {
	for i := range x.by {
		x.by[i] = float32(x.l.w[i%4]) * (weights[i/4*2] - weights[i/4*2+1])
	}
	return x.by, nil
}

func (x *linearInsight) Attention([]float32) ([]float32, error) { return nil, nil }

func request(t *testing.T, p agents.Policy) Request {
	t.Helper()
	env := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	return Request{Env: env, Policy: p, Act: native.New(native.Options{}), Seeds: []uint64{1, 2, 3, 4, 5}, Steps: 7,
		Replay: true}
}

// TestLinear: for a linear decision gradients are exact. The chosen logit less the mean is ±w·x, so that feature k
// has the effect mean |w_k (x_k − x̄_k)|, and nothing stays unexplained.
func TestLinear(t *testing.T) {
	p := &linear{w: [4]float64{0, 0.5, -4, 0.25}}
	r := request(t, p)
	var told int
	r.Progress = func(done, all int) {
		if told++; done != told || all != 5*(1+4) {
			t.Errorf("told %d of %d, want %d of 25", done, all, told)
		}
	}
	e := must.Get(Explain(t.Context(), r))(t)
	var states [][]float32
	run := rollout.NewRunner(r.Env)
	run.OnStep = func(s rollout.Step) { states = append(states, slices.Clone(s.Seen.Kinds[0].Values)) }
	for _, seed := range r.Seeds {
		must.Get(run.Episode(rollout.Actor{Policy: p}, seed))(t)
	}
	if e.States != len(states) || e.Episodes != 5 || len(e.Decisions) != 1 || e.Decisions[0].Component != "direction" {
		t.Fatalf("%d states of %d episodes, decisions %+v, want %d of 5 and one direction", e.States, e.Episodes,
			e.Decisions, len(states))
	}
	if e.Unexplained > 1e-5 {
		t.Errorf("gradients of a linear decision leave %g unexplained", e.Unexplained)
	}
	var effects [4]float64
	total := 0.0
	for k := range effects {
		var mean float64
		for _, x := range states {
			mean += float64(x[k]) / float64(len(states))
		}
		for _, x := range states {
			effects[k] += math.Abs(p.w[k]*(float64(x[k])-mean)) / float64(len(states))
		}
		total += effects[k]
	}
	by := e.Decisions[0].By
	if len(by) != 3 { // position has no weight
		t.Fatalf("attributed to %d features, want 3", len(by))
	}
	names, apart := r.Env.Spec().Kinds[0].Features, 0.0
	for i, a := range by {
		k := slices.Index(names, a.Feature)
		apart = max(apart, math.Abs(a.Effect.Value-effects[k])/total, math.Abs(a.Share.Value-effects[k]/total))
		if apart > 1e-5 {
			t.Errorf("%s: effect %g and share %g, want %g and %g", a.Feature, a.Effect.Value, a.Share.Value, effects[k],
				effects[k]/total)
		}
		if a.Share.Low >= a.Share.Value || a.Share.High <= a.Share.Value {
			t.Errorf("%s: share %g lies in [%g, %g]", a.Feature, a.Share.Value, a.Share.Low, a.Share.High)
		}
		if i > 0 && a.Effect.Value > by[i-1].Effect.Value {
			t.Error("attributions are not ranked")
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "stoker explain: attributions of a policy whose decisions are known by formula, and their order",
		Bound: "1e-5 of all", Measured: fmt.Sprintf("%.1e of all", apart), Holds: apart <= 1e-5,
	})
	if e.Features[0].Name != by[0].Feature || e.Features[0].Unit == "" {
		t.Errorf("the first feature is %q in %q, want %q with its unit", e.Features[0].Name, e.Features[0].Unit,
			by[0].Feature)
	}
	sum := 0.0
	for _, f := range e.Features {
		sum += f.Share.Value
		// What has no weight can be shuffled at no cost.
		if f.Name == "position" && (f.Moved != 0 || f.Lost.Value != 0) {
			t.Errorf("position shuffled moves decisions by %g and costs %g", f.Moved, f.Lost.Value)
		}
		if f.Name == by[0].Feature && (f.Moved < 0.1 || f.Lost.Low <= 0) {
			t.Errorf("%s shuffled moves decisions by %g and costs %+v, want both", f.Name, f.Moved, f.Lost)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares sum to %g", sum)
	}
}

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 99}, 1}, {[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{[]float64{1, 1, 1}, []float64{3, 2, 1}, 0},
		{[]float64{1, 2, 2, 4}, []float64{1, 3, 2, 4}, 0.9486832980505138}, // 4.5/√(4.5·5)
	} {
		if got := spearman(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("spearman(%v, %v) is %g, want %g", c.x, c.y, got, c.want)
		}
	}
}

func TestWrite(t *testing.T) {
	e := must.Get(Explain(t.Context(), request(t, &linear{w: [4]float64{1, 1, 1, 1}})))(t)
	half := Interval{0.5, 0.4, 0.6}
	e.Attention = []Link{{Agent: 0, To: 0, Weight: half, Equal: 0.5, LowLoad: &half, HighLoad: &half}}
	e.Attending = &Attending{Agents: 1, Entropy: Interval{1, 1, 1}}
	dir := filepath.Join(t.TempDir(), "new")
	files := must.Get(Write(dir, e))(t)
	if len(files) != 10 {
		t.Errorf("files are %v, want JSON, three tables and two figures as PNG, SVG and PDF", files)
	}
	b := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
	var back Explanation
	if err := json.Unmarshal(b, &back); err != nil || len(back.Features) != 4 || back.Features[0].Lost == nil {
		t.Errorf("read back: %v, %+v", err, back)
	}
	f := must.Get(os.Open(filepath.Join(dir, FeaturesFile)))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 5 || len(rows[1]) != 17 {
		t.Errorf("%s: %v, %v", FeaturesFile, rows, err)
	}
	var out bytes.Buffer
	must.Do(t, Text(&out, e, 2))
	for _, want := range []string{"angular velocity", "rad/s", "return lost", "Attention", "direction",
		"Weights are near equal"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Where the states are all of one episode, an effect has no upper bound. It is written all the same.
func TestWriteOneEpisode(t *testing.T) {
	effect := ratio([]float64{1, 0}, []float64{2, 0}, envs.AtLeast(0))
	if effect.Value != 0.5 || effect.Low != 0 || !math.IsInf(effect.High, 1) {
		t.Fatalf("the effect is %+v, want 0.5 from 0 on", effect)
	}
	e := &Explanation{Features: []Feature{{Name: "f"}}, Decisions: []Decision{{By: []Attribution{{Feature: "f", Effect: effect}}}}}
	dir := t.TempDir()
	must.Get(Write(dir, e))(t)
	b := must.Get(os.ReadFile(filepath.Join(dir, File)))(t)
	if !strings.Contains(string(b), `"hi": null`) {
		t.Errorf("%s has no bound that is null:\n%s", File, b)
	}
	rows := must.Get(os.ReadFile(filepath.Join(dir, DecisionsFile)))(t)
	if !strings.Contains(string(rows), ",0.5,0,,") {
		t.Errorf("%s has no effect of 0.5 from 0 on:\n%s", DecisionsFile, rows)
	}
}

// opaque is a policy without gradients.
type opaque struct{ agents.Policy }

func (opaque) Name() string { return "opaque" }

func TestRefused(t *testing.T) {
	p := &linear{}
	for _, c := range []struct {
		want string
		set  func(*Request)
	}{
		{"at least 2", func(r *Request) { r.Seeds = r.Seeds[:1] }},
		{"steps is 0", func(r *Request) { r.Steps = 0 }},
		{"states is -1", func(r *Request) { r.States = -1 }}, {"states is 1", func(r *Request) { r.States = 1 }},
		{"is missing", func(r *Request) { r.Act = nil }},
		{"opaque gives no gradients", func(r *Request) { r.Policy = opaque{} }},
	} {
		r := request(t, p)
		c.set(&r)
		if _, err := Explain(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := Explain(ctx, request(t, p)); !errors.Is(err, stop) {
		t.Errorf("stopped, the error is %v", err)
	}
}
