package choicetest

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// Window is the number of last training episodes over which a point of a curve is a mean.
const Window = 100

// Curve is how one seed learned: after Steps[i] environment steps the last [Window] training episodes, exploration
// included, had Return[i] on average.
type Curve struct {
	Seed   uint64
	Steps  []int64
	Return []float64
}

// Last is the last point.
func (c Curve) Last() float64 { return c.Return[len(c.Return)-1] }

// Shipped reads a shipped configuration, a path from the tests' folder, into env and agent, which hold defaults, and
// returns its training; sets are changes such as "agent.rate=0.001".
func Shipped(t testing.TB, path string, env, agent any, sets ...string) configs.Train {
	t.Helper()
	x, err := configs.Load(path, sets, configs.Tables{
		Env: func(string) (any, error) { return env, nil }, Agent: func(string) (any, error) { return agent, nil },
		Rival: func(string) (any, error) { return &struct{}{}, nil }, // those of its evaluation do not play here
	})
	if err != nil {
		t.Fatal(err)
	}
	return x.Train
}

// Train trains for steps environment steps on copies of an environment, with the seeds that a run of this seed has, and
// takes points many times. It returns the learner too, as it is at the end.
func Train(t testing.TB, seed uint64, copies int, steps int64, points int, build func() (envs.Env, error),
	make func(agents.Context) (agents.Learner, error)) (Curve, agents.Learner) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := envs.NewVector(build, envs.VectorOptions{Copies: copies, Seed: rng.New(seed, "training episodes").Uint64()})
	must(err)
	defer v.Close()
	e := native.New(native.Options{Threads: 1})
	l, err := make(agents.Context{Spec: v.Spec(), Copies: copies, Train: e, Act: e, Seed: seed, Steps: steps})
	must(err)
	must(v.Reset())
	c := Curve{Seed: seed}
	var window []float64
	for done, point := int64(0), int64(1); done < steps; {
		must(turn(l, v))
		done += int64(copies)
		for _, e := range v.Finished {
			window = append(window, e.Return)
		}
		window = window[max(0, len(window)-Window):]
		if done*int64(points) >= point*steps {
			sum := 0.0
			for _, x := range window {
				sum += x
			}
			c.Steps, c.Return = append(c.Steps, done), append(c.Return, sum/float64(max(1, len(window))))
			point++
		}
	}
	return c, l
}

// Seeds trains once with each seed from first to last, as a shipped configuration plans, and returns the curves and
// their last points.
func Seeds(t testing.TB, first, last uint64, plan configs.Train, points int, env func() (envs.Env, error),
	build func(agents.Context) (agents.Learner, error)) (curves []Curve, ends []float64) {
	t.Helper()
	for seed := first; seed <= last; seed++ {
		c, _ := Train(t, seed, plan.Copies, plan.Steps, points, env, build)
		t.Logf("seed %d: %.1f", seed, c.Last())
		curves, ends = append(curves, c), append(ends, c.Last())
	}
	return curves, ends
}
