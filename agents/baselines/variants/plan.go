// Package variants holds the published heuristics that configure a whole workflow, for models of package
// envs/variants.
//
//	PRCP            the probability-refined critical path (Lin and Khazaei), four strategies, in both directions
//	BCRMax          OptiServe with the benefit-cost ratio of eq. 4.8
//	BCRSlope        OptiServe with the slope of eq. 4.9
//
// All are one greedy search. It looks at the ways through the workflow one after another, by their weight W (OptiServe,
// eq. 4.6), and changes one function of a way at a time. The objective decides the direction: the least time starts
// from the smallest sizes and spends the budget, the least cost starts from the largest sizes and spends the time that
// is left, and the greatest accuracy (eq. 4.10) starts from the least cost. Where an accuracy is asked for, variants are
// chosen first (OptiServe, Algorithm 1, eq. 4.7).
//
// [Options] say which reading of the papers is meant. [Published] is what the published programs compute, with their
// defects; [Corrected] is without them. docs/optiserve.md compares both with the exact optimum.
package variants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/variants"
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

// Answer is what a search found.
type Answer struct {
	variants.Plan
	// Steps counts the ways that the search looked at: what the papers call iterations.
	Steps int `json:"steps"`
	// Strategy is the one that found it.
	Strategy Strategy `json:"strategy"`
}

// ErrMissed is the error of a search that ended without a configuration that keeps the constraints. There may be one.
var ErrMissed = errors.New("the search found no configuration that keeps the constraints")

// PRCP plans by the probability-refined critical path with o.Strategy. Its published form knows no variants: where an
// accuracy is asked for, they are chosen first as in OptiServe.
func PRCP(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	a, err := NewPlanner(m).Solve(p, o)
	return a.Plan, err
}

// BCRMax plans by OptiServe with the benefit-cost ratio of eq. 4.8.
func BCRMax(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	o.Strategy = Max
	return PRCP(m, p, o)
}

// BCRSlope plans by OptiServe with the slope of eq. 4.9.
func BCRSlope(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	o.Strategy = Slope
	return PRCP(m, p, o)
}

// Solve plans for a problem. Where the answer does not keep the constraints, the error is [ErrMissed] and the answer is
// what the search ended with. A problem whose Latency binds a percentile is planned with the mean in its place: the
// heuristics know no other.
func (l *Planner) Solve(p variants.Problem, o Options) (Answer, error) {
	if err := o.Validate(); err != nil {
		return Answer{}, fmt.Errorf("variants: %w", err)
	}
	if err := p.Validate(); err != nil {
		return Answer{}, fmt.Errorf("variants: %w", err)
	}
	l.p, l.o = p, o
	if o.Strategy != Best {
		a := l.search(o.Strategy)
		return l.finish(a)
	}
	var best Answer
	for i, s := range [...]Strategy{Disabled, Slope, Last, Max} {
		a := l.search(s)
		if i == 0 || l.better(a.Outcome, best.Outcome) {
			copy(l.best, a.Choice)
			best = a
		}
	}
	best.Choice = l.best
	return l.finish(best)
}

// better prefers what keeps the constraints, then the objective.
func (l *Planner) better(a, b variants.Outcome) bool {
	if x, y := l.p.Keeps(a), l.p.Keeps(b); x != y {
		return x
	}
	return l.p.Better(a, b)
}

func (l *Planner) finish(a Answer) (Answer, error) {
	a.Choice = slices.Clone(a.Choice)
	if !l.p.Keeps(a.Outcome) {
		return a, ErrMissed
	}
	return a, nil
}

// search runs one strategy.
func (l *Planner) search(strategy Strategy) Answer {
	l.steps = 0
	switch l.p.Objective {
	case variants.Time:
		l.start(false)
		l.upgrade(false)
		l.sizes(strategy, false)
	case variants.Cost:
		l.start(true)
		l.upgrade(true)
		l.sizes(strategy, true)
	default:
		l.start(true)
		l.sizes(strategy, true)
		l.steps = 0
		l.raise()
	}
	return Answer{Plan: variants.Plan{Choice: l.choice, Outcome: l.now}, Steps: l.steps, Strategy: strategy}
}

