package envs_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

func TestParseJSON(t *testing.T) {
	var v struct {
		A int `json:"a"`
	}
	if err := envs.ParseJSON([]byte(" {\"a\": 3}\n"), &v); err != nil || v.A != 3 {
		t.Errorf("a is %d: %v", v.A, err)
	}
	for text, want := range map[string]string{
		"": "empty", "{": "unexpected EOF", `{"b": 1}`: `unknown field "b"`, `{"a": 1} 2`: "more after the JSON value",
		`{"a": "x"}`: "of type int",
	} {
		if err := envs.ParseJSON([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A reading that was left out is named, however deep; one that its type lets be is not.
func TestParseMeasured(t *testing.T) {
	type meter struct {
		P95   float64  `json:"p95"`
		Asked struct{} `json:"asked,omitzero"`
	}
	type Place struct {
		Node int `json:"node"`
	}
	type run struct {
		Place
		Since float64 `json:"since"`
	}
	var v struct {
		Began     int      `json:"began"`
		Functions []meter  `json:"functions"`
		Forecast  *float64 `json:"forecast,omitempty"`
		Running   []run    `json:"running,omitempty"`
	}
	for text, want := range map[string]string{
		`{"functions": []}`:                                           "began is missing",
		`{"began": 1, "functions": [{"p95": 1}, {}]}`:                 "functions[1].p95 is missing",
		`{"began": 1, "functions": [{"p95": 1}], "x":1}`:              "unknown field",
		`{"began": null, "functions": []}`:                            "began is missing",
		`{"began": 1, "functions": [null]}`:                           "functions[0] is missing",
		`{"began": 1, "functions": [{"p95": null}]}`:                  "functions[0].p95 is missing",
		`{"began": 1, "functions": [], "running": [{"since": 1}]}`:    "running[0].node is missing",
		`{"began": 1, "functions": [], "began": 2}`:                   `key "began" comes twice`,
		`{"began": 1, "functions": [{"p95": 1, "P95": 2}]}`:           `key "P95" comes twice`,
		`{"began": 1, "functions": [{"p95": 1, "\u0050\u00395": 2}]}`: `key "P95" comes twice`,
		`{"BEGAN": 1, "functions": []}`:                               "began is missing",
		`{"began": 1, "functions": [{"p95": 1}, {"p95": "a, [{"}]}`:   "functions[1].p95 is a string, want a number",
		`{"began": 1, "functions": [{"p95": 1}, 3]}`:                  "functions[1] is a number, want an object",
		`{"began": 1.0, "functions": []}`:                             "began is 1.0, want a whole number without a point",
		`[]`:                                                          "the text is a list, want an object",
		`{"began": [2], "functions": []}`:                             "began is a list, want a whole number",
		`{"began": 1, "functions": {"a\"": 1}}`:                       "functions is an object, want a list",
	} {
		if err := envs.ParseMeasured([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := envs.ParseMeasured([]byte(`{"began": 0, "functions": [{"p95": 0}], "running": null}`), &v); err != nil {
		t.Error(err)
	}
}

// The keys of measurements are listed as they stand in JSON, with their units.
func TestUnits(t *testing.T) {
	type Price struct {
		Money float64 `json:"money" unit:"USD"`
	}
	type tier struct {
		Price
		Queue []int `json:"queue" unit:"jobs"`
	}
	type meters struct {
		Tiers []tier   `json:"tiers"`
		Now   *float64 `json:"now,omitempty" unit:"s"`
	}
	want := []envs.Unit{{"tiers[].money", "USD", false}, {"tiers[].queue[]", "jobs", false}, {"now", "s", true}}
	if got := envs.Units(reflect.TypeOf(&meters{})); !slices.Equal(got, want) {
		t.Errorf("units %v, want %v", got, want)
	}
}
