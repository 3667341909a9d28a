package variants

import (
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// Strategy says how a search ranks the changes that it could make. The names are PRCP's for the least time; for the
// least cost PRCP calls RT/M "M/RT" and ERT/C "C/ERT".
type Strategy string

// The strategies. Benefit is what the objective gains, price is what the constraint pays.
const (
	// Disabled takes the largest benefit.
	Disabled Strategy = "disabled"
	// Slope (RT/M) takes the largest benefit among the sizes at which time changes fast with memory: of two neighbouring
	// sizes whose slope is below Threshold times the least-squares slope, neither is kept on that account (eq. 4.9).
	Slope Strategy = "rt/m"
	// Last (ERT/C) takes the largest benefit among the changes whose benefit per price is above Threshold times that of
	// the last change.
	Last Strategy = "ert/c"
	// Max takes the largest benefit per price (eq. 4.8).
	Max Strategy = "max"
	// Best runs the four and takes the best answer, as PRCP reports it.
	Best Strategy = "best"
)

// Strategies returns the four strategies and Best.
func Strategies() []Strategy { return []Strategy{Disabled, Slope, Last, Max, Best} }

// Options say which reading of the papers a search follows.
type Options struct {
	// Strategy ranks the changes of memory. BCRMax and BCRSlope set it themselves.
	Strategy Strategy `yaml:"strategy" json:"strategy" oneof:"disabled|rt/m|ert/c|max|best"`
	// Threshold is the share of the strategies rt/m and ert/c.
	Threshold float64 `yaml:"threshold" json:"threshold" range:"[0,100]"`
	// Weight is w of eq. 4.7, which weighs the accuracy that is missing against the price of a better variant: USD per
	// million executions for the least time, milliseconds for the least cost.
	Weight float64 `yaml:"weight" json:"weight" range:"[0,1e12]"`
	// Normalise divides both terms of eq. 4.7 by their ranges, so that Weight has no unit.
	Normalise bool `yaml:"normalise" json:"normalise"`
	// Free takes a change first that lowers cost (the least time) or time (the least cost) and worsens nothing, whatever
	// its size (Algorithm 2, line 14). The published program has no such step.
	Free bool `yaml:"free" json:"free"`
	// Fallback is an extension. Where the smallest sizes cost more than the budget, the search starts from each
	// function's cheapest size; where the largest sizes are slower than the bound, from each function's fastest.
	Fallback bool `yaml:"fallback" json:"fallback"`

	// ChargeTwice is a published defect: for the least time, a variant that was chosen is charged to the budget again
	// with every later one.
	ChargeTwice bool `yaml:"charge_twice" json:"charge_twice"`
	// Bundle is a published defect: for the greatest accuracy, a better variant is tried with more memory only, not with
	// the memory that the function has.
	Bundle bool `yaml:"bundle" json:"bundle"`
	// Aliases is a published defect: the programs' curves name the strategies of the least cost by the names of the
	// least time. They are not known there, and rt/m and ert/c run as disabled.
	Aliases bool `yaml:"aliases" json:"aliases"`
}

// Published returns the options of the published programs, with their three defects.
func Published() Options {
	return Options{Strategy: Best, Threshold: 0.1, Weight: 100, ChargeTwice: true, Bundle: true, Aliases: true}
}

// Corrected returns the options without the defects, as OptiServe's text describes them.
func Corrected() Options { return Options{Strategy: Best, Threshold: 0.1, Weight: 100, Free: true} }

// Validate reports the first wrong value.
func (o *Options) Validate() error {
	if err := bounds.Check(o); err != nil {
		return err
	}
	if !slices.Contains(Strategies(), o.Strategy) {
		return bounds.Errorf("strategy", "is %q, want one of %v", o.Strategy, Strategies())
	}
	return nil
}
