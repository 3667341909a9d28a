// Package random holds the baseline of every environment: [Random] draws each action uniformly among the legal ones, or
// within the bounds. A learned policy that is not better has learned nothing.
//
// Not here: rules that choose at random among what a domain calls sensible, such as a job that fits (agents/baselines
// of that environment).
package random

import (
	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Config has no settings.
type Config struct{}

// Default returns the only configuration.
func Default() Config { return Config{} }

// Random draws uniformly, component by component: choices among those that the masks allow after the components
// before, numbers between their bounds (see [envs.Space] for numbers without bounds).
type Random struct {
	kept.Policy
	sampler *envs.ActionSampler
	stream  *rng.Stream
}

// New returns a policy for environments such as env. Actions that mix numbers with choices whose masks depend on each
// other are an error.
func New(_ Config, env envs.Env) (*Random, error) {
	s, err := envs.NewActionSampler(env.Spec())
	if err != nil {
		return nil, err
	}
	p := &Random{sampler: s, stream: stream(0)}
	p.Policy = kept.As("random", p)
	return p, nil
}

func stream(seed uint64) *rng.Stream { return rng.NewStream(seed, "random action") }

// Reset implements [envs.Policy].
func (p *Random) Reset(seed uint64) error {
	*p.stream = *stream(seed)
	return nil
}

// Act implements [envs.Policy]. It draws even where a deterministic action is asked for: it has no other.
func (p *Random) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	return p.sampler.Sample(p.stream, obs, act)
}

// State implements [state.Stater].
func (p *Random) State(c *state.Codec) { state.Value(c, p.stream) }
