package rollout_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
)

// regulator is a policy of one's own: −gain times what is seen. It has no state, so that there is nothing to copy or
// save.
type regulator struct{ gain float32 }

func (r regulator) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = -r.gain * obs.Kinds[0].Values[0]
	return nil
}
func (regulator) Name() string                          { return "regulator" }
func (regulator) Reset(uint64) error                    { return nil }
func (regulator) CopyFrom(envs.Policy) error            { return nil }
func (regulator) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (regulator) UnmarshalBinary([]byte) error          { return nil }

// The linear-quadratic regulator's best gain, and half of it, over the same fifty episodes.
func ExampleRunner_Episode() {
	c := classic.DefaultLQR()
	env, err := classic.NewLQR(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, best := c.Riccati(1)
	run := rollout.NewRunner(env)
	for _, gain := range []float64{best, best / 2} {
		cost := 0.0
		for seed := range uint64(50) {
			e, err := run.Episode(rollout.Actor{Policy: regulator{float32(gain)}}, seed)
			if err != nil {
				fmt.Println(err)
				return
			}
			cost += e.Info[0] / 50
		}
		fmt.Printf("gain %.2f: cost %.1f\n", gain, cost)
	}
	// Output:
	// gain 0.62: cost 7.5
	// gain 0.31: cost 9.9
}
