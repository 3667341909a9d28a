package eval

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// Request says what is compared.
type Request struct {
	// NewEnv makes an environment; each goroutine makes its own.
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

// Played is the raw result.
type Played struct {
	Spec        *envs.Spec
	Contestants []Contestant
	Seeds       []uint64
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

// Run plays every version of every contestant under every seed.
func Run(ctx context.Context, r Request) (*Played, error) {
	probe, err := r.NewEnv()
	if err != nil {
		return nil, err
	}
	p := &Played{Spec: probe.Spec(), Contestants: r.Contestants, Seeds: r.Seeds,
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
	if err := play(ctx, r, p, jobs, traces); err != nil {
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

// play hands the jobs to workers.
func play(ctx context.Context, r Request, p *Played, jobs []job, traces []trace) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		next int
		done int
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for range max(1, r.Workers) {
		wait.Go(func() {
			w, err := newWorker(r)
			for i := take(); err == nil && i < len(jobs) && ctx.Err() == nil; i = take() {
				if err = w.play(jobs[i], p, &traces[i]); err == nil && r.Progress != nil {
					mu.Lock()
					done++
					r.Progress(done, len(jobs))
					mu.Unlock()
				}
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// worker plays episodes in an environment of its own.
type worker struct {
	r      Request
	env    envs.Env
	runner *rollout.Runner
	actors map[[2]int]rollout.Actor
}

func newWorker(r Request) (*worker, error) {
	env, err := r.NewEnv()
	if err != nil {
		return nil, err
	}
	w := &worker{r: r, env: env, runner: rollout.NewRunner(env), actors: map[[2]int]rollout.Actor{}}
	w.runner.Stochastic = r.Stochastic
	return w, nil
}

// trace is what one episode leaves for figures.
type trace struct {
	steps   []StepRow
	samples []SampleSet
}

func (w *worker) play(j job, p *Played, t *trace) error {
	con := w.r.Contestants[j.contestant]
	id := [2]int{j.contestant, j.version}
	actor, ok := w.actors[id]
	if !ok {
		var err error
		if actor, err = con.Versions[j.version].New(w.env); err != nil {
			return fmt.Errorf("%s: %w", con.Name, err)
		}
		if actor == (rollout.Actor{}) {
			return errors.New(con.Name + ": no actor")
		}
		w.actors[id] = actor
	}
	w.runner.OnStep = nil
	if j.version == 0 && j.seed < w.r.Traced {
		w.runner.OnStep = t.follow(w.r.Seeds[j.seed], w.env)
	}
	e, err := w.runner.Episode(actor, w.r.Seeds[j.seed])
	if err != nil {
		return fmt.Errorf("%s: %w", con.Name, err)
	}
	p.Episodes[j.contestant][j.version][j.seed] = e
	return nil
}

// follow returns a function that keeps every step.
func (t *trace) follow(seed uint64, env envs.Env) func(rollout.Step) {
	at := 0.0
	sampler, _ := envs.As[envs.Sampler](env)
	if sampler != nil {
		t.samples = make([]SampleSet, len(env.Spec().Samples))
	}
	return func(s rollout.Step) {
		at += float64(s.Elapsed) / 1e6
		row := StepRow{Seed: seed, Step: s.Number, Time: at, Info: append([]float64(nil), s.Info...)}
		n := 0
		for _, rs := range s.Rewards {
			for _, r := range rs {
				row.Reward += float64(r)
				n++
			}
		}
		row.Reward /= float64(n)
		t.steps = append(t.steps, row)
		for i := range t.samples {
			t.samples[i] = sampler.AppendSamples(i, t.samples[i])
		}
	}
}
