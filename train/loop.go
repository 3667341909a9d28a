package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-rl/stoker/envs"
)

// episode is what the loop remembers of a finished episode.
type episode struct {
	Return real   `json:"return"`
	Length int64  `json:"length"`
	Info   []real `json:"info"`
}

// windowLength is the number of last episodes over which rollout metrics are means, as in Stable-Baselines3.
const windowLength = 100

// end is the number of steps at which this process has done its part: those planned, or where it is to stop before.
func (r *run) end() int64 {
	if n := r.opts.Until; n > 0 {
		return min(n, r.world.x.Train.Steps)
	}
	return r.world.x.Train.Steps
}

// loop trains until the steps of this process are done, and saves. When ctx ends it saves at once and returns ctx's cause.
func (r *run) loop(ctx context.Context) error {
	for end := r.end(); r.state.Interrupted || r.state.Steps < end; {
		if ctx.Err() != nil {
			return r.stop(ctx)
		}
		if !r.state.Interrupted {
			err := r.step(ctx)
			if err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) { // the round is forgotten
				return r.stop(ctx)
			}
			if err != nil {
				return stepError{fmt.Errorf("at step %d: %w", r.state.Steps, err)}
			}
		}
		err := r.scheduled(ctx)
		if errors.Is(err, errInterrupted) {
			return r.stop(ctx)
		}
		if err != nil {
			return err
		}
		r.progress.update(r.state.Steps, &r.phases)
	}
	return r.saveOnce()
}

// stop saves and returns the cause of the stop. Where saving fails, the stop is a failure and its cause no excuse.
func (r *run) stop(ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := r.saveOnce(); err != nil {
		return fmt.Errorf("stopped (%s), and saving failed: %w", cause.Error(), err)
	}
	return cause
}

// step is one step of every copy, and the updates that are due; with a library it is one update, in rounds a round.
func (r *run) step(ctx context.Context) error {
	l, v, p := r.world.learner, r.world.vector, &r.phases
	p.start()
	if o := r.world.offline; o != nil {
		if err := o.Learn(); err != nil {
			return fmt.Errorf("updating: %w", err)
		}
		p.lap(phaseUpdate)
		r.state.Steps++
		r.count()
		return nil
	}
	if r.world.rounds != nil {
		return r.round(ctx)
	}
	if err := r.world.tick(p); err != nil {
		return err
	}
	if err := l.Update(); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	p.lap(phaseUpdate)
	r.state.Steps += int64(v.NumEnvs())
	r.count()
	r.remember(v.Finished)
	return nil
}

// tick acts and steps once in every copy, without learning from it yet.
func (w *world) tick(p *phases) error {
	if err := w.learner.Act(w.vector); err != nil {
		return fmt.Errorf("acting: %w", err)
	}
	p.lap(phaseAct)
	if err := w.vector.Step(); err != nil {
		return fmt.Errorf("stepping: %w", err)
	}
	p.lap(phaseStep)
	if err := w.learner.Observe(w.vector); err != nil {
		return fmt.Errorf("observing: %w", err)
	}
	p.lap(phaseObserve)
	return nil
}

// count tells who counts how many steps are done.
func (r *run) count() {
	if c := r.opts.Count; c != nil {
		c.Store(r.state.Steps)
	}
}

// remember adds finished episodes to the window.
func (r *run) remember(finished []envs.Episode) {
	for i := range finished {
		r.newest().from(&finished[i])
	}
}

// newest is the place in the window of one more episode.
func (r *run) newest() *episode {
	r.state.Episodes++
	var last episode
	if len(r.state.Window) == windowLength {
		last = r.state.Window[0] // its memory serves again
		copy(r.state.Window, r.state.Window[1:])
		r.state.Window = r.state.Window[:windowLength-1]
	}
	r.state.Window = append(r.state.Window, last)
	return &r.state.Window[len(r.state.Window)-1]
}

// from makes e what is remembered of an episode.
func (e *episode) from(x *envs.Episode) {
	e.Return, e.Length, e.Info = real(x.Return), x.Length, e.Info[:0]
	for _, v := range x.Info {
		e.Info = append(e.Info, real(v))
	}
}

// scheduled does what is due after the last step of every copy: log, evaluate, save, in this order. Where ctx ends
// the evaluation the error is errInterrupted, and the next call, perhaps in another process, begins with the
// evaluation: what comes before it is done.
func (r *run) scheduled(ctx context.Context) error {
	plan, now := r.world.x.Train, r.state.Steps
	before, last := now-cmp.Or(r.state.RoundSteps, int64(r.world.vector.NumEnvs())), now >= plan.Steps
	due := func(every int64) bool { return every > 0 && (now/every > before/every || last) }
	again := r.state.Interrupted
	if again {
		r.state.Interrupted, r.saved = false, -1 // what was saved at this step is the state before the evaluation
	}
	if due(plan.LogEvery) && !again {
		r.phases.start()
		err := r.report()
		r.phases.lap(phaseLog)
		if err != nil {
			return err
		}
	}
	if r.world.checker != nil && (again || due(plan.Evaluate.Every)) {
		err := r.evaluate(ctx)
		if r.state.Interrupted = errors.Is(err, errInterrupted); r.state.Interrupted && again {
			r.saved = now // the process that was stopped in this evaluation before has saved this state
		}
		if err != nil {
			return err
		}
	}
	if due(plan.Checkpoint.Every) {
		return r.saveOnce()
	}
	return nil
}

