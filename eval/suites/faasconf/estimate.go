package faasconf

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/rng"
)

// estimate is the report's estimate of scores, for claims.
func estimate(s stats.Scores) table.Estimate {
	return table.Of(stats.IQMInterval(s, envs.Bounds{}, suite.Resamples, rng.New(1, "suite/estimate").Stream()))
}

// number is a value of a row.
func number(x float64) eval.Number { return eval.Number(x) }
