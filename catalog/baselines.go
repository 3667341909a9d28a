package catalog

import (
	"slices"

	"github.com/stoker-rl/stoker/agents/baselines/classic"
	"github.com/stoker-rl/stoker/agents/baselines/deeprm"
	"github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/baselines/random"
	"github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	classicenv "github.com/stoker-rl/stoker/envs/classic"
	deeprmenv "github.com/stoker-rl/stoker/envs/deeprm"
	placementenv "github.com/stoker-rl/stoker/envs/placement"
	hops "github.com/stoker-rl/stoker/envs/pricing"
	sizingenv "github.com/stoker-rl/stoker/envs/sizing"
	stepsenv "github.com/stoker-rl/stoker/envs/steps"
	variantsenv "github.com/stoker-rl/stoker/envs/variants"
)

// rows are those that come with Stoker, by the environment for which they are made.
func rows() []Baseline {
	return slices.Concat(forAll(), forSizing(), forDeepRM(), forPlacement(), forPrices(), forSlots(), forVariants(), forSteps(),
		forClassic())
}

// forAll are the baselines of every environment, also of those that a program of its own adds.
func forAll() []Baseline {
	return []Baseline{
		DefinePolicy(Baseline{Name: "random", Page: "docs/agents/random.md",
			Doc: "draws uniformly among the legal actions; in stoker/DeepRM-v1 among the jobs that fit",
		}, random.Default, newRandom),
	}
}

// newRandom makes the uniform policy of an environment. In DeepRM's cluster letting time pass is always legal: there it
// draws among the jobs that fit.
func newRandom(c random.Config, env envs.Env) (envs.Policy, error) {
	if env.Spec().ID == deeprmenv.ID {
		return deeprm.NewRandom(env)
	}
	return random.New(c, env)
}

func forSizing() []Baseline {
	on, page := sizingenv.IDs(), "docs/agents/sizing-baselines.md"
	return []Baseline{
		DefinePolicy(Baseline{Name: "fixed", Envs: on, Page: page,
			Doc: "holds one configuration, the middle of every range by default",
		}, sizing.DefaultFixed, sizing.OfEach(sizing.NewFixed)),
		Searched(DefinePolicy(Baseline{Name: "autoscaler", Envs: on, Page: page, Dial: Dial{"cpu", []float64{0.2, 0.3, 0.4, 0.6}},
			Doc: "changes replicas by CPU and concurrency targets, with Kubernetes' defaults",
		}, sizing.DefaultAutoscaler, sizing.OfEach(sizing.NewAutoscaler)), sizing.AutoscalerSpace),
		Searched(DefinePolicy(Baseline{Name: "rule", Envs: on, Page: page, Dial: Dial{"weight", []float64{0.5, 1, 2, 4, 8}},
			Doc: "sets all by the last window's load, with numbers that a cross-entropy search found",
		}, sizing.DefaultRule, sizing.OfEach(sizing.NewRule)), sizing.RuleSpace),
		DefineTuner(Baseline{Name: "random-search", Envs: on, Page: page,
			Doc: "tries 15 random configurations, a window each, then holds its cheapest feasible one",
		}, sizing.DefaultRandomSearch, sizing.NewRandomSearch),
		DefineTuner(Baseline{Name: "rambo", Envs: on, Page: page,
			Doc: "tries 15 configurations by a Gaussian process of latency and price, then holds its cheapest feasible one",
		}, sizing.DefaultRAMBO, sizing.NewRAMBO),
		DefineTuner(Baseline{Name: "aquatope", Envs: on, Page: page,
			Doc: "tries 15 configurations by noisy expected improvement under the QoS, then holds its cheapest feasible one",
		}, sizing.DefaultAquatope, sizing.NewAquatope),
		DefinePlanner(Baseline{Name: "oracle", Envs: on, Page: page, Kind: Oracle, Dial: Dial{Key: "weight"},
			Doc: "knows the arrivals and the noise to come and plans several windows ahead on copies",
		}, sizing.DefaultOracle, sizing.PlansOfEach(sizing.NewOracle)),
		DefinePlanner(Baseline{Name: "forecast", Envs: on, Page: page, Kind: Oracle, Dial: Dial{Key: "weight"},
			Doc: "knows how minutes follow each other, not what comes, and plans as the oracle does on drawn copies",
		}, sizing.DefaultForecast, sizing.PlansOfEach(sizing.NewForecast)),
	}
}

