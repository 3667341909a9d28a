package steps

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
)

func few() EnvConfig {
	c := DefaultEnv()
	c.Apps = 12
	return c
}

func TestContract(t *testing.T) {
	for name, change := range map[string]func(*EnvConfig){
		"generated": func(*EnvConfig) {},
		"knative":   func(c *EnvConfig) { c.Platform = Knative },
		"contention": func(c *EnvConfig) {
			c.Platform, c.Contention, c.Requests, c.Rate = Knative, Seen, 3, []float64{30, 60}
		},
		"full": func(c *EnvConfig) { c.Form = FullForm },
		"dag":  func(c *EnvConfig) { c.Workflow, c.Mapping, c.Billed = "dag", ByFormula, OwnRun },
	} {
		t.Run(name, func(t *testing.T) {
			c := few()
			change(&c)
			envtest.Run(t, func() (envs.Env, error) { return New(c, Given{}) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 30})
			if c.Form == FullForm || c.Contention == Seen {
				return
			}
			envtest.Run(t, func() (envs.Env, error) { return NewFlat(c, Given{}) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 30})
		})
	}
}

func BenchmarkStep(b *testing.B) {
	e := must.Get(New(few(), Given{}))(b)
	play(b, e)
}

func BenchmarkFlatStep(b *testing.B) {
	e := must.Get(NewFlat(few(), Given{}))(b)
	play(b, e)
}

// play steps an environment with its first legal choices.
func play(b *testing.B, e envs.Env) {
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	seed := uint64(0)
	reset := func() {
		must.Do(b, e.Reset(seed, nil, obs))
		seed++
	}
	for range 12 {
		reset()
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		legal := 0
		for _, ok := range obs.Kinds[0].Mask {
			if ok {
				legal++
			}
		}
		act.Kinds[0][0] = float32(n * 7 % legal)
		must.Do(b, e.Step(act, obs, out))
		if out.Terminated {
			reset()
		}
	}
}
