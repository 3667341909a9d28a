package policy_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/policy"
)

// The pricing environments are known without the files that their demand and work come from, and without the scheduler
// inside; rules that fit their pool act in them. Too many functions are refused before anything is made.
func TestPricingNeedsNoFile(t *testing.T) {
	for _, w := range policy.Worlds() {
		if w.ID != pricing.ID && w.ID != pricing.SlotsID {
			continue
		}
		for _, c := range []struct{ config, rule string }{
			{`{"work":{"service":"measured","latencies":"elsewhere","width":"pods","pods":"elsewhere"}}`, ""},
			{`{"pool":"fixed","scheduler":"torpor"}`, "torpor"}, {`{"pool":"elastic","layout":{"warm":"shared"}}`, "has-gpu"}, {`{"acts":"moves"}`, "arms"},
		} {
			if w.ID == pricing.ID && strings.Contains(c.config, "moves") {
				continue
			}
			env, err := w.New([]byte(c.config), []byte(`{"kind":"azure2019","path":"elsewhere"}`))
			if err != nil {
				t.Errorf("%s with %s: %v", w.ID, c.config, err)
				continue
			}
			for _, f := range policy.FallbacksOf(w.ID) {
				if f.Name != c.rule {
					continue
				}
				if _, err := f.New(nil, env); err != nil {
					t.Errorf("%s with %s: %s: %v", w.ID, c.config, f.Name, err)
				}
			}
		}
		if _, err := w.New([]byte(`{"tiers":[{"functions":1000000000000}]}`), nil); err == nil ||
			!strings.Contains(err.Error(), "functions of all") {
			t.Errorf("%s: a bundle of 10¹² functions: error %v", w.ID, err)
		}
	}
}
