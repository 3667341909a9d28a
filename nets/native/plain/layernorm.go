package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// layerNorm brings the features of each sample to mean 0 and variance 1 and scales them (Ba et al., 2016):
//
//	x̂ = (x − mean x)/√(var x + ε),  y = gain·x̂ + offset
//
// with the variance of the n features themselves, divided by n.
type layerNorm[T core.Number] struct {
	agents, width int
	gain, offset  param[T]
}

// normWork is what a layerNorm stores of a pass: x̂ [agents, batch, width], 1/√(var + ε) [agents, batch] and y.
type normWork[T core.Number] struct{ hat, scale, y []T }

func (l *layerNorm[T]) newWork(batch int) normWork[T] {
	n := l.agents * batch
	return normWork[T]{make([]T, n*l.width), make([]T, n), make([]T, n*l.width)}
}

func (l *layerNorm[T]) forward(batch int, x []T, w *normWork[T]) {
	n := T(l.width)
	for r := range l.agents * batch {
		gain, offset := l.gain.value(r/batch), l.offset.value(r/batch)
		row := x[r*l.width:][:l.width]
		var sum, square T
		for _, v := range row {
			sum += v
		}
		mean := sum / n
		for _, v := range row {
			square += (v - mean) * (v - mean)
		}
		scale := 1 / sqrt(square/n+nets.LayerNormEpsilon)
		w.scale[r] = scale
		hat, y := w.hat[r*l.width:][:l.width], w.y[r*l.width:][:l.width]
		for j, v := range row {
			hat[j] = (v - mean) * scale
			y[j] = gain[j]*hat[j] + offset[j]
		}
	}
}

// backward replaces g = ∂L/∂y by ∂L/∂x. With ĝ = gain·g:
//
//	∂L/∂x = (ĝ − mean ĝ − x̂·mean(ĝx̂))/√(var x + ε),  ∂L/∂gain += gx̂,  ∂L/∂offset += g
func (l *layerNorm[T]) backward(batch int, w *normWork[T], g []T, params bool) {
	n := T(l.width)
	for r := range l.agents * batch {
		row, hat := g[r*l.width:][:l.width], w.hat[r*l.width:][:l.width]
		if params {
			dgain, doffset := l.gain.grad(r/batch), l.offset.grad(r/batch)
			for j, v := range row {
				dgain[j] += v * hat[j]
				doffset[j] += v
			}
		}
		gain := l.gain.value(r / batch)
		var sum, along T
		for j, v := range row {
			row[j] = v * gain[j]
			sum += row[j]
			along += row[j] * hat[j]
		}
		sum, along = sum/n, along/n
		for j, v := range row {
			row[j] = (v - sum - hat[j]*along) * w.scale[r]
		}
	}
}
