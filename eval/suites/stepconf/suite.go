package stepconf

import (
	"context"

	"github.com/stoker-rl/stoker/eval/suite"
)

const paper = "StepConf: joint optimization of parallelism and resource configuration for serverless function steps"

// Suite returns the suite stepconf. Its workload seeds draw requests and measurements.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "stepconf",
		Doc:   "laws of steps and their fits (Figs. 3-7, 16, 17), limits kept and their cost (18-21), deciding and mapping (22, 23)",
		Paper: paper, Seeds: 20, QuickSeeds: 3, Run: run,
	}
}

// size says how much is played.
type size struct{}

// evidence is what the claims are measured from.
type evidence struct {
	r    *suite.Report
	laws *laws
	fits *fits
	data *data // nil without --data
}

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	return play(ctx, &o, r, size{})
}

func play(ctx context.Context, o *suite.Options, r *suite.Report, _ size) (err error) {
	e := &evidence{r: r}
	// First, so that a file that is missing is known before anything is played.
	if e.data, err = measuredFunctions(ctx, o); err != nil {
		return err
	}
	if e.laws, err = measureLaws(ctx, o); err != nil {
		return err
	}
	e.laws.report(r)
	if e.fits, err = fitLaws(ctx, o); err != nil {
		return err
	}
	e.fits.report(r)
	e.data.report(r)
	suite.Judge(r, e, claims)
	return nil
}
