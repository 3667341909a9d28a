package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/firm"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/envs"
	placementenv "github.com/stoker-rl/stoker/envs/placement"
	hops "github.com/stoker-rl/stoker/envs/pricing"
	sizingenv "github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/nets"
)

// Agent is a row of the table of learners whose policies are opened by a function of their own.
type Agent struct {
	// Name stands in policy files.
	Name string
	// Open makes a policy from its file, acting on engine act. Statistics of observations that agents/normalise keeps are
	// not its concern.
	Open func(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error)
	// State says that what a policy does depends on what it saw before, so that each sequence of decisions needs a state
	// of its own.
	State bool
}

// Agents returns the table: learners whose policies are more than an actor. All others are opened by their description
// ([actor.Open]), whoever made them.
func Agents() []Agent {
	return []Agent{{Name: firm.Name, Open: firm.OpenPolicy, State: true}}
}

// agent finds who opens the policies of a learner: a row of more, of the table, or the description itself.
func agent(name string, description json.RawMessage, more []Agent) (Agent, error) {
	for _, a := range slices.Concat(more, Agents()) {
		if a.Name == name {
			return a, nil
		}
	}
	if actor.Describes(description) {
		return Agent{Name: name, Open: actor.Open}, nil
	}
	return Agent{}, fmt.Errorf("made by agent %q, which this program does not know, and its description is none of format %s",
		name, actor.Format)
}

// open makes a policy, with the statistics of observations where it has any.
func (a *Agent) open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	return normalise.Open(f, spec, func(f *agents.PolicyFile, spec *envs.Spec) (agents.Policy, error) {
		return a.Open(f, spec, act)
	})
}

// Fallback is a row of the table of rules that can act in a policy's place. It has the name and the configuration of
// the catalog's baseline.
type Fallback struct {
	Name string
	// Envs are the ids of the environments for which it is made; the first row for an environment is its default.
	Envs []string
	// New makes the rule from its configuration as JSON, on its defaults; nil stands for these.
	New func(config json.RawMessage, env envs.Env) (envs.Policy, error)
	// State says that what it does depends on what it saw before.
	State bool
}

// Fallbacks returns the table.
func Fallbacks() []Fallback {
	return []Fallback{
		{"autoscaler", sizingenv.IDs(), rule(sizing.DefaultAutoscaler, sizing.OfEach(sizing.NewAutoscaler)), true},
		{"fixed", sizingenv.IDs(), rule(sizing.DefaultFixed, sizing.OfEach(sizing.NewFixed)), false},
		{"spss", []string{hops.ID}, rule(pricing.DefaultSPSS, pricing.NewSPSS), false},
		{"arms", []string{hops.SlotsID}, rule(hops.DefaultARMS, pricing.NewARMS), true},
		{"torpor", []string{hops.SlotsID}, rule(pricing.DefaultTorpor, pricing.NewTorpor), true},
		{"has-gpu", []string{hops.SlotsID}, rule(pricing.DefaultHAS, pricing.NewHAS), true},
		{"mqfq-sticky", []string{hops.SlotsID}, rule(pricing.DefaultMQFQ, pricing.NewMQFQ), true},
		{"fcfs-nodes", []string{placementenv.ID}, rule(placement.DefaultFCFS, placement.NewFCFS), false},
		{"sjf-nodes", []string{placementenv.ID}, rule(placement.DefaultSJF, placement.NewSJF), false},
		{"packer-nodes", []string{placementenv.ID}, rule(placement.DefaultPacker, placement.NewPacker), false},
		{"tetris", []string{placementenv.ID}, rule(placement.DefaultTetris, placement.NewTetris), false},
	}
}

// rule is a row's New: defaults, what the JSON changes, and the constructor.
func rule[C any, P envs.Policy](config func() C,
	build func(C, envs.Env) (P, error)) func(json.RawMessage, envs.Env) (envs.Policy, error) {
	return func(text json.RawMessage, env envs.Env) (envs.Policy, error) {
		c := config()
		if len(text) > 0 {
			if err := envs.ParseJSON(text, &c); err != nil {
				return nil, err
			}
			var named struct{ File string }
			if err := json.Unmarshal(text, &named); err != nil || named.File != "" {
				return nil, fmt.Errorf("file is %q: no file is opened for a bundle; write the numbers that it holds in its place",
					named.File)
			}
		}
		p, err := build(c, env)
		if err != nil {
			return nil, err // not p: an interface around a nil pointer would not be nil
		}
		return p, nil
	}
}

// FallbacksOf returns the rows for an environment, its default first.
func FallbacksOf(id string) []Fallback {
	return slices.DeleteFunc(Fallbacks(), func(f Fallback) bool { return !slices.Contains(f.Envs, id) })
}

// fallback finds the row of a rule for an environment among more rows, which come first, and the table.
func fallback(name, id string, more []Fallback) (Fallback, error) {
	var names []string
	for _, f := range slices.Concat(more, Fallbacks()) {
		if !slices.Contains(f.Envs, id) {
			continue
		}
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Fallback{}, fmt.Errorf("fallback %q is not one for %s; there are: %s", name, id, strings.Join(names, ", "))
}
