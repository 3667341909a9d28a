package explain

import (
	"context"
	"math"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// shuffled is a policy that observes one feature as it was in another, recorded state.
type shuffled struct {
	envs.Policy
	rec     *recording
	feature int
	width   int
	key     rng.Key
	step    uint64
	obs     envs.Observation
}

// Reset implements [envs.Policy].
func (s *shuffled) Reset(seed uint64) error {
	s.key, s.step = rng.New(seed, "explain: shuffled while playing").With(uint64(s.feature)), 0
	return s.Policy.Reset(seed)
}

// Act implements [envs.Policy].
func (s *shuffled) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o := &s.obs.Kinds[0]
	from := obs.Kinds[0]
	from.Values = append(o.Values[:0], from.Values...)
	*o = from
	at := s.key.With(s.step).IntN(s.rec.states())
	s.step++
	for j, here := range o.Active {
		if here {
			o.Values[j*s.width+s.feature] = s.rec.state(at)[j*s.width+s.feature]
		}
	}
	return s.Policy.Act(&s.obs, act, deterministic)
}

// replay plays every episode again with each feature shuffled, and fills in the return that is lost.
func replay(ctx context.Context, r *Request, rec *recording, e *Explanation, tell func()) error {
	run := rollout.NewRunner(r.Env)
	for i := range e.Features {
		f := &e.Features[i]
		p := &shuffled{
			Policy: r.Policy, rec: rec, feature: f.index, width: r.Env.Spec().Kinds[0].Observation.Width(),
			obs: envs.Observation{Kinds: make([]envs.KindObservation, 1)},
		}
		lost := make([]float64, len(r.Seeds))
		for s, seed := range r.Seeds {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			ep, err := run.Episode(rollout.Actor{Policy: p}, seed)
			if err != nil {
				return err
			}
			lost[s] = rec.returns[s] - ep.Return
			tell()
		}
		f.Lost = paired(lost)
	}
	return nil
}

// paired is the mean of paired differences with Student's t interval.
func paired(x []float64) *Interval {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean, n := sum/float64(len(x)), float64(len(x))
	half := student(n-1) * deviation(x) / math.Sqrt(n-1)
	return &Interval{mean, mean - half, mean + half}
}
