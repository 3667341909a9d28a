package envs

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/rng"
)

// Autoreset says what a vector does where an episode has ended; the names are Gymnasium's.
type Autoreset string

// Autoreset modes.
const (
	// SameStep resets within the step that ended the episode: After holds its last observation, Obs the new episode's
	// first.
	SameStep Autoreset = "SameStep"
	// NextStep resets in place of the next step, whose action is not used; learners drop that transition (ResetStep).
	NextStep Autoreset = "NextStep"
	// Disabled leaves resetting to the caller (ResetEnv).
	Disabled Autoreset = "Disabled"
	// Rounds is not one of Gymnasium's: a copy whose episode has ended waits, with no agent active, until the caller
	// starts the next round (Reset) once all have (RoundOver).
	Rounds Autoreset = "Rounds"
)

// VectorOptions says how a vector is built.
type VectorOptions struct {
	// NumEnvs is the number of environments, Workers the number of goroutines that step them (0 or 1: in line). Results
	// do not depend on Workers.
	NumEnvs, Workers int
	// Seed gives every copy and episode its own seed.
	Seed uint64
	// Autoreset is SameStep where empty.
	Autoreset Autoreset
	// First is the number of the first copy, of which seeds depend: the vector is then a part of a larger one.
	First int
}

// Vector steps several copies of an environment together. The caller reads Obs, fills Act and calls Step.
type Vector struct {
	// Obs is what the copies see now. Before is what they saw when they acted in the last step, After what the step
	// gave: it differs from Obs only where the step ended an episode and reset the copy.
	Obs, Before, After *Batch
	Act                *ActionBatch
	// Rewards holds for each kind [copies, agents].
	Rewards [][]float32
	// Terminated, Truncated, Elapsed and ResetStep have an entry per copy. ResetStep marks copies that were reset in
	// place of the last step (NextStep), or waited (Rounds).
	Terminated, Truncated, ResetStep []bool
	Elapsed                          []int64
	// Info is [copies, len(Spec.Info)].
	Info []float64
	// Finished holds the episodes that the last step ended, by copy. It is overwritten by the next step.
	Finished []Episode

	spec     *Spec
	guard    *Guard
	opts     VectorOptions
	envs     []Env
	outcomes []Outcome
	stats    []*EpisodeStatistics
	episodes []uint64 // started so far, per copy
	ended    []bool
	pool     []Episode // one per copy, so that Finished does not allocate
	errs     []error
}

// NewVector makes opts.Copies environments with build.
func NewVector(build func() (Env, error), opts VectorOptions) (*Vector, error) {
	if opts.Autoreset == "" {
		opts.Autoreset = SameStep
	}
	switch {
	case opts.NumEnvs < 1:
		return nil, fmt.Errorf("envs: vector of %d copies, want at least 1", opts.NumEnvs)
	case !slices.Contains([]Autoreset{SameStep, NextStep, Disabled, Rounds}, opts.Autoreset):
		return nil, fmt.Errorf("envs: autoreset mode %q, want SameStep, NextStep, Disabled or Rounds", opts.Autoreset)
	}
	n := opts.NumEnvs
	v := &Vector{
		opts: opts, envs: make([]Env, n), stats: make([]*EpisodeStatistics, n),
		Terminated: make([]bool, n), Truncated: make([]bool, n), ResetStep: make([]bool, n), Elapsed: make([]int64, n),
		Finished: make([]Episode, 0, n), episodes: make([]uint64, n), ended: make([]bool, n), pool: make([]Episode, n),
		errs: make([]error, n),
	}
	for i := range n {
		e, err := build()
		if err != nil {
			return nil, err
		}
		v.envs[i] = e
	}
	v.spec = v.envs[0].Spec()
	v.guard = NewGuard(v.spec)
	v.Obs, v.Before, v.After = NewBatch(v.spec, n), NewBatch(v.spec, n), NewBatch(v.spec, n)
	v.Act = NewActionBatch(v.spec, n)
	v.Info = make([]float64, n*len(v.spec.Info))
	v.Rewards = make([][]float32, len(v.spec.Kinds))
	for k, kind := range v.spec.Kinds {
		v.Rewards[k] = make([]float32, n*kind.Agents)
	}
	v.outcomes = OutcomesOf(v.spec, n, v.Rewards, v.Info)
	for i := range n {
		v.stats[i] = NewEpisodeStatistics(v.spec)
		v.pool[i].Info = make([]float64, len(v.spec.Info))
	}
	return v, nil
}

// Spec describes the environments.
func (v *Vector) Spec() *Spec { return v.spec }

// NumEnvs is the number of environments.
func (v *Vector) NumEnvs() int { return v.opts.NumEnvs }

// Env returns copy i, to read or to copy from; stepping it by hand breaks the vector.
func (v *Vector) Env(i int) Env { return v.envs[i] }

// RoundOver reports whether the episodes of all copies have ended.
func (v *Vector) RoundOver() bool { return !slices.Contains(v.ended, false) }

