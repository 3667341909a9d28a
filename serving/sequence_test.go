package serving_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
)

// Decisions of a sequence follow each other; those of others do not change it, and start and end begin anew.
func TestSequences(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(_ *serving.Options, p *policy.Options) { p.Shadow, p.NoGuard, p.Sequences = true, true, 3 }, serving.Files{})
	p, all := seen(t, "faasconf")
	// In shadow mode the autoscaler acts: with its base first, and after what it sees from the second window on.
	busy := p.NewObservation()
	busy.CopyFrom(all[0])
	features := p.Spec().Kinds[0].Features
	for i := range busy.Kinds[0].Values {
		if name := features[i%len(features)]; name == "cpu share" || name == "places taken" {
			busy.Kinds[0].Values[i] = 1.5
		}
	}
	ask := func(saw string, params string) []float32 {
		t.Helper()
		status, body, _ := r.send(t, "POST", faasconf+"/infer", `{"parameters":{`+params+`},"inputs":[`+saw+`]}`)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", params, status, body)
		}
		return parse(t, body).output("scores")
	}
	saw := vectors(p, busy)
	first := ask(saw, `"sequence_id":7`)
	second := ask(saw, `"sequence_id":7`)
	if slices.Equal(first, second) {
		t.Fatalf("the rule decides %v whatever came before: it shows nothing; features are %q", first, features)
	}
	if got := ask(saw, `"sequence_id":8`); !slices.Equal(got, first) {
		t.Errorf("the first of another sequence is %v, want %v", got, first)
	}
	if got := ask(saw, `"sequence_id":8,"sequence_end":true`); !slices.Equal(got, second) {
		t.Errorf("the second of another sequence is %v, want %v", got, second)
	}
	if got := ask(saw, `"sequence_id":8`); !slices.Equal(got, first) {
		t.Errorf("after its end it decided %v, want %v", got, first)
	}
	if got := ask(saw, `"sequence_id":7,"sequence_start":true`); !slices.Equal(got, first) {
		t.Errorf("after a start it decided %v, want %v", got, first)
	}
	ask(saw, `"sequence_id":"nine"`)
	status, body, h := r.send(t, "POST", faasconf+"/infer", `{"parameters":{"sequence_id":10},"inputs":[`+saw+`]}`)
	if status != http.StatusTooManyRequests || !strings.Contains(body, "3 sequences are in use") ||
		h.Get("Retry-After") == "" {
		t.Errorf("more sequences than there is room for: %d %s", status, body)
	}
	for params, want := range map[string]string{
		`"sequence_id":true`: "want a number or a text", `"sequence_id":"` + strings.Repeat("x", 300) + `"`: "at most 256 bytes",
		`"observed_at":"yesterday"`: "want seconds since 1970", `"timeout":-1`: "want microseconds",
		`"observed_at":"0001-01-01T00:00:00Z"`: "want seconds since 1970", // not: no time
	} {
		status, body, _ := r.send(t, "POST", faasconf+"/infer", fmt.Sprintf(`{"parameters":{%s},"inputs":[%s]}`, params, saw))
		if status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%.40s: %d %.200s, want %s", params, status, body, want)
		}
	}
}

// An observation that is too old goes to the fallback, and the answer says so.
func TestStale(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(_ *serving.Options, p *policy.Options) { p.MaxAge = 60e9 }, serving.Files{})
	p, all := seen(t, "faasconf")
	for at, want := range map[string]string{"1700000000": "fallback", `"2023-11-14T22:13:20Z"`: "fallback", "1700000000.5": "fallback"} {
		_, body, _ := r.send(t, "POST", faasconf+"/infer", `{"parameters":{"observed_at":`+at+`},"inputs":[`+vectors(p, all[0])+`]}`)
		if a := parse(t, body); a.Params["decided_by"] != want ||
			!strings.HasPrefix(fmt.Sprint(a.Params["reason"]), "stale") {
			t.Errorf("observed at %s: %s", at, body)
		}
	}
	_, body, _ := r.send(t, "POST", faasconf+"/infer", `{"inputs":[`+vectors(p, all[0])+`]}`)
	if a := parse(t, body); a.Params["decided_by"] != "policy" {
		t.Errorf("observed now: %s", body)
	}
	if m := r.scrape(t); !strings.Contains(m, `stoker_fallbacks_total{model="faasconf",reason="stale"} 3`) {
		t.Error("metrics do not count stale observations")
	}
}

// The sequences of a client that has most give way to those of one that has none, the oldest first; nobody has more than
// a fair share while others ask.
func TestSequencesOfPeers(t *testing.T) {
	p := must.Get(policy.OpenBytes(bundleOf(t, "faasconf"), policy.Options{Shadow: true, NoGuard: true, Sequences: 10}))(t)
	_, all := seen(t, "faasconf")
	out := envs.NewAction(p.Spec())
	ask := func(from string, n int) error {
		_, err := p.DecideFor(t.Context(), policy.Request{Seen: all[0], Out: out, Sequence: fmt.Sprint(from, n), From: from})
		return err
	}
	for n := range 11 {
		if err := ask("stranger", n); (err == nil) != (n < 10) {
			t.Errorf("sequence %d of one client: %v", n, err)
		}
	}
	for n := range 6 {
		if err := ask("honest", n); (err == nil) != (n < 5) {
			t.Errorf("sequence %d of another client: %v", n, err)
		}
	}
	if err := ask("stranger", 20); err == nil {
		t.Error("the first client got more than its share")
	}
	if err := ask("third", 0); err != nil || p.Sequences() != 10 {
		t.Errorf("a third client: %v, %d sequences", err, p.Sequences())
	}
}
