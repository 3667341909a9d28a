package zoo

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// evaluated is an eval.json, as short as can be: one policy better than another.
const evaluated = `{
 "env": "stoker/Bandit-v1", "env_config": {"arms": 3, "more": true}, "workload": {"kind": "poisson"}, "seeds": [1, 2, 3, 7], "split": "test",
 "statistic": "mean", "metrics": [{"name": "return", "unit": "", "better": "higher"}, {"name": "share", "unit": "of all", "better": ""}],
 "policies": [
  {"name": "a", "kind": "learned", "training_seeds": [1, 2], "sources": ["runs/a-s1/checkpoints/x", "runs/a-s2/checkpoints/x"],
   "metrics": {"return": {"iqm": 1234.5, "lo": -3, "hi": 0.25}, "share": {"iqm": null, "lo": null, "hi": null}}},
  {"name": "b", "kind": "heuristic", "metrics": {}}],
 "comparisons": [
  {"a": "a", "b": "b", "metric": "return", "difference": 2, "simultaneous_lo": 1, "simultaneous_hi": 3, "p_holm": 0.01, "scope": "method", "verdict": "better"},
  {"a": "a", "b": "b", "metric": "share", "difference": 2, "simultaneous_lo": 1, "simultaneous_hi": 3, "p_holm": 0.01, "scope": "method", "verdict": "undecided"},
  {"a": "c", "b": "b", "metric": "return", "difference": 2, "simultaneous_lo": 1, "simultaneous_hi": 3, "p_holm": 0.01, "scope": "method", "verdict": "better"}]}`

// TestPage: a card's page has the numbers, the verdicts and the settings in which evaluation and training differ.
func TestPage(t *testing.T) {
	e := must.Get(ReadEvaluation([]byte(evaluated), "zoo:x", "runs/a-s2/checkpoints/x"))(t)
	if e.Policy != "a" || len(e.Comparisons) != 2 || e.Policies[0].Sources != nil {
		t.Fatalf("%+v, want the comparisons of a alone, and no paths", e)
	}
	c := Card{
		Name: "x", About: "Nothing.", Seeds: []uint64{1, 2}, Seed: 2, Steps: 1234567, Planned: 2000000,
		Remake:      []string{"stoker train x.yaml"},
		Evaluations: []Evaluation{*e},
		Config:      []byte(`{"env":{"id":"stoker/Bandit-v1","arms":2,"more":true},"workload":{"kind":"poisson"}}`),
	}
	page := must.Get(c.Page())(t)
	for _, want := range []string{
		"## Evaluation: env.arms 3\n", "4 workload seeds (1–3, 7)", "| a | 1,235 [−3, 0.25] | – [–, –] |",
		"with 2 training seeds",
		"| a − b | return | 2 | [1, 3] | 0.01 | **better** | method |", "1,234,567 of the 2,000,000", "stoker train x.yaml",
		`"arms": 2`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "undecided") {
		t.Error("a quantity of which neither direction is better has a verdict")
	}
}

// TestReadEvaluationRefuses: a text that is no eval.json, or has not the policy, is an error.
func TestReadEvaluationRefuses(t *testing.T) {
	for _, c := range [][3]string{{"[]", "a", "eval.json"}, {"{}", "a", "none of them"},
		{evaluated, "q", "none of them is q"}} {
		if _, err := ReadEvaluation([]byte(c[0]), c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%.20s, %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}

// TestNames: an entry's name needs no quoting on a command line or as a folder.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"hops-pricer": true, "a1": true, "": false, "1a": false, "A": false,
		"a/b": false, "-a": false, "a b": false} {
		c := Card{Name: name, About: "x"}
		if got := c.validate() == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", name, got, want)
		}
	}
	if c := (Card{Name: "a"}); c.validate() == nil {
		t.Error("a card that says nothing of its policy is accepted")
	}
}

// TestEstimate: a card shows the mean with its interval, the range of two or three training seeds, or what an older
// evaluation has.
func TestEstimate(t *testing.T) {
	x := func(v float64) *float64 { return &v }
	mean := Estimate{IQM: x(9), Lo: x(8), Hi: x(10), Mean: x(2), MeanLo: x(1), MeanHi: x(4)}
	few := mean
	few.BySeed = []float64{1.5, 3, 1.75}
	many := mean
	many.BySeed = []float64{1, 2, 3, 2}
	for want, e := range map[string]Estimate{
		"2 [1, 4]": many, "2 (1.5 to 3)": few, "9 [8, 10]": {IQM: x(9), Lo: x(8), Hi: x(10), Mean: x(2)}, "– [–, –]": {},
	} {
		if e.String() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
	if mean.String() != many.String() {
		t.Errorf("one policy: %s", mean)
	}
}
