package cli

import (
	"reflect"

	"github.com/stoker-rl/stoker/train/sweep"
)

// What a study has where the command says nothing.
const (
	scoreSeeds    = "4001-4010"
	halvingFactor = 3
)

// studyFlags are those of a sweep that scores its trials.
func (f *sweepFlags) studyFlags() []flag {
	return []flag{
		option(&f.study.Halving, "halving", "train all trials to this step, the best further, and so on to train.steps; or seeds: "+
			"train with few seeds, the best with more"),
		option(whole(&f.study.Factor, 2), "factor", "with --halving: one trial in so many goes on (default 3)"),
		option(&f.study.Hyperband, "hyperband", "with --halving: let some trials begin at later rungs"),
		option(seedList(&f.study.ScoreSeeds), "score-seeds",
			"workload seeds on which trials are scored; no seeds of eval.seeds (default "+scoreSeeds+" where trials are scored)"),
	}
}

// overStudy puts the command line's flags over what a file says of the study.
func (f *sweepFlags) overStudy(c *call, s *sweep.Study) {
	from, to := reflect.ValueOf(f.study), reflect.ValueOf(s).Elem()
	for i := range from.NumField() {
		if v := from.Field(i); !v.IsZero() {
			to.Field(i).Set(v)
		}
	}
}

// studyOf makes a plan that of a study, where something asks for one.
func studyOf(p *sweep.Plan, r *sweep.Request, metrics []string) error {
	s := r.Study
	if reflect.ValueOf(s).IsZero() && len(metrics) < 2 {
		return nil
	}
	if s.Factor > 0 && s.Halving == "" {
		return usage("--factor is given without --halving, want both")
	}
	if s.Factor == 0 && s.Halving != "" {
		s.Factor = halvingFactor
	}
	if s.ScoreSeeds == "" {
		s.ScoreSeeds = scoreSeeds
	}
	if len(metrics) > 1 && s.Halving != "" {
		return usage("--metric names %d metrics, but --halving ranks trials by one", len(metrics))
	}
	s.Metrics = metrics
	p.Study = &s
	return nil
}
