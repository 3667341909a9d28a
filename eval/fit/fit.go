// Package fit finds the numbers of a baseline by cross-entropy search on the training part of a workload, so that a learned
// policy is compared with rules that had a search of their own ("the best simple rule that search finds").
//
// Candidates of a generation play the same episodes. Their score is the mean return, so a configuration's reward says
// what the search is after: with a larger env.reward.qos it finds a rule that keeps more windows. Episodes have workload
// seeds 1 to 4,000; what was found is measured on seeds 4,001 on. The result does not depend on the number of workers.
//
// Not here: the method (agents/crossentropy), and what a baseline's numbers are (its Space in the catalog).
package fit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

// Workload seeds: those from 5,000 on are for evaluations.
const (
	searchSeeds = 4000
	checkSeeds  = 100 // the seeds behind them, on which the result is measured
)

// Options say how much is searched.
type Options struct {
	// Evaluations is the number of episodes in all, without those that measure the result.
	Evaluations int
	// Population is the number of candidates in a generation, Episodes the number that each plays.
	Population, Episodes int
	// Seed names the draws of candidates.
	Seed uint64
	// Limit ends the search after the generation in which it passes; 0 is none. The result then depends on the machine.
	Limit time.Duration
	// Workers is the number of goroutines.
	Workers int
	// Progress, where set, is told after every generation.
	Progress func(Progress)
}

// DefaultOptions is a search of a few minutes.
func DefaultOptions() Options {
	return Options{Evaluations: 48_000, Population: 96, Episodes: 10, Seed: 1}
}

// Progress is what is known after a generation.
type Progress struct {
	Generation, Generations int
	Evaluations             int
	Elapsed, Left           time.Duration
	// Mean is the mean return of the distribution's middle in this generation's episodes, Best that of its best candidate.
	Mean, Best float64
	// Width is 1 at first and falls to 0 where the search settles.
	Width float64
}

// Result is what a search has found.
type Result struct {
	// Baseline is the baseline's name, Config its configuration with the numbers found.
	Baseline string `json:"baseline"`
	Config   any    `json:"config"`
	Found    Found  `json:"found"`
}

// Found says where numbers come from.
type Found struct {
	Env      string `json:"env"`
	Config   any    `json:"env_config"`
	Workload any    `json:"workload"`
	// Numbers is how many were searched.
	Numbers     int    `json:"numbers"`
	Evaluations int    `json:"evaluations"`
	Generations int    `json:"generations"`
	Population  int    `json:"population"`
	Episodes    int    `json:"episodes"`
	Seed        uint64 `json:"seed"`
	// Before and After are means over the episodes of Seeds, which the search has not seen, with the baseline's numbers as
	// the search began and as it ended: the return, and what the environment reports.
	Seeds  string             `json:"seeds"`
	Before map[string]float64 `json:"before"`
	After  map[string]float64 `json:"after"`

	Command  []string `json:"command,omitempty"`
	Version  string   `json:"version,omitempty"`
	Revision string   `json:"revision,omitempty"`
}

// Run searches for the numbers of a baseline in an experiment. A baseline that the experiment lists has the keys that it has
// there.
func Run(ctx context.Context, x *configs.Experiment, name string, o Options) (*Result, error) {
	row, err := catalog.Of(x).Baseline(name)
	if err != nil {
		return nil, train.Usage("there is %w", err)
	}
	if row.Space == nil {
		return nil, train.Usage("%s has no numbers to search for; %s have", name, strings.Join(Names(catalog.Of(x)), ", "))
	}
	config := row.Config()
	for _, listed := range x.Eval.Baselines {
		if listed.Name == name {
			config = listed.Config
		}
	}
	split := "train"
	if x.Workload.Split != "all" {
		split = x.Workload.Split
	}
	p := &players{x: x, split: split, row: row}
	env, err := train.NewEnv(x, split)
	if err != nil {
		return nil, err
	}
	space, err := row.Space(config, env)
	if err != nil {
		return nil, err
	}
	s, done, err := p.search(ctx, space, o)
	if err != nil {
		return nil, err
	}
	found := slices.Clone(s.Mean())
	r := &Result{Baseline: name, Config: space.Config(found), Found: Found{
		Env: x.Env.Name, Config: x.Env.Config, Workload: x.Workload, Numbers: len(space.Names), Evaluations: done,
		Generations: s.Generation(), Population: o.Population, Episodes: o.Episodes, Seed: o.Seed,
		Seeds: fmt.Sprintf("%d-%d", searchSeeds+1, searchSeeds+checkSeeds),
	}}
	if r.Found.Before, err = p.measure(ctx, space.Config(space.Start), o.Workers); err != nil {
		return nil, err
	}
	r.Found.After, err = p.measure(ctx, r.Config, o.Workers)
	return r, err
}

