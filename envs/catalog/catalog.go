// Package catalog is the one table of environments. Nothing registers itself: what Stoker knows stands here.
package catalog

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Entry is an environment by its versioned id.
type Entry struct {
	ID, Doc string
	// Config returns a pointer to the environment's configuration, filled with defaults.
	Config func() any
	// New makes the environment from what Config returned. Environments that serve no load ignore the workload.
	New func(config any, w workload.Config) (envs.Env, error)
}

// All lists the environments.
func All() []Entry {
	return []Entry{
		entry("stoker/Sizing-v1", "CPU, memory, replicas and concurrency of every function of a workflow, each window (FaaSConf)",
			sizing.Default, sizing.New),
		entry("stoker/CartPole-v1", "a pole on a cart, Gymnasium's dynamics", classic.DefaultCartPole, unloaded(classic.NewCartPole)),
		entry("stoker/SimpleSpread-v1", "agents cover landmarks together, OpenAI's multi-agent particles", classic.DefaultSpread, unloaded(classic.NewSpread)),
		entry("stoker/LQR-v1", "one linear system with quadratic cost, whose best policy is known", classic.DefaultLQR, unloaded(classic.NewLQR)),
		entry("stoker/Bandit-v1", "independent arms, whose policy gradient is known", classic.DefaultBandit, unloaded(classic.NewBandit)),
	}
}

// Find returns the environment of an id.
func Find(id string) (Entry, error) {
	var known []string
	for _, e := range All() {
		if e.ID == id {
			return e, nil
		}
		known = append(known, e.ID)
	}
	return Entry{}, fmt.Errorf("no environment %q; there are: %s", id, strings.Join(known, ", "))
}

// entry ties a configuration's type to the constructor that takes it.
func entry[C any, E envs.Env](id, doc string, config func() C, build func(C, workload.Config) (E, error)) Entry {
	return Entry{
		ID: id, Doc: doc,
		Config: func() any { c := config(); return &c },
		New: func(config any, w workload.Config) (envs.Env, error) {
			c, ok := config.(*C)
			if !ok {
				return nil, fmt.Errorf("%s: configuration is a %T, want a %T", id, config, c)
			}
			e, err := build(*c, w)
			if err != nil {
				return nil, err
			}
			return e, nil
		},
	}
}

// unloaded is for environments without a workload.
func unloaded[C any, E envs.Env](build func(C) (E, error)) func(C, workload.Config) (E, error) {
	return func(c C, _ workload.Config) (E, error) { return build(c) }
}
