package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/dqn"
	"github.com/stoker-rl/stoker/agents/firm"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/agents/sac"
	"github.com/stoker-rl/stoker/agents/simppo"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Agent is a row of the table of learners whose policies can be opened.
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

// Agents returns the table. The catalog's learners take their openers from it.
func Agents() []Agent {
	return []Agent{
		{Name: maddpg.Name, Open: maddpg.OpenPolicy},
		{Name: firm.Name, Open: firm.OpenPolicy, State: true},
		{Name: dqn.Name, Open: dqn.OpenPolicy},
		{Name: sac.Name, Open: sac.OpenPolicy},
		{Name: reinforce.Name, Open: reinforce.OpenPolicy},
		{Name: ppo.Name, Open: ppo.OpenPolicy},
		{Name: simppo.Name, Open: simppo.OpenPolicy},
		{Name: spsa.Name, Open: openHeld},
	}
}

// openHeld makes the policy that holds one action: it needs no engine.
func openHeld(f *agents.PolicyFile, spec *envs.Spec, _ nets.Engine) (agents.Policy, error) {
	p, err := spsa.OpenPolicy(f, spec)
	if err != nil {
		return nil, err // not p: an interface around a nil pointer would not be nil
	}
	return p, nil
}

// Opener is the function of the table that opens the policies of a learner; nil where there is none.
func Opener(name string) func(*agents.PolicyFile, *envs.Spec, nets.Engine) (agents.Policy, error) {
	for _, a := range Agents() {
		if a.Name == name {
			return a.Open
		}
	}
	return nil
}

// agent finds a learner's row among more rows, which come first, and the table.
func agent(name string, more []Agent) (Agent, error) {
	all := slices.Concat(more, Agents())
	names := make([]string, len(all))
	for i, a := range all {
		if a.Name == name {
			return a, nil
		}
		names[i] = a.Name
	}
	return Agent{}, fmt.Errorf("made by agent %q, which this program does not know; it knows %s", name,
		strings.Join(names, ", "))
}

// open makes a policy, with the statistics of observations where it has any.
func (a *Agent) open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	return normalise.Open(f, spec, func(f *agents.PolicyFile, spec *envs.Spec) (agents.Policy, error) {
		return a.Open(f, spec, act)
	})
}
