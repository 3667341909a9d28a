package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Every environment in the table is built by its defaults, is what its ID says and keeps the contract.
func TestEntries(t *testing.T) {
	problems := 0
	for _, e := range catalog.Default().Envs {
		t.Run(e.ID, func(t *testing.T) {
			config := e.Config()
			if err := bounds.Check(config); err != nil {
				t.Errorf("the defaults are invalid: %v", err)
			}
			if v, ok := config.(interface{ Validate() error }); ok {
				if err := v.Validate(); err != nil {
					t.Errorf("the defaults are invalid: %v", err)
				}
			}
			checkTags(t, reflect.TypeOf(config).Elem())
			env := must.Get(e.New(config, workload.Default()))(t)
			if id := env.Spec().ID; id != e.ID {
				t.Errorf("the environment calls itself %s", id)
			}
			if strings.TrimSpace(e.Doc) == "" {
				t.Error("it has no Doc")
			}
			if testing.Short() {
				return
			}
			c := counter{TB: t}
			o := envtest.Options{Seeds: []uint64{1}, Steps: 15}
			if *long {
				o = envtest.Options{Seeds: []uint64{1, 2}, Steps: 30}
			}
			envtest.Run(&c, func() (envs.Env, error) { return e.New(e.Config(), workload.Default()) }, o)
			problems += c.errors
		})
	}
	if testing.Short() {
		return
	}
	proof.Claim(t, proof.Row{
		Topic:    "environments",
		Claim:    fmt.Sprintf("all %d environments pass envtest's %d checks", len(catalog.Default().Envs), len(envtest.Checks())),
		Bound:    "no problem",
		Measured: fmt.Sprintf("%d problems", problems),
		Holds:    problems == 0,
	})
}

// checkTags: what a user writes in a file has a name there.
func checkTags(t *testing.T, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.IsExported() && f.Tag.Get("yaml") == "" {
			t.Errorf("%s.%s has no yaml tag", typ, f.Name)
		}
	}
}

func TestConfigurationsAreNotShared(t *testing.T) {
	for _, e := range catalog.Default().Envs {
		a, b := e.Config(), e.Config()
		if a == b {
			t.Errorf("%s: Config returns the same pointer twice", e.ID)
		}
		if _, err := e.New(struct{}{}, workload.Default()); err == nil || !strings.Contains(err.Error(), "want a *") {
			t.Errorf("%s: a foreign configuration gives %v", e.ID, err)
		}
	}
}

// An error's environment is nil, not an interface around nothing.
func TestFailingBuildIsNil(t *testing.T) {
	e := must.Get(catalog.Default().Env("stoker/CartPole-v1"))(t)
	c := e.Config()
	reflect.ValueOf(c).Elem().FieldByName("MaxSteps").SetInt(-1)
	if env, err := e.New(c, workload.Default()); err == nil || env != nil {
		t.Errorf("an invalid configuration gives %v, %v", env, err)
	}
}

func TestFind(t *testing.T) {
	for _, e := range catalog.Default().Envs {
		if f, err := catalog.Default().Env(e.ID); err != nil || f.ID != e.ID {
			t.Errorf("%q finds %q, error %v", e.ID, f.ID, err)
		}
	}
	for given, want := range map[string]string{
		"stoker/CartPol-v1":  `Did you mean "stoker/CartPole-v1"?`,
		"stoker/CartPole-v2": `Did you mean "stoker/CartPole-v1"?`,
		"CartPole":           `Did you mean "stoker/CartPole-v1"?`,
		"sizng":              `Did you mean "stoker/Sizing-v2"?`,
		"gym/CartPole-v1":    `Did you mean "stoker/CartPole-v1"?`,
	} {
		if _, err := catalog.Default().Env(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want a message with %s", given, err, want)
		}
	}
	_, err := catalog.Default().Env("x")
	if err == nil || strings.Contains(err.Error(), "mean") || !strings.Contains(err.Error(), "stoker/LQR-v1") {
		t.Errorf("a name that is near none gives %v", err)
	}
}

// What is wrong with an application's file is said with its line and field, in every environment that takes one.
func TestApplicationFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, []byte(text), 0o666))
		return file
	}
	const app = "name: a\nworkflow: {nodes: [{name: f}]}\nfunctions:\n  - name: f\n    memory: {sizes: [128, 256]}\n"
	good := write("good.yaml", app+"    variants: [{law: {form: exponential, a: 1, b: 2, c: 0.01}}]\n")
	for file, want := range map[string]string{
		good: "",
		write("law.yaml", app+"    variants: [{law: {form: exponential, a: 1, b: -2, c: 0.01}}]\n"): "law.yaml:6: " +
			"functions[0].variants[0].law.b is -2, want a number from 0",
		write("key.yaml", app+"    variants: [{laws: {form: exponential}}]\n"): "key.yaml:6: unknown key functions[0].variants[0].laws",
		write("empty.yaml", ""):            "the file is empty",
		filepath.Join(dir, "missing.yaml"): "no such file",
	} {
		for _, id := range []string{variants.ID, variants.EachID, catalog.EachFlatID} {
			e, err := catalog.Default().Env(id)
			must.Do(t, err)
			c := variants.DefaultEnv()
			c.Workflow = file
			_, err = e.New(&c, workload.Default())
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", id, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: error %v, want %q", id, err, want)
			}
		}
	}
}

// What is wrong with a file of steps is said with its line and field.
func TestWorkflowFiles(t *testing.T) {
	const text = "name: a\nworkflow: {nodes: [{name: f}, {name: g}], edges: [{from: f, to: g}]}\nsteps:\n" +
		"  - {name: f, tasks: 8, law: {a: 1}, download: {objects: 8, mb: 4}, upload: {objects: 0, mb: 0}}\n" +
		"  - {name: g, tasks: 8, law: {a: 1}, download: {objects: 8, mb: 4}, upload: {objects: 1, mb: 2}}\n"
	file := filepath.Join(t.TempDir(), "flow.yaml")
	e := must.Get(catalog.Default().Env(steps.ID))(t)
	for want, text := range map[string]string{
		"":                                     text,
		"flow.yaml:5: steps[1].law is missing": strings.Replace(text, "{name: g, tasks: 8, law: {a: 1},", "{name: g, tasks: 8,", 1),
		"flow.yaml:5: steps[1].upload is missing": strings.Replace(text, ", upload: {objects: 1, mb: 2}", "", 1),
		"flow.yaml:1: slo is 0.1 s, which is ":    "slo: 0.1\n" + text,
	} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o666))
		c := steps.DefaultEnv()
		c.Workflow = file
		_, err := e.New(&c, workload.Default())
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
