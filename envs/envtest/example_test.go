package envtest_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/envtest"
)

// hasty is a CartPole whose steps last longer than it says.
type hasty struct{ *classic.CartPole }

func (c hasty) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	err := c.CartPole.Step(act, obs, out)
	out.Elapsed++
	return err
}

func ExampleCheck() {
	problems := envtest.Check(func() (envs.Env, error) {
		c, err := classic.NewCartPole(classic.DefaultCartPole())
		return hasty{c}, err
	}, envtest.Options{Seeds: []uint64{1, 2}})
	fmt.Println(problems[0])
	// Output:
	// outcome: seed 1, step 1: elapsed time is 20001 µs, but the spec says that every step takes 20000
}
