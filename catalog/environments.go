package catalog

import (
	"fmt"

	rules "github.com/stoker-rl/stoker/agents/baselines/sizing"
	planners "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workload"
)

// FlatID names the cluster of [placement.ID] seen as a vector. Its window should be small: one choice is of invocation,
// amount and node together.
const FlatID = "stoker/PlacementFlat-v1"

// EachFlatID names the applications of [variants.EachID] seen as vectors.
const EachFlatID = "stoker/VariantsEachFlat-v1"

// environments are the rows that come with Stoker.
func environments() []Env {
	return []Env{
		DefineEnv(Env{
			Presets: sizingPresets, Service: sizingService, DefaultBaselines: "[fixed, autoscaler, {name: autoscaler, cpu: 0.4}]",
			ID: sizing.ID, Page: "docs/sizing.md",
			Doc: "size the functions of a workflow, window by window (FaaSConf)",
			// A load that the services can bear: safe exploration needs windows that keep the QoS.
			Short: "env: {id: stoker/Sizing-v2, windows: 3}\nworkload: {factor: 0.05}",
			Golden: []Golden{
				{File: "envs/sizing/testdata/sizing.golden"},
				{"envs/sizing/testdata/sizing-users.golden", []string{
					"env.workflow=branch", "workload.kind=closed-loop", "workload.users.count=12"}},
				{"envs/sizing/testdata/sizing-tcktapp.golden", []string{
					"env.workflow=tcktapp", "workload.kind=poisson", "workload.rate=0.5", "workload.factor=1"}},
				{"envs/sizing/testdata/sizing-drawn.golden", []string{"env.windows=15", "workload.factor=1",
					"workload.mean=1.2", "workload.draw={factor: [0.5, 2], traces: [{kind: azure2019}, {kind: bursty}]}"}},
			},
		}, sizing.Default, sizing.Open),
		DefineEnv(Env{
			Presets: sizingPresets, Service: sizingService, DefaultBaselines: "[fixed, autoscaler, {name: autoscaler, cpu: 0.4}]",
			ID: sizing.CountedID, Page: "docs/sizing.md",
			Doc:   "size the functions of a workflow where every refusal counts (FaaSConf)",
			Short: "env: {id: stoker/Sizing-v3, windows: 3}\nworkload: {factor: 0.05}",
			Golden: []Golden{
				{File: "envs/sizing/testdata/counted.golden"},
				{"envs/sizing/testdata/described.golden", []string{"env.features=described", "env.reward.dial=[0.5, 8]",
					"env.reward.near_miss.credit=0.5"}},
				{"envs/sizing/testdata/side-by-side.golden", []string{"env.workflows=[sequential, branch, tcktapp]",
					"env.features=described"}},
				{"envs/sizing/testdata/rising.golden", []string{"workload.kind=closed-loop", "workload.users.count=20"}},
			},
		}, sizing.DefaultCounted, sizing.OpenCounted),
		DefineEnv(Env{
			Presets: pricingPresets, DefaultBaselines: "[spss, random]",
			ID: pricing.ID, Page: "docs/pricing.md",
			Doc:   "price service tiers and keep vGPUs alive for them, window by window (HOPS)",
			Short: "env: {id: stoker/Pricing-v1, windows: 3, slots: 4, demand: {source: generated}}",
			Golden: []Golden{
				{File: "envs/pricing/testdata/pricing.golden"},
				{"envs/pricing/testdata/outside.golden", []string{
					"env.profile=outside-option", "env.demand.source=generated", "env.slots=20"}},
				{"envs/pricing/testdata/market.golden", []string{
					"env.profile=outside-option", "env.demand.source=generated", "env.slots=20", "env.costs.revenue=served",
					"env.market={sensitivity: {drift: walk}, failures: {share: 0.5}, rival: {price: 1.3}}"}},
			},
		}, pricing.Default, newPricing),
		DefineEnv(Env{
			Presets: slotsPresets, DefaultBaselines: "[arms, random]",
			ID: pricing.SlotsID, Page: "docs/pricing.md",
			Doc: "deploy functions on vGPUs, slot by slot, under given prices (HOPS)",
			Golden: []Golden{
				{File: "envs/pricing/testdata/slots.golden"},
				{"envs/pricing/testdata/elastic.golden", []string{"env.pool=elastic", "env.layout.warm=shared", "env.load=1.5"}},
				{"envs/pricing/testdata/fixed.golden", []string{"env.pool=fixed", "env.load=0.5", "env.costs.revenue=served"}},
			},
		}, pricing.Default, newSlots),
		DefineEnv(Env{
			Presets: deeprmPresets, DefaultBaselines: "[sjf, tetris-star, packer, fcfs, random]",
			ID: deeprm.ID, Doc: "start waiting jobs on a cluster of several resources (DeepRM)", Page: "docs/deeprm.md",
			Golden: []Golden{
				{File: "envs/deeprm/testdata/deeprm.golden"},
				{"envs/deeprm/testdata/deeprm-published.golden", []string{"env.start=earliest", "env.mask=false",
					"env.defects={skip_first: true, skip_last_start: true, late_removal: true, floor_slowdown: true}"}},
			},
		}, deeprm.Default, alone(deeprm.New)),
		DefineEnv(Env{
			Presets: placementPresets, DefaultBaselines: "[fcfs-nodes, sjf-nodes, packer-nodes, tetris, random-nodes]",
			ID: placement.ID, Page: "docs/placement.md",
			Doc:   "start invocations on a cluster of unlike nodes, with how much and where, and see a graph",
			Short: "env: {id: stoker/Placement-v2, seconds: 1, load: 1.5, window: 3, running: 2, hold: false}",
			Golden: []Golden{
				{File: "envs/placement/testdata/placement.golden"},
				{"envs/placement/testdata/placement-azure.golden", []string{"env.workload=azure"}},
			},
		}, placement.Default, placement.New),
		DefineEnv(Env{
			Presets: flatPresets, DefaultBaselines: "[fcfs-nodes, sjf-nodes, packer-nodes, tetris, random-nodes]",
			Shows: placement.ID, ID: FlatID, Page: "docs/placement.md",
			Doc: "the cluster of unlike nodes seen as a vector and decided by one choice, for learners that know no graphs",
			Golden: []Golden{{"envs/placement/testdata/placement-flat.golden", []string{
				"env.window=8", "env.running=8", "env.hold=false", "env.load=1.5"}}},
		}, placement.Default, newFlat),
		DefineEnv(Env{
			Presets: variantsPresets, DefaultBaselines: "[prcp, bcr-max, bcr-slope, random]",
			ID: variants.ID, Page: "docs/variants.md",
			Doc:   "choose model variant and memory of all functions of a workflow at once, an agent for each (OptiServe)",
			Short: "env: {id: stoker/Variants-v1, apps: 2, functions: [3, 4]}",
			Golden: []Golden{
				{File: "envs/variants/testdata/once.golden", Set: []string{"env.apps=20"}},
				{"envs/variants/testdata/once-own.golden", []string{"env.workflow=app4", "env.credit=difference"}},
			},
		}, variants.DefaultEnv, application(variants.New)),
		DefineEnv(Env{
			Presets: eachPresets, DefaultBaselines: "[prcp, bcr-max, bcr-slope, random]",
			ID: variants.EachID, Page: "docs/variants.md",
			Doc:   "choose model variant and memory of one function of a workflow after the other, and see a graph (OptiServe)",
			Short: "env: {id: stoker/VariantsEach-v1, apps: 2, functions: [5, 6]}",
			Golden: []Golden{
				{File: "envs/variants/testdata/each.golden", Set: []string{"env.apps=20"}},
				{"envs/variants/testdata/served.golden", []string{"env.apps=8", "env.world=served", "env.requests=100"}},
			},
		}, variants.DefaultEnv, application(variants.NewEach)),
		DefineEnv(Env{
			Presets: eachFlatPresets, DefaultBaselines: "[prcp, bcr-max, bcr-slope, random]",
			ID: EachFlatID, Page: "docs/variants.md",
			Doc:    "the same seen as a vector, for learners that know no graphs",
			Golden: []Golden{{"envs/variants/testdata/each-flat.golden", []string{"env.apps=20", "env.functions=[5, 9]"}}},
		}, variants.DefaultEnv, application(newEachFlat)),
		DefineEnv(Env{
			Presets: stepsPresets, DefaultBaselines: "[stepconf, steps-lookahead, random]",
			ID: steps.ID, Page: "docs/steps.md",
			Doc:   "choose memory, instances and processes of one step of a running workflow after the other, and see a graph (StepConf)",
			Short: "env: {id: stoker/Steps-v1, apps: 2, steps: [3, 4]}",
			Golden: []Golden{
				{File: "envs/steps/testdata/steps.golden", Set: []string{"env.apps=20"}},
				{"envs/steps/testdata/knative.golden", []string{"env.workflow=dag", "env.billed=run", "env.mapping=formula"}},
				{"envs/steps/testdata/full.golden", []string{"env.apps=20", "env.form=full"}},
				{"envs/steps/testdata/stream.golden", []string{"env.apps=20", "env.requests=30"}},
				{"envs/steps/testdata/prewarm.golden", []string{"env.workflow=dag", "env.prewarm=stepconf"}},
			},
		}, steps.DefaultEnv, workflow(steps.New)),
		DefineEnv(Env{
			Presets: stepsFlatPresets, DefaultBaselines: "[stepconf, steps-lookahead, random]",
			ID: steps.FlatID, Page: "docs/steps.md",
			Doc:    "the same for learners that know no graphs: how long the step may take",
			Short:  "env: {id: stoker/StepsFlat-v1, apps: 2, steps: [3, 4]}",
			Golden: []Golden{{"envs/steps/testdata/flat.golden", []string{"env.apps=20"}}},
		}, steps.DefaultEnv, workflow(steps.NewFlat)),
		DefineEnv(Env{
			ID: "stoker/CartPole-v1", Doc: "balance a pole on a cart (Gymnasium's CartPole-v1)", Page: "docs/environments.md",
			Short:  "env: {id: stoker/CartPole-v1, max_steps: 3}",
			Golden: []Golden{{File: "envs/classic/testdata/cartpole.golden"}},
		}, classic.DefaultCartPole, alone(classic.NewCartPole)),
		DefineEnv(Env{
			ID: "stoker/Pendulum-v1", Page: "docs/environments.md",
			Doc:    "swing a rod up and hold it, by a torque (Gymnasium's Pendulum-v1)",
			Short:  "env: {id: stoker/Pendulum-v1, max_steps: 4}",
			Golden: []Golden{{File: "envs/classic/testdata/pendulum.golden"}},
		}, classic.DefaultPendulum, alone(classic.NewPendulum)),
		DefineEnv(Env{
			ID: "stoker/SimpleSpread-v1", Page: "docs/environments.md",
			Doc:    "cover landmarks together (simple_spread of the particle environments)",
			Short:  "env: {id: stoker/SimpleSpread-v1, steps: 4}",
			Golden: []Golden{{File: "envs/classic/testdata/spread.golden"}},
		}, classic.DefaultSpread, alone(classic.NewSpread)),
		DefineEnv(Env{
			ID: classic.LQRID, Doc: "steer a linear system; the optimum is known", Page: "docs/environments.md",
			Golden: []Golden{{File: "envs/classic/testdata/lqr.golden"}},
		}, classic.DefaultLQR, alone(classic.NewLQR)),
		DefineEnv(Env{
			ID: "stoker/Bandit-v1", Doc: "pull one arm of several; the gradient is known", Page: "docs/environments.md",
			Golden: []Golden{{File: "envs/classic/testdata/bandit.golden"}},
		}, classic.DefaultBandit, alone(classic.NewBandit)),
	}
}

