package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// Request says what is compared.
type Request struct {
	// NewEnv makes an environment; each goroutine makes its own, all at once.
	NewEnv      func() (envs.Env, error)
	Contestants []Contestant
	// Seeds are the workload seeds that every contestant faces.
	Seeds []uint64
	// Workers is the number of goroutines; results do not depend on it.
	Workers int
	// Stochastic lets policies draw their actions.
	Stochastic bool
	// Traced is the number of seeds whose steps and samples are kept for figures.
	Traced int
	// Progress, where set, is told after every episode how many of how many are done.
	Progress func(done, all int)
}

func (r *Request) check() error {
	if r.NewEnv == nil {
		return errors.New("NewEnv is missing")
	}
	if len(r.Contestants) == 0 || len(r.Seeds) == 0 {
		return fmt.Errorf("%d contestants under %d workload seeds, want at least one of each", len(r.Contestants), len(r.Seeds))
	}
	for i := range r.Contestants {
		c := &r.Contestants[i]
		if err := c.check(); err != nil {
			return err
		}
		if slices.ContainsFunc(r.Contestants[:i], func(o Contestant) bool { return o.Name == c.Name }) {
			return fmt.Errorf("two contestants are called %s", c.Name)
		}
	}
	for i, s := range r.Seeds {
		if slices.Contains(r.Seeds[:i], s) {
			return fmt.Errorf("workload seed %d is given twice", s)
		}
	}
	return nil
}

// Played is the raw result.
type Played struct {
	Spec        *envs.Spec
	Contestants []Contestant
	Seeds       []uint64
	Stochastic  bool
	// Episodes is [contestant][version][seed].
	Episodes [][][]envs.Episode
	// Steps and Samples hold, for each contestant, what was traced of its first version.
	Steps   [][]StepRow
	Samples [][]SampleSet
}

// StepRow is one traced step.
type StepRow struct {
	Seed   uint64
	Step   int
	Time   float64 // seconds since the episode began, at the step's end
	Reward float64 // mean over agents
	Info   []float64
}

// SampleSet is one distribution, Spec.Samples[i], over the traced seeds.
type SampleSet []float64

// job is one episode to play.
type job struct{ contestant, version, seed int }

// Run plays every version of every contestant under every seed. The result does not depend on the number of workers. An error names
// the contestant and the seed; of several it is the first in the order of contestants and seeds. Where ctx ends, Run ends
// within a step and returns ctx's cause.
func Run(ctx context.Context, r Request) (*Played, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	env, err := r.NewEnv()
	if err != nil {
		return nil, err
	}
	p := &Played{Spec: env.Spec(), Contestants: r.Contestants, Seeds: r.Seeds, Stochastic: r.Stochastic,
		Steps: make([][]StepRow, len(r.Contestants)), Samples: make([][]SampleSet, len(r.Contestants))}
	var jobs []job
	for c, con := range r.Contestants {
		eps := make([][]envs.Episode, len(con.Versions))
		for v := range eps {
			eps[v] = make([]envs.Episode, len(r.Seeds))
			for s := range r.Seeds {
				jobs = append(jobs, job{c, v, s})
			}
		}
		p.Episodes = append(p.Episodes, eps)
	}
	traces := make([]trace, len(jobs))
	if err := playAll(ctx, r, env, p, jobs, traces); err != nil {
		return nil, err
	}
	for i, t := range traces { // in order, whoever played them
		c := jobs[i].contestant
		p.Steps[c] = append(p.Steps[c], t.steps...)
		if len(t.samples) > 0 && p.Samples[c] == nil {
			p.Samples[c] = make([]SampleSet, len(t.samples))
		}
		for k, s := range t.samples {
			p.Samples[c][k] = append(p.Samples[c][k], s...)
		}
	}
	return p, nil
}

// playAll hands the jobs to workers, in order. After a failure no more are handed out, but those begun are ended, so that
// the first to fail in order of jobs is always among the failed.
func playAll(ctx context.Context, r Request, env envs.Env, p *Played, jobs []job, traces []trace) error {
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		next int
		done int
		errs = make([]error, len(jobs))
		fail bool
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if fail || ctx.Err() != nil {
			return len(jobs)
		}
		next++
		return next - 1
	}
	finish := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs[i] = err
		fail = fail || err != nil
		if done++; err == nil && r.Progress != nil {
			r.Progress(done, len(jobs))
		}
	}
	for n := range min(max(1, r.Workers), len(jobs)) {
		wait.Go(func() {
			w := &worker{ctx: ctx, r: r, actors: map[[2]int]rollout.Actor{}}
			if n == 0 {
				w.env = env
			}
			for i := take(); i < len(jobs); i = take() {
				finish(i, w.play(jobs[i], p, &traces[i]))
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
