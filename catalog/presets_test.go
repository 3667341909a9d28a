package catalog_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
)

// A shipped configuration says all that a preset would say: presets change no shipped result.
func TestShippedConfigurationsStandWithoutPresets(t *testing.T) {
	for _, name := range configs.Shipped() {
		text := must.Get(configs.Read(name))(t)
		with := must.Get(configs.Parse(name, text, nil, catalog.Default()))(t)
		without := must.Get(configs.ParseResolved(name, text, nil, catalog.Default()))(t)
		if a, b := yamlOf(t, with), yamlOf(t, without); !bytes.Equal(a, b) {
			t.Errorf("configs/%s leaves a preset's key out: write its value into the file\n%s", name, differing(a, b))
		}
	}
}

// differing are the lines of a that b does not have.
func differing(a, b []byte) string {
	other := strings.Split(string(b), "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(string(a), "\n"), func(l string) bool {
		return slices.Contains(other, l)
	}), "\n")
}

func yamlOf(t *testing.T, x *configs.Experiment) []byte {
	t.Helper()
	text := must.Get(x.YAML())(t)
	return text
}

// Every preset and every list of baselines is read, belongs to its environment, and a file with them resolves to a file
// that reads back to the same.
func TestPresetsAreRead(t *testing.T) {
	all := catalog.Default()
	for _, e := range all.Envs {
		learners := []string{"maddpg"}
		for name := range e.Presets {
			learners = append(learners, name)
		}
		for _, name := range learners {
			source := "preset of " + name + " in " + e.ID
			x := must.Get(configs.Parse(source, []byte("name: p\nenv: "+e.ID+"\nagent: "+name+"\n"), nil, all))(t)
			for _, r := range x.Eval.Baselines {
				row, err := all.Baseline(r.Name)
				if err != nil || all.PlaysIn(row, e.ID) == "" || row.Kind == catalog.Oracle {
					t.Errorf("%s: baseline %s: %v, made for %v, %s", e.ID, r.Name, err, row.Envs, row.Kind)
				}
			}
			a := yamlOf(t, x)
			y, err := configs.Parse(source, a, nil, all)
			if err != nil {
				t.Fatalf("%s\n%s", err, a)
			}
			if b := yamlOf(t, y); !bytes.Equal(a, b) {
				t.Errorf("%s reads back to other settings:\n%s", source, differing(a, b))
			}
		}
	}
}

// The file's keys go over the preset's, and what a file turns off stays off in its resolved form.
func TestTheFileGoesOverPresets(t *testing.T) {
	const text = "name: p\nenv: stoker/Sizing-v3\nagent: {name: ppo, entropy: 0.02}\n"
	for _, c := range []struct{ more, want string }{
		{"", "gamma: 0.5\nlog_std: -1\nentropy: 0.02\nnormalize_observation:\nclip: 10\nautoscaler"},
		{"wrappers: {normalize_observation: {clip: 0}}\neval: {baselines: []}\n", "gamma: 0.5\nclip: 0\nbaselines: []"},
		{"wrappers: {normalize_observation: {}}\neval: {baselines: [random]}\n", "clip: 10\nname: random"},
	} {
		x := must.Get(configs.Parse("test", []byte(text+c.more), nil, catalog.Default()))(t)
		a := yamlOf(t, x)
		for _, want := range strings.Split(c.want, "\n") {
			if !strings.Contains(string(a), want) {
				t.Errorf("with %q: no %q in\n%s", c.more, want, a)
			}
		}
		y := must.Get(configs.Parse("again", a, nil, catalog.Default()))(t)
		if b := yamlOf(t, y); !bytes.Equal(a, b) {
			t.Errorf("with %q: reads back to other settings:\n%s", c.more, differing(a, b))
		}
	}
}
