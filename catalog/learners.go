package catalog

import (
	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/dqn"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// learners are the rows that come with Stoker.
func learners() []Learner {
	return []Learner{
		DefineLearner(Learner{
			Name: maddpg.Name, Page: "docs/agents/maddpg.md",
			Doc: "multi-agent deterministic policy gradient with attention mean-field (FaaSConf), mean-field, joint or single critics",
		}, maddpg.Default, maddpg.New, maddpg.OpenPolicy),
		DefineLearner(Learner{
			Name: dqn.Name, Page: "docs/agents/dqn.md",
			Doc: "deep Q-learning over choices with masks, double as a switch; CleanRL's settings",
		}, dqn.Default, dqn.New, dqn.OpenPolicy),
		DefineLearner(Learner{
			Name: reinforce.Name, Page: "docs/agents/reinforce.md",
			Doc: "policy gradient over choices with masks: a learned value, a sequence's mean (DeepRM) or no baseline",
		}, reinforce.Default, reinforce.New, reinforce.OpenPolicy),
		DefineLearner(Learner{
			Name: spsa.Name, Page: "docs/agents/spsa.md",
			Doc: "two-point search of one action for all windows on counterfactual copies (HOPS' pricer, PBA)",
		}, spsa.Default, spsa.NewLearner, func(f *agents.PolicyFile, spec *envs.Spec, _ nets.Engine) (*spsa.Held, error) {
			return spsa.OpenPolicy(f, spec)
		}),
	}
}
