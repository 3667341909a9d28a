package train

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

// PolicyFile is the file of a checkpoint that says how its weights act. A policy checkpoint holds both.
const PolicyFile = policyFile

// Trial plays the policy of checkpoint c of experiment x over episodes of the training's split that are the same for
// every training seed, unlike those of the evaluations during training, and returns the mean of what these look at,
// with the sign with which more is better.
func Trial(c *checkpoints.Checkpoint, x *configs.Experiment, episodes int) (mean float64, err error) {
	env, err := NewEnv(x, trainSplit(x.Workload))
	if err != nil {
		return 0, err
	}
	file, err := ReadPolicy(c)
	if err != nil {
		return 0, err
	}
	a, err := catalog.Of(x).Learner(file.Agent)
	if err != nil {
		return 0, err
	}
	act, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
	if err != nil {
		return 0, err
	}
	defer func() { _ = act.Close() }() // it frees memory: there is nothing left to lose
	p, err := a.Open(file, env.Spec(), act)
	if err != nil {
		return 0, err
	}
	info := env.Spec().Info
	at := slices.IndexFunc(info, func(q envs.Quantity) bool { return q.Name == x.Train.Evaluate.Metric })
	runner, key := rollout.NewRunner(env), rng.New(0, "trial of trained policies")
	for i := range episodes {
		ep, err := runner.Episode(rollout.Actor{Policy: p}, key.With(uint64(i)).Uint64())
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Dir(), err)
		}
		y := ep.Return
		if at >= 0 {
			if y = ep.Info[at]; info[at].Better == envs.Lower {
				y = -y
			}
		}
		mean += y / float64(episodes)
	}
	return mean, nil
}
