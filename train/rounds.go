package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/nets/engines"
)

// checkRollouts refuses workers for rounds where there are none.
func (w *world) checkRollouts(o Options) error {
	switch {
	case o.Rollouts == 0:
		return nil
	case w.rounds == nil:
		return Usage("--rollouts: agent %s does not learn in rounds, want agent.rounds=true (of reinforce)", w.x.Agent.Name)
	case o.Elsewhere == nil:
		return Usage("--rollouts: there is no farm whose workers would play them")
	}
	return nil
}

// round is one round and its update. Every copy then begins its next episode, whoever played this one.
func (r *run) round(ctx context.Context) error {
	w, p := r.world, &r.phases
	n := uint64(r.state.Episodes) / uint64(w.vector.NumEnvs())
	var list []episode
	var err error
	w.rounds.BeginRound(n)
	if r.opts.Rollouts > 0 {
		list, err = r.farmRound(ctx, n)
		p.lap(phaseStep)
	} else {
		list, err = w.playRound(p, func(steps int64) error {
			r.progress.update(r.state.Steps+steps, p)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil
		})
	}
	if err != nil && ctx.Err() != nil { // as it was before the round
		w.rounds.BeginRound(n)
		w.vector.SetRound(n)
		err = errors.Join(err, w.vector.Reset())
	}
	if err != nil {
		return err
	}
	if err := w.learner.Update(); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	p.lap(phaseUpdate)
	if err := w.vector.Reset(); err != nil {
		return err
	}
	p.lap(phaseStep)
	r.state.RoundSteps = 0
	for _, e := range list {
		r.state.RoundSteps += e.Length
		*r.newest() = e
	}
	r.state.Steps += r.state.RoundSteps
	r.count()
	return nil
}

// playRound plays the copies' episodes to their ends and returns them in the order of the copies. It tells each how many
// steps are done: an error ends it.
func (w *world) playRound(p *phases, each func(steps int64) error) ([]episode, error) {
	list := make([]episode, w.vector.NumEnvs())
	for steps := int64(0); !w.vector.RoundOver(); {
		if err := each(steps); err != nil {
			return nil, err
		}
		if err := w.tick(p); err != nil {
			return nil, err
		}
		for _, waited := range w.vector.ResetStep {
			if !waited {
				steps++
			}
		}
		for i := range w.vector.Finished {
			e := &w.vector.Finished[i]
			list[e.Env].from(e)
		}
	}
	return list, nil
}

// rolloutPart is the configuration of a unit that plays a part of a round.
type rolloutPart struct {
	Experiment json.RawMessage `json:"experiment"`
	// Policy is the file of the round's policy, under its own hash.
	Policy farm.File `json:"policy"`
	Round  uint64    `json:"round"`
	// First and Envs are the part, of the run's copies of the environment.
	First int `json:"first"`
	Envs  int `json:"envs"`
}

// Files of a round.
const (
	rolloutPolicy = "policy.safetensors"
	rolloutFile   = "round.played" // a line of JSON, the episodes, and what the learner says of them
)

// farmRound has workers play a round.
func (r *run) farmRound(ctx context.Context, n uint64) (all []episode, err error) {
	e := r.opts.Elsewhere
	policy, err := r.putPolicy(ctx)
	if err != nil {
		return nil, err
	}
	// What is not dropped stays until the study ends.
	defer func() { _ = e.Farm.Drop(context.WithoutCancel(ctx), policy.Hash, []farm.File{policy}) }()
	copies := r.world.vector.NumEnvs()
	parts := max(1, min(r.opts.Rollouts, copies/2)) // a network for one row has kernels of its own, and other last bits
	tasks, at, got := make([]farm.Task, parts), map[farm.Key]int{}, make([][]byte, parts)
	for i := range tasks {
		first, end := i*copies/parts, (i+1)*copies/parts
		u := *r.rollout
		q := rolloutPart{u.Config, policy, n, first, end - first}
		if u.Config, err = json.Marshal(q); err != nil {
			return nil, err
		}
		u.Name = fmt.Sprintf("round-%d-envs-%d-%d", n, first, end-1)
		tasks[i].Unit = u
		at[u.Key()] = i
	}
	if err := e.Farm.Submit(ctx, tasks...); err != nil {
		return nil, err
	}
	for len(at) > 0 {
		res, err := e.Farm.Result(ctx)
		if err != nil {
			return nil, err
		}
		i, ok := at[res.Key]
		switch {
		case !ok: // of a round before: a second result
			continue
		case res.Gone:
			err = e.Farm.Submit(ctx, tasks[i])
		case res.Error != "":
			err = fmt.Errorf("worker %s: %s: %s", res.Worker, tasks[i].Unit.Name, res.Error)
		case len(res.Files) != 1:
			err = fmt.Errorf("worker %s left %d files of %s, want 1", res.Worker, len(res.Files), tasks[i].Unit.Name)
		default:
			delete(at, res.Key)
			got[i], err = farm.GetBytes(ctx, e.Farm, res.Key, res.Files[0])
			_ = e.Farm.Drop(ctx, res.Key, res.Files) // see above
		}
		if err != nil {
			return nil, err
		}
	}
	for i, b := range got {
		list, err := r.world.take(b)
		if err != nil {
			return nil, fmt.Errorf("what a worker played of %s: %w", tasks[i].Unit.Name, err)
		}
		all = append(all, list...)
	}
	if len(all) != copies {
		return nil, fmt.Errorf("workers played %d episodes, want %d", len(all), copies)
	}
	return all, nil
}

