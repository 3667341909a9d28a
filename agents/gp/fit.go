package gp

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

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
