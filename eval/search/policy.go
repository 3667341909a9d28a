package search

import (
	"fmt"
	"os"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// Policy returns what makes the policy of a name: a rival of the catalog with its defaults, or else the policy of a
// run, a checkpoint or the zoo.
func Policy(names *catalog.Catalog, name string) (func(env envs.Env) (envs.Policy, error), error) {
	r, err := names.Rival(name)
	if err == nil {
		return func(env envs.Env) (envs.Policy, error) {
			a, err := r.New(r.Config(), env)
			if err != nil {
				return nil, err
			}
			if a.Policy == nil {
				return nil, train.Usage("%s is no policy but a search, which needs outcomes; want a policy such as fixed", name)
			}
			return a.Policy, nil
		}, nil
	}
	_, shipped := zoo.Cut(name)
	if _, missing := os.Lstat(name); missing != nil && !shipped {
		return nil, train.Usage("--policy %s: %w; nor is it the folder of a run or a checkpoint", name,
			err)
	}
	t, err := eval.OpenTrained(names, name, nil)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	t.Threads = 1
	return func(env envs.Env) (envs.Policy, error) { return t.Policy(env.Spec()) }, nil
}