// alone is the constructor of an environment that serves no workload.
func alone[C, E any](build func(C) (E, error)) func(C, workload.Config) (E, error) {
	return func(c C, _ workload.Config) (E, error) { return build(c) }
}

// application is the constructor of an environment that configures generated applications, or one from a file.
func application[E any](build func(variants.EnvConfig, *variants.Model) (E, error)) func(variants.EnvConfig,
	workload.Config) (E, error) {
	return func(c variants.EnvConfig, _ workload.Config) (e E, err error) {
		var own *variants.Model
		if c.Workflow != variants.Generated && c.Workflow != "" {
			if own, err = configs.ReadApp(c.Workflow); err != nil {
				return e, fmt.Errorf("env.workflow: %w", err)
			}
		}
		return build(c, own)
	}
}

// workflow is the constructor of an environment that configures the steps of workflows, or of one from a file.
func workflow[E any](build func(steps.EnvConfig, steps.Given) (E, error)) func(steps.EnvConfig, workload.Config) (E, error) {
	return func(c steps.EnvConfig, w workload.Config) (e E, err error) {
		with := steps.Given{Load: w, Prewarm: func() (steps.Decider, error) { return planners.NewStepConf(planners.DefaultStepConf()) }}
		if c.File() {
			if with.Own, err = configs.ReadSteps(c.Workflow); err != nil {
				return e, fmt.Errorf("env.workflow: %w", err)
			}
		}
		return build(c, with)
	}
}

