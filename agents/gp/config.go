package gp

import (
	"fmt"
	"math"
)

// Config says what a model's kernel is and what of it is fitted.
type Config struct {
	Kernel Kernel
	// Each gives each input a length scale of its own (automatic relevance determination); else they share one.
	Each bool
	// Signal is the variance σ² of the function, Length its length scales, Noise the variance of the observations around
	// it.
	Signal, Length, Noise Parameter
	// Restarts is the number of further starts of the fit, drawn log-uniformly within the bounds.
	Restarts int
}

// Parameter is the start and the bounds of a positive number. It is fixed where Low equals High.
type Parameter struct {
	Start, Low, High float64
	// Prior, where its shape is not 0, is the law a fit assumes before the data.
	Prior Gamma
}

// Gamma is the law of density ∝ x^(Shape−1)·exp(−Rate·x).
type Gamma struct{ Shape, Rate float64 }

// Fixed is a parameter that is not fitted.
func Fixed(x float64) Parameter { return Parameter{Start: x, Low: x, High: x} }

// Range is a parameter fitted within bounds.
func Range(start, low, high float64) Parameter { return Parameter{Start: start, Low: low, High: high} }

// With returns the parameter with a prior.
func (p Parameter) With(g Gamma) Parameter {
	p.Prior = g
	return p
}

func (p *Parameter) fixed() bool { return p.Low == p.High }

func (p *Parameter) check(what string, zero bool) error {
	if zero && p.fixed() && p.Start == 0 && p.Low == 0 {
		return nil
	}
	if !(p.Low > 0 && p.Low <= p.Start && p.Start <= p.High && p.High <= math.MaxFloat64) {
		return fmt.Errorf("gp: %s starts at %g within %g to %g, want finite numbers above 0, the start within the bounds",
			what, p.Start, p.Low, p.High)
	}
	if g := p.Prior; g.Shape < 0 || g.Rate < 0 || (g.Shape == 0) != (g.Rate == 0) {
		return fmt.Errorf("gp: %s has a gamma prior of shape %g and rate %g, want both above 0", what, g.Shape, g.Rate)
	}
	return nil
}

// log is the logarithm of the prior's density over log x up to a constant, and its derivative. The density is over x,
// as in BoTorch: the fit is the most likely x, whatever it is searched over.
func (g Gamma) log(x float64) (value, slope float64) {
	if g.Shape == 0 {
		return 0, 0
	}
	return (g.Shape-1)*math.Log(x) - g.Rate*x, g.Shape - 1 - g.Rate*x
}

// Validate reports the first wrong number.
func (c *Config) Validate() error {
	if c.Kernel != Matern52 && c.Kernel != RBF {
		return fmt.Errorf("gp: kernel is %q, want %s or %s", c.Kernel, Matern52, RBF)
	}
	if c.Restarts < 0 {
		return fmt.Errorf("gp: restarts is %d, want 0 or more", c.Restarts)
	}
	if err := c.Signal.check("signal", false); err != nil {
		return err
	}
	if err := c.Length.check("length", false); err != nil {
		return err
	}
	return c.Noise.check("noise", true)
}
