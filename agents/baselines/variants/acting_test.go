package variants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
)

// Plans act in the environments, and none is better than the exact one.
func TestPlansAct(t *testing.T) {
	c := variants.DefaultEnv()
	c.Functions, c.Ideal = []int{3, 8}, variants.Best
	e := must.Get(variants.NewEach(c, nil))(t)
	exact := must.Get(rules.NewExact(rules.DefaultExact(), e))(t)
	prcp := must.Get(rules.NewActing("prcp", e, rules.Corrected(), rules.PRCP))(t)
	linear := must.Get(rules.NewLinear(rules.DefaultLinear(), e))(t)
	ideal := must.Get(e.Spec().InfoIndex("ideal"))(t)
	sums := map[string]float64{}
	const episodes = 12
	for name, a := range map[string]rollout.Actor{"exact": {Planner: exact}, "prcp": {Planner: prcp},
		"linear": {Policy: linear}} {
		r := rollout.NewRunner(e)
		for seed := range uint64(episodes) {
			ep := must.Get(r.Episode(a, seed))(t)
			sums[name] += ep.Info[ideal]
		}
	}
	if sums["exact"] < 0.99*episodes || sums["prcp"] > sums["exact"] || sums["linear"] > sums["exact"] ||
		sums["linear"] < 0.9*episodes {
		t.Errorf("shares of the ideal over %d episodes: %v", episodes, sums)
	}
}

func TestWrongWeights(t *testing.T) {
	e := must.Get(variants.NewEach(variants.DefaultEnv(), nil))(t)
	file := filepath.Join(t.TempDir(), "rule.json")
	must.Do(t, os.WriteFile(file, []byte(`{"baseline": "rule", "config": {}}`), 0o600))
	for want, c := range map[string]rules.LinearConfig{
		"want 14":             {Weights: []float64{1}},
		"no such file":        {File: file + "x"},
		`of baseline "rule"`:  {File: file},
		"beside a file":       {File: file, Weights: []float64{1}},
		"weights[0] is 1e+07": {Weights: []float64{1e7}},
	} {
		if _, err := rules.NewLinear(c, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
