// Package bill prices runs of functions and of workflows as clouds bill them.
//
// A [Tariff] prices a run by memory, time and request, with the time rounded up to a step of 1 or 100 ms. What a run is
// expected to cost is the expectation of the rounded time ([Tariff.Expected]), which is not the rounded expectation
// ([Tariff.OfMean]) that OptiServe's eq. 3.2 and PRCP use: the two differ by up to half a step. An [Orchestration]
// prices what moves a request from function to function: its transitions often cost more than the functions.
//
// Times come from package memory and from measurements ([Runs], [Quantiles]).
package bill

import (
	"fmt"
	"math"
)

// Tariff is the price of a function's runs.
type Tariff struct {
	// GBSecond is in USD per GB of memory (1024 MB) and second, Request in USD per run.
	GBSecond float64 `yaml:"gb_second" json:"gb_second"`
	Request  float64 `yaml:"request" json:"request"`
	// Step is what billed times are rounded up to, in seconds; 0 bills the time as it is.
	Step float64 `yaml:"step" json:"step"`
	// Digits is the unit in USD to which the price of a step is rounded, half up, as in a printed table; 0 for none. It
	// needs a Step.
	Digits float64 `yaml:"digits" json:"digits"`
}

// Lambda is AWS Lambda's tariff since December 2020 (us-east-1, x86): steps of 1 ms.
func Lambda() Tariff { return Tariff{GBSecond: 1.66667e-5, Request: 2e-7, Step: 0.001} }

// Lambda100 is the same in steps of 100 ms: OptiServe's eq. 3.2, with the factor of 0.1 s that the equation lacks.
func Lambda100() Tariff { return Tariff{GBSecond: 1.66667e-5, Request: 2e-7, Step: 0.1} }

// LambdaTable is the tariff with which SLApp's code and data are billed: AWS's printed table of prices per 100 ms, for
// sizes in steps of 64 MB (128 MB: 2.08e-7, 1024 MB: 1.667e-6, 3008 MB: 4.897e-6 USD).
func LambdaTable() Tariff { return Tariff{GBSecond: 1.667e-5, Request: 2e-7, Step: 0.1, Digits: 1e-9} }

// Validate reports the first number that no tariff can have.
func (t Tariff) Validate() error {
	for _, f := range []struct {
		key   string
		value float64
	}{{"gb_second", t.GBSecond}, {"request", t.Request}, {"step", t.Step}, {"digits", t.Digits}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %g, want a number from 0", f.key, f.value)
		}
	}
	if t.Digits > 0 && t.Step == 0 {
		return fmt.Errorf("digits is %g without a step: prices are rounded per step of time", t.Digits)
	}
	return nil
}

// Run returns the price in USD of one run of a function with mb megabytes that took some seconds.
func (t Tariff) Run(mb, seconds float64) float64 {
	if t.Step == 0 {
		return float64(t.perSecond(mb)*seconds) + t.Request
	}
	return float64(t.perStep(mb)*t.steps(seconds)) + t.Request
}

// OfMean is [Tariff.Run] of a mean time, as the papers take it.
func (t Tariff) OfMean(mb, mean float64) float64 { return t.Run(mb, mean) }

// Expected returns the expected price in USD of one run whose time follows d: the expectation of the rounded time is
// Σ P(T > k·step) over k ≥ 0.
func (t Tariff) Expected(mb float64, d Distribution) float64 {
	if t.Step == 0 {
		return float64(t.perSecond(mb)*d.Mean()) + t.Request
	}
	return float64(t.perStep(mb)*Steps(d, t.Step)) + t.Request
}

func (t Tariff) perSecond(mb float64) float64 { return mb / 1024 * t.GBSecond }

func (t Tariff) perStep(mb float64) float64 {
	p := float64(t.perSecond(mb) * t.Step)
	if t.Digits > 0 {
		// The slack keeps a half, such as 833.5, a half.
		p = math.Floor(p/t.Digits+0.5+1e-9) * t.Digits
	}
	return p
}

// steps is the number of steps billed for a time: a time that is a whole number of steps up to rounding is not rounded
// up to one more.
func (t Tariff) steps(seconds float64) float64 {
	n := seconds / t.Step
	if r := math.Round(n); math.Abs(n-r) < 1e-9*max(1, r) {
		return r
	}
	return math.Ceil(n)
}

// Steps returns the expected number of steps of a time that is rounded up to whole ones.
func Steps(d Distribution, step float64) float64 {
	if r, ok := d.(interface{ Steps(step float64) float64 }); ok {
		return r.Steps(step)
	}
	var sum float64
	for k := 0.0; ; k++ {
		p := d.Above(k * step)
		sum += p
		// The tail beyond is what is left of the mean, plus half a step for rounding: below 1e-12 it is nothing.
		if p < 1e-13 || k > 1e7 {
			return sum
		}
	}
}

// Orchestration says who moves a request from function to function, and so what that costs.
type Orchestration string

// Orchestrations of AWS Step Functions, at its prices in us-east-1.
const (
	// None counts nothing, as PRCP and OptiServe do.
	None Orchestration = "none"
	// Standard bills 25 USD a million state transitions.
	Standard Orchestration = "standard"
	// Express bills 1 USD a million requests, and the workflow's time in steps of 100 ms by memory in chunks of 64 MB, at
	// 1.667e-5 USD per GB and second.
	Express Orchestration = "express"
)

// Orchestrations returns all of them.
func Orchestrations() []Orchestration { return []Orchestration{None, Standard, Express} }

// Validate reports an unknown name.
func (o Orchestration) Validate() error {
	switch o {
	case None, Standard, Express:
		return nil
	}
	return fmt.Errorf("no orchestration %q, there are %v", string(o), Orchestrations())
}

// Prices of Step Functions.
const (
	transitionPrice = 25e-6
	expressRequest  = 1e-6
	expressGBSecond = 1.667e-5
	expressChunk    = 64 // MB
)

// Request returns the expected price in USD of moving one request: with an expected number of state transitions, and
// for [Express] with mb megabytes of its own memory (64 where it is unknown) during a response time that follows d.
func (o Orchestration) Request(transitions, mb float64, d Distribution) float64 {
	switch o {
	case Standard:
		return transitions * transitionPrice
	case Express:
		t := Tariff{GBSecond: expressGBSecond, Request: expressRequest, Step: 0.1}
		return t.Expected(max(1, math.Ceil(mb/expressChunk))*expressChunk, d)
	}
	return 0
}
