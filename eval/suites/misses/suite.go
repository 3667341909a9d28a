package misses

import (
	"context"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/atmiss"
	"github.com/stoker-rl/stoker/eval/suite"
)

// Suite returns the suite misses. A workload seed draws generated workflows and their requests.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "misses",
		Doc:   "steps of workflows: what StepConf, its rivals, planners and learned policies cost at 1 and 5 % of late requests",
		Paper: "StepConf, IEEE TC; the comparison is this project's", Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct {
	worlds   []world
	factors  []float64 // SLOs over the fastest time
	each     int       // generated workflows of a seed
	requests int       // of a workflow and seed
}

// world is what requests are of.
type world struct {
	name  string
	chain bool
	env   steps.EnvConfig
}

// apps is how far the numbers of two requests of a generated workflow are apart.
const apps = 100_000

// generated are workflows of a shape that are kept for tests.
func generated(name, shape string, least, most int) world {
	c := steps.DefaultEnv()
	c.First, c.Apps, c.Shape, c.Steps = steps.FirstUnseen, apps, shape, []int{least, most}
	return world{name, shape == steps.ChainShape, c}
}

// preset is one of the paper's workflows.
func preset(name string) world {
	c := steps.DefaultEnv()
	c.Workflow = name
	return world{name, false, c}
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	s := size{
		worlds: []world{generated("chains of 8", steps.ChainShape, 8, 8), generated("graphs of 8 to 12", steps.DAGShape, 8, 12),
			preset("ml"), preset("vp"), preset("dag")},
		factors: []float64{1.2, 1.5, 2, 3}, each: 4, requests: 15,
	}
	if o.Quick {
		s.worlds, s.factors = s.worlds[:2], []float64{1.2, 2}
	}
	return play(ctx, &o, r, s)
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, s size) error {
	var said []string
	for _, w := range s.worlds {
		f := newFigures(w.name)
		for _, factor := range s.factors {
			res, notes, err := compare(ctx, o, s, w, factor)
			if err != nil {
				return fmt.Errorf("%s at %g: %w", w.name, factor, err)
			}
			for _, n := range notes {
				if !slices.Contains(said, n) {
					said = append(said, n)
					r.Note("%s", n)
				}
			}
			report(r, w.name, factor, res)
			f.add(factor, res)
		}
		f.report(r)
	}
	r.Note("cost is the price of a request over that of a plan near the cheapest one that keeps the SLO at P90, which is made " +
		"before the first step")
	r.Note("intervals are of the bootstrap over workflows with their requests where workflows are generated, else over requests; "+
		"the same requests for all (%d of each workflow and seed)", s.requests)
	return nil
}

// compare plays all methods in a world under one limit.
func compare(ctx context.Context, o *suite.Options, s size, w world, factor float64) (*atmiss.Result, []string, error) {
	c := w.env
	c.SLO, c.Miss = []float64{factor, factor}, []float64{1, 1}
	methods := planners(w.chain)
	trained, notes, err := learned(c)
	if err != nil {
		return nil, nil, err
	}
	methods = append(methods, trained...)
	var seeds []uint64
	var groups []int
	for _, seed := range o.Seeds {
		if w.env.Workflow == steps.AllGenerated {
			for k := range uint64(s.each) {
				for n := range uint64(s.requests) {
					app := seed*uint64(s.each) + k
					seeds, groups = append(seeds, app+apps*n), append(groups, int(app))
				}
			}
			continue
		}
		for n := range uint64(s.each * s.requests) {
			seeds, groups = append(seeds, seed+apps*n), append(groups, len(groups))
		}
	}
	curves, err := atmiss.Play(ctx, atmiss.Request{
		NewEnv: func() (envs.Env, error) { return steps.New(c, steps.Given{}) }, Methods: methods, Seeds: seeds,
		Cost: "excess", Plus: 1, Run: func(ctx context.Context, q eval.Request) (*eval.Played, error) {
			return o.Play(ctx, fmt.Sprintf("%s at %g", w.name, factor), q)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	res, err := atmiss.Compare(curves, reference, atmiss.Options{Groups: groups})
	return res, notes, err
}
