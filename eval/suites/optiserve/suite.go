package optiserve

import (
	"context"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

const paper = "OptiServe: cost-, latency- and accuracy-tuned serverless ML workflows (thesis), and PRCP (Lin and Khazaei)"

// Suite returns the suite optiserve. Its workload seeds draw optimisation problems.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "optiserve",
		Doc:   "heuristics beside the exact optimum on 1,500 problems of six applications (Figs. 5.5, 5.6), PRCP's curves",
		Paper: paper, Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct {
	per   int       // problems of an application, for each seed
	sweep int       // seeds over which the weight is varied and tails are measured
	swept []float64 // the weights
	tails []int     // applications whose tails are measured
}

// evidence is what the claims are measured from.
type evidence struct {
	r     *suite.Report
	fig55 *fig55
	fig56 *fig56
	data  *data // nil without --data
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	s := size{per: 250, sweep: 3, swept: []float64{0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6}, tails: []int{2, 3, 4, 5}}
	if o.Quick {
		s.sweep = 2
	}
	return play(ctx, &o, r, s)
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, s size) error {
	models, err := presets()
	if err != nil {
		return err
	}
	e := &evidence{r: r}
	// First, so that a file that is missing is known before anything is played.
	if e.data, err = published(ctx, o); err != nil {
		return err
	}
	if e.fig55, err = problemsOf(ctx, o, models, s.per); err != nil {
		return err
	}
	e.fig55.report(r)
	w, err := weights(ctx, o, models, s)
	if err != nil {
		return err
	}
	w.report(r)
	if e.fig56, err = tradeoffs(ctx, o, models); err != nil {
		return err
	}
	e.fig56.report(r)
	t, err := onTails(ctx, o, models, s)
	if err != nil {
		return err
	}
	t.report(r)
	e.data.report(r)
	r.Note("app3 has the published graph, sizes, formula and five of nine laws; the other applications are this project's. " +
		"Their seconds and USD stand beside the paper's only to show the size of things")
	r.Note("a workload seed draws %d problems of each application; estimates are over seeds", s.per)
	suite.Judge(r, e, claims)
	return nil
}

// presets compiles the six applications.
func presets() ([]*variants.Model, error) {
	var out []*variants.Model
	for _, name := range variants.Presets() {
		app, err := variants.Preset(name)
		if err != nil {
			return nil, err
		}
		m, err := app.Compile()
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// scored makes an estimate of one value per seed.
func scored(r *suite.Report, bySeed []float64) table.Estimate { return r.Estimate([][]float64{bySeed}) }
