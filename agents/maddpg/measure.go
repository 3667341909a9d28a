package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Updater returns a function that does one whole update (critics, actors, targets) on a minibatch of random numbers. It
// is for measuring speed: an update's cost does not depend on the values.
func Updater(c Config, s *envs.Spec, e nets.Engine) (func() error, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	p, err := newProblem(c.Mix, s)
	if err != nil {
		return nil, err
	}
	u, err := newUpdate(&c, &p, e, rng.New(1, "maddpg: initial weights"))
	if err != nil {
		return nil, err
	}
	stream := rng.NewStream(1, "maddpg: measured batch")
	for _, t := range []nets.Tensor{u.s, u.a, u.r, u.s2, u.discount, u.noise, u.noise2} {
		if t == nil {
			continue
		}
		x := make([]float32, nets.Size(t))
		for i := range x {
			x[i] = float32(stream.Float64())
		}
		t.Set(x)
	}
	return u.run, nil
}
