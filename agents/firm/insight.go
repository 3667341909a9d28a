package firm

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// insight is that of the actor, whose actions are kept within bounds. Which functions move in a window is a rule, not a
// network: outputs are what the actor wants for every function, whether it moves or not.
type insight struct {
	agents.Insight
	low, high []float32
	out       []float32
	weights   []float32
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent].
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	actor, ok := p.actor.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("firm: insight: a %T gives no gradients of its decisions", p.actor)
	}
	in, err := actor.Insight(act, rows)
	if err != nil {
		return nil, fmt.Errorf("firm: %w", err)
	}
	return &insight{Insight: in, low: p.low, high: p.high}, nil
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	out, err := x.Insight.Forward(seen)
	x.out = append(x.out[:0], out...)
	for i, y := range x.out {
		c := i % len(x.low)
		x.out[i] = min(max(y, x.low[c]), x.high[c])
	}
	return x.out, err
}

// Gradient implements [agents.Insight]: it is zero at a bound.
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	x.weights = append(x.weights[:0], weights...)
	for i := range x.weights[:min(len(weights), len(x.out))] {
		if c := i % len(x.low); x.out[i] <= x.low[c] || x.out[i] >= x.high[c] {
			x.weights[i] = 0
		}
	}
	return x.Insight.Gradient(x.weights)
}
