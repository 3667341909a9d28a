package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
)

// Contestant is a policy to be compared: one or more trained versions of it, or a single heuristic.
type Contestant struct {
	// Name labels it in tables and files.
	Name string
	Kind catalog.Kind
	// Versions has an entry per training seed; a heuristic has one.
	Versions []Version
	// NewEnv, where set, makes the environment that this contestant alone plays in, in place of the request's: another
	// pool, other prices. It is still paired with the others, since a workload seed draws the same world for all.
	NewEnv func() (envs.Env, error)
}

// Version is one trained policy, or a heuristic.
type Version struct {
	// TrainingSeed is 0 for heuristics.
	TrainingSeed uint64
	// Source is the checkpoint it was read from, empty for heuristics.
	Source string
	// New makes an actor for env; each goroutine makes its own.
	New func(env envs.Env) (rollout.Actor, error)
}

// Rival is the policy of a name in the program's catalog as a contestant. A nil config means the policy's defaults.
func Rival(label, name string, config any) (Contestant, error) {
	r, err := catalog.Default().Rival(name)
	if err != nil {
		return Contestant{}, err
	}
	if config == nil {
		config = r.Config()
	}
	return rivalOf(r, label, config), nil
}

func rivalOf(r catalog.Rival, label string, config any) Contestant {
	newActor := func(env envs.Env) (rollout.Actor, error) { return r.New(config, env) }
	return Contestant{Name: label, Kind: r.Kind, Versions: []Version{{New: newActor}}}
}

var kinds = []catalog.Kind{catalog.Learned, catalog.Heuristic, catalog.Oracle}

// check reports the first thing of a contestant that cannot be played.
func (c *Contestant) check() error {
	switch {
	case c.Name == "":
		return errors.New("a contestant has no name")
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("contestant %s is of kind %q, want one of %q", c.Name, c.Kind, kinds)
	case len(c.Versions) == 0:
		return fmt.Errorf("contestant %s has no versions, want one per training seed, or one", c.Name)
	}
	for i, v := range c.Versions {
		if v.New == nil {
			return fmt.Errorf("contestant %s, version %d: New is missing", c.Name, i)
		}
		if slices.ContainsFunc(c.Versions[:i], func(o Version) bool { return o.TrainingSeed == v.TrainingSeed }) {
			return fmt.Errorf("contestant %s has training seed %d twice", c.Name, v.TrainingSeed)
		}
	}
	return nil
}

// versionName names a version in errors.
func (c *Contestant) versionName(v int) string {
	if len(c.Versions) == 1 {
		return c.Name
	}
	return fmt.Sprintf("%s, training seed %d", c.Name, c.Versions[v].TrainingSeed)
}
