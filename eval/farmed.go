package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
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

// away is how a worker of a farm makes a version of a contestant: its policy as data, or a baseline's name and configuration.
type away struct {
	experiment *configs.Experiment // of its environment; nil is the request's
	file       *agents.PolicyFile
	baseline   string
	config     any
}

// playing is the configuration of a unit that evaluates.
type playing struct {
	Experiment json.RawMessage `json:"experiment"`
	// Baseline is the policy's name, with Config; empty where the policy is the input of that name.
	Baseline   string          `json:"baseline,omitempty"`
	Config     json.RawMessage `json:"config,omitempty"`
	Seeds      []uint64        `json:"seeds"`
	Traced     int             `json:"traced,omitempty"` // seeds, from the first
	Stochastic bool            `json:"stochastic,omitempty"`
}

// Names of a unit's policy among its inputs, and of its result.
const (
	policyInput = "policy.safetensors"
	playedFile  = "played.gob"
)

// maxSeeds bounds the workload seeds of a unit.
const maxSeeds = 10_000

// portion is what a unit played: an episode for each seed, and the steps and samples of those that are traced.
type portion struct {
	Episodes []envs.Episode
	Steps    [][]StepRow
	Samples  [][]SampleSet
}

// pace is how long a portion took.
type pace struct {
	Setup   time.Duration `json:"setup"` // until the first episode
	Playing time.Duration `json:"playing"`
}

// Evaluate carries out a unit that evaluates: it is that of [train.Worker].
func Evaluate(ctx context.Context, by *train.Worker, u *farm.Unit, inputs, dir string, steps *atomic.Int64) (any, []string, error) {
	var q playing
	if err := envs.ParseJSON(u.Config, &q); err != nil {
		return nil, nil, fmt.Errorf("unit %s: %w", u.Name, err)
	}
	if len(q.Seeds) > maxSeeds {
		return nil, nil, fmt.Errorf("unit %s: %d workload seeds, want at most %d", u.Name, len(q.Seeds), maxSeeds)
	}
	began := time.Now()
	r, err := q.request(u, by.Options, inputs)
	if err != nil {
		return nil, nil, fmt.Errorf("unit %s: %w", u.Name, err)
	}
	n := len(q.Seeds)
	p := &Played{Contestants: r.Contestants, Seeds: q.Seeds, Episodes: [][][]envs.Episode{{make([]envs.Episode, n)}},
		specs: make([]*envs.Spec, 1)}
	out, w := portion{Steps: make([][]StepRow, n), Samples: make([][]SampleSet, n)}, worker{}
	if err := w.open(r, 0); err != nil {
		return nil, nil, err
	}
	if _, err := w.actor(ctx, &r.Contestants[0], job{}); err != nil {
		return nil, nil, err
	}
	took := pace{Setup: time.Since(began)}
	for i := range q.Seeds {
		t := trace{}
		if err := w.play(ctx, r, job{seed: i}, p, &t); err != nil {
			return nil, nil, err
		}
		if n := steps.Add(p.Episodes[0][0][i].Length); n > int64(by.MaxSteps) {
			return nil, nil, fmt.Errorf("unit %s: it has more than %d steps, which this worker does at most: see --max-steps", u.Name, by.MaxSteps)
		}
		out.Steps[i], out.Samples[i] = t.steps, t.samples
	}
	out.Episodes, took.Playing = p.Episodes[0][0], time.Since(began)-took.Setup
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(out); err != nil {
		return nil, nil, err
	}
	return took, []string{playedFile}, durable.WriteFile(durable.OS{}, filepath.Join(dir, playedFile), b.Bytes())
}

// request is what a unit asks for, with one contestant.
func (q *playing) request(u *farm.Unit, o train.Options, inputs string) (*Request, error) {
	if o.Catalog == nil {
		o.Catalog = catalog.Default()
	}
	x, err := configs.ParseResolved("unit "+u.Name, q.Experiment, nil, o.Catalog)
	if err != nil {
		return nil, err
	}
	if x, err = train.Relocated(x, inputs); err != nil {
		return nil, err
	}
	con := Contestant{Kind: catalog.Learned}
	if q.Baseline == "" {
		con.Versions, err = q.policy(x, o.Threads, inputs)
	} else {
		con, err = q.baseline(o.Catalog)
	}
	if err != nil {
		return nil, err
	}
	con.Name, con.Stochastic = cmp.Or(u.Name, "policy"), q.Stochastic
	out := &Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }, Contestants: []Contestant{con},
		Seeds: q.Seeds, Workers: 1, Traced: q.Traced}
	return out, out.check()
}

// policy is the learned policy among the inputs.
func (q *playing) policy(x *configs.Experiment, threads int, inputs string) ([]Version, error) {
	b, err := os.ReadFile(filepath.Join(inputs, policyInput))
	if err != nil {
		return nil, err
	}
	f, err := train.DecodePolicy(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", policyInput, err)
	}
	t := Trained{Experiment: x, File: f, Threads: threads}
	return []Version{t.Version(policyInput)}, nil
}

// baseline is a policy of the catalog.
func (q *playing) baseline(names *catalog.Catalog) (Contestant, error) {
	r, err := names.Baseline(q.Baseline)
	if err != nil {
		return Contestant{}, err
	}
	config := r.Config()
	if err = json.Unmarshal(q.Config, config); err == nil && readsFile(config) {
		err = errors.New("it reads a file")
	}
	if c, ok := config.(interface{ Validate() error }); ok && err == nil {
		err = c.Validate()
	}
	if err != nil {
		return Contestant{}, fmt.Errorf("%s: config: %w", q.Baseline, err)
	}
	return BaselineOf(r, q.Baseline, config), nil
}

// readPortion reads a portion of so many episodes in an environment of a spec.
func readPortion(path string, seeds []uint64, spec *envs.Spec) (*portion, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p portion
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
		return nil, err
	}
	if len(p.Episodes) != len(seeds) || len(p.Steps) != len(seeds) || len(p.Samples) != len(seeds) {
		return nil, fmt.Errorf("%d episodes, want %d", len(p.Episodes), len(seeds))
	}
	for i, e := range p.Episodes {
		if e.Seed != seeds[i] || len(e.Info) != len(spec.Info) {
			return nil, fmt.Errorf("episode %d is of seed %d with %d quantities, want seed %d with %d", i, e.Seed, len(e.Info), seeds[i],
				len(spec.Info))
		}
		if n := len(p.Samples[i]); n > 0 && n != len(spec.Samples) {
			return nil, fmt.Errorf("episode %d has %d distributions, want %d", i, n, len(spec.Samples))
		}
	}
	return &p, nil
}

// portable reports whether workers can play a contestant: they make its policy from data alone.
func (r *Request) portable(contestant int) bool {
	c := &r.Contestants[contestant]
	if r.Away == nil || c.Foreign {
		return false
	}
	for _, v := range c.Versions {
		a := v.away
		if a == nil || a.experiment == nil && (r.Experiment == nil || c.NewEnv != nil) {
			return false
		}
		if a.file == nil && readsFile(a.config) {
			return false
		}
	}
	return true
}

// readsFile reports whether a baseline's configuration names a file of this machine.
func readsFile(config any) bool {
	m, err := configKeys(config)
	file, _ := m["file"].(string)
	return err != nil || file != ""
}
