package configs

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Preset is what works for a learner in an environment. A configuration has it where its file leaves the key out.
type Preset struct {
	// Agent has keys of the section agent, as YAML: "gamma: 0.5".
	Agent string
	// Wrappers are on where the file has no section of that name.
	Wrappers Wrappers
}

// Presetter is a [Catalog] that knows what works in an environment.
type Presetter interface {
	// Preset returns what works for a learner there; it may be empty.
	Preset(env, agent string) Preset
	// Baselines returns the list eval.rivals, as YAML, of a file that has none; it may be empty.
	Baselines(env string) string
}

// plain hides that a catalog has presets.
type plain struct{ Catalog }

// ParseResolved is Parse for a text that [Experiment.YAML] or a checkpoint wrote, which holds every key: a key that is not
// there has the default that it had when the text was written, not a preset.
func ParseResolved(source string, text []byte, sets []string, t Catalog) (*Experiment, error) {
	x, err := Parse(source, text, sets, plain{t})
	if err == nil {
		x.Catalog = t
	}
	return x, err
}

// preset returns what a catalog has for the experiment's environment and learner, empty where it has no presets.
func preset(t Catalog, env, agent string) Preset {
	if p, ok := t.(Presetter); ok {
		return p.Preset(env, agent)
	}
	return Preset{}
}

// presetAgent is t.AgentConfig with the preset of an environment in it.
func presetAgent(t Catalog, env string) func(name string) (any, error) {
	return func(name string) (any, error) {
		c, err := t.AgentConfig(name)
		text := preset(t, env, name).Agent
		if err != nil || text == "" {
			return c, err
		}
		n, err := setting(text)
		if err != nil {
			return nil, fmt.Errorf("preset of %s: %w", env, err)
		}
		r := reader{lines: map[string]int{}}
		if !r.examine(n, reflect.TypeOf(c), "agent.") {
			return nil, fmt.Errorf("preset of %s: %s", env, r.problems[0].Text)
		}
		return c, n.Load(c)
	}
}

// baselines returns the rivals of a file that has none, nil where the catalog has none.
func baselines(t Catalog, env string) *yaml.Node {
	p, ok := t.(Presetter)
	if !ok || p.Baselines(env) == "" {
		return nil
	}
	n, err := setting(p.Baselines(env))
	if err != nil {
		return nil // a list that is no YAML: the catalog's Check says so
	}
	for _, c := range n.Content {
		c.Line = 0
	}
	return n
}

// wrappers returns what a file's section wrappers begins with: presets where it has no section of that name.
func (p Preset) wrappers(n *yaml.Node) Wrappers {
	w := wrappersNamed(n)
	if value(n, "normalize_observation") == nil {
		w.NormalizeObservation = p.Wrappers.NormalizeObservation
	}
	if value(n, "normalize_reward") == nil {
		w.NormalizeReward = p.Wrappers.NormalizeReward
	}
	return w
}
