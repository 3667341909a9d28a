package classic_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
)

// A hand-made control balances the pole until the episode is cut.
func ExampleCartPole() {
	env, err := classic.NewCartPole(classic.DefaultCartPole())
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	if err := env.Reset(7, nil, obs); err != nil {
		fmt.Println(err)
		return
	}
	steps := 0
	for !out.Terminated && !out.Truncated {
		angle, spin := obs.Kinds[0].Values[2], obs.Kinds[0].Values[3]
		act.Kinds[0][0] = 0
		if 3*angle+spin > 0 {
			act.Kinds[0][0] = 1
		}
		if err := env.Step(act, obs, out); err != nil {
			fmt.Println(err)
			return
		}
		steps++
	}
	fmt.Println(steps, "steps, truncated:", out.Truncated)

	act.Kinds[0][0] = 2
	if err := env.Reset(8, nil, obs); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(env.Step(act, obs, out))
	// Output:
	// 500 steps, truncated: true
	// stoker/CartPole-v1: action of cart 0: component 0 is 2, want a whole number in [0, 2)
}

// The best control of a linear system is known, and so is what it costs.
func ExampleLQRConfig_Riccati() {
	c := classic.DefaultLQR()
	p, gain := c.Riccati(1)
	fmt.Printf("p = %.4f, u = −%.4f·x, %.2f per episode of %d steps\n", p, gain, c.Cost(gain), c.Steps)
	// Output:
	// p = 1.6180, u = −0.6180·x, 7.52 per episode of 50 steps
}
