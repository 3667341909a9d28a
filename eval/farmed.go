package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/train"
)

// unitTime is what a unit of episodes takes, by the first episode of its policy, and setupShare how much longer it takes than
// making environment and policy.
const (
	unitTime   = 2 * time.Second
	setupShare = 5
)

// asked is a unit: jobs of one version, which follow each other.
type asked struct {
	block
	proto *prototype
}

// asking is an evaluation by workers.
type asking struct {
	r      *Request
	p      *Played
	jobs   []job
	traces []trace // of jobs
	meter  *meter
	units  map[farm.Key][]asked // under way; equal ones are played once
	ready  []farm.Result        // of units that were played before
	temp   string
}

// prototype is what the units of a version share.
type prototype struct {
	unit farm.Unit
	q    playing
}

// playAway has workers play the jobs of all portable contestants. The first unit of each version is one episode, which tells
// how many the others have.
func (r *Request) playAway(ctx context.Context, p *Played, jobs []job, traces []trace, m *meter) error {
	temp, err := os.MkdirTemp("", "stoker-eval-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	a := &asking{r: r, p: p, jobs: jobs, traces: traces, meter: m, units: map[farm.Key][]asked{}, temp: temp}
	for i := 0; i < len(jobs); i += len(r.Seeds) {
		if c := jobs[i].contestant; r.portable(c) {
			if err := a.begin(ctx, i); err != nil {
				return fmt.Errorf("%s: %w", r.Contestants[c].versionName(jobs[i].version), err)
			}
		}
	}
	for len(a.units) > 0 {
		var res farm.Result
		if len(a.ready) > 0 {
			res, a.ready = a.ready[0], a.ready[1:]
		} else if res, err = r.Away.Farm.Result(ctx); err != nil {
			return err
		}
		list := a.units[res.Key]
		delete(a.units, res.Key)
		for _, s := range list {
			if err = a.take(ctx, s, res); errors.Is(err, farm.ErrGone) { // it went to another coordinator
				err = a.ask(ctx, s)
			} else if err == nil {
				r.Away.Keep(res)
			}
			if err != nil {
				return fmt.Errorf("%s: what worker %s played: %w", r.Contestants[jobs[s.from].contestant].versionName(jobs[s.from].version),
					res.Worker, err)
			}
		}
	}
	return nil
}

// begin makes the version of a job at home once, for its errors and its environment's spec, and asks for its first episode.
func (a *asking) begin(ctx context.Context, at int) error {
	c, v := a.jobs[at].contestant, a.jobs[at].version
	con := &a.r.Contestants[c]
	w, x := worker{}, a.r.Experiment
	if err := w.open(a.r, c); err != nil {
		return err
	}
	if _, err := con.Versions[v].New(w.env); err != nil {
		return err
	}
	if c == 0 {
		a.p.drawn(w.env)
	}
	if v == 0 {
		a.p.specs[c] = w.env.Spec()
	}
	from := con.Versions[v].away
	if from.experiment != nil {
		x = from.experiment
	}
	y := *x
	y.Eval.Baselines, y.Train.Library.Path = nil, ""
	e := a.r.Away
	u, err := e.Share(ctx, farm.Evaluate, &y)
	if err != nil {
		return err
	}
	u.Seed = 0 // the seeds are those of workloads
	t := &prototype{*u, playing{Experiment: u.Config, Baseline: from.baseline, Stochastic: a.r.Stochastic || con.Stochastic}}
	if from.file != nil {
		b, err := train.EncodePolicy(from.file)
		if err != nil {
			return err
		}
		f := farm.File{Name: policyInput, Hash: farm.HashOf(b), Size: int64(len(b))}
		if err := e.Farm.Put(ctx, farm.InputsKey, f, bytes.NewReader(b)); err != nil {
			return err
		}
		t.unit.Inputs[f.Name] = f.Hash
	} else if t.q.Config, err = json.Marshal(from.config); err != nil {
		return err
	}
	return a.ask(ctx, asked{block{at, at + 1}, t})
}

// ask queues a unit.
func (a *asking) ask(ctx context.Context, s asked) error {
	q, u, first := s.proto.q, s.proto.unit, a.jobs[s.from]
	q.Seeds = a.r.Seeds[first.seed : first.seed+s.to-s.from]
	if first.version == 0 {
		q.Traced = max(0, min(a.r.Traced-first.seed, len(q.Seeds)))
	}
	var err error
	if u.Config, err = json.Marshal(q); err != nil {
		return err
	}
	u.Name = fmt.Sprintf("policy-%d-%d-seed-%d", first.contestant, first.version, q.Seeds[0])
	if err := u.Check(); err != nil {
		return err
	}
	k := u.Key()
	if a.units[k] = append(a.units[k], s); len(a.units[k]) > 1 {
		return nil
	}
	if res, ok := a.r.Away.Kept(k); ok {
		a.ready = append(a.ready, res)
		return nil
	}
	return a.r.Away.Farm.Submit(ctx, farm.Task{Unit: u})
}

// take puts what a unit played where it would have been played at home, and asks for the rest of a version after its first
// episode.
func (a *asking) take(ctx context.Context, s asked, res farm.Result) error {
	if res.Gone {
		return farm.ErrGone
	}
	if res.Error != "" {
		return errors.New(res.Error)
	}
	first, seeds := a.jobs[s.from], a.r.Seeds
	var took pace
	dir := filepath.Join(a.temp, string(res.Key))
	defer func() { _ = os.RemoveAll(dir) }()
	if err := errors.Join(json.Unmarshal(res.Summary, &took), farm.GetFiles(ctx, a.r.Away.Farm, res.Key, dir, res.Files)); err != nil {
		return err
	}
	p, err := readPortion(filepath.Join(dir, playedFile), seeds[first.seed:first.seed+s.to-s.from], a.p.specs[first.contestant])
	if err != nil {
		return err
	}
	each := max(took.Playing/time.Duration(len(p.Episodes)), 1)
	for i, e := range p.Episodes {
		j := a.jobs[s.from+i]
		a.p.Episodes[j.contestant][j.version][j.seed] = e
		a.traces[s.from+i] = trace{p.Steps[i], p.Samples[i]}
		a.meter.add(j.contestant, each)
	}
	if first.seed > 0 {
		return nil
	}
	n, end := min(int(max(unitTime, setupShare*took.Setup)/each)+1, maxSeeds), s.from+len(seeds)
	for from := s.to; from < end; from += n {
		if err := a.ask(ctx, asked{block{from, min(from+n, end)}, s.proto}); err != nil {
			return err
		}
	}
	return nil
}
