package choices

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/baselines/random"
	"github.com/stoker-rl/stoker/agents/dqn"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/nets/native"
)

// All three keep the whole contract.
func TestContract(t *testing.T) {
	for _, build := range []func() (envs.Env, error){NewReplicas, NewLimited, NewShop} {
		envtest.Run(t, build, envtest.Options{})
	}
}

// One choice, every one legal: the environment never writes a mask.
func ExampleReplicas() {
	fmt.Println(learns(NewReplicas))
	// Output: the learned policy earns more than random choices: true <nil>
}

// Choices that the mask forbids are never tried: the environment would refuse them.
func ExampleLimited() {
	fmt.Println(learns(NewLimited))
	// Output: the learned policy earns more than random choices: true <nil>
}

// learns trains Q-learning in an environment and compares it with random choices.
func learns(build func() (envs.Env, error)) (string, error) {
	const steps = 20_000
	v, err := envs.NewVector(build, envs.VectorOptions{NumEnvs: 4, Seed: 1})
	if err != nil {
		return "", err
	}
	c := dqn.Default()
	c.Hidden, c.Gamma, c.Rate, c.UpdateEvery, c.LearningStarts = []int{32, 32}, 0.9, 1e-3, 4, 500
	cpu := native.New(native.Options{})
	l, err := dqn.New(c, agents.Context{Spec: v.Spec(), NumEnvs: 4, Train: cpu, Act: cpu, Seed: 1, Steps: steps})
	if err != nil {
		return "", err
	}
	if err := v.Reset(); err != nil {
		return "", err
	}
	for range steps / v.NumEnvs() {
		for _, phase := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := phase(); err != nil {
				return "", err
			}
		}
	}
	trained, err := l.Policy()
	if err != nil {
		return "", err
	}
	env, err := build()
	if err != nil {
		return "", err
	}
	any, err := random.New(random.Default(), env)
	if err != nil {
		return "", err
	}
	var returns [2]float64
	for i, p := range []envs.Policy{trained, any} {
		for seed := range uint64(5) {
			e, err := rollout.NewRunner(env).Episode(rollout.Actor{Policy: p}, seed)
			if err != nil {
				return "", err
			}
			returns[i] += e.Return / 5
		}
	}
	return fmt.Sprint("the learned policy earns more than random choices: ", returns[0] > returns[1]), nil
}

// Two kinds of agents: every list has an entry for each kind, and in it a row for each agent.
func ExampleShop() {
	if err := keepShop(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// hour 0: 3 zones are open, 13.0 requests served, the seller earns 6.50 USD
	// hour 1: 2 zones are open, 7.0 requests served, the seller earns 3.50 USD
}

func keepShop() error {
	env, err := NewShop()
	if err != nil {
		return err
	}
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	if err := env.Reset(1, nil, obs); err != nil {
		return err
	}
	for hour := range 2 {
		act.Kinds[Seller][0] = 0.5 // USD
		open := 0
		for z, active := range obs.Kinds[Zones].Active {
			if active { // rows of the others are not read
				act.Kinds[Zones][z] = min(float32(int(obs.Kinds[Zones].Values[z])), Most)
				open++
			}
		}
		if err := env.Step(act, obs, out); err != nil {
			return err
		}
		fmt.Printf("hour %d: %d zones are open, %.1f requests served, the seller earns %.2f USD\n", hour, open, out.Info[0],
			out.Rewards[Seller][0])
	}
	return nil
}