func newPricing(c pricing.Config, w workload.Config) (*pricing.Pricing, error) {
	return pricing.New(c, w, nil)
}

func newSlots(c pricing.Config, w workload.Config) (*pricing.Slots, error) {
	return pricing.NewSlots(c, w, nil)
}

func newEachFlat(c variants.EnvConfig, own *variants.Model) (*envs.Flatten, error) {
	e, err := variants.NewEach(c, own)
	if err != nil {
		return nil, err
	}
	return envs.NewFlatten(e, EachFlatID)
}

func newFlat(c placement.Config, w workload.Config) (*envs.Flatten, error) {
	e, err := placement.New(c, w)
	if err != nil {
		return nil, err
	}
	return envs.NewFlatten(e, FlatID)
}

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
		"ppo": {Agent: "{gamma: 0.8, reward_scale: 0.1, rate: 4.39e-4, epochs: 6, minibatches: 16, entropy: 0.003433, value_clip: false}",
			Wrappers: normalised},
		"dqn": {Agent: "{double: true, rate: 5.0e-4, loss: huber, gamma: 0.9, reward_scale: 0.1, epsilon: 0.3, epsilon_final: 0.01}"},
	}
	deeprmPresets = presets{
		// configs/placement/deeprm-discount.yaml, with a value for a baseline: sequences recur with env.sets alone.
		// deeprm-ppo.yaml, deeprm-dqn.yaml
		"reinforce": {Agent: "{gamma: 0.95, gamma_seconds: 1, reward_scale: 0.1, entropy: 0.05, final_bound: 0, clip: 0}"},
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
		// None ships. The agent is absent where nothing is to be decided.
		"maddpg": {Agent: "{absent: true}"},
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
		// As for stoker/StepsFlat-v1.
		"maddpg": {Agent: "{absent: true}"},
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
