package misses

import (
	rules "github.com/stoker-rl/stoker/agents/baselines/steps"
	"github.com/stoker-rl/stoker/eval/atmiss"
)

// reference is the method that the others are compared with.
const reference = "stepconf"

// quantiles and prices (of a miss, in units of a workflow's price) are the settings that methods play at.
var (
	quantiles = []float64{0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.94, 0.96, 0.975, 0.985, 0.995}
	few       = []float64{0.5, 0.7, 0.9, 0.95, 0.99} // of methods that are far off
	prices    = []float64{0.1, 0.3, 0.6, 1, 2, 4, 8, 16, 40, 100, 400}
	foreseen  = []float64{1, 1000} // hindsight can be late only where nothing is in time
)

// planners are the rules and planners that play; dp does on chains only.
func planners(chain bool) []atmiss.Method {
	byQuantile := func(name string, values []float64, config func(q float64) any) atmiss.Method {
		return atmiss.Rival(name, name, "quantile", values, config)
	}
	byPrice := func(name string, values []float64, config func(miss float64) any) atmiss.Method {
		return atmiss.Rival(name, name, "miss", values, config)
	}
	like := func(c rules.StepConfConfig) func(q float64) any {
		return func(q float64) any { c := c; c.Quantile = q; return &c }
	}
	all := []atmiss.Method{
		byQuantile("stepconf", quantiles, like(rules.DefaultStepConf())),
		byQuantile("stepconf-inter", few, like(rules.DefaultInter())),
		byQuantile("stepconf-intra", few, like(rules.DefaultIntra())),
		byQuantile("vanilla", few, func(q float64) any { c := rules.DefaultVanilla(); c.Quantile = q; return &c }),
		byQuantile("orion", few, func(q float64) any { c := rules.DefaultOrion(); c.Quantile = q; return &c }),
		byQuantile("cose", few, func(q float64) any { c := rules.DefaultCOSE(); c.Quantile = q; return &c }),
		byQuantile("steps-oracle", quantiles, func(q float64) any { return &rules.OracleConfig{Quantile: q} }),
		byQuantile("replan", quantiles, func(q float64) any { c := rules.DefaultReplan(); c.Quantile = q; return &c }),
		byPrice("steps-lookahead", prices, func(x float64) any { return &rules.LookaheadConfig{Miss: x} }),
	}
	if chain {
		all = append(all, byPrice("dp", prices, func(x float64) any { c := rules.DefaultDP(); c.Miss = x; return &c }))
	}
	return append(all, byPrice("hindsight", foreseen, func(x float64) any { return &rules.HindsightConfig{Miss: x} }))
}