// saveOnce saves where this step has not been saved yet.
func (r *run) saveOnce() error {
	if r.saved == r.state.Steps {
		return nil
	}
	return r.timedSave(false)
}

func (r *run) timedSave(best bool) error {
	r.phases.start()
	defer r.phases.lap(phaseSave)
	if err := r.save(best); err != nil {
		return fmt.Errorf("saving at step %d: %w", r.state.Steps, err)
	}
	return nil
}

// report logs the metrics of the rollouts and of the learner.
func (r *run) report() error {
	values := []value{{"time/episodes", float64(r.state.Episodes)}}
	if n := float64(len(r.state.Window)); n > 0 {
		var ret, length float64
		info := make([]float64, len(r.world.vector.Spec().Info))
		for _, e := range r.state.Window {
			ret += float64(e.Return)
			length += float64(e.Length)
			for i, x := range e.Info {
				info[i] += float64(x)
			}
		}
		values = append(values, value{"rollout/ep_rew_mean", ret / n}, value{"rollout/ep_len_mean", length / n})
		for i, q := range r.world.vector.Spec().Info {
			values = append(values, value{"rollout/" + q.Name, info[i] / n})
		}
		r.progress.note("return", ret/n)
	}
	r.world.learner.Metrics(func(name string, x float64) { values = append(values, value{name, x}) })
	times := r.phases.report(r.state.Steps)
	if err := r.log.write(r.state.Steps, values, times); err != nil {
		return fmt.Errorf("logging: %w", err)
	}
	r.progress.line(r.state.Steps)
	return nil
}

// evaluate runs the policy without exploration, and saves a checkpoint where it did better than ever.
func (r *run) evaluate(ctx context.Context) error {
	r.progress.busy(r.state.Steps, &r.phases, "evaluating")
	r.phases.start()
	var values []value
	got, err := r.world.checker.run(ctx, r.world.learner,
		func(name string, x float64) { values = append(values, value{name, x}) })
	if err != nil {
		return fmt.Errorf("evaluating at step %d: %w", r.state.Steps, err)
	}
	if err := r.log.write(r.state.Steps, values, nil); err != nil {
		return fmt.Errorf("logging: %w", err)
	}
	r.phases.lap(phaseEvaluate)
	r.last = evaluation{&got, r.state.Steps}
	b := &r.state.Best
	best := r.world.checker.better(got, b.Value)
	r.progress.evaluated(r.state.Steps, r.world.x.Train.Evaluate.Metric, got, best)
	if !best {
		return nil
	}
	b.Value, b.Steps = &got, r.state.Steps
	return r.timedSave(true)
}

// Phases of the loop; the fraction of time of each is shown.
const (
	phaseAct = iota
	phaseStep
	phaseObserve
	phaseUpdate
	phaseLog
	phaseEvaluate
	phaseSave
	phaseCount
)

var phaseNames = [phaseCount]string{"act", "step", "observe", "update", "log", "evaluate", "save"}

// phases measures how time is spent, since the last report.
type phases struct {
	mark         time.Time
	spent        [phaseCount]time.Duration
	before       [phaseCount]time.Duration // between the last two reports
	total        [phaseCount]time.Duration // of this process
	since, began time.Time
	lastSteps    int64
}

func newPhases(steps int64) phases {
	now := time.Now()
	return phases{since: now, began: now, lastSteps: steps}
}

func (p *phases) start() { p.mark = time.Now() }

func (p *phases) lap(phase int) {
	now := time.Now()
	p.spent[phase] += now.Sub(p.mark)
	p.total[phase] += now.Sub(p.mark)
	p.mark = now
}

// shares returns the phases' shares of the time measured since the last report but one, so that there always is
// something to show.
func (p *phases) shares() (out [phaseCount]float64) {
	var all time.Duration
	for i := range out {
		all += p.spent[i] + p.before[i]
	}
	for i := range out {
		out[i] = float64(p.spent[i]+p.before[i]) / float64(max(all, 1))
	}
	return out
}

// report returns rate and shares since the last report, the rate first, and starts anew.
func (p *phases) report(steps int64) []value {
	now := time.Now()
	out := []value{
		{"time/fps", float64(steps-p.lastSteps) / max(now.Sub(p.since).Seconds(), 1e-9)},
		{"time/elapsed_s", now.Sub(p.began).Seconds()},
	}
	p.before = [phaseCount]time.Duration{}
	for i, share := range p.shares() {
		out = append(out, value{"time/share_" + phaseNames[i], share})
	}
	p.before, p.spent = p.spent, [phaseCount]time.Duration{}
	p.since, p.lastSteps = now, steps
	return out
}

// Phase is what a part of the loop took of a process's time.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

// all lists the phases since the process began; "other" is what none of them had, such as drawing progress.
func (p *phases) all() []Phase {
	whole := max(time.Since(p.began).Seconds(), 1e-9)
	rest := Phase{"other", whole, 1}
	var out []Phase
	for i, d := range p.total {
		out = append(out, Phase{phaseNames[i], d.Seconds(), d.Seconds() / whole})
		rest.Seconds -= d.Seconds()
	}
	rest.Share = rest.Seconds / whole
	return append(out, rest)
}
