package sweep

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The example in the help is a sweep's file, and says all keys.
func TestFileKeys(t *testing.T) {
	got := must.Get(parseFile("rates.yaml", []byte(FileKeys)))(t)
	law := must.Get(ParseLaw("uniform(0.9,0.99)"))(t)
	want := &Request{
		Config: "configs/classic/lqr.yaml", Name: "rates", Seeds: "1-2", Metric: "return",
		Set:    []string{"train.steps=20000"},
		Grid:   []Axis{{"agent.actor_rate", []string{"1e-4", "3e-4"}}, {"agent.hidden", []string{"[32, 32]", "[64, 64]"}}},
		Random: []Range{{"agent.gamma", law}}, Trials: 5, Seed: 1,
		Study: Study{Halving: "5000", Factor: 3, Hyperband: true, ScoreSeeds: "4001-4010", Final: "3x5", Propose: "optuna:tpe", Batch: 8},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, k := range fileKeys {
		if !strings.Contains("\n"+FileKeys, "\n"+k+":") {
			t.Errorf("the help does not name %s", k)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"gird: {a: [1]}":          "f.yaml:1: gird is no key of a sweep's file; did you mean grid",
		"seeds: 1\ngrid: [1]":     "f.yaml:2: grid wants keys and values",
		"grid: {agent.tau: 1}":    "f.yaml:1: grid agent.tau wants a list of values",
		"random: {a: log(1,2)}":   "f.yaml:1: random a is \"log(1\": within {…} a law needs quotes",
		"random:\n  a: norm(1,2)": "f.yaml:1: random a is \"norm(1,2)\"",
		"trials: -1":              "trials is \"-1\", want a whole number of at least 0",
		"seed: x":                 "seed is \"x\", want a whole number",
		"seeds: [1, 2]":           "seeds wants one value",
		"[1, 2]":                  "want keys and values",
		"a: b: c":                 "f.yaml: ",
	} {
		if _, err := parseFile("f.yaml", []byte(text)); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