// putPolicy stores the policy of a round, and describes the run to workers before the first one.
func (r *run) putPolicy(ctx context.Context) (f farm.File, err error) {
	e := r.opts.Elsewhere
	if r.rollout == nil {
		x := *r.world.x
		x.Engine.Name, x.Train.Evaluate.Every = engines.Native, 0 // it is the one that acts
		if r.rollout, err = e.Share(ctx, farm.Rollout, &x); err != nil {
			return f, err
		}
	}
	p, err := r.world.learner.Policy()
	if err != nil {
		return f, err
	}
	file, err := p.Export()
	if err != nil {
		return f, err
	}
	b, err := EncodePolicy(file)
	if err != nil {
		return f, err
	}
	return farm.PutBytes(ctx, e.Farm, farm.HashOf(b), rolloutPolicy, b)
}

// take adds a part of a round to the learner's, and returns its episodes.
func (w *world) take(b []byte) (list []episode, err error) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(line, &list); err != nil {
		return nil, err
	}
	want := len(w.vector.Spec().Info)
	for i, e := range list {
		if e.Length < 1 || len(e.Info) != want {
			return nil, fmt.Errorf("episode %d has %d steps and %d quantities, want steps and %d", i, e.Length, len(e.Info), want)
		}
	}
	return list, w.rounds.TakePlayed(rest)
}

// rollout carries out a unit that plays a part of a round.
func (w *Worker) rollout(ctx context.Context, u *farm.Unit, scratch string, steps *atomic.Int64) (res any, dir string, files []string,
	err error) {
	b, err := w.played(ctx, u, scratch, steps)
	if err == nil {
		err = durable.WriteFile(durable.Unsynced{}, filepath.Join(scratch, rolloutFile), b)
	}
	if err != nil {
		return nil, "", nil, fmt.Errorf("unit %s: %w", u.Name, err)
	}
	return struct{}{}, scratch, []string{rolloutFile}, nil
}

// played plays a part of a round.
func (w *Worker) played(ctx context.Context, u *farm.Unit, scratch string, steps *atomic.Int64) ([]byte, error) {
	if err := harmless(u.Config); err != nil {
		return nil, err
	}
	var q rolloutPart
	if err := envs.ParseJSON(u.Config, &q); err != nil {
		return nil, err
	}
	part, back, err := w.part(ctx, u, &q, scratch)
	if err != nil {
		return nil, err
	}
	defer back()
	b, err := farm.GetBytes(ctx, w.Farm, q.Policy.Hash, q.Policy)
	if err != nil {
		return nil, err
	}
	policy, err := DecodePolicy(b)
	if err != nil {
		return nil, err
	}
	part.rounds.BeginRound(q.Round)
	if err := part.rounds.AdoptPolicy(policy); err != nil {
		return nil, err
	}
	part.vector.SetRound(q.Round)
	if err := part.vector.Reset(); err != nil {
		return nil, err
	}
	p := newPhases(0)
	list, err := part.playRound(&p, func(n int64) error {
		steps.Store(n)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n > int64(w.MaxSteps) {
			return fmt.Errorf("it has more than the %d steps that this worker does: see --max-steps", w.MaxSteps)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b, err = json.Marshal(list); err != nil {
		return nil, err
	}
	return part.rounds.AppendPlayed(append(b, '\n'))
}

// part makes what a unit plays with, or takes what the unit of an earlier round has given back, for rounds may be shorter than
// making it takes. With inputs, which go with the unit, it is made each time.
func (w *Worker) part(ctx context.Context, u *farm.Unit, q *rolloutPart, scratch string) (part *world, back func(), err error) {
	key := farm.HashOf(fmt.Appendf(nil, "%d %d %d %s", u.Seed, q.First, q.Envs, q.Experiment))
	if len(u.Inputs) == 0 {
		if was, ok := w.parts.LoadAndDelete(key); ok {
			return was.(*world), func() { w.parts.Store(key, was) }, nil
		}
	}
	x, err := configs.ParseResolved("unit "+u.Name, q.Experiment, nil, w.Options.filled().Catalog)
	if err != nil {
		return nil, nil, err
	}
	if q.First < 0 || q.Envs < 1 || q.First > x.Train.Envs-q.Envs {
		return nil, nil, fmt.Errorf("it plays environments from %d on, %d, want some of %d", q.First, q.Envs, x.Train.Envs)
	}
	inputs, err := w.inputs(ctx, u, scratch)
	if err != nil {
		return nil, nil, err
	}
	if x, err = Relocated(x, inputs); err != nil {
		return nil, nil, err
	}
	x.Seed, x.Engine.Device, x.Train.Envs = u.Seed, "cpu", q.Envs
	if part, err = build(x, w.Options.Threads, q.First); err != nil {
		return nil, nil, err
	}
	switch {
	case part.rounds == nil:
		part.close()
		return nil, nil, errors.New("its learner does not learn in rounds")
	case len(u.Inputs) > 0:
		return part, part.close, nil
	}
	return part, func() { w.parts.Store(key, part) }, nil
}
