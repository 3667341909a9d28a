package catalog

import (
	rules "github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/configs"
)

// presets are agent's keys by learner.
type presets = map[string]configs.Preset

// normalised sees observations standardised.
var normalised = configs.Wrappers{NormalizeObservation: configs.NormalizeObservation{Clip: 10}}

// The presets are those of the shipped configurations that are named beside them. A preset has what the environment
// decides (the discount, the scale of rewards, how much is explored), not how long one trains: sizes of batches and
// buffers stay the learner's.
var (
	sizingPresets = presets{
		// configs/sizing/ppo.yaml, faasconf.yaml, any.yaml
		"ppo": {Agent: "{gamma: 0.5, rate: 3.0e-4, entropy: 0, log_std: -1, value_clip: false}", Wrappers: normalised},
		// configs/sizing/sac.yaml
		"sac": {Agent: "{gamma: 0.5, tau: 0.01, random_steps: 0}", Wrappers: normalised},
		// configs/sizing/attmf.yaml, faasconf-attmf.yaml
		"maddpg": {Agent: "{gamma: 0.5, actor_rate: 3.0e-4, critic_rate: 1.0e-3, noise: 0.2}"},
	}
	pricingPresets = presets{
		"spsa": {Agent: "{objective: profit}"}, // configs/pricing/hops-pba.yaml
		// configs/pricing/hops-ppo-pricer.yaml
		"ppo": {Agent: "{gamma: 0, lambda: 0, reward_scale: 1.0e-4, rate: 3.0e-4, entropy: 0, log_std: -1, value_clip: false}",
			Wrappers: normalised},
		// configs/pricing/hops-pricer.yaml
		"maddpg": {Agent: "{mix: none, gamma: 0, reward_scale: 1.0e-4, activation: tanh, actor_rate: 3.0e-4, " +
			"critic_rate: 1.0e-3, rate_final: 0.1, clip: 5, noise: 0.15, noise_final: 0.08}"},
	}
	slotsPresets = presets{
		// configs/pricing/hops-ppo-scheduler.yaml, hops-scheduler.yaml
		"ppo": {Agent: "{gamma: 0.9, reward_scale: 0.1, rate: 5.0e-4, entropy: 0.003, value_clip: false}", Wrappers: normalised},
		"dqn": {Agent: "{double: true, rate: 5.0e-4, loss: huber, gamma: 0.9, reward_scale: 0.1, epsilon: 0.3, epsilon_final: 0.01}"},
	}
	deeprmPresets = presets{
		// configs/placement/deeprm-reinforce.yaml, deeprm-ppo.yaml, deeprm-dqn.yaml
		"reinforce": {Agent: "{baseline: sequence, lambda: 1, gamma: 1, entropy: 0.1, final_bound: 0, clip: 0}"},
		"ppo":       {Agent: "{gamma: 0.95, gamma_seconds: 1, rate: 5.0e-4, entropy: 0.05, value_clip: false, reward_scale: 0.1}"},
		"dqn":       {Agent: "{double: true, rate: 0.0001, gamma: 0.99, gamma_seconds: 1, reward_scale: 0.05, loss: huber}"},
	}
	placementPresets = presets{
		// configs/placement/gnn-reinforce.yaml, gnn-ppo.yaml
		"reinforce": {Agent: "{graph: {hidden: 48, layers: 2}, lambda: 0.95, gamma: 0.9, gamma_seconds: 1, " +
			"reward_scale: 0.1, standardise: true, entropy: 0.003, rate: 0.0005}"},
		"ppo": {Agent: "{graph: {hidden: 48, layers: 2}, gamma: 0.9, gamma_seconds: 1, reward_scale: 0.1, rate: 5.0e-4, " +
			"entropy: 0.003, value_clip: false}"},
	}
	flatPresets = presets{
		// configs/placement/gnn-ppo.yaml, without its graph
		"ppo": {Agent: "{gamma: 0.9, gamma_seconds: 1, reward_scale: 0.1, rate: 5.0e-4, entropy: 0.003, value_clip: false}"},
		// configs/placement/serverless-dqn.yaml
		"dqn": {Agent: "{double: true, rate: 0.0003, gamma: 0.9, gamma_seconds: 1, reward_scale: 0.1, loss: huber}"},
	}
	// configs/steps/graph.yaml, twin.yaml
	stepsPresets = presets{
		"reinforce": {Agent: "{graph: {hidden: 32, layers: 2}, lambda: 1, gamma: 1, entropy: 0.005, rate: 0.001, anneal: 0.95}"},
		// configs/steps/ppo.yaml, with the graph of graph.yaml
		"ppo": {Agent: "{graph: {hidden: 32, layers: 2}, gamma: 1, rate: 5.0e-4, entropy: 0.003, value_clip: false}"},
	}
	stepsFlatPresets = presets{
		// configs/steps/ppo.yaml, dqn.yaml
		"ppo": {Agent: "{gamma: 1, rate: 5.0e-4, entropy: 0.003, value_clip: false}"},
		"dqn": {Agent: "{double: true, rate: 0.0005, gamma: 1, loss: huber, epsilon_final: 0.02}"},
	}
	variantsPresets = presets{
		// configs/variants/once-attmf.yaml
		"maddpg": {Agent: "{absent: true, shared: true, norm: layer, clip: 10, actor_rate: 0.0003, critic_rate: 0.001, " +
			"rate_final: 0.1, gamma: 0, reward_scale: 0.1, noise: 0.1, noise_final: 0.01}"},
	}
	eachPresets = presets{
		// configs/variants/each-reinforce.yaml
		"reinforce": {Agent: "{graph: {hidden: 32, layers: 2}, lambda: 1, gamma: 1, entropy: 0.002, rate: 0.0005, anneal: 0.95}"},
	}
	eachFlatPresets = presets{
		// configs/variants/each-ppo.yaml, each-dqn.yaml
		"ppo": {Agent: "{gamma: 1, rate: 5.0e-4, entropy: 0.005, value_clip: false}"},
		"dqn": {Agent: "{double: true, rate: 0.0003, gamma: 1, loss: huber, epsilon_final: 0.02}"},
	}
)

// sizingService is of both environments of sizing.
var sizingService = Service{
	Quantity: "success", Least: 0.5,
	Nothing: configs.Choice{Name: "fixed", Config: &rules.FixedConfig{Configuration: []float64{0, 0, 0, 0}}},
	Advice: "Service must pay more than it costs: raise env.reward.served or env.reward.qos, or lower env.reward.price; " +
		"a load that no configuration can bear needs a lower workload.factor; and leave agent.gamma, log_std and entropy " +
		"out of the file, so that they are the environment's",
}
