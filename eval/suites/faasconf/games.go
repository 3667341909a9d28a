package faasconf

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
)

// quantities are those of the 85 minutes that the figures need.
var quantities = []string{"price", "violated", "latency", "cost"}

// game is one episode: its quantities, and those of every window, in the order of quantities. Steps is empty where only
// the totals are wanted.
type game struct {
	Totals []float64
	Steps  [][]float64
}

// games are the episodes of every policy: [version][seed].
type games map[string][][]game

// playGames plays every contestant under every seed. Those in traced keep every window.
func playGames(ctx context.Context, o *suite.Options, newEnv func() (envs.Env, error), contestants []eval.Contestant,
	traced []string) (games, error) {
	out := games{}
	type job struct {
		c       *eval.Contestant
		version int
		seed    int
	}
	var jobs []job
	for i := range contestants {
		c := &contestants[i]
		out[c.Name] = make([][]game, len(c.Versions))
		for v := range c.Versions {
			out[c.Name][v] = make([]game, len(o.Seeds))
			for k := range o.Seeds {
				jobs = append(jobs, job{c, v, k})
			}
		}
	}
	return out, o.Each(ctx, "Figs. 9 and 10", len(jobs), func(i int) error {
		j := jobs[i]
		one := *j.c
		one.Versions = j.c.Versions[j.version : j.version+1]
		trace := slices.Contains(traced, one.Name)
		key := fmt.Sprintf("85 minutes %s %d %s seed %d, traced %t", one.Name, one.Versions[0].TrainingSeed,
			one.Versions[0].Source, o.Seeds[j.seed], trace)
		g, err := suite.Memo(o, key, func() (game, error) { return playGame(ctx, newEnv, one, o.Seeds[j.seed], trace) })
		out[one.Name][j.version][j.seed] = g
		return err
	})
}

// playGame plays one episode.
func playGame(ctx context.Context, newEnv func() (envs.Env, error), c eval.Contestant, seed uint64,
	trace bool) (game, error) {
	req := eval.Request{NewEnv: newEnv, Seeds: []uint64{seed}, Contestants: []eval.Contestant{c}, Workers: 1}
	if trace {
		req.Traced = 1
	}
	p, err := eval.Run(ctx, req)
	if err != nil {
		return game{}, err
	}
	var g game
	for _, q := range quantities {
		s, err := p.Scores(0, eval.Metric{Name: q})
		if err != nil {
			return game{}, err
		}
		g.Totals = append(g.Totals, s[0][0])
		if trace {
			steps, err := p.Series(0, q)
			if err != nil {
				return game{}, err
			}
			g.Steps = append(g.Steps, steps[0])
		}
	}
	return g, nil
}

// scores are a policy's values of a quantity over whole episodes, times a factor.
func (g games) scores(name, quantity string, factor float64) stats.Scores {
	k := slices.Index(quantities, quantity)
	out := make(stats.Scores, len(g[name]))
	for v, row := range g[name] {
		for _, one := range row {
			out[v] = append(out[v], factor*one.Totals[k])
		}
	}
	return out
}

// series are a policy's values of a quantity in every window, the mean over its versions, by seed.
func (g games) series(name, quantity string) [][]float64 {
	k := slices.Index(quantities, quantity)
	var out [][]float64
	for seed := range g[name][0] {
		mean := make([]float64, len(g[name][0][seed].Steps[k]))
		for v := range g[name] {
			for w, x := range g[name][v][seed].Steps[k] {
				mean[w] += x / float64(len(g[name]))
			}
		}
		out = append(out, mean)
	}
	return out
}
