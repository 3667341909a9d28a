package tile

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/internal/plain"
)

// lossStep is a loss that is a mean over numbers, tile by tile; [lossSums] adds up its sums at the end.
type lossStep struct {
	call  core.LossCall[*Tensor]
	sums  []float64 // [tiles][agents]
	whole wholeLoss
}

// Loss implements [core.Backend]. Losses without a form for tiles are computed on the whole batch by the text in plain.
func (b *Backend) Loss(c *core.LossCall[*Tensor]) {
	l := &b.loss
	if b.program != nil {
		l = &lossStep{}
	}
	args := append(l.call.Args[:0], c.Args...)
	l.call = *c
	l.call.Args = args
	switch c.Law.(type) {
	case nets.SquaredError, nets.Huber, nets.Ascent, nets.Penalty:
		if t := c.Grad.tiling; t.lanes > 0 {
			l.sums = core.Grow(l.sums, t.tiles*t.agents)
			b.tileLoss(t, l)
			return
		}
	}
	l.whole.call = &l.call
	b.doWhole(&l.whole)
}

// tileLoss captures a loss, or runs it at once.
func (b *Backend) tileLoss(t tiling, l *lossStep) {
	if p := b.program; p != nil {
		p.step(t.agents, t.batch, l)
		p.sum(t.agents, t.batch, (*lossSums)(l))
		return
	}
	for tile := range t.tiles {
		l.run(tile, 0, t.agents)
	}
	(*lossSums)(l).Part(0, 0)
}

func (l *lossStep) stages() []stage {
	return []stage{{agents: l.call.Agents, run: func(_ *context, tile, from, to int) { l.run(tile, from, to) }}}
}

func (l *lossStep) reads(t *Tensor) bool  { return slices.Contains(l.call.Args, t) }
func (l *lossStep) writes(t *Tensor) bool { return l.call.Grad == t || l.call.Value == t }

func (l *lossStep) run(tile, from, to int) {
	c := &l.call
	t := c.Grad.tiling
	valid := t.valid(tile)
	for i := from; i < to; i++ {
		x, g := c.Args[0].of(tile, i), c.Grad.of(tile, i)
		var y []float32
		if len(c.Args) > 1 {
			y = c.Args[1].of(tile, i)
		}
		sum := 0.0
		for f := 0; f < len(g); f += t.lanes {
			to := f + t.lanes
			clear(g[f+valid : to])
			sum += l.row(x[f:f+valid], y[min(f, len(y)):min(f+valid, len(y))], g[f:f+valid])
		}
		l.sums[tile*t.agents+i] = sum
	}
}

// row computes the loss of one feature in a tile's samples: its sum in float64 and the gradient, as
// plain/loss.go has them. There are four sums, so that none waits for the number before.
func (l *lossStep) row(x, y, g []float32) float64 {
	per := float32(l.call.Per)
	g = g[:len(x)]
	var s0, s1, s2, s3 float64
	n := len(x) &^ 3
	switch law := l.call.Law.(type) {
	case nets.SquaredError:
		scale := 2 / per
		y = y[:len(x)]
		square := func(j int) float64 {
			d := x[j] - y[j]
			g[j] = scale * d
			return float64(d) * float64(d)
		}
		for j := 0; j < n; j += 4 {
			s0 += square(j)
			s1 += square(j + 1)
			s2 += square(j + 2)
			s3 += square(j + 3)
		}
		for j := n; j < len(x); j++ {
			s0 += square(j)
		}
	case nets.Huber:
		delta, scale := float32(law.Delta), 1/per
		for j, v := range x {
			switch d := v - y[j]; {
			case d > delta:
				s0 += float64(delta) * (float64(d) - float64(delta)/2)
				g[j] = scale * delta
			case d < -delta:
				s0 += float64(delta) * (-float64(d) - float64(delta)/2)
				g[j] = -scale * delta
			default:
				s0 += float64(d) * float64(d) / 2
				g[j] = scale * d
			}
		}
	case nets.Ascent:
		slope := -1 / per
		for j := 0; j < n; j += 4 {
			s0 -= float64(x[j])
			s1 -= float64(x[j+1])
			s2 -= float64(x[j+2])
			s3 -= float64(x[j+3])
		}
		for _, v := range x[n:] {
			s0 -= float64(v)
		}
		for j := range g {
			g[j] = slope
		}
	case nets.Penalty:
		coef := float32(law.Coef)
		scale := 2 * coef / per
		square := func(j int) float64 {
			v := x[j]
			g[j] = scale * v
			return float64(v) * float64(v)
		}
		for j := 0; j < n; j += 4 {
			s0 += square(j)
			s1 += square(j + 1)
			s2 += square(j + 2)
			s3 += square(j + 3)
		}
		for j := n; j < len(x); j++ {
			s0 += square(j)
		}
		return float64(coef) * ((s0 + s1) + (s2 + s3))
	}
	return (s0 + s1) + (s2 + s3)
}

// lossSums adds up a loss's sums over tiles.
type lossSums lossStep

func (*lossSums) parts() int { return 1 }

// Part implements [pool.Job].
func (l *lossSums) Part(_, _ int) {
	n := l.call.Agents
	for i := range n {
		sum := 0.0
		for at := i; at < len(l.sums); at += n {
			sum += l.sums[at]
		}
		l.call.Value.data[i] = float32(sum / float64(l.call.Per))
	}
}

func (*lossSums) reads(*Tensor) bool      { return false }
func (l *lossSums) writes(t *Tensor) bool { return l.call.Value == t }

// wholeLoss computes a loss on row-major copies of its operands.
type wholeLoss struct {
	call     *core.LossCall[*Tensor]
	operands plain.Operands[float32]
	grad     []float32
	args     [][]float32
}

func (*wholeLoss) parts() int { return 1 }

// Part implements [pool.Job].
func (l *wholeLoss) Part(_, _ int) {
	c := l.call
	l.grad = core.Grow(l.grad, c.Grad.Len())
	l.operands.Begin(c.Agents, c.Value.data, l.grad)
	for len(l.args) < len(c.Args) {
		l.args = append(l.args, nil)
	}
	for i, a := range c.Args {
		l.args[i] = core.Grow(l.args[i], a.Len())
		a.Load(l.args[i])
		l.operands.Add(l.args[i], a.Shape())
	}
	if known, err := l.operands.Compute(c.Law); err != nil {
		c.State.Fail("Loss", "%s: %w", c.Law.LossName(), err)
	} else if !known {
		c.Unknown()
	}
	c.Grad.Store(l.grad)
}

func (l *wholeLoss) reads(t *Tensor) bool  { return slices.Contains(l.call.Args, t) }
func (l *wholeLoss) writes(t *Tensor) bool { return l.call.Grad == t || l.call.Value == t }
