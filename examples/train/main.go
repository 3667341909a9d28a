// Command train trains a policy from Go, opens its best checkpoint, and lets it act: the linear-quadratic regulator,
// whose best cost is known. The run's folder is what stoker train leaves; stoker resume, eval and plot read it.
//
//	go run ./examples/train
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

// experiment is what a configuration file holds. Other keys have their defaults: docs/configuration.md.
const experiment = `
name: regulator
env: {id: stoker/LQR-v1, steps: 20}
agent:
  {name: maddpg, mix: single, hidden: [32, 32], activation: tanh, actor_rate: 5e-4, critic_rate: 2e-3, gamma: 0.95,
   replay: 5000, random_steps: 200, learning_starts: 500, standardise: false}
train: {steps: 8000, envs: 4, evaluate: {every: 1000, episodes: 20, metric: cost}}
`

func main() {
	if err := run(context.Background(), os.Stdout, "runs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, runs string) error {
	x, err := configs.Parse("regulator.yaml", []byte(experiment), nil, catalog.Default())
	if err != nil {
		return err
	}
	result, err := train.Start(ctx, x, train.Options{RunsDir: runs})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d steps, %d episodes\n", result.Steps, result.Episodes)

	trained, err := eval.OpenTrained(catalog.Default(), result.Dir, nil)
	if err != nil {
		return err
	}
	env, err := train.NewEnv(x, "test")
	if err != nil {
		return err
	}
	policy, err := trained.Policy(env.Spec())
	if err != nil {
		return err
	}
	cost, err := env.Spec().InfoIndex("cost")
	if err != nil {
		return err
	}
	runner, mean := rollout.NewRunner(env), 0.0
	for seed := range uint64(200) {
		episode, err := runner.Episode(rollout.Actor{Policy: policy}, seed)
		if err != nil {
			return err
		}
		mean += episode.Info[cost] / 200
	}
	c := classic.DefaultLQR()
	c.Steps = 20
	_, gain := c.Riccati(1)
	fmt.Fprintf(w, "cost of an episode: %.2f learned, %.2f at best\n", mean, c.Cost(gain))
	return nil
}
