package train

import (
	"slices"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
)

// PolicyFile is the file of a checkpoint that says how its weights act. It goes with them into a policy checkpoint.
const PolicyFile = policyFile

// BestValue is what the best evaluation of a run had come to when it wrote checkpoint c of experiment x, with the sign with which more is
// better; ok is false where there was none.
func BestValue(c *checkpoints.Checkpoint, x *configs.Experiment) (value float64, ok bool, err error) {
	var s loopState
	if err := readJSON(c, loopFile, &s); err != nil {
		return 0, false, err
	}
	if s.Best.Value == nil {
		return 0, false, nil
	}
	env, err := NewEnv(x, "")
	if err != nil {
		return 0, false, err
	}
	info := env.Spec().Info
	at := slices.IndexFunc(info, func(q envs.Quantity) bool { return q.Name == x.Train.Evaluate.Metric })
	if at >= 0 && info[at].Better == envs.Lower {
		return -*s.Best.Value, true, nil
	}
	return *s.Best.Value, true, nil
}
