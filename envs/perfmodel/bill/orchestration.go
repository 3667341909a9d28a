package bill

import (
	"fmt"
	"math"
)

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