func forDeepRM() []Baseline {
	on, page := []string{deeprmenv.ID}, "docs/agents/deeprm-baselines.md"
	return []Baseline{
		DefinePolicy(Baseline{Name: "fcfs", Envs: on, Page: page,
			Doc: "starts jobs in the order of arrival; all wait for the oldest, unless backfilled",
		}, deeprm.DefaultFCFS, deeprm.NewFCFS),
		DefinePolicy(Baseline{Name: "sjf", Envs: on, Page: page,
			Doc: "starts the shortest job that fits",
		}, deeprm.DefaultSJF, deeprm.NewSJF),
		DefinePolicy(Baseline{Name: "packer", Envs: on, Page: page,
			Doc: "starts the job that lies best along what is free",
		}, deeprm.DefaultPacker, deeprm.NewPacker),
		DefinePolicy(Baseline{Name: "tetris-star", Envs: on, Page: page,
			Doc: "weighs packing and shortness (DeepRM's Tetris*)",
		}, deeprm.DefaultTetrisStar, deeprm.NewTetrisStar),
	}
}

func forPlacement() []Baseline {
	on, page := []string{placementenv.ID}, "docs/agents/placement-baselines.md"
	return []Baseline{
		DefinePolicy(Baseline{Name: "fcfs-nodes", Envs: on, Page: page,
			Doc: "starts invocations in the order in which they came to wait, on the quickest node; all wait for the first, " +
				"unless backfilled",
		}, placement.DefaultFCFS, placement.NewFCFS),
		DefinePolicy(Baseline{Name: "sjf-nodes", Envs: on, Page: page,
			Doc: "starts the invocation with the least work that fits, on the quickest node",
		}, placement.DefaultSJF, placement.NewSJF),
		DefinePolicy(Baseline{Name: "packer-nodes", Envs: on, Page: page,
			Doc: "starts the invocation that lies best along what a node has free",
		}, placement.DefaultPacker, placement.NewPacker),
		DefinePolicy(Baseline{Name: "tetris", Envs: on, Page: page,
			Doc: "weighs alignment with a node and the request's remaining work, with fairness and barriers (Tetris, " +
				"several machines)",
		}, placement.DefaultTetris, placement.NewTetris),
		DefinePlanner(Baseline{Name: "lookahead", Envs: on, Page: page, Kind: Oracle,
			Doc: "tries what several rules would do on copies of the world in which SJF goes on, and does what earns most",
		}, placement.DefaultLookahead, placement.NewLookahead),
		DefinePolicy(Baseline{Name: "random-nodes", Envs: on, Page: page,
			Doc: "starts any invocation on any node that it fits, each pair as likely",
		}, placement.DefaultRandom, placement.NewRandom),
	}
}

func forPrices() []Baseline {
	on, page := []string{hops.ID}, "docs/agents/pricing-baselines.md"
	return []Baseline{
		DefinePolicy(Baseline{Name: "spss", Envs: on, Page: page,
			Doc: "holds prices and baselines above HOPS' scheduler (SPSS)",
		}, pricing.DefaultSPSS, pricing.NewSPSS),
		DefinePlanner(Baseline{Name: "pba", Envs: on, Page: page,
			Doc: "HOPS' pricer within one episode: moves after every window, by trials on copies of it",
		}, spsa.Default, pricing.NewPBA),
		Searched(DefinePolicy(Baseline{Name: "price-rule", Envs: on, Page: page,
			Doc: "fixed prices, or prices linear in observed columns, with numbers that a search found",
		}, pricing.DefaultRule, pricing.NewRule), pricing.RuleSpace),
		DefinePlanner(Baseline{Name: "fixed-hindsight", Envs: on, Page: page, Kind: Oracle,
			Doc: "holds the fixed prices that earn most in the episode, found on copies of it: a bound",
		}, pricing.DefaultHindsight, pricing.NewHindsight),
	}
}

func forSlots() []Baseline {
	on, page := []string{hops.SlotsID}, "docs/agents/pricing-baselines.md"
	return []Baseline{
		DefinePolicy(Baseline{Name: "arms", Envs: on, Page: page,
			Doc: "HOPS' scheduler: required vGPUs by eq. 14, switched or activated, whichever is cheaper",
		}, hops.DefaultARMS, pricing.NewARMS),
		DefinePolicy(Baseline{Name: "torpor", Envs: on, Page: page,
			Doc: "binds late to a fixed pool, functions by required request count",
		}, pricing.DefaultTorpor, pricing.NewTorpor),
		DefinePolicy(Baseline{Name: "has-gpu", Envs: on, Page: page,
			Doc: "scales an elastic pool by a Kalman filter, vertically first",
		}, pricing.DefaultHAS, pricing.NewHAS),
		DefinePolicy(Baseline{Name: "mqfq-sticky", Envs: on, Page: page,
			Doc: "queues fairly by start tags on a fixed pool, and sticks to functions",
		}, pricing.DefaultMQFQ, pricing.NewMQFQ),
	}
}

