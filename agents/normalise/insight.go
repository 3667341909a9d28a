package normalise

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// insight is that of the policy inside, by observations before they are standardised.
type insight struct {
	agents.Insight
	table *table // nil where observations stay as they are
	seen  []float32
	raw   []float32
	by    []float32
}

var _ agents.Transparent = (*Policy)(nil)

// Insight implements [agents.Transparent].
func (p *Policy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	inside, ok := p.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("policy %s gives no gradients of its decisions", p.Name())
	}
	if len(p.tables) != 1 {
		return nil, fmt.Errorf("policy %s has %d kinds of agents, want one", p.Name(), len(p.tables))
	}
	in, err := inside.Insight(act, rows)
	if err != nil {
		return nil, err
	}
	return &insight{Insight: in, table: p.tables[0]}, nil
}

// standard is what the policy inside sees.
func (x *insight) standard(seen []float32) []float32 {
	x.raw, x.seen = append(x.raw[:0], seen...), append(x.seen[:0], seen...)
	if x.table != nil {
		w := len(x.table.shift)
		for at := 0; at+w <= len(x.seen); at += w {
			x.table.apply(x.seen[at : at+w])
		}
	}
	return x.seen
}

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	return x.Insight.Forward(x.standard(seen))
}

// Gradient implements [agents.Insight]: it is zero where an observation is cut.
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	by, err := x.Insight.Gradient(weights)
	if err != nil || x.table == nil {
		return by, err
	}
	x.by = append(x.by[:0], by...)
	w := len(x.table.shift)
	for i := range x.by {
		k := i % w
		if z := float32((x.raw[i] - x.table.shift[k]) * x.table.scale[k]); z < -x.table.clip || z > x.table.clip {
			x.by[i] = 0
			continue
		}
		x.by[i] *= x.table.scale[k]
	}
	return x.by, nil
}

// Attention implements [agents.Insight].
func (x *insight) Attention(seen []float32) ([]float32, error) {
	return x.Insight.Attention(x.standard(seen))
}
