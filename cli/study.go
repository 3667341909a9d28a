package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/stoker-rl/stoker/eval/leaderboard"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// What a study has where the command says nothing.
const (
	scoreSeeds    = "4001-4010"
	proposedBatch = 8
	halvingFactor = 3
)

// studyFlags are those of a sweep that scores its trials.
func (f *sweepFlags) studyFlags() []flag {
	return []flag{
		option(&f.study.Halving, "halving", "train all trials to this step, the best further, and so on to train.steps; or seeds: "+
			"train with few seeds, the best with more"),
		option(whole(&f.study.Factor, 2), "factor", "with --halving: one trial in so many goes on (default 3)"),
		option(&f.study.Hyperband, "hyperband", "with --halving: let some trials begin at later rungs"),
		option(&f.study.Asynchronous, "asha", "with --halving: promote trials as scores arrive; what is trained then depends on their order"),
		option(&f.study.Propose, "propose",
			"who proposes values of the --random keys: halton, optuna:SAMPLER, or 'cmd PROGRAM …' (default: draws)",
			sweep.Halton, "optuna:tpe", "optuna:cmaes", "optuna:nsga2"),
		option(whole(&f.study.Batch, 1), "batch", "with --propose: trials that are proposed together (default 8)"),
		option(&f.study.Final, "final", "train the best trials anew with fresh seeds and evaluate them beside the configuration, as in 3x5: "+
			"three trials, five seeds"),
		option(seedList(&f.study.ScoreSeeds), "score-seeds",
			"workload seeds on which trials are scored; no seeds of eval.seeds (default "+scoreSeeds+" where trials are scored)"),
	}
}

// again trains what a study of --asha decided.
func (f *sweepFlags) again(c *call) (*sweep.Sweep, error) {
	of := f.replay
	if err := c.without("is that of "+of+" with --replay: leave it out", "grid", "random", "trials", "seed", "seeds", "set", "file",
		"metric", "extend", "halving", "factor", "hyperband", "asha", "propose", "batch", "final", "score-seeds", "engine", "device",
		"deterministic"); err != nil {
		return nil, err
	}
	if len(c.args) > 0 {
		return nil, usage("--replay %s has its configuration: leave %s out", of, c.args[0])
	}
	s, err := sweep.Open(of, c.Catalog)
	if err != nil {
		return nil, err
	}
	return sweep.Replay(filepath.Join(f.runs, cmp.Or(f.name, filepath.Base(s.Dir)+"-replay")), s, c.Catalog)
}

// carryOutFinal trains the best trials anew, and says what they are worth.
func carryOutFinal(c *call, s *sweep.Sweep, board *leaderboard.Board, jobs int, o train.Options) (any, error) {
	f, err := s.Final()
	if err != nil {
		return nil, err
	}
	runs, finished := f.Runs(sweep.Finished)
	fmt.Fprintf(c.errs, "%s: %d runs, %d of them finished\n", f.Dir, runs, finished)
	b := newSweepBoard(c.errs, isTerminal(c.errs))
	err = f.Run(c.ctx, sweep.Options{Jobs: jobs, Train: o, Out: b.of, Report: b.report, Ended: b.ended})
	b.finish()
	var sig stopped
	if errors.As(err, &sig) {
		fmt.Fprintf(c.errs, "stopped by %v, all saved; %s\n", sig, exitHint(s.Dir))
	}
	if err != nil {
		return board, err
	}
	final, err := leaderboard.ReadFinal(c.ctx, s, f, c.Catalog, jobs, o.Elsewhere)
	if err != nil {
		return board, err
	}
	if err := final.Write(f.Dir); err != nil {
		return board, err
	}
	fmt.Fprintf(c, "\n%s\ndata:   %s\nall metrics: stoker eval %s\n", final.Text(), filepath.Join(f.Dir, "final.json"), shell.Quote(f.Dir))
	return studied{board, final}, nil
}

// studied is what a sweep with a final prints with --json.
type studied struct {
	*leaderboard.Board
	Final *leaderboard.Final `json:"final"`
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
	if s.Batch > 0 && (s.Propose == "" || s.Propose == sweep.Halton) {
		return usage("--batch is given without --propose optuna:SAMPLER or 'cmd PROGRAM …', want both")
	}
	if s.Factor == 0 && s.Halving != "" {
		s.Factor = halvingFactor
	}
	if s.Batch == 0 && s.Propose != "" && s.Propose != sweep.Halton {
		s.Batch = proposedBatch
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
