package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/train"
)

// Request says who plays, where and under which seeds.
type Request struct {
	// NewEnv makes the environment of every contestant that has none of its own. It is called by several goroutines at
	// the same time.
	NewEnv      func() (envs.Env, error)
	Contestants []Contestant
	// Seeds are the workload seeds that every contestant faces.
	Seeds []uint64
	// Workers is the number of goroutines; results do not depend on it.
	Workers int
	// Stochastic lets policies draw their actions.
	Stochastic bool
	// Traced is the number of seeds, from the first, whose steps and samples are recorded.
	Traced int
	// Progress, where set, is told after every episode how far the evaluation is, never twice at a time.
	Progress func(Progress)
	// Away, where set, is a farm whose workers play what they can make from data alone, in the environment of Experiment,
	// which NewEnv makes here.
	Away       *train.Elsewhere
	Experiment *configs.Experiment
}

func (r *Request) check() error {
	if len(r.Contestants) == 0 || len(r.Seeds) == 0 {
		return fmt.Errorf("%d contestants under %d workload seeds, want at least one of each",
			len(r.Contestants), len(r.Seeds))
	}
	for i := range r.Contestants {
		c := &r.Contestants[i]
		if c.NewEnv == nil && r.NewEnv == nil {
			return errors.New("NewEnv is missing")
		}
		if err := c.check(); err != nil {
			return err
		}
		same := func(o Contestant) bool { return o.Name == c.Name && o.NewEnv == nil }
		if c.NewEnv == nil && slices.ContainsFunc(r.Contestants[:i], same) {
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
	// Spec is that of the first contestant's environment.
	Spec        *envs.Spec
	Contestants []Contestant
	Seeds       []uint64
	Stochastic  bool
	// Episodes is [contestant][version][seed].
	Episodes [][][]envs.Episode
	// Steps and Samples hold, for each contestant, what was traced of its first version.
	Steps   [][]StepRow
	Samples [][]SampleSet
	// Traces are the recorded traces of which episodes draw one, and TraceOf is that of each seed; none where they draw none.
	Traces  []string
	TraceOf []int
	// Out are the contestants of the request that are no longer among Contestants, because they failed.
	Out []Out

	draws sync.Once    // of Traces
	specs []*envs.Spec // by contestant, for those with an environment of their own
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

// Run plays every version of every contestant under every seed. The result does not depend on the number of workers. An
// error names the contestant and the seed; of several it is the first in the order of play: the first episode of every
// contestant, then the others by contestants and seeds. A contestant that was trained elsewhere has no error but is out.
// Where ctx ends, Run ends within a step and returns ctx's cause.
func Run(ctx context.Context, r Request) (*Played, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	n := len(r.Contestants)
	p := &Played{
		Contestants: r.Contestants, Seeds: r.Seeds, Stochastic: r.Stochastic,
		Steps: make([][]StepRow, n), Samples: make([][]SampleSet, n), specs: make([]*envs.Spec, n),
	}
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
	workers := make([]worker, max(1, r.Workers))
	blocks, meter := r.blocks(), newMeter(&r)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	blocks = slices.DeleteFunc(blocks, func(b block) bool { return r.portable(jobs[b.from].contestant) })
	var beside sync.WaitGroup
	if r.Away != nil {
		beside.Go(func() {
			if err := r.playAway(ctx, p, jobs, traces, meter); err != nil {
				end(err)
			}
		})
	}
	var mu sync.Mutex
	failures := make([]*failed, n)
	fails := func(f *failed) {
		mu.Lock()
		defer mu.Unlock()
		if f != nil && f.before(failures[f.contestant]) {
			failures[f.contestant] = f
		}
	}
	err := Each(ctx, r.Workers, len(blocks), nil, func(w, k int) error {
		b, took := blocks[k], splits()
		if c := jobs[b.from].contestant; r.Contestants[c].Versions[jobs[b.from].version].Together != nil {
			f, err := r.together(ctx, jobs[b.from:b.to], p, traces[b.from:b.to], func() { meter.add(c, took()) })
			fails(f)
			return err
		}
		for i := b.from; i < b.to; i++ {
			err := workers[w].play(ctx, &r, jobs[i], p, &traces[i])
			if err != nil && r.Contestants[jobs[i].contestant].Foreign && ctx.Err() == nil {
				fails(&failed{jobs[i], workers[w].runner.Steps(), err})
				err = nil
			}
			if err != nil {
				return err
			}
			meter.add(jobs[i].contestant, took())
		}
		return nil
	})
	if err != nil {
		end(err)
	}
	beside.Wait()
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	for i, t := range traces { // in the order of jobs, whichever worker played them
		c := jobs[i].contestant
		p.Steps[c] = append(p.Steps[c], t.steps...)
		if len(t.samples) > 0 && p.Samples[c] == nil {
			p.Samples[c] = make([]SampleSet, len(t.samples))
		}
		for k, s := range t.samples {
			p.Samples[c][k] = append(p.Samples[c][k], s...)
		}
	}
	if err := p.withoutFailed(failures); err != nil {
		return nil, err
	}
	p.Spec = p.specs[0]
	return p, nil
}

// block is jobs that one worker plays in a row.
type block struct{ from, to int }

// blocks are all jobs: the first of every contestant, then the others in order, so that what the episodes of each take
// is known early. In the request's environment each is a block of its own. A contestant's own
// environment takes time to make, so its jobs form only as many blocks as there are workers for each contestant. All jobs of a version
// that acts in all episodes at once are one block.
func (r *Request) blocks() []block {
	var first, out []block
	each := max(1, (r.Workers+len(r.Contestants)-1)/len(r.Contestants))
	from := 0
	for i := range r.Contestants {
		n, size := len(r.Contestants[i].Versions)*len(r.Seeds), 1
		if r.Contestants[i].NewEnv != nil {
			size = (n + each - 1) / each
		}
		if r.Contestants[i].Versions[0].Together != nil {
			size = len(r.Seeds)
		}
		for end := from + n; from < end; {
			b := block{from, min(from+size, end)}
			if from == end-n {
				first = append(first, b)
			} else {
				out = append(out, b)
			}
			from = b.to
		}
	}
	return append(first, out...)
}

// worker plays episodes in an environment and with actors of its own.
type worker struct {
	env    envs.Env
	of     int // the contestant whose environment env is, or shared
	runner *rollout.Runner
	actors map[[2]int]rollout.Actor // by contestant and version
}

// shared is the place of the request's environment, beside the contestants' own.
const shared = -1

// open makes the environment of a contestant, unless the worker's is the same one.
func (w *worker) open(r *Request, contestant int) (err error) {
	newEnv, of := r.NewEnv, shared
	if own := r.Contestants[contestant].NewEnv; own != nil {
		newEnv, of = own, contestant
	}
	if w.env != nil && w.of == of {
		return nil
	}
	if w.env, err = newEnv(); err != nil {
		return err
	}
	w.of, w.actors = of, map[[2]int]rollout.Actor{}
	w.runner = rollout.NewRunner(w.env)
	return nil
}

func (w *worker) play(ctx context.Context, r *Request, j job, p *Played, t *trace) error {
	if err := w.open(r, j.contestant); err != nil {
		return err
	}
	if j.contestant == 0 { // before it acts: it may be out
		p.drawn(w.env)
	}
	con := &r.Contestants[j.contestant]
	actor, err := w.actor(ctx, con, j)
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err)
	}
	w.runner.OnStep, w.runner.Stochastic = nil, r.Stochastic || con.Stochastic
	if j.version == 0 && j.seed < r.Traced {
		w.runner.OnStep = t.follow(r.Seeds[j.seed], w.env)
	}
	e, err := w.runner.Episode(actor, r.Seeds[j.seed])
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err) // the runner names seed and step
	}
	p.Episodes[j.contestant][j.version][j.seed] = e
	if j.version == 0 && j.seed == 0 {
		p.specs[j.contestant] = w.env.Spec()
	}
	return nil
}

