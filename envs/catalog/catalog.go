package catalog

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Entry is one environment.
type Entry struct {
	// ID is the versioned name, as in the environment's Spec.
	ID string
	// Doc says in a line what it is.
	Doc string
	// Config returns a pointer to the environment's configuration, filled with defaults. It has yaml and json tags and, where
	// values can be wrong, a method Validate() error.
	Config func() any
	// New builds the environment from what Config returned, under a workload; problems that have none of the kind ignore it.
	New func(config any, w workload.Config) (envs.Env, error)
}

// FlatID names the cluster of placement.ID, flattened. Its window should be small: choices are of invocation, amount and node together.
const FlatID = "stoker/PlacementFlat-v1"

// All lists the environments.
func All() []Entry {
	return []Entry{
		entry(sizing.ID, "size the functions of a workflow, window by window (FaaSConf)", sizing.Default,
			func(c sizing.Config, w workload.Config) (*sizing.Env, error) { return sizing.New(c, w) }),
		entry(pricing.ID, "price service tiers and keep vGPUs alive for them, window by window (HOPS)", pricing.Default,
			func(c pricing.Config, w workload.Config) (*pricing.Pricing, error) { return pricing.New(c, w, nil) }),
		entry(pricing.SlotsID, "deploy functions on vGPUs, slot by slot, under given prices (HOPS)", pricing.Default,
			func(c pricing.Config, w workload.Config) (*pricing.Slots, error) { return pricing.NewSlots(c, w, nil) }),
		entry(deeprm.ID, "start waiting jobs on a cluster of several resources (DeepRM)", deeprm.Default,
			func(c deeprm.Config, _ workload.Config) (*deeprm.Env, error) {
				return deeprm.New(c)
			}),
		entry(placement.ID, "start invocations on a cluster of unlike nodes, with how much and where, and see a graph", placement.Default,
			func(c placement.Config, w workload.Config) (*placement.Env, error) {
				return placement.New(c, w)
			}),
		entry(FlatID, "the same, seen as a vector and decided by one choice, for learners that know no graphs", placement.Default,
			func(c placement.Config, w workload.Config) (*envs.Flatten, error) {
				e, err := placement.New(c, w)
				if err != nil {
					return nil, err
				}
				return envs.NewFlatten(e, FlatID)
			}),
		entry("stoker/CartPole-v1", "balance a pole on a cart (Gymnasium's CartPole-v1)", classic.DefaultCartPole,
			func(c classic.CartPoleConfig, _ workload.Config) (*classic.CartPole, error) {
				return classic.NewCartPole(c)
			}),
		entry("stoker/SimpleSpread-v1", "cover landmarks together (simple_spread of the particle environments)", classic.DefaultSpread,
			func(c classic.SpreadConfig, _ workload.Config) (*classic.Spread, error) { return classic.NewSpread(c) }),
		entry("stoker/LQR-v1", "steer a linear system; the optimum is known", classic.DefaultLQR,
			func(c classic.LQRConfig, _ workload.Config) (*classic.LQR, error) { return classic.NewLQR(c) }),
		entry("stoker/Bandit-v1", "pull one arm of several; the gradient is known", classic.DefaultBandit,
			func(c classic.BanditConfig, _ workload.Config) (*classic.Bandit, error) { return classic.NewBandit(c) }),
	}
}

// entry makes an entry of a configuration's type C and an environment's type E.
func entry[C any, E envs.Env](id, doc string, defaults func() C, build func(C, workload.Config) (E, error)) Entry {
	return Entry{
		ID: id, Doc: doc,
		Config: func() any { c := defaults(); return &c },
		New: func(config any, w workload.Config) (envs.Env, error) {
			c, ok := config.(*C)
			if !ok {
				return nil, fmt.Errorf("%s: configuration is a %T, want a %T", id, config, c)
			}
			e, err := build(*c, w)
			if err != nil {
				// Not e: an interface around a nil pointer would not be nil.
				return nil, err
			}
			return e, nil
		},
	}
}

// Find returns the environment of an ID; an unknown one is an error that names the nearest and all that are known.
func Find(id string) (Entry, error) {
	all := All()
	for _, e := range all {
		if e.ID == id {
			return e, nil
		}
	}
	near, least := "", 1<<30
	known := make([]string, len(all))
	for i, e := range all {
		known[i] = e.ID
		if d := distance(strings.ToLower(short(id)), strings.ToLower(short(e.ID))); d < least {
			near, least = e.ID, d
		}
	}
	hint := ""
	if least <= 1+len(short(id))/3 {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return Entry{}, fmt.Errorf("there is no environment %q.%s Known are %s", id, hint, strings.Join(known, ", "))
}

// short is an ID without maker and version.
func short(id string) string {
	id = id[strings.LastIndexByte(id, '/')+1:]
	if i := strings.LastIndex(id, "-v"); i > 0 {
		id = id[:i]
	}
	return id
}

// distance is the number of letters to insert, remove or replace to get from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
