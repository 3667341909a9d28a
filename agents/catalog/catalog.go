// Package catalog is the one table of learners and of the policies they are compared with. There are no registries that
// packages fill by themselves: what Stoker can train or compare is what stands here.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/dqn"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Agent is a learner by name.
type Agent struct {
	Name, Doc string
	// Config returns a pointer to the learner's configuration, filled with defaults.
	Config func() any
	// New makes a learner from what Config returned.
	New func(config any, c agents.Context) (agents.Learner, error)
	// Open makes a policy from its file, acting on engine act.
	Open func(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error)
}

// Kind says what a rival is, in the words of eval.json.
type Kind string

// Kinds of rivals.
const (
	Learned   Kind = "learned"
	Heuristic Kind = "heuristic"
	// Oracle looks into the future or at the world's own state; it bounds what can be had.
	Oracle Kind = "oracle"
)

// Rival is a policy that is not learned, by name.
type Rival struct {
	Name, Doc string
	Kind      Kind
	// Envs are the environments for which it is made.
	Envs   []string
	Config func() any
	// New makes the rival for an environment such as env, from what Config returned.
	New func(config any, env envs.Env) (rollout.Actor, error)
}

// Agents lists the learners.
func Agents() []Agent {
	return []Agent{
		{
			Name: maddpg.Name, Doc: "multi-agent deterministic policy gradient with attention mean-field (FaaSConf), mean-field, joint or single critics",
			Config: func() any { c := maddpg.Default(); return &c },
			New: func(config any, c agents.Context) (agents.Learner, error) {
				return maddpg.New(*config.(*maddpg.Config), c)
			},
			Open: func(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
				return maddpg.OpenPolicy(f, spec, act)
			},
		},
		{
			Name: dqn.Name, Doc: "deep Q-learning over choices with masks, double as a switch; CleanRL's settings",
			Config: func() any { c := dqn.Default(); return &c },
			New: func(config any, c agents.Context) (agents.Learner, error) {
				return dqn.New(*config.(*dqn.Config), c)
			},
			Open: dqn.OpenPolicy,
		},
		{
			Name: reinforce.Name, Doc: "policy gradient over choices with masks: a learned value, a sequence's mean (DeepRM) or no baseline",
			Config: func() any { c := reinforce.Default(); return &c },
			New: func(config any, c agents.Context) (agents.Learner, error) {
				return reinforce.New(*config.(*reinforce.Config), c)
			},
			Open: reinforce.OpenPolicy,
		},
		{
			Name: spsa.Name, Doc: "two-point search of one action for all windows on counterfactual copies (HOPS' pricer, PBA)",
			Config: func() any { c := spsa.Default(); return &c },
			New: func(config any, c agents.Context) (agents.Learner, error) {
				return spsa.NewLearner(*config.(*spsa.Config), c)
			},
			Open: func(f *agents.PolicyFile, spec *envs.Spec, _ nets.Engine) (agents.Policy, error) {
				return spsa.OpenPolicy(f, spec)
			},
		},
	}
}

// FindAgent returns the learner of a name.
func FindAgent(name string) (Agent, error) {
	return find("agent", name, Agents(), func(a Agent) string { return a.Name })
}

// FindRival returns the rival of a name.
func FindRival(name string) (Rival, error) {
	return find("policy", name, Rivals(), func(r Rival) string { return r.Name })
}

func find[E any](what, name string, all []E, of func(E) string) (E, error) {
	var known []string
	for _, e := range all {
		if of(e) == name {
			return e, nil
		}
		known = append(known, of(e))
	}
	slices.Sort(known)
	var none E
	return none, fmt.Errorf("no %s %q; there are: %s", what, name, strings.Join(known, ", "))
}
