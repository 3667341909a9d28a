package maddpg

import (
	"flag"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// Learning to a known return takes minutes, so these tests run only with -long:
//
//	go test ./agents/maddpg -run 'LQR|Spread' -long -v -timeout 0 [-episodes 25000 -seeds 10 -first 1 -continue]
var (
	long     = flag.Bool("long", false, "learn simple_spread and LQR to their known returns")
	episodes = flag.Int("episodes", 2_500, "episodes of simple_spread for each seed")
	seeds    = flag.Uint64("seeds", 1, "last seed")
	first    = flag.Uint64("first", 1, "first seed: several processes can divide the seeds")
	change   = flag.String("set", "", "with LQR: a key to change, as in agent.standardise=true; the run then makes no claim")
	proceed  = flag.Bool("continue", false, "after an interruption: skip the seeds whose curves are complete in $STOKER_PROOF")
)

// trainer is a learner on a vector of environments with a known return.
type trainer struct {
	run
	build func() (envs.Env, error)
}

func newTrainer(t *testing.T, build func() (envs.Env, error), copies int, c Config, seed uint64, steps int64) *trainer {
	t.Helper()
	v := must.Get(envs.NewVector(build, envs.VectorOptions{NumEnvs: copies, Seed: seed}))(t)
	e := native.New(native.Options{})
	l := must.Get(New(c, agents.Context{Spec: v.Spec(), NumEnvs: copies, Train: e, Act: e, Seed: seed, Steps: steps}))(t)
	must.Do(t, v.Reset())
	return &trainer{run{t, l, v}, build}
}

// evaluate returns the mean return of a policy over n episodes, always the same ones, and half its 95 % interval.
func (s *trainer) evaluate(p envs.Policy, n uint64, stochastic bool) (mean, half float64) {
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

func (s *trainer) policy() agents.Policy {
	s.t.Helper()
	p, err := s.l.Policy()
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}
