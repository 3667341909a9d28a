package export

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/policy"
)

// Self-tests hold the observations at these steps of the evaluation's first episode, as far as their JSON has at most
// testBytes together; the first one is there in any case. The whole header of a bundle has a mebibyte.
var testSteps = []int{0, 1, 4, 16, 64}

const testBytes = 256 << 10

// watch plays the policy in all worlds and returns what ranges its features have there, and the self-test.
func watch(ctx context.Context, t *eval.Trained, worlds []*world, progress func(done, all int)) ([]bundle.Seen,
	[]bundle.Vector, error) {
	done, all := 0, 0
	for _, w := range worlds {
		all += len(w.seeds)
	}
	for _, w := range worlds {
		if m, ok := envs.As[measuring](w.env); ok {
			m.Measure(false)
		}
	}
	seen := newWatcher(worlds[0].spec)
	var tests []bundle.Vector
	for i, w := range worlds {
		p, err := t.Policy(w.spec)
		if err != nil {
			return nil, nil, err
		}
		run := rollout.NewRunner(w.env)
		run.Stochastic = w.stochastic
		actor := rollout.Actor{Policy: stoppable{p, ctx}}
		for j, seed := range w.seeds {
			run.OnStep = func(s rollout.Step) { seen.see(s.Seen) }
			var test *tester
			if i == 0 && j == 0 {
				if test, err = newTester(t, w.spec); err != nil {
					return nil, nil, err
				}
				run.OnStep = func(s rollout.Step) {
					seen.see(s.Seen)
					test.see(s)
				}
			}
			if _, err := run.Episode(actor, seed); err != nil {
				return nil, nil, err
			}
			if test != nil {
				if tests, err = test.vectors, test.err; err != nil {
					return nil, nil, err
				}
			}
			done++
			if progress != nil {
				progress(done, all)
			}
		}
	}
	return seen.seen(), tests, nil
}

// measuring is an environment whose steps report measures that take long to work out, and that nothing else depends on.
type measuring interface{ Measure(on bool) }

// stoppable is a policy that acts until its context ends.
type stoppable struct {
	envs.Policy
	ctx context.Context
}

// Act implements [envs.Policy].
func (s stoppable) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	return s.Policy.Act(obs, act, deterministic)
}

// tester records the self-test: a policy of its own is shown the chosen observations alone, after a reset with seed 0,
// as whoever tests the bundle will do.
type tester struct {
	policy  envs.Policy
	act     *envs.Action
	vectors []bundle.Vector
	bytes   int
	full    bool
	err     error
}

func newTester(t *eval.Trained, spec *envs.Spec) (*tester, error) {
	p, err := t.Policy(spec)
	if err != nil {
		return nil, err
	}
	return &tester{policy: p, act: envs.NewAction(spec)}, p.Reset(0)
}

func (t *tester) see(s rollout.Step) {
	if t.err != nil || t.full || !slices.Contains(testSteps, s.Number) {
		return
	}
	if t.err = t.policy.Act(s.Seen, t.act, true); t.err != nil {
		return
	}
	v := policy.Record(s.Seen, t.act)
	text, err := json.Marshal(v)
	if t.bytes += len(text); err != nil || t.bytes > testBytes && len(t.vectors) > 0 {
		t.err, t.full = err, true
		return
	}
	t.vectors = append(t.vectors, v)
}
