package remote

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Actor decides for one copy, such as a baseline. A planner reads the environment and does not change it.
type Actor interface {
	// Reset starts an episode of a workload seed.
	Reset(seed uint64) error
	Act(env envs.Env, obs *envs.Observation, act *envs.Action, deterministic bool) error
}

// actor is an Actor and the episode that it was reset for.
type actor struct {
	Actor
	episode uint64
}

// decide writes what the actor of a name does in all copies where the client reads and writes actions.
func (c *copies) decide(dst, body []byte) ([]byte, error) {
	if len(body) < 4 {
		return nil, fmt.Errorf("the frame has %d bytes, want 1 in 4 where actions are not drawn, and a name", len(body))
	}
	deterministic, name := binary.NativeEndian.Uint32(body) != 0, string(body[4:])
	all, ok := c.actors[name]
	if !ok {
		if c.Actor == nil {
			return nil, errors.New("this server has no actors")
		}
		for _, e := range c.envs {
			a, err := c.Actor(name, e)
			if err != nil {
				return nil, err
			}
			all = append(all, actor{Actor: a})
		}
		c.actors[name] = all
	}
	for i := range all {
		if !c.running[i] {
			continue
		}
		a, act := &all[i], c.act.Env(i)
		if a.episode != c.episodes[i] {
			if err := a.Reset(c.begun[i]); err != nil {
				return nil, fmt.Errorf("copy %d: %s: %w", i, name, err)
			}
			a.episode = c.episodes[i]
		}
		if err := a.Act(c.envs[i], c.obs.Env(i), act, deterministic); err != nil {
			return nil, fmt.Errorf("copy %d: %s: %w", i, name, err)
		}
	}
	for k, a := range c.ask.actions {
		copy(a, c.act.Kinds[k])
	}
	return dst, nil
}