// Names lists the baselines whose numbers can be searched for.
func Names(c *catalog.Catalog) (out []string) {
	for _, r := range c.Baselines {
		if r.Space != nil {
			out = append(out, r.Name)
		}
	}
	return out
}

// search runs the generations, and returns the number of episodes played.
func (p *players) search(ctx context.Context, space *crossentropy.Space, o Options) (*crossentropy.Search, int, error) {
	each := o.Population * o.Episodes
	if each < 1 || o.Evaluations < each || o.Episodes > searchSeeds {
		return nil, 0, train.Usage("%d evaluations with %d candidates in a generation, each in %d episodes: want enough for a "+
			"generation, %d, and at most %d episodes", o.Evaluations, o.Population, o.Episodes, each, searchSeeds)
	}
	c := crossentropy.Default()
	c.Population, c.Generations, c.Seed = o.Population, o.Evaluations/each, o.Seed
	s, err := crossentropy.New(c, space)
	if err != nil {
		return nil, 0, train.Usage("%w", err)
	}
	begun, scores := time.Now(), make([]float64, o.Population)
	for g := range c.Generations {
		candidates := lists.From(s.Propose(), space.Config)
		seeds := lists.Make(o.Episodes, func(i int) uint64 { return 1 + uint64(g*o.Episodes+i)%searchSeeds })
		played, err := p.play(ctx, candidates, seeds, o.Workers)
		if err != nil {
			return nil, 0, err
		}
		for i := range scores {
			scores[i] = meanReturn(played.Episodes[i][0])
		}
		if err := s.Observe(scores); err != nil {
			return nil, 0, err
		}
		elapsed := time.Since(begun)
		if o.Progress != nil {
			o.Progress(Progress{Generation: g + 1, Generations: c.Generations, Evaluations: (g + 1) * each, Elapsed: elapsed,
				Left: left(elapsed, g+1, c.Generations, o.Limit), Mean: scores[0], Best: slices.Max(scores), Width: s.Width()})
		}
		if o.Limit > 0 && elapsed >= o.Limit {
			break
		}
	}
	return s, s.Generation() * each, nil
}

// left is about the time until the end.
func left(elapsed time.Duration, done, all int, limit time.Duration) time.Duration {
	rest := elapsed / time.Duration(done) * time.Duration(all-done)
	if limit > 0 {
		rest = min(rest, max(0, limit-elapsed))
	}
	return rest
}

func meanReturn(episodes []envs.Episode) float64 {
	var sum float64
	for i := range episodes {
		sum += episodes[i].Return / float64(len(episodes))
	}
	return sum
}

// measure is the mean of the return and of all that the environment reports, over episodes that no search has seen.
func (p *players) measure(ctx context.Context, config any, workers int) (map[string]float64, error) {
	seeds := lists.Make(checkSeeds, func(i int) uint64 { return searchSeeds + 1 + uint64(i) })
	played, err := p.play(ctx, []any{config}, seeds, workers)
	if err != nil {
		return nil, err
	}
	episodes := played.Episodes[0][0]
	out := map[string]float64{"return": meanReturn(episodes)}
	for i, q := range played.Spec.Info {
		for _, e := range episodes {
			out[q.Name] += e.Info[i] / checkSeeds
		}
	}
	return out, nil
}

// players plays candidates' episodes.
type players struct {
	x     *configs.Experiment
	split string
	row   catalog.Baseline
}

// play plays an episode of every candidate under every seed.
func (p *players) play(ctx context.Context, candidates []any, seeds []uint64, workers int) (*eval.Played, error) {
	r := eval.Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(p.x, p.split) }, Seeds: seeds, Workers: workers}
	for i, config := range candidates {
		r.Contestants = append(r.Contestants, eval.BaselineOf(p.row, fmt.Sprintf("candidate %d", i+1), config))
	}
	return eval.Run(ctx, r)
}
