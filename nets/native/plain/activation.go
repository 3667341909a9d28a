package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// activate applies a function in place. NaN stays NaN.
func activate[T core.Number](kind string, y []T) {
	switch kind {
	case nets.ReLU: // max(y, 0)
		for i, v := range y {
			y[i] = max(v, 0)
		}
	case nets.Tanh:
		for i, v := range y {
			y[i] = T(math.Tanh(float64(v)))
		}
	case nets.Sigmoid: // 1/(1 + e⁻ʸ)
		for i, v := range y {
			y[i] = T(1 / (1 + math.Exp(-float64(v))))
		}
	}
}

// deactivate sets dst = g·f'(x), where f'(x) follows from y = f(x):
//
//	ReLU: 1 where y > 0, else 0;  tanh: 1 − y²;  sigmoid: y(1 − y)
//
// dst may be g.
func deactivate[T core.Number](kind string, y, g, dst []T) {
	y, dst = y[:len(g)], dst[:len(g)]
	switch kind {
	case nets.ReLU:
		for i, v := range g {
			if y[i] <= 0 {
				v = 0
			}
			dst[i] = v
		}
	case nets.Tanh:
		for i, v := range g {
			dst[i] = v * (1 - y[i]*y[i])
		}
	case nets.Sigmoid:
		for i, v := range g {
			dst[i] = v * (y[i] * (1 - y[i]))
		}
	}
}
