package stepconf

import (
	"context"

	"github.com/stoker-rl/stoker/eval/suite"
)

const paper = "StepConf: joint optimization of parallelism and resource configuration for serverless function steps"

// Suite returns the suite stepconf. Its workload seeds draw requests, measurements and generated workflows.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "stepconf",
		Doc:   "laws of steps and their fits (Figs. 3-7, 16, 17), limits kept and their cost (18-21), deciding and mapping (22, 23)",
		Paper: paper, Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct {
	runs     int // of a step, for each seed
	requests int // of a workflow under a limit, for each seed
	worlds   []world
}

// evidence is what the claims are measured from.
type evidence struct {
	r       *suite.Report
	laws    *laws
	fits    *fits
	data    *data // nil without --data
	mapped  *mapped
	whole   *estimated
	sweep   *sweep
	planned *planned
	warmed  *warmed
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	s := size{runs: 20, requests: 20, worlds: worlds}
	return play(ctx, &o, r, s)
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, s size) (err error) {
	e := &evidence{r: r}
	// First, so that a file that is missing is known before anything is played.
	if e.data, err = measuredFunctions(ctx, o); err != nil {
		return err
	}
	if e.mapped, err = measureMapping(ctx, o, s.runs); err != nil {
		return err
	}
	e.mapped.report(r)
	if e.laws, err = measureLaws(ctx, o); err != nil {
		return err
	}
	e.laws.report(r)
	if e.fits, err = fitLaws(ctx, o); err != nil {
		return err
	}
	e.fits.report(r)
	e.data.report(r)
	if e.whole, err = estimateSteps(ctx, o); err != nil {
		return err
	}
	e.whole.report(r)
	if e.sweep, err = playAll(ctx, o, s); err != nil {
		return err
	}
	e.sweep.reportLimits(r)
	e.sweep.reportGains(r)
	e.sweep.reportParallelism(r)
	e.sweep.reportBreakdown(r)
	if e.planned, err = planOffline(ctx, o); err != nil {
		return err
	}
	e.planned.report(r)
	if e.warmed, err = measurePrewarming(ctx, o, s); err != nil {
		return err
	}
	e.warmed.report(r)
	r.Table(e.sweep.table(r))
	r.Note("StepConf published neither code nor data: laws, data and most edges of its workflows are this project's, so that seconds " +
		"and USD are not the paper's")
	r.Note("the paper does not say how many instances Vanilla, Orion, COSE and StepConf-Intra have: 16, 8 and 4 are shown")
	r.Note("costs of all deciders at equal misses: stoker suite misses")
	suite.Judge(r, e, claims)
	return nil
}