func forVariants() []Baseline {
	on, page := []string{variantsenv.EachID, EachFlatID, variantsenv.ID}, "docs/variants.md"
	type plan = func(*variantsenv.Model, variantsenv.Problem, variants.Options) (variantsenv.Plan, error)
	heuristic := func(name, doc string, f plan) Baseline {
		return DefinePlanner(Baseline{Name: name, Envs: on, Page: page, Doc: doc}, variants.Corrected,
			func(o variants.Options, env envs.Env) (*variants.Acting, error) {
				return variants.NewActing(name, env, o, f)
			})
	}
	return []Baseline{
		heuristic("prcp", "the probability-refined critical path, best of four strategies (Lin and Khazaei)", variants.PRCP),
		heuristic("bcr-max", "OptiServe with the benefit-cost ratio", variants.BCRMax),
		heuristic("bcr-slope", "OptiServe with the slope in place of the ratio", variants.BCRSlope),
		Searched(DefinePolicy(Baseline{Name: "linear", Envs: on[:1], Page: page,
			Doc: "takes the option with the largest weighted sum of its features, with weights that a search found",
		}, variants.DefaultLinear, variants.NewLinear), variants.LinearSpace),
		DefinePlanner(Baseline{Name: "exact", Envs: on, Page: page, Kind: Oracle,
			Doc: "plays the best configuration of all, from the exact fronts over time and cost",
		}, variants.DefaultExact, variants.NewExact),
	}
}

func forSteps() []Baseline {
	return []Baseline{
		decider(Baseline{Name: "stepconf", Doc: "shares the time left along the critical path (StepConf, Algorithm 1)"},
			steps.DefaultStepConf, steps.NewStepConf),
		decider(Baseline{Name: "stepconf-inter", Doc: "StepConf with one process an instance"},
			steps.DefaultInter, steps.NewStepConf),
		decider(Baseline{Name: "stepconf-intra", Doc: "StepConf with a fixed number of instances"},
			steps.DefaultIntra, steps.NewStepConf),
		decider(Baseline{Name: "vanilla", Doc: "plans memory alone by the critical path, before the first step"},
			steps.DefaultVanilla, steps.NewVanilla),
		decider(Baseline{Name: "orion", Doc: "plans memory by the quantile of the end-to-end time, before the first step (Orion)"},
			steps.DefaultOrion, steps.NewOrion),
		decider(Baseline{Name: "cose", Doc: "plans memory before every step, by laws that a Gaussian process sampled (COSE)"},
			steps.DefaultCOSE, steps.NewCOSE),
		decider(Baseline{Name: "steps-oracle", Doc: "plays the cheapest plan that keeps the SLO by predicted times, made before " +
			"the first step (StepConf's Oracle)"}, steps.DefaultOracle, steps.NewOracle),
		teacher(Baseline{Name: "replan", Doc: "follows the cheapest plan for what is left, made anew before every step"},
			steps.DefaultReplan, steps.NewReplan),
		teacher(Baseline{Name: "steps-lookahead", Doc: "takes the option with the least expected price, a miss included, by what " +
			"policies see"}, steps.DefaultLookahead, steps.NewLookahead),
		teacher(Baseline{Name: "dp", Doc: "plays the stochastic optimum over step and time left; chains only"},
			steps.DefaultDP, steps.NewDP),
		decider(Baseline{Name: "hindsight", Kind: Oracle, Doc: "knows what every option will take and plays the cheapest plan: a bound"},
			steps.DefaultHindsight, steps.NewHindsight),
	}
}

// decider completes the row of a decider of steps.
func decider[C any, D stepsenv.Decider](row Baseline, config func() C, build func(C) (D, error)) Baseline {
	row.Envs, row.Page = []string{stepsenv.ID, stepsenv.FlatID}, "docs/agents/steps-baselines.md"
	return DefinePlanner(row, config, func(c C, env envs.Env) (*steps.Acting, error) {
		return steps.NewActing(row.Name, env, func() (stepsenv.Decider, error) { return build(c) })
	})
}

// teacher completes the row of a decider that can be imitated.
func teacher[C any, D steps.Memoryless](row Baseline, config func() C, build func(C) (D, error)) Baseline {
	row.Envs, row.Page = []string{stepsenv.ID, stepsenv.FlatID}, "docs/agents/steps-baselines.md"
	return DefinePlanner(row, config, func(c C, env envs.Env) (steps.Teaching, error) {
		return steps.NewTeaching(row.Name, env, func() (D, error) { return build(c) })
	})
}

func forClassic() []Baseline {
	return []Baseline{
		DefinePolicy(Baseline{Name: "riccati", Envs: []string{classicenv.LQRID}, Page: "docs/environments.md", Kind: Oracle,
			Doc: "the best control of the linear-quadratic regulator, by Riccati's equation",
		}, classic.DefaultRiccati, classic.NewRiccati),
	}
}