// World is an environment whose episode is a problem of an application.
type World interface {
	envs.Env
	// Model is the application, Problem what is wanted of it.
	Model() *variants.Model
	Problem() variants.Problem
	// Present returns the options of the environment's own plan.
	Present(choice []int) []int
	// Follow writes the action that comes nearest to a plan, which was made with a margin.
	Follow(choice []int, margin float64, act *envs.Action)
}

// Acting plays plans in an environment: at the first step of an episode it plans, then it follows the plan. Where a
// heuristic finds none that keeps the constraints, the environment's own plan stands in for it.
type Acting struct {
	name   string
	margin float64
	plan   func(World, []int) ([]int, error)
	choice []int // of this episode; empty before it is planned
}

// NewActing returns the planner of a heuristic such as [PRCP], for environments such as env.
func NewActing(name string, env envs.Env, o Options, plan func(*variants.Model, variants.Problem, Options) (
	variants.Plan, error)) (*Acting, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newActing(name, env, 1, func(w World, choice []int) ([]int, error) {
		asked := w.Problem()
		asked.Percentile = 0
		p, err := plan(w.Model(), asked, o)
		if errors.Is(err, ErrMissed) {
			return w.Present(choice), nil
		}
		return append(choice, p.Choice...), err
	})
}

// ExactConfig configures the planner of the best configuration.
type ExactConfig struct {
	// Margin is the part of an allowed percentile that the mean time is planned with, where plans are served: the model
	// knows means alone.
	Margin float64 `yaml:"margin" json:"margin" range:"(0,1]"`
}

// DefaultExact plans with the percentile as if it were a mean.
func DefaultExact() ExactConfig { return ExactConfig{Margin: 1} }

// NewExact returns the planner of the best configuration of all, by the model. Where none keeps the margin it plays the
// quickest.
func NewExact(c ExactConfig, env envs.Env) (*Acting, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	name := "exact"
	if c.Margin != 1 {
		name = fmt.Sprintf("exact %g", c.Margin)
	}
	return newActing(name, env, c.Margin, func(w World, choice []int) ([]int, error) {
		p := w.Problem()
		if p.Percentile > 0 {
			p.Percentile, p.Latency = 0, float64(c.Margin*p.Latency)
		}
		plan, err := w.Model().Solve(context.Background(), p)
		var none *variants.Infeasible
		if errors.As(err, &none) && w.Problem().Percentile > 0 {
			plan, err = w.Model().Solve(context.Background(), variants.Problem{Objective: variants.Time, Accuracy: p.Accuracy})
		}
		return append(choice, plan.Choice...), err
	})
}

func newActing(name string, env envs.Env, margin float64, plan func(World, []int) ([]int, error)) (*Acting, error) {
	if _, ok := envs.As[World](env); !ok {
		return nil, fmt.Errorf("%s: plans for %s, not for %s", name, variants.EachID, env.Spec().ID)
	}
	return &Acting{name: name, margin: margin, plan: plan}, nil
}

// Name implements [envs.Planner].
func (a *Acting) Name() string { return a.name }

// Reset implements [envs.Planner].
func (a *Acting) Reset(uint64) error {
	a.choice = a.choice[:0]
	return nil
}

// Plan implements [envs.Planner].
func (a *Acting) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	w, ok := envs.As[World](env)
	if !ok {
		return fmt.Errorf("%s: cannot plan for %s", a.name, env.Spec().ID)
	}
	if len(a.choice) == 0 {
		choice, err := a.plan(w, a.choice)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		a.choice = choice
	}
	w.Follow(a.choice, a.margin, act)
	return nil
}

// AppendBinary saves nothing: a plan is made anew.
func (a *Acting) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements the other half.
func (a *Acting) UnmarshalBinary([]byte) error {
	a.choice = a.choice[:0]
	return nil
}
