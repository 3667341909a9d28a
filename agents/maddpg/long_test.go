package maddpg

import (
	"flag"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/nets/native"
)

// Learning to a known return takes minutes, so that it wants to be asked for:
//
//	go test ./agents/maddpg -run 'LQR|Spread' -long -v -timeout 0 [-episodes 25000 -seeds 10 -continue]
var (
	long     = flag.Bool("long", false, "learn simple_spread and LQR to their known returns")
	episodes = flag.Int("episodes", 2_500, "of simple_spread, for each seed")
	seeds    = flag.Uint64("seeds", 1, "number of seeds")
	proceed  = flag.Bool("continue", false, "keep the seeds whose curves are complete in $STOKER_PROOF, as after an interruption")
)

// school is a learner on a vector of one of package classic's environments.
type school struct {
	run
	build func() (envs.Env, error)
}

func newSchool(t *testing.T, build func() (envs.Env, error), copies int, c Config, seed uint64, steps int64) *school {
	t.Helper()
	v, err := envs.NewVector(build, envs.VectorOptions{Copies: copies, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	e := native.New(native.Options{})
	l, err := New(c, agents.Context{Spec: v.Spec(), Copies: copies, Train: e, Act: e, Seed: seed, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Reset(); err != nil {
		t.Fatal(err)
	}
	return &school{run{t, l, v}, build}
}

// exam is the mean return of a policy over n episodes, always the same, and half its 95 % interval.
func (s *school) exam(p envs.Policy, n uint64, stochastic bool) (mean, half float64) {
	s.t.Helper()
	env, err := s.build()
	if err != nil {
		s.t.Fatal(err)
	}
	r := rollout.NewRunner(env)
	r.Stochastic = stochastic
	var sum, sum2 float64
	for i := range n {
		e, err := r.Episode(rollout.Actor{Policy: p}, 1<<40+i)
		if err != nil {
			s.t.Fatal(err)
		}
		sum += e.Return
		sum2 += e.Return * e.Return
	}
	mean = sum / float64(n)
	return mean, 1.96 * math.Sqrt((sum2/float64(n)-mean*mean)/float64(n))
}

func (s *school) policy() agents.Policy {
	s.t.Helper()
	p, err := s.l.Policy()
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// regulator is the control −gain·x.
type regulator struct {
	agents.Policy
	gain float32
}

func (r regulator) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = -r.gain * obs.Kinds[0].Values[0]
	return nil
}

// TestDDPGOnLQR holds DDPG against Riccati's optimum: on the same 400 episodes its cost is within 2 % of the best control's.
// Episodes are short, since an integrator under a policy that knows nothing runs away; replay is short, to forget those states;
// and the rates fall, since 2 % of the cost are 0.8 % of the control's range.
func TestDDPGOnLQR(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	problem := classic.DefaultLQR()
	problem.Steps = 10
	c := Default()
	c.Mix, c.Hidden, c.Activation, c.FinalBound, c.Gamma, c.Clip = Single, []int{32, 32}, "tanh", 3e-3, 0.95, 0
	c.ActorRate, c.CriticRate, c.RateFinal, c.Noise, c.NoiseFinal, c.Standardise = 5e-4, 2e-3, 0.02, 0.1, 0.05, false
	c.RandomSteps, c.LearningStarts, c.Replay = 200, 500, 5_000
	for seed := range *seeds {
		s := newSchool(t, func() (envs.Env, error) { return classic.NewLQR(problem) }, 4, c, 1+seed, 20_000)
		s.steps(20_000 / 4)
		p := s.policy()
		_, gain := problem.Riccati(1)
		got, _ := s.exam(p, 400, false)
		best, _ := s.exam(regulator{p, float32(gain)}, 400, false)
		t.Logf("seed %d: cost %.4f, the best control's %.4f (%.4f in expectation)", 1+seed, -got, -best, problem.Cost(gain))
		if got < 1.02*best {
			t.Errorf("seed %d: cost is %.4f, want within 2 %% of %.4f", 1+seed, -got, -best)
		}
	}
}