// drawn notes, once, which traces an environment's episodes draw.
func (p *Played) drawn(env envs.Env) {
	p.draws.Do(func() {
		t, ok := envs.As[envs.Traced](env)
		if !ok || len(t.Traces()) == 0 {
			return
		}
		p.Traces = t.Traces()
		for _, s := range p.Seeds {
			p.TraceOf = append(p.TraceOf, t.TraceOf(s))
		}
	})
}

func (w *worker) actor(ctx context.Context, c *Contestant, j job) (rollout.Actor, error) {
	id := [2]int{j.contestant, j.version}
	a, ok := w.actors[id]
	if ok {
		return a, nil
	}
	a, err := c.Versions[j.version].New(w.env)
	if err != nil {
		return a, err
	}
	n := 0
	if a.Policy != nil {
		a.Policy, n = stoppable{a.Policy, ctx}, n+1
	}
	if a.Tuner != nil {
		a.Tuner, n = stoppableTuner{a.Tuner, ctx}, n+1
	}
	if a.Planner != nil {
		a.Planner, n = stoppablePlanner{a.Planner, ctx}, n+1
	}
	if n != 1 {
		return a, fmt.Errorf("it is %d of policy, tuner and planner, want one", n)
	}
	w.actors[id] = a
	return a, nil
}

// The stoppable actors act until their context ends, so that a cancelled evaluation ends within a step.
type (
	stoppable struct {
		envs.Policy
		ctx context.Context
	}
	stoppableTuner struct {
		envs.Tuner
		ctx context.Context
	}
	stoppablePlanner struct {
		envs.Planner
		ctx context.Context
	}
)

// Stoppable is a policy that acts until a context ends; it then returns the context's cause.
func Stoppable(ctx context.Context, p envs.Policy) envs.Policy { return stoppable{p, ctx} }

// Act implements [envs.Policy].
func (s stoppable) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	return s.Policy.Act(obs, act, deterministic)
}

func (s stoppableTuner) Propose(obs *envs.Observation, act *envs.Action) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Tuner.Propose(obs, act)
}

func (s stoppablePlanner) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Planner.Plan(env, obs, act)
}

// trace is the steps and samples recorded in one episode.
type trace struct {
	steps   []StepRow
	samples []SampleSet
}

// follow returns a function that records every step.
func (t *trace) follow(seed uint64, env envs.Env) func(rollout.Step) {
	at := 0.0
	sampler, ok := envs.As[envs.Sampler](env)
	if ok {
		t.samples = make([]SampleSet, len(env.Spec().Samples))
	}
	agents := float64(max(1, env.Spec().Agents()))
	return func(s rollout.Step) {
		at += float64(s.Elapsed) / 1e6
		row := StepRow{Seed: seed, Step: s.Number, Time: at, Info: append([]float64(nil), s.Info...)}
		for _, kind := range s.Rewards {
			for _, r := range kind {
				row.Reward += float64(r)
			}
		}
		row.Reward /= agents
		t.steps = append(t.steps, row)
		for i := range t.samples {
			t.samples[i] = sampler.AppendSamples(i, t.samples[i])
		}
	}
}
