package envs_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/rng"
)

// Four copies of an environment under random actions, until ten episodes have ended.
func ExampleVector() {
	build := func() (envs.Env, error) { return classic.NewCartPole(classic.DefaultCartPole()) }
	v, err := envs.NewVector(build, envs.VectorOptions{NumEnvs: 4, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler, err := envs.NewActionSampler(v.Spec())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := v.Reset(); err != nil {
		fmt.Println(err)
		return
	}
	actions := rng.NewStream(1, "random actions")
	var episodes int
	var steps int64
	for episodes < 10 {
		for i := range v.NumEnvs() {
			if err := sampler.Sample(actions, v.Obs.Env(i), v.Act.Env(i)); err != nil {
				fmt.Println(err)
				return
			}
		}
		if err := v.Step(); err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range v.Finished {
			episodes++
			steps += e.Length
		}
	}
	fmt.Printf("%s: %d episodes of %.1f steps\n", v.Spec().ID, episodes, float64(steps)/float64(episodes))
	// Output:
	// stoker/CartPole-v1: 10 episodes of 23.1 steps
}

// What an environment can do beyond the contract is found through its wrappers.
func ExampleAs() {
	env, err := classic.NewCartPole(classic.DefaultCartPole())
	if err != nil {
		fmt.Println(err)
		return
	}
	short, err := envs.NewTimeLimit(env, 50)
	if err != nil {
		fmt.Println(err)
		return
	}
	tracer, ok := envs.As[envs.DrawTracer](short)
	if !ok {
		fmt.Println("draws are not traced")
		return
	}
	draws := 0
	tracer.TraceDraws(func(string, uint64, uint64, uint64, float64) { draws++ })
	if err := short.Reset(3, nil, envs.NewObservation(short.Spec())); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(short.Spec().MaxSteps, "steps,", draws, "draws at Reset")
	// Output:
	// 50 steps, 4 draws at Reset
}