// SetRound makes the next Reset start every copy's n-th episode, counted from 0.
func (v *Vector) SetRound(n uint64) {
	for i := range v.episodes {
		v.episodes[i] = n
	}
}

// Reset starts an episode in every copy.
func (v *Vector) Reset() error {
	for i := range v.envs {
		if err := v.ResetEnv(i); err != nil {
			return err
		}
	}
	return nil
}

// ResetEnv starts the next episode in copy i.
func (v *Vector) ResetEnv(i int) error {
	v.ended[i] = false
	v.stats[i].Reset()
	v.pool[i].Seed = EpisodeSeed(v.opts.Seed, v.opts.First+i, v.episodes[i])
	v.episodes[i]++
	obs := v.Obs.Env(i)
	if err := v.envs[i].Reset(v.pool[i].Seed, nil, obs); err != nil {
		return err
	}
	return v.guard.Observation(obs)
}

// EpisodeSeed is the seed of a copy's n-th episode, counted from 0, under a vector's seed.
func EpisodeSeed(seed uint64, copy int, n uint64) uint64 {
	return rng.New(seed, "episode").With(uint64(copy)).With(n).Uint64()
}

// Step applies Act to every copy. Where copies fail, the error of the first is returned; the others have stepped, and a
// copy that refused its action still stands where it stood. What a copy emits against the contract is an error too: see
// [Guard].
func (v *Vector) Step() error {
	v.Before, v.Obs = v.Obs, v.Before
	pool.Do((*stepping)(v), len(v.envs), v.opts.Workers)
	v.Finished = v.Finished[:0]
	var first error
	for i, err := range v.errs {
		switch {
		case err != nil:
			if first == nil {
				first = fmt.Errorf("environment %d: %w", i, err)
			}
		case !v.ResetStep[i] && (v.Terminated[i] || v.Truncated[i]):
			v.Finished = append(v.Finished, v.pool[i])
			v.Finished[len(v.Finished)-1].Seed = v.lastSeed(i)
		}
	}
	return first
}

// Resets reports whether the next step does not use copy i's action: it resets the copy (NextStep), or the copy waits
// (Rounds).
func (v *Vector) Resets(i int) bool {
	return v.ended[i] && (v.opts.Autoreset == NextStep || v.opts.Autoreset == Rounds)
}

// lastSeed is the seed of the episode that copy i has just ended: with SameStep the next one has already begun.
func (v *Vector) lastSeed(i int) uint64 {
	n := v.episodes[i] - 1
	if v.opts.Autoreset == SameStep {
		n--
	}
	return EpisodeSeed(v.opts.Seed, v.opts.First+i, n)
}

// stepping is a step of all copies as a job.
type stepping Vector

// Part implements [pool.Job].
func (s *stepping) Part(i, _ int) { (*Vector)(s).stepOne(i) }

// stepOne steps copy i; it touches nothing that belongs to another copy.
func (v *Vector) stepOne(i int) {
	v.errs[i] = nil
	out := &v.outcomes[i]
	v.ResetStep[i] = v.Resets(i)
	if v.ResetStep[i] {
		v.clearOutcome(i)
		if v.opts.Autoreset == Rounds {
			v.Obs.Env(i).CopyFrom(v.Before.Env(i))
		} else {
			v.errs[i] = v.ResetEnv(i)
		}
		v.After.Env(i).CopyFrom(v.Obs.Env(i))
		return
	}
	after := v.After.Env(i)
	if err := v.stepEnv(i, after, out); err != nil {
		v.errs[i] = err
		after.restore()
		out.restore()
		v.clearOutcome(i)
		v.Obs.Env(i).CopyFrom(v.Before.Env(i))
		after.CopyFrom(v.Before.Env(i))
		return
	}
	v.Terminated[i], v.Truncated[i], v.Elapsed[i] = out.Terminated, out.Truncated, out.Elapsed
	v.stats[i].Add(out)
	v.ended[i] = out.Terminated || out.Truncated
	if v.ended[i] {
		v.stats[i].Fill(&v.pool[i])
		v.pool[i].Env, v.pool[i].Terminated = i, out.Terminated
		if v.opts.Autoreset == SameStep {
			v.errs[i] = v.ResetEnv(i)
			return
		}
	}
	v.Obs.Env(i).CopyFrom(after)
	if v.ended[i] && v.opts.Autoreset == Rounds {
		for k := range v.Obs.Env(i).Kinds {
			clear(v.Obs.Env(i).Kinds[k].Active)
		}
	}
}

// stepEnv steps copy i and checks what it emits.
func (v *Vector) stepEnv(i int, after *Observation, out *Outcome) error {
	if err := v.envs[i].Step(v.Act.Env(i), after, out); err != nil {
		return err
	}
	if err := v.guard.Outcome(out); err != nil {
		return err
	}
	return v.guard.Observation(after)
}

func (v *Vector) clearOutcome(i int) {
	v.Terminated[i], v.Truncated[i], v.Elapsed[i] = false, false, 0
	for _, r := range v.outcomes[i].Rewards {
		clear(r)
	}
	clear(v.outcomes[i].Info)
}
