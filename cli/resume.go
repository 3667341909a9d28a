package cli

import (
	"errors"

	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

func resumeCommand() *command {
	var steps, until int64
	var from, target string
	var jobs int
	var inexact bool
	by, rollouts := &coordinator{}, 0
	return &command{
		name: "resume", takes: "RUN|SWEEP", args: arguments{1, 1, "RUN"}, json: "print the result as JSON",
		stop: "saving, then stopping",
		flags: append(by.flags(),
			option(&steps, "steps", "new total number of environment steps"),
			option(&until, "until", "stop after so many of the steps, saved, and go on later (default: all of them)"),
			option(whole(&jobs, 1), "jobs", "of a sweep: runs at a time (default: one per core)"),
			rolloutsFlag(&rollouts),
			option(&from, "from", "checkpoint of this run to go back to: its name, folder or number of steps, or best").
				by(checkpointsOf),
			trackFlag(&target),
			option(&inexact, "inexact", "resume although the kernels differ from those that made the checkpoint"),
		),
		run: func(c *call) (any, error) {
			if c.given("steps") && steps < 1 {
				return nil, usage("--steps is %d, want at least 1", steps)
			}
			if c.given("until") && until < 1 {
				return nil, usage("--until is %d, want at least 1", until)
			}
			m, err := tracker(c, target)
			if err != nil {
				return nil, err
			}
			if sweep.Is(c.args[0]) {
				if rollouts > 0 {
					return nil, usage("--rollouts is for runs; %s is a sweep", c.args[0])
				}
				return resumeSweep(c, c.args[0], jobs, inexact, m, by)
			}
			if c.given("jobs") {
				return nil, usage("--jobs is for sweeps; %s is none", c.args[0])
			}
			if rollouts == 0 {
				if err := c.without("is for sweeps, and with --rollouts for runs; "+c.args[0]+" is no sweep", farmed...); err != nil {
					return nil, err
				}
			}
			if err := by.forRollouts(rollouts, false); err != nil {
				return nil, err
			}
			x, err := train.ReadConfig(c.args[0], c.Catalog)
			if err != nil {
				return nil, err
			}
			if err := trainInTorch(x); err != nil {
				return nil, err
			}
			o := options(c)
			o.Steps, o.Until, o.Inexact, o.From, o.Rollouts = steps, until, inexact, from, rollouts
			var closed func() error
			if o.Elsewhere, closed, err = by.open(c); err != nil {
				return nil, err
			}
			res, err := train.Resume(c.ctx, c.args[0], o)
			if err = tell(c, m, res, errors.Join(err, closed())); err != nil {
				return nil, goOn(c, res, err)
			}
			printResult(c, res)
			return res, nil
		},
	}
}
