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
	"github.com/stoker-rl/stoker/train"
)

// What the paper found on its 85 minutes (§5.2.2).
const (
	paperKept       = 74.12 // % of windows
	paperFewer      = 3.48  // times the violations
	paperOverOracle = 8.48  // % dearer than the oracle
)

// trace is the 85 minutes as they were played.
type trace struct {
	r        *suite.Report
	games    games
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
	var out []eval.Contestant
	for _, d := range []struct {
		name   string
		config any
	}{
		{"rambo", &rambo}, {"aquatope", &aquatope}, {"random-search", nil}, {autoscalerName, nil}, {"rule", nil},
		{oracleName, nil},
	} {
		c, err := eval.Rival(d.name, d.name, d.config)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
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
		c, err := eval.Rival(scaler.name+", "+scaler.settings[len(scaler.settings)-1], autoscalerName, &config)
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

func (t *trace) scores(name, quantity string, factor float64) stats.Scores {
	return t.games.scores(name, quantity, factor)
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
