package eval_test

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/eval"
)

// linear steers the linear-quadratic regulator with u = −gain·x.
type linear struct{ gain float32 }

func (linear) Name() string       { return "linear" }
func (linear) Reset(uint64) error { return nil }

func (l linear) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-l.gain*obs.Kinds[0].Values[0], -2), 2)
	return nil
}

func (linear) CopyFrom(envs.Policy) error            { return nil }
func (linear) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (linear) UnmarshalBinary([]byte) error          { return nil }

// The best gain of the regulator against a gain a little too low and one far too low, under the same twenty seeds of
// disturbance. Costs differ far more between seeds than between the first two; paired, the difference shows all the
// same.
func Example() {
	c := classic.DefaultLQR()
	_, best := c.Riccati(1)
	contestant := func(name string, gain float64) eval.Contestant {
		return eval.Contestant{Name: name, Kind: catalog.Heuristic, Versions: []eval.Version{{
			New: func(envs.Env) (rollout.Actor, error) { return rollout.Actor{Policy: linear{float32(gain)}}, nil },
		}}}
	}
	var seeds []uint64
	for s := range uint64(20) {
		seeds = append(seeds, s)
	}
	played, err := eval.Run(context.Background(), eval.Request{
		NewEnv: func() (envs.Env, error) { return classic.NewLQR(c) },
		Contestants: []eval.Contestant{contestant("riccati", best), contestant("cautious", 0.7*best),
			contestant("timid", 0.1)},
		Seeds:   seeds,
		Workers: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics, err := eval.Metrics(played.Spec, []string{"cost"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := eval.Summarise(played, eval.Analysis{Metrics: metrics, Resamples: 2000, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(eval.Text(s))
	// Output:
	// riccati has cost 7.37; its cost is 7 % lower [1, 13] than with cautious, the best of 2 baselines:
	// better, over 20 workload seeds.
	//
	// stoker/LQR-v1, 20 workload seeds, deterministic policies
	// heuristic: riccati, cautious, timid
	//
	//             mean [95 %]        riccati − it [95 %, all at once]  p (Holm)  P(better)  riccati is
	// ────────────────────────────────────────────────────────────────────────────────────────────────
	// cost ↓
	//   riccati    7.4 [ 6.7,  8.1]
	//   cautious   7.9 [ 6.9,  9.0]   -0.53 [ -1.03,  -0.10]           0.007     0.75       better
	//   timid     20.6 [15.1, 28.2]  -13.27 [-21.04,  -7.13]           <0.001    0.95       better
	//
	// verdicts by cost:
	//   riccati against cautious: better
	//   riccati against timid: better
	//
	// scope of the verdicts on riccati: this policy
}
