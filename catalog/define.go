package catalog

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/nets"
)

// DefineEnv completes row, which has ID, Doc, Page and Golden, with a configuration's type C and the constructor that
// takes it.
func DefineEnv[C any, E envs.Env](row Env, config func() C, build func(C, workload.Config) (E, error)) Env {
	row.Config = func() any { c := config(); return &c }
	row.New = func(config any, w workload.Config) (envs.Env, error) {
		c, err := as[C](row.ID, config)
		if err != nil {
			return nil, err
		}
		e, err := build(*c, w)
		if err != nil {
			// Not e: an interface around a nil pointer would not be nil.
			return nil, err
		}
		return e, nil
	}
	return row
}

// DefineLearner completes row, which has Name, Doc and Page, with a configuration's type C, the constructor that takes
// it, and the function that makes a policy from its file.
func DefineLearner[C any, L agents.Learner, P agents.Policy](row Learner, config func() C,
	build func(C, agents.Context) (L, error), open func(*agents.PolicyFile, *envs.Spec, nets.Engine) (P, error)) Learner {
	row.Config = func() any { c := config(); return &c }
	row.New = func(config any, ctx agents.Context) (agents.Learner, error) {
		c, err := as[C](row.Name, config)
		if err != nil {
			return nil, err
		}
		l, err := build(*c, ctx)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	row.Open = func(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
		return normalise.Open(f, spec, func(f *agents.PolicyFile, spec *envs.Spec) (agents.Policy, error) {
			p, err := open(f, spec, act)
			if err != nil {
				return nil, err
			}
			return p, nil
		})
	}
	return row
}

// DefinePolicy completes row, which has Name, Doc, Page and Envs, with a configuration's type C and the constructor
// that takes it. Kind is [Heuristic] where row does not say it.
func DefinePolicy[C any, P envs.Policy](row Baseline, config func() C, build func(C, envs.Env) (P, error)) Baseline {
	return define(row, config, build, func(p P) rollout.Actor { return rollout.Actor{Policy: p} })
}

// DefineTuner is DefinePolicy for a tuner, which proposes actions and is told what came of them.
func DefineTuner[C any, T envs.Tuner](row Baseline, config func() C, build func(C, envs.Env) (T, error)) Baseline {
	return define(row, config, build, func(t T) rollout.Actor { return rollout.Actor{Tuner: t} })
}

// DefinePlanner is DefinePolicy for a planner, which is shown the environment itself.
func DefinePlanner[C any, P envs.Planner](row Baseline, config func() C, build func(C, envs.Env) (P, error)) Baseline {
	return define(row, config, build, func(p P) rollout.Actor { return rollout.Actor{Planner: p} })
}

func define[C, P any](row Baseline, config func() C, build func(C, envs.Env) (P, error),
	actor func(P) rollout.Actor) Baseline {
	if row.Kind == "" {
		row.Kind = Heuristic
	}
	row.Config = func() any { c := config(); return &c }
	row.New = func(config any, env envs.Env) (rollout.Actor, error) {
		c, err := as[C](row.Name, config)
		if err != nil {
			return rollout.Actor{}, err
		}
		p, err := build(*c, env)
		if err != nil {
			return rollout.Actor{}, err
		}
		return actor(p), nil
	}
	return row
}

// Searched completes a baseline with what stoker search varies.
func Searched[C any](row Baseline, space func(C, envs.Env) (*crossentropy.Space, error)) Baseline {
	row.Space = func(config any, env envs.Env) (*crossentropy.Space, error) {
		c, err := as[C](row.Name, config)
		if err != nil {
			return nil, err
		}
		return space(*c, env)
	}
	return row
}

// as returns a configuration as a row's own type.
func as[C any](name string, config any) (*C, error) {
	c, ok := config.(*C)
	if !ok {
		return nil, fmt.Errorf("%s: configuration is a %T, want a %T", name, config, c)
	}
	return c, nil
}
