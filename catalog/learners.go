package catalog

import (
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/dqn"
	"github.com/stoker-rl/stoker/agents/firm"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/agents/sac"
	"github.com/stoker-rl/stoker/agents/simppo"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// learners are the rows that come with Stoker. Their forms differ in what they keep: who sees whom, weights of one's
// own or shared, and the history of safe exploration; replay or trajectories, targets or none.
func learners() []Learner {
	const cartPole, spread = "stoker/CartPole-v1", "stoker/SimpleSpread-v1"
	both := []string{sizing.ID, spread}
	return []Learner{
		DefineLearner(Learner{
			Name: maddpg.Name, Page: "docs/agents/maddpg.md",
			Doc: "multi-agent deterministic policy gradient with attention mean-field (FaaSConf), mean-field, joint or " +
				"single critics",
			Forms: []Form{
				{"attention", "mix: attention, keys: 2", both},
				{"attention, shared weights", "mix: attention, keys: 2, score: squared, shared: true, norm: layer",
					[]string{sizing.ID, sizing.CountedID, spread}},
				{"mean", "mix: mean", both},
				{"joint", "mix: joint", both},
				{"single", "mix: single, standardise: false", both},
				{"none", "mix: none", both},
				// It adds noise to actions, and those of simple_spread are choices.
				{"safe exploration", "mix: attention, keys: 2, noise: 0.3, noise_final: 0.01, " +
					"safe: {on: true, min_history: 2, history: 6, deviations: 0.1}", []string{sizing.ID}},
			},
			Brief:  "hidden: [3], batch: 2, replay: 9, update_every: 4, random_steps: 3, learning_starts: 3",
			Longer: "hidden: [8], batch: 16, replay: 150, update_every: 4, random_steps: 20, learning_starts: 30",
			Metric: "train/critic_loss",
		}, maddpg.Default, maddpg.New, actor.Open),
		DefineLearner(Learner{
			Name: firm.Name, Page: "docs/agents/firm.md",
			Doc: "Firm as FaaSConf compares with it: a DDPG shared by all functions, of which those of the critical path move",
			Forms: []Form{
				{"two move", "noise: 0.1", []string{sizing.ID, sizing.CountedID}},
				{"one moves, layer norm", "move: 1, norm: layer, rate_final: 0.1", []string{sizing.ID}},
			},
			Brief:  "hidden: [3], batch: 2, replay: 9, update_every: 4, random_steps: 3, learning_starts: 3",
			Longer: "hidden: [8], batch: 16, replay: 150, update_every: 4, random_steps: 20, learning_starts: 30",
			Metric: "train/critic_loss",
		}, firm.Default, firm.New, firm.OpenPolicy),
		DefineLearner(Learner{
			Name: dqn.Name, Page: "docs/agents/dqn.md",
			Doc: "deep Q-learning over choices with masks, double as a switch; CleanRL's settings",
			Forms: []Form{
				{"deep Q", "target_every: 6, epsilon_share: 0.5", []string{cartPole, spread}},
				{"double Q", "double: true, loss: huber, tau: 0.1, target_every: 6", []string{cartPole}},
			},
			Brief:  "hidden: [3], batch: 2, replay: 9, update_every: 4, learning_starts: 3",
			Longer: "hidden: [8], batch: 16, replay: 150, update_every: 4, learning_starts: 30",
			Metric: "train/loss",
		}, dqn.Default, dqn.New, actor.Open),
		DefineLearner(Learner{
			Name: sac.Name, Page: "docs/agents/sac.md",
			Doc: "soft actor-critic for continuous actions: twin critics, tuned temperature, several agents with own or " +
				"shared weights",
			Forms: []Form{
				{"own weights", "shared: false", []string{sizing.ID}},
				{"shared weights, fixed temperature", "shared: true, norm: layer, autotune: false, alpha: 0.2, " +
					"gamma_seconds: 60", []string{sizing.ID}},
				{"one agent", "rate_final: 0.1", []string{"stoker/Pendulum-v1"}},
			},
			Brief:  "hidden: [3], batch: 2, replay: 9, update_every: 4, random_steps: 3, learning_starts: 3",
			Longer: "hidden: [8], batch: 16, replay: 150, update_every: 4, random_steps: 20, learning_starts: 30",
			Metric: "train/critic_loss",
		}, sac.Default, sac.New, actor.Open),
		DefineLearner(Learner{
			Name: reinforce.Name, Page: "docs/agents/reinforce.md",
			Doc: "policy gradient over choices with masks: a learned value, a sequence's mean (DeepRM) or no baseline",
			Forms: []Form{
				{"TD", "lambda: 0.5, target_tau: 0.1", []string{cartPole, spread}},
				{"replayed trajectories", "lambda: 1, standardise: true, replay: {trajectories: 5, draw: 2}", []string{cartPole}},
				{"mean over a sequence", "lambda: 1, baseline: sequence", []string{cartPole}},
				{"graphs, taught at first", "cut: 3, graph: {hidden: 4, layers: 1, dropout: 0.1}, " +
					"imitate: {policy: sjf-nodes, steps: 9}", []string{placement.ID}},
			},
			Brief: "hidden: [3], episodes: 2, rows: 4", Longer: "hidden: [8], episodes: 4, rows: 16",
			Metric: "train/policy_loss",
		}, reinforce.Default, reinforce.New, actor.Open),
		DefineLearner(Learner{
			Name: ppo.Name, Page: "docs/agents/ppo.md",
			Doc: "proximal policy optimisation over choices with masks, continuous actions and graphs; CleanRL's settings",
			Forms: []Form{
				{"choices", "epochs: 2", []string{cartPole, spread}},
				{"mean field", "mix: mean, shared: false", []string{sizing.ID, spread}},
				{"own weights, KL stop", "shared: false, target_kl: 0.01, value_clip: false", []string{spread}},
				{"continuous", "orthogonal: false, bounds: tanh", []string{sizing.ID}},
				{"graphs", "graph: {hidden: 4, layers: 1, dropout: 0.1}", []string{placement.ID}},
			},
			Brief: "hidden: [3], rollout: 3, minibatches: 2", Longer: "hidden: [8], rollout: 16",
			Metric: "train/loss",
		}, ppo.Default, ppo.New, actor.Open),
		DefineLearner(Learner{
			Name: simppo.Name, Page: "docs/agents/simppo.md",
			Doc: "mean-field proximal policy optimisation with weights by function, so that functions come and go (SIMPPO)",
			Forms: []Form{
				{"continuous", "epochs: 2, anneal: 1", []string{sizing.ID, sizing.CountedID}},
				{"choices", "epochs: 2, entropy: 0", []string{spread}},
			},
			Brief: "hidden: [3], rollout: 3, minibatches: 2", Longer: "hidden: [8], rollout: 16",
			Metric: "train/loss",
		}, simppo.Default, simppo.NewLearner, actor.Open),
		DefineLearner(Learner{
			Name: spsa.Name, Page: "docs/agents/spsa.md",
			Doc: "two-point search of one action for all windows on counterfactual copies (HOPS' pricer, PBA)",
			Forms: []Form{
				{"two-point search", "perturbation_decay: 0.101, adam: {on: true}, capacity: 40", []string{pricing.ID}},
				{"two-point search without copies", "realised: perturbed", []string{pricing.ID}},
			},
			Brief: "pairs: 1", Longer: "pairs: 2", Metric: "train/gradient",
		}, spsa.Default, spsa.NewLearner, actor.Open),
	}
}
