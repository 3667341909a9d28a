package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
)

// The test part has the configuration's eval.set, as in stoker eval, and what the client sets over that.
func TestOpenRemoteEvalSet(t *testing.T) {
	c := &call{Program: &Program{Catalog: catalog.Default()}, ctx: context.Background(), errs: io.Discard}
	for sets, want := range map[string]map[string]int{`[]`: {"train": 500, "test": 7}, `["env.max_steps=9"]`: {"train": 9, "test": 9}} {
		for split, steps := range want {
			request := `{"config": "c", "text": "{name: x, agent: {name: ppo}, env: {id: stoker/CartPole-v1}, eval: {set: [env.max_steps=7]}}", ` +
				`"split": "` + split + `", "overrides": ` + sets + `}`
			build, _, err := c.openRemote([]byte(request))
			must.Do(t, err)
			if got := must.Get(build())(t).Spec().MaxSteps; got != steps {
				t.Errorf("%s with %s has %d steps, want %d", split, sets, got, steps)
			}
		}
	}
}

// The test part of generated applications is not that of training, as in stoker eval.
func TestOpenRemoteUnseen(t *testing.T) {
	c := &call{Program: &Program{Catalog: catalog.Default()}, ctx: context.Background(), errs: io.Discard}
	for _, id := range []string{"stoker/VariantsEach-v1", "stoker/Steps-v1"} {
		seen := map[string][]byte{}
		for _, split := range []string{"train", "test"} {
			request := `{"config": "c", "text": "{name: x, agent: {name: ppo}, env: {id: ` + id + `}}", "split": "` + split + `"}`
			build, _, err := c.openRemote([]byte(request))
			must.Do(t, err)
			e := must.Get(build())(t)
			o := envs.NewObservation(e.Spec())
			must.Do(t, e.Reset(5, nil, o))
			seen[split] = must.Get(state.Append(nil, "observation", o))(t)
		}
		if bytes.Equal(seen["train"], seen["test"]) {
			t.Errorf("%s: seed 5 shows the same application in training and in tests", id)
		}
	}
}

// The client hears which keys have other names now, once, and in both parts of the workload.
func TestOpenRemoteNotes(t *testing.T) {
	c := &call{Program: &Program{Catalog: catalog.Default()}, ctx: context.Background(), errs: io.Discard}
	for _, split := range []string{"train", "test"} {
		_, o, err := c.openRemote([]byte(`{"config": "c", "split": "` + split + `", "text": "{name: x, agent: {name: ppo}, ` +
			`env: {id: stoker/CartPole-v1}, eval: {rivals: [random], set: [env.max_steps=7]}}"}`))
		must.Do(t, err)
		if want := []string{"c:1: eval.rivals is called eval.baselines now"}; !slices.Equal(o.Notes, want) {
			t.Errorf("%s: the notes are %q, want %q", split, o.Notes, want)
		}
	}
}

// A client of step-server names a configuration by file, shipped name or text, and hears what is wrong with it.
func TestOpenRemote(t *testing.T) {
	c := &call{Program: &Program{Catalog: catalog.Default()}, ctx: context.Background(), errs: io.Discard}
	for request, want := range map[string]string{
		`{"config": "pricing/hops-pricer", "overrides": ["env.windows=3"]}`:                                                                      "",
		`{"config": "c", "text": "{\"name\": \"x\", \"agent\": {\"name\": \"ppo\"}, \"env\": {\"id\": \"stoker/Pricing-v1\", \"windows\": 3}}"}`: "",
		`{"config": "pricing/hops-pricer", "overrides": ["env.window=3"]}`:                                                                       "did you mean windows",
		`{"config": "c", "text": "{name: x, agent: {name: ppo}, env: {id: stoker/Pricing-v1, windows: -3}}"}`:                                    "windows",
		`{"config": "nosuch.yaml"}`:                              "nosuch.yaml",
		`{"config": "pricing/hops-pricer", "illegal": "maybe"}`:  "illegal",
		`{"config": "pricing/hops-pricer", "split": "some"}`:     "split",
		`{"config": "pricing/hops-pricer", "copies": "several"}`: "no JSON of the expected form",
	} {
		build, o, err := c.openRemote([]byte(request))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want something of %q", request, err, want)
			}
			continue
		}
		must.Do(t, err)
		if e := must.Get(build())(t); o.Copies != 1 || !o.Substitute || e.Spec().MaxSteps != 3 {
			t.Errorf("%s: %+v, %d steps", request, o, e.Spec().MaxSteps)
		}
	}
}

// A number of workers below none is refused.
func TestOpenRemoteWorkers(t *testing.T) {
	c := &call{Program: &Program{Catalog: catalog.Default()}, ctx: context.Background(), errs: io.Discard}
	if _, _, err := c.openRemote([]byte(`{"config": "lqr", "workers": -1}`)); err == nil || !strings.Contains(err.Error(), "workers is -1") {
		t.Errorf("workers: -1 gives %v", err)
	}
}
