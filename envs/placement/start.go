package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Start is what a platform does: the decision of a scheduler in the platform's units.
type Start struct {
	// Wait lets time pass: nothing starts until the cluster changes. The rest is then 0.
	Wait bool `json:"wait"`
	// Invocation is the place among the cluster's waiting ones of the one that starts, Node where.
	Invocation int `json:"invocation"`
	Node       int `json:"node"`
	// Amount is the multiple of its function's demand that it gets, Resources what that is.
	Amount    float64   `json:"amount"`
	Resources Resources `json:"resources"`
}

// Start returns what an action asks for. seen is the observation that was made of the cluster and decided on. A choice
// that is not legal, such as one beyond what a node has, is an error.
func (o *Observer) Start(c *Cluster, seen *envs.Observation, act *envs.Action) (Start, error) {
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != 3 {
		return Start{}, envs.CheckAction(o.spec, nil, act)
	}
	which, amount, at, ok := o.layout.choices(act.Kinds[0])
	if !ok {
		return Start{}, envs.CheckAction(o.spec, nil, act)
	}
	k := &seen.Kinds[0]
	if which == o.layout.Wait() {
		if !k.Mask[which] {
			return Start{}, fmt.Errorf("%s: waiting is not allowed (hold: false) while something fits", ID)
		}
		return Start{Wait: true}, nil
	}
	if which >= len(c.Waiting) || which >= o.layout.Window {
		return Start{}, fmt.Errorf("%s: invocation %d is chosen, but %d wait", ID, which, min(len(c.Waiting),
			o.layout.Window))
	}
	w := &c.Waiting[which]
	f := &o.s.functions[o.s.workflows[c.Requests[w.Request].Workflow].steps[w.Step].function]
	if o.layout.Fits(k, which, at) <= amount {
		return Start{}, fmt.Errorf("%s: invocation %d of %s does not fit node %d with amount %d (%g)", ID, which, f.name, at,
			amount, o.layout.Amounts[amount])
	}
	d := &f.demand[amount]
	return Start{
		Invocation: which, Node: at, Amount: o.layout.Amounts[amount],
		Resources: Resources{int(d[CPU]), int(d[Memory]), int(d[Network]), int(d[GPU])},
	}, nil
}
