package main

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/nets/native"
)

func newRoom() (envs.Env, error) { return NewRoom(DefaultRoom()) }

// Train a policy in an environment of one's own, and evaluate it beside a rule.
func Example() {
	if err := trainInRoom(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// problems: 0
	// the policy keeps the room closer to 20 °C than full power below 20: true
}

func trainInRoom() error {
	fmt.Println("problems:", len(envtest.Check(newRoom, envtest.Options{})))

	v, err := envs.NewVector(newRoom, envs.VectorOptions{NumEnvs: 4, Seed: 1})
	if err != nil {
		return err
	}
	const steps = 4_000
	c := maddpg.Default()
	c.Mix, c.Hidden, c.Gamma, c.ActorRate, c.CriticRate = maddpg.Single, []int{16, 16}, 0.9, 1e-3, 3e-3
	c.LearningStarts, c.UpdateEvery, c.Noise, c.NoiseFinal = 400, 2, 0.2, 0.05
	cpu := native.New(native.Options{})
	l, err := maddpg.New(c, agents.Context{Spec: v.Spec(), NumEnvs: v.NumEnvs(), Train: cpu, Act: cpu, Seed: 1,
		Steps: steps})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	for range steps / v.NumEnvs() {
		for _, phase := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := phase(); err != nil {
				return err
			}
		}
	}
	trained, err := l.Policy()
	if err != nil {
		return err
	}
	learned, err := meanOff(trained)
	if err != nil {
		return err
	}
	env, err := newRoom()
	if err != nil {
		return err
	}
	thermostat, err := NewThermostat(DefaultThermostat(), env)
	if err != nil {
		return err
	}
	rule, err := meanOff(thermostat)
	if err != nil {
		return err
	}
	fmt.Println("the policy keeps the room closer to 20 °C than full power below 20:", learned < rule)
	return nil
}

// meanOff plays twenty episodes that training didn't see.
func meanOff(p envs.Policy) (mean float64, err error) {
	env, err := newRoom()
	if err != nil {
		return 0, err
	}
	run := rollout.NewRunner(env)
	for seed := range uint64(20) {
		e, err := run.Episode(rollout.Actor{Policy: p}, 1_000_000+seed)
		if err != nil {
			return 0, err
		}
		mean += e.Info[0] / 20
	}
	return mean, nil
}
