package catalog

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/deeprm"
	"github.com/stoker-rl/stoker/agents/baselines/placement"
	"github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	hops "github.com/stoker-rl/stoker/envs/pricing"
)

// Rivals lists the policies that are not learned.
func Rivals() []Rival {
	forSizing, forDeepRM := []string{"stoker/Sizing-v2"}, []string{"stoker/DeepRM-v1"}
	forNodes := []string{"stoker/Placement-v1"}
	forPrices, forSlots := []string{hops.ID}, []string{hops.SlotsID}
	return []Rival{
		policy("fixed", "holds one configuration, the middle of every range by default", forSizing, sizing.DefaultFixed, sizing.NewFixed),
		policy("autoscaler", "changes replicas by CPU and concurrency targets, with Kubernetes' defaults", forSizing, sizing.DefaultAutoscaler, sizing.NewAutoscaler),
		tuner("random-search", "tries 15 random configurations, a window each, then holds its cheapest feasible one", forSizing, sizing.DefaultRandomSearch, sizing.NewRandomSearch),
		planner("oracle", "knows the coming window's arrivals and searches on a copy without noise", Oracle, forSizing, sizing.DefaultOracle, sizing.NewOracle),
		policy("fcfs", "starts jobs in the order of arrival; all wait for the oldest, unless backfilled", forDeepRM, deeprm.DefaultFCFS, deeprm.NewFCFS),
		policy("sjf", "starts the shortest job that fits", forDeepRM, deeprm.DefaultSJF, deeprm.NewSJF),
		policy("packer", "starts the job that lies best along what is free", forDeepRM, deeprm.DefaultPacker, deeprm.NewPacker),
		policy("tetris-star", "weighs packing and shortness (DeepRM's Tetris*)", forDeepRM, deeprm.DefaultTetrisStar, deeprm.NewTetrisStar),
		policy("fcfs-nodes", "starts invocations in the order in which they came to wait, on the quickest node; all wait for the first, unless backfilled", forNodes, placement.DefaultFCFS, placement.NewFCFS),
		policy("sjf-nodes", "starts the invocation with the least work that fits, on the quickest node", forNodes, placement.DefaultSJF, placement.NewSJF),
		policy("packer-nodes", "starts the invocation that lies best along what a node has free", forNodes, placement.DefaultPacker, placement.NewPacker),
		policy("tetris", "weighs alignment with a node and the request's remaining work, with fairness and barriers (Tetris, several machines)", forNodes, placement.DefaultTetris, placement.NewTetris),
		planner("lookahead", "tries what several rules would do on copies of the world in which SJF goes on, and does what earns most", Oracle, forNodes, placement.DefaultLookahead, placement.NewLookahead),
		policy("random-nodes", "starts any invocation on any node that it fits, each pair as likely", forNodes, placement.DefaultRandom, placement.NewRandom),
		policy("spss", "holds prices and baselines above HOPS' scheduler (SPSS)", forPrices, pricing.DefaultSPSS, pricing.NewSPSS),
		planner("pba", "HOPS' pricer within one episode: moves after every window, by trials on copies of it", Heuristic, forPrices, spsa.Default, pricing.NewPBA),
		policy("arms", "HOPS' scheduler: required vGPUs by eq. 14, switched or activated, whichever is cheaper", forSlots, hops.DefaultARMS, pricing.NewARMS),
		policy("torpor", "binds late to a fixed pool, functions by required request count", forSlots, pricing.DefaultTorpor, pricing.NewTorpor),
		policy("has-gpu", "scales an elastic pool by a Kalman filter, vertically first", forSlots, pricing.DefaultHAS, pricing.NewHAS),
		policy("mqfq-sticky", "queues fairly by start tags on a fixed pool, and sticks to functions", forSlots, pricing.DefaultMQFQ, pricing.NewMQFQ),
		policy("random", "starts any job that fits, each as likely", forDeepRM, deeprm.DefaultRandom, deeprm.NewRandom),
	}
}

func policy[C any, P envs.Policy](name, doc string, on []string, config func() C, build func(C, envs.Env) (P, error)) Rival {
	return rival(name, doc, Heuristic, on, config, build, func(p P) rollout.Actor { return rollout.Actor{Policy: p} })
}

func tuner[C any, P envs.Tuner](name, doc string, on []string, config func() C, build func(C, envs.Env) (P, error)) Rival {
	return rival(name, doc, Heuristic, on, config, build, func(p P) rollout.Actor { return rollout.Actor{Tuner: p} })
}

func planner[C any, P envs.Planner](name, doc string, kind Kind, on []string, config func() C, build func(C, envs.Env) (P, error)) Rival {
	return rival(name, doc, kind, on, config, build, func(p P) rollout.Actor { return rollout.Actor{Planner: p} })
}

// rival ties a configuration's type to the constructor that takes it.
func rival[C, P any](name, doc string, kind Kind, on []string, config func() C, build func(C, envs.Env) (P, error), as func(P) rollout.Actor) Rival {
	return Rival{
		Name: name, Doc: doc, Kind: kind, Envs: on,
		Config: func() any { c := config(); return &c },
		New: func(config any, env envs.Env) (rollout.Actor, error) {
			c, ok := config.(*C)
			if !ok {
				return rollout.Actor{}, fmt.Errorf("%s: configuration is a %T, want a %T", name, config, c)
			}
			p, err := build(*c, env)
			if err != nil {
				return rollout.Actor{}, err
			}
			return as(p), nil
		},
	}
}
