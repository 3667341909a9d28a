package faasconf

import (
	"context"
	"fmt"
	"slices"

	baselines "github.com/stoker-rl/stoker/agents/baselines/sizing"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
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

// What the paper found on its 85 minutes (§5.2.2).
const (
	paperKept       = 74.12 // % of windows
	paperFewer      = 3.48  // times the violations
	paperOverOracle = 8.48  // % dearer than the oracle
)

// trace is the 85 minutes as they were played.
type trace struct {
	r *suite.Report
	games
	shown    []string // the policies of Figs. 9 and 10; the other games are settings of the frontiers
	families []family
}

// family is a policy under several settings, each a contestant.
type family struct {
	name     string
	settings []string // empty for the policy as Figs. 9 and 10 have it
}

// oracleName is the policy that knows what will arrive.
const oracleName = "oracle"

// searchers search on through the whole trace, and the other rivals of Figs. 9 and 10 follow a rule.
func searchers(windows int) ([]eval.Contestant, error) {
	rambo, aquatope := baselines.DefaultRAMBO(), baselines.DefaultAquatope()
	rambo.Windows, aquatope.Windows = windows, windows
	configs := map[string]any{"rambo": &rambo, "aquatope": &aquatope} // others have their defaults
	names := []string{"rambo", "aquatope", "random-search", autoscalerName, "rule", oracleName}
	return lists.Try(names, func(name string) (eval.Contestant, error) { return eval.Baseline(name, name, configs[name]) })
}

const autoscalerName = "autoscaler"

// The settings of the frontiers, beside those that Figs. 9 and 10 have: a dial of 2 and the autoscaler's default.
var (
	dials      = []float64{0.5, 1, 4}
	thresholds = []float64{0.2, 0.3, 0.4, 0.5, 0.6}
)

// dynamic trains and plays the 85 minutes.
func dynamic(ctx context.Context, o *suite.Options, r *suite.Report, s size) (*trace, error) {
	x, err := configs.Load("faasconf/trace.yaml", nil, catalog.Default())
	if err != nil {
		return nil, err
	}
	if s.windows > 0 {
		x.Env.Config.(*sizing.Config).Windows = s.windows
	}
	learned, err := trainAll(ctx, o, x, s)
	if err != nil {
		return nil, err
	}
	rivals, err := searchers(x.Env.Config.(*sizing.Config).Windows)
	if err != nil {
		return nil, err
	}
	t := &trace{r: r}
	all := slices.Concat(learned, rivals)
	for _, c := range all {
		t.shown = append(t.shown, c.Name)
	}
	more, err := t.frontiers(x, learned)
	if err != nil {
		return nil, err
	}
	t.games, err = playGames(ctx, o, func() (envs.Env, error) { return train.NewEnv(x, "test") }, append(all, more...),
		t.shown)
	return t, err
}

// frontiers lists the families, and returns the contestants that Figs. 9 and 10 do not have.
func (t *trace) frontiers(x *configs.Experiment, learned []eval.Contestant) (out []eval.Contestant, err error) {
	for i, c := range learned {
		f := family{name: c.Name, settings: []string{""}}
		if trainees[i].dials {
			own, err := trainees[i].env()
			if err != nil {
				return nil, err
			}
			for _, d := range dials {
				f.settings = append(f.settings, fmt.Sprintf("dial %g", d))
				c.Name, c.NewEnv = f.name+", "+f.settings[len(f.settings)-1], newTrace(x, own, d)
				out = append(out, c)
			}
		}
		t.families = append(t.families, f)
	}
	scaler := family{name: autoscalerName}
	for _, at := range thresholds {
		config := baselines.DefaultAutoscaler()
		config.CPU = at
		scaler.settings = append(scaler.settings, fmt.Sprintf("%g %% CPU", 100*at))
		c, err := eval.Baseline(scaler.name+", "+scaler.settings[len(scaler.settings)-1], autoscalerName, &config)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	t.families = append(t.families, scaler)
	for _, name := range []string{"rule", "rambo", "aquatope", "random-search", oracleName} {
		t.families = append(t.families, family{name: name, settings: []string{""}})
	}
	return out, nil
}

// kept are the shares of windows that kept the thresholds, in percent.
func (t *trace) kept(name string) stats.Scores {
	out := t.scores(name, "violated", -100)
	for _, s := range out {
		for i := range s {
			s[i] += 100
		}
	}
	return out
}

// relative is x over y as a change in percent, paired by workload seed; y's versions are averaged.
func relative(x, y stats.Scores) stats.Scores {
	out := make(stats.Scores, len(x))
	for v := range x {
		for i := range x[v] {
			var of float64
			for _, row := range y {
				of += row[i] / float64(len(y))
			}
			out[v] = append(out[v], 100*(x[v][i]/of-1))
		}
	}
	return out
}
