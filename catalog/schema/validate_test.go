package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// check holds a value against the part of JSON Schema that configs/schema.json uses. A keyword that it doesn't know
// fails.
func check(s map[string]any, v any, at string) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := keyword(s, key, v, at); err != nil {
			return err
		}
	}
	return nil
}

func keyword(s map[string]any, key string, v any, at string) error {
	rule := s[key]
	x, isNumber := v.(float64)
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	text, isText := v.(string)
	ok := true
	switch key {
	case "$schema", "title", "description", "default":
	case "type":
		switch rule {
		case "object":
			ok = isObject
		case "array":
			ok = isList
		case "string":
			ok = isText
		case "boolean":
			_, ok = v.(bool)
		case "number":
			ok = isNumber
		case "integer":
			ok = isNumber && x == math.Trunc(x)
		}
	case "enum":
		ok = slices.ContainsFunc(rule.([]any), func(e any) bool { return reflect.DeepEqual(e, v) })
	case "const":
		ok = reflect.DeepEqual(rule, v)
	case "pattern":
		ok = !isText || regexp.MustCompile(rule.(string)).MatchString(text)
	case "minimum":
		ok = !isNumber || x >= rule.(float64)
	case "maximum":
		ok = !isNumber || x <= rule.(float64)
	case "exclusiveMinimum":
		ok = !isNumber || x > rule.(float64)
	case "exclusiveMaximum":
		ok = !isNumber || x < rule.(float64)
	case "required":
		for _, k := range rule.([]any) {
			ok = ok && (!isObject || object[k.(string)] != nil)
		}
	case "items":
		for i, e := range list {
			if err := check(rule.(map[string]any), e, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "properties":
		for k, e := range object {
			if p, known := rule.(map[string]any)[k]; known {
				if err := check(p.(map[string]any), e, at+"."+k); err != nil {
					return err
				}
			}
		}
	case "additionalProperties":
		for k := range object {
			if _, known := s["properties"].(map[string]any)[k]; !known {
				return fmt.Errorf("%s: key %s is not allowed", at, k)
			}
		}
	case "oneOf":
		var errs []string
		for _, one := range rule.([]any) {
			if err := check(one.(map[string]any), v, at); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if n := len(rule.([]any)) - len(errs); n != 1 {
			return fmt.Errorf("%s: fits %d of oneOf: %s", at, n, strings.Join(errs, "; "))
		}
	default:
		return fmt.Errorf("%s: unknown keyword %s", at, key)
	}
	if !ok {
		return fmt.Errorf("%s: %v breaks %s %v", at, v, key, rule)
	}
	return nil
}

func read(t *testing.T) map[string]any {
	t.Helper()
	var s map[string]any
	must.Do(t, json.Unmarshal(configs.Schema(), &s))
	return s
}

// value is a YAML text as JSON would have it.
func value(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	must.Do(t, yaml.Load(text, &v))
	b := must.Get(json.Marshal(v))(t)
	v = nil
	must.Do(t, json.Unmarshal(b, &v))
	return v
}

// TestShippedFit: every experiment that is shipped fits the schema, as it stands and with its defaults filled in, and
// says to editors where the schema is.
func TestShippedFit(t *testing.T) {
	s := read(t)
	for _, path := range configs.Shipped() {
		file := filepath.Join("../../configs", filepath.FromSlash(path))
		text, err := os.ReadFile(file)
		must.Do(t, err)
		if err := check(s, value(t, text), path); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(text), "# yaml-language-server: $schema=../schema.json\n") {
			t.Errorf("%s does not begin with: # yaml-language-server: $schema=../schema.json", path)
		}
		x, err := configs.Load(file, nil, catalog.Default())
		must.Do(t, err)
		if text, err = x.YAML(); err != nil {
			t.Fatal(err)
		}
		if err := check(s, value(t, text), path+" in full"); err != nil {
			t.Error(err)
		}
	}
}

// TestAgrees: what configurations can say one key at a time, schema and code judge alike.
func TestAgrees(t *testing.T) {
	s := read(t)
	texts, apart := 0, 0
	const env, agent = "name: x\nenv: {id: stoker/LQR-v1}\n", "agent: {name: maddpg, mix: single}\n"
	for _, c := range []struct {
		text string
		want bool
	}{
		{env + agent, true},
		{"name: x\nenv: stoker/LQR-v1\nagent: maddpg\n", true},
		{env, false},
		{"name: x y\nenv: {id: stoker/LQR-v1}\n" + agent, false},
		{"name: x\nenv: {id: stoker/None-v1}\n" + agent, false},
		{"name: x\nenv: {id: stoker/LQR-v1, steps: 0}\n" + agent, false},
		{"name: x\nenv: {id: stoker/LQR-v1, windows: 3}\n" + agent, false},
		{"name: x\nenv: {id: " + sizing.ID + ", windows: 3}\n" + agent, true},
		{"name: x\nenv: {id: " + sizing.ID + ", initial: [0, 0.5, 1, 1]}\n" + agent, true},
		{"name: x\nenv: {id: " + sizing.ID + ", initial: [2, 0.5, 1, 1]}\n" + agent, false},
		{"name: x\nenv: {id: " + sizing.ID + ", workflow: circle}\n" + agent, false},
		{env + "agent: {name: maddpg, gamma: 1}\n", true},
		{env + "agent: {name: maddpg, gamma: 1.01}\n", false},
		{env + "agent: {name: maddpg, tau: 0}\n", false},
		{env + "agent: {name: maddpg, batch: 200000, replay: 300000}\n", true},
		{env + "agent: {name: maddpg, batch: 0}\n", false},
		{env + "agent: {name: maddpg, batch: 1.5}\n", false},
		{env + "agent: {name: maddpg, hidden: [0]}\n", false},
		{env + "agent: {name: maddpg, activation: gelu}\n", false},
		{env + "agent: {name: maddpg, activatoin: relu}\n", false},
		{env + agent + "train: {steps: 0}\n", false},
		{env + agent + "train: {evaluate: {every: 0, episodes: 0}}\n", true},
		{env + agent + "seed: -1\n", false},
		{env + agent + "engine: {device: \"cuda:3\", name: torch}\n", true},
		{env + agent + "engine: {name: abacus}\n", false},
		{env + agent + "workload: {kind: poisson, rate: 0}\n", false},
		{env + agent + "workload: {kind: poisson, rate: 0.1}\n", true},
		{env + agent + "workload: {kind: or}\n", false},
		{env + agent + "eval: {baselines: [fixed, {name: oracle, sweeps: 2}]}\n", true},
		{env + agent + "eval: {baselines: [{name: oracle, sweeps: -2}]}\n", false},
	} {
		texts++
		_, err := configs.Parse("test.yaml", []byte(c.text), nil, catalog.Default())
		if (err == nil) != c.want {
			apart++
			t.Errorf("%s\nthe code says %v, want accepted: %v", c.text, err, c.want)
		}
		if err := check(s, value(t, []byte(c.text)), "test"); (err == nil) != c.want {
			apart++
			t.Errorf("%s\nthe schema says %v, want accepted: %v", c.text, err, c.want)
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "ways in", Claim: fmt.Sprintf("stoker train --schema: schema and code judge %d configurations alike", texts),
		Bound: "no difference", Measured: fmt.Sprintf("%d differences", apart), Holds: apart == 0,
	})
}

// TestDescribed: every key of the learner and of the experiment says what it is.
func TestDescribed(t *testing.T) {
	var walk func(s map[string]any, at string)
	walk = func(s map[string]any, at string) {
		props, _ := s["properties"].(map[string]any)
		for k, p := range props {
			p := p.(map[string]any)
			if d, _ := p["description"].(string); d == "" && k != "env" && k != "agent" && !strings.HasPrefix(at+"."+k, ".workload.minutes") {
				t.Errorf("%s.%s has no description", at, k)
			}
			walk(p, at+"."+k)
		}
		for _, list := range []any{s["oneOf"]} {
			kinds, _ := list.([]any)
			for _, o := range kinds {
				walk(o.(map[string]any), at)
			}
		}
	}
	walk(read(t), "")
}
