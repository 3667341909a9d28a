package explain_test

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/eval/explain"
	"github.com/stoker-rl/stoker/nets/native"
)

// What a policy of LQR looks at: there is only the state.
func ExampleExplain() {
	env, err := classic.NewLQR(classic.DefaultLQR())
	if err != nil {
		fmt.Println(err)
		return
	}
	c := maddpg.Default()
	c.Mix, c.Hidden = maddpg.Single, []int{8}
	cpu := native.New(native.Options{})
	l, err := maddpg.New(c, agents.Context{Spec: env.Spec(), NumEnvs: 1, Train: cpu, Act: cpu, Seed: 1, Steps: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := l.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := explain.Explain(context.Background(), explain.Request{
		Env: env, Policy: p, Act: cpu, Seeds: []uint64{1, 2, 3}, States: 50, Steps: 16,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range e.Decisions {
		fmt.Printf("%s: %.0f %% by %s\n", d.Component, 100*d.By[0].Share.Value, d.By[0].Feature)
	}
	// Output:
	// control: 100 % by state
}
