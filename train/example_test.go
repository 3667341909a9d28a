package train_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

// A run folder is made from a configuration; its best checkpoint is a policy.
func ExampleStart() {
	x, err := configs.Parse("lqr.yaml", []byte(`
name: lqr
env: stoker/LQR-v1
agent: {name: maddpg, mix: single, hidden: [16], batch: 32, random_steps: 100, learning_starts: 100}
train: {steps: 400, envs: 4, log_every: 100, evaluate: {every: 200, episodes: 2, metric: cost}, checkpoint: {every: 200}}
`), nil, catalog.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	runs, err := os.MkdirTemp("", "runs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(runs)
	res, err := train.Start(context.Background(), x, train.Options{RunsDir: runs})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := train.OpenCheckpoint(res.Dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := train.ReadPolicy(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(filepath.Base(res.Dir), res.Steps, "steps", res.Episodes, "episodes")
	fmt.Println("a policy of", policy.Agent, "for", policy.EnvID)
	// Output:
	// lqr-s1 400 steps 8 episodes
	// a policy of maddpg for stoker/LQR-v1
}
