package gp

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
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

// fitIterations bounds the iterations of L-BFGS from one start.
const fitIterations = 200

// Fit conditions the model on rows with the parameters of the largest log marginal likelihood (with priors: of the
// largest posterior density) found from the starts of the configuration and from its restarts, which stream draws. A
// model whose parameters are all fixed is only conditioned. What it finds does not depend on earlier rows.
func (m *Model) Fit(x, y []float64, stream *rng.Stream) error {
	if err := m.load(x, y); err != nil {
		return err
	}
	start, box := m.free()
	if len(start) == 0 {
		m.put(nil)
		return m.condition()
	}
	z := newMinimizer(m.loss, box, 1e-8, fitIterations)
	found, value := z.run(start)
	best := append([]float64(nil), found...)
	for range m.config.Restarts {
		for i := range start {
			start[i] = box.Low[i] + stream.Float64()*(box.High[i]-box.Low[i])
		}
		if b, v := z.run(start); v < value {
			value = v
			copy(best, b)
		}
	}
	if value >= huge {
		m.put(start)
		if err := m.condition(); err != nil {
			return err
		}
		return fmt.Errorf("gp: no parameters within the bounds give a finite likelihood of the %d rows", m.rows)
	}
	m.put(best)
	return m.condition()
}

// free returns the logarithms of what is fitted: signal, length scales, noise; and their bounds.
func (m *Model) free() (start []float64, box Box) {
	add := func(p *Parameter, n int) {
		for range n {
			if !p.fixed() {
				start = append(start, math.Log(p.Start))
				box.Low, box.High = append(box.Low, math.Log(p.Low)), append(box.High, math.Log(p.High))
			}
		}
	}
	add(&m.config.Signal, 1)
	add(&m.config.Length, m.lengths())
	add(&m.config.Noise, 1)
	return start, box
}

// lengths is the number of length scales that may differ.
func (m *Model) lengths() int {
	if m.config.Each {
		return m.inputs
	}
	return 1
}

// put sets the parameters from logarithms in the order of free; what is fixed has its start.
func (m *Model) put(logs []float64) {
	next := func(p *Parameter) float64 {
		if p.fixed() {
			return p.Start
		}
		v := math.Exp(logs[0])
		logs = logs[1:]
		return min(max(v, p.Low), p.High)
	}
	m.params.Signal = next(&m.config.Signal)
	for i := range m.params.Length {
		if i < m.lengths() {
			m.params.Length[i] = next(&m.config.Length)
		} else {
			m.params.Length[i] = m.params.Length[0]
		}
	}
	m.params.Noise = next(&m.config.Noise)
}

// loss is the negative log posterior density of parameters, and its gradient by their logarithms.
func (m *Model) loss(logs, gradient []float64) float64 {
	m.put(logs)
	if m.condition() != nil {
		return huge
	}
	value := m.likelihood
	signal, noise := m.slopes()
	add := func(p *Parameter, x, slope float64) {
		if p.fixed() {
			return
		}
		v, s := p.Prior.log(x)
		value += v
		gradient[0] = -(slope + s)
		gradient = gradient[1:]
	}
	add(&m.config.Signal, m.params.Signal, signal)
	if !m.config.Length.fixed() {
		// What the priors add stands beside what the data say.
		lengths := gradient[:m.lengths()]
		m.lengthSlopes(lengths)
		for i, s := range lengths {
			add(&m.config.Length, m.params.Length[i], s)
		}
	}
	add(&m.config.Noise, m.params.Noise, noise)
	return -value
}

// slopes returns the derivatives of the likelihood by the logarithms of signal and noise (GPML eq. 5.9). It leaves the
// inverse for lengthSlopes.
func (m *Model) slopes() (signal, noise float64) {
	n := m.rows
	inverse := m.inverted()
	var fit, trace float64 // yᵀα − n, and the trace of W = ααᵀ − A⁻¹
	for i := range n {
		fit += m.y[i] * m.alpha[i]
		trace += m.alpha[i]*m.alpha[i] - inverse[i*n+i]
	}
	fit -= float64(n)
	noise = m.params.Noise * trace / 2
	return fit/2 - noise, noise
}

// lengthSlopes writes the derivatives by the logarithms of the length scales.
func (m *Model) lengthSlopes(out []float64) {
	n := m.rows
	clear(out)
	for a := range n {
		ra := m.row(a)
		for b := range a {
			// Each pair stands twice in the sum, which halves: ½·2·W·∂k/∂q·(−2Δ²).
			w := (m.alpha[a]*m.alpha[b] - m.inverse[a*n+b]) * m.slope[a*n+b] * -2
			rb := m.row(b)
			if len(out) == 1 {
				out[0] += w * distance(ra, rb)
				continue
			}
			for j := range out {
				d := ra[j] - rb[j]
				out[j] += w * d * d
			}
		}
	}
}
