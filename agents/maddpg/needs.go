package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
)

// Needs is about how much memory a learner takes, in bytes.
type Needs struct {
	// Parameters is the number of parameters of actor and critic.
	Parameters int64
	// Weights has for each parameter its value, gradient, two moments of Adam and the target's value.
	Weights int64
	// Replay is the replay buffer once as many steps as planned are in it.
	Replay int64
	// Batch is a minibatch, and what the networks store of it.
	Batch int64
}

// Total is the sum.
func (n Needs) Total() int64 { return n.Weights + n.Replay + n.Batch }

// Needs returns about how much memory the learner takes in an environment when it has planned steps (0: when the replay
// buffer is full). It allocates nothing. The networks' temporary memory depends on the engine and is estimated.
func (c Config) Needs(s *envs.Spec, steps int64) (Needs, error) {
	p, err := newProblem(c.Mix, s)
	if err != nil {
		return Needs{}, err
	}
	var n Needs
	critic := c.criticArch(&p, c.othersFromReplay())
	if c.Batches == Independent && c.Mix == Joint && p.agents > 1 {
		critic = c.separateArch(&p)
	}
	for _, a := range []nets.Arch{c.actorArch(&p, nets.None), critic} {
		groups := int64(p.agents)
		if c.Shared {
			groups = 1
		}
		for _, x := range a.Parameters() {
			size := int64(1)
			for _, d := range x.Shape {
				size *= int64(d)
			}
			n.Parameters += groups * size
		}
	}
	n.Weights = 5 * 4 * n.Parameters
	agents, obs, act := int64(p.agents), int64(p.obs), int64(p.act)
	rows := int64(c.Replay)
	if steps > 0 {
		rows = min(rows, steps)
	}
	n.Replay = 4 * rows * agents * (2*obs + act + 2)
	width := int64(0)
	for _, h := range c.Hidden {
		width += int64(h)
	}
	// Observations, actions and what is mixed of both, before and after; hidden layers of three critics and two actors.
	n.Batch = 4 * agents * int64(c.Batch) * (6*(obs+act) + 5*width)
	return n, nil
}

// checkMemory refuses a learner on the CPU that cannot fit in this machine's memory.
func (c *Config) checkMemory(s *envs.Spec, steps int64, device string) error {
	have := machine.Memory()
	if have == 0 || device != "cpu" {
		return nil
	}
	n, err := c.Needs(s, steps)
	if err != nil || n.Total() <= have {
		return err
	}
	advice := ""
	if !c.Shared {
		shared := *c
		shared.Shared = true
		if with, err := shared.Needs(s, steps); err == nil {
			advice = fmt.Sprintf("; with shared: true it needs %s", gigabytes(with.Total()))
		}
	}
	return fmt.Errorf("maddpg: %d agents with mix: %s need about %s of memory (weights %s for %d parameters, replay %s, "+
		"minibatch %s), and there are %s%s", s.Agents(), c.Mix, gigabytes(n.Total()), gigabytes(n.Weights), n.Parameters,
		gigabytes(n.Replay), gigabytes(n.Batch), gigabytes(have), advice)
}

func gigabytes(n int64) string { return fmt.Sprintf("%.3g GB", float64(n)/1e9) }
