package native

import "github.com/stoker-rl/stoker/nets"

// tileLoss is a loss as it runs on tiles: an error of regression tile by tile, with its sums added up at the end; any other on the whole batch.
type tileLoss struct {
	call lossCall[float32]
	law  nets.Loss
	sums []float64 // [tiles][agents]
	flat *lossCall[float32]
}

// loss lists or runs a loss whose operands have been checked.
func (t *tiler) loss(c *lossCall[float32], law nets.Loss) {
	l := &t.now
	if t.capture != nil {
		l = &tileLoss{}
	}
	l.law = law
	args, scratch := l.call.args, l.call.scratch
	l.call = *c
	l.call.args, l.call.scratch = append(args[:0], c.args...), scratch
	switch law.(type) {
	case nets.SquaredError, nets.Huber, nets.Ascent, nets.Penalty:
		if tl := c.grad.tiling; tl.lanes > 0 {
			l.sums = resize(l.sums, tl.tiles*tl.agents)
			t.do(tl, l)
			t.doSum(tl, (*lossSums)(l))
			return
		}
	}
	t.doWhole((*wholeLoss)(l))
}

func (l *tileLoss) stages() []stage { return []stage{l} }
func (l *tileLoss) apart() int      { return l.call.agents }
func (*tileLoss) fence() bool       { return false }

func (l *tileLoss) run(_ *context, tile, from, to int) {
	c := &l.call
	tl := c.grad.tiling
	valid := tl.valid(tile)
	for i := from; i < to; i++ {
		x, g := c.args[0].of(tile, i), c.grad.of(tile, i)
		var y []float32
		if len(c.args) > 1 {
			y = c.args[1].of(tile, i)
		}
		sum := 0.0
		for f := 0; f < len(g); f += tl.lanes {
			to := f + tl.lanes
			clear(g[f+valid : to])
			sum += l.row(x[f:f+valid], y[min(f, len(y)):min(f+valid, len(y))], g[f:f+valid])
		}
		l.sums[tile*tl.agents+i] = sum
	}
}

// row computes the loss of one feature in a tile's samples: its sum in float64 and the gradient, as regression.go has them. Four sums go side by side, so
// that none waits for the number before.
func (l *tileLoss) row(x, y, g []float32) float64 {
	per := float32(l.call.per)
	g = g[:len(x)]
	var s0, s1, s2, s3 float64
	n := len(x) &^ 3
	switch law := l.law.(type) {
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
type lossSums tileLoss

func (*lossSums) parts() int { return 1 }

func (l *lossSums) part(_, _ int) {
	n := l.call.agents
	for i := range n {
		sum := 0.0
		for at := i; at < len(l.sums); at += n {
			sum += l.sums[at]
		}
		l.call.value.data[i] = float32(sum / float64(l.call.per))
	}
}

// wholeLoss computes a loss on row-major copies of its operands.
type wholeLoss tileLoss

func (*wholeLoss) parts() int { return 1 }

func (l *wholeLoss) part(_, _ int) {
	c := &l.call
	if c.grad.tiling.lanes == 0 {
		c.compute(l.law)
		return
	}
	if l.flat == nil {
		l.flat = &lossCall[float32]{}
	}
	f := l.flat
	f.e, f.name, f.value, f.agents, f.per = c.e, c.name, c.value, c.agents, c.per
	f.grad = rowMajor(f.grad, c.grad)
	for len(f.args) < len(c.args) {
		f.args = append(f.args, nil)
	}
	f.args = f.args[:len(c.args)]
	for i, a := range c.args {
		f.args[i] = rowMajor(f.args[i], a)
		gather(a.tiling, f.args[i].data, a.data)
	}
	f.compute(l.law)
	spread(c.grad.tiling, c.grad.data, f.grad.data)
}

// rowMajor returns a row-major tensor of t's shape, was itself where that fits.
func rowMajor(was, t *tensor[float32]) *tensor[float32] {
	n := nets.Size(t)
	if was == nil || cap(was.data) < n {
		was = &tensor[float32]{e: t.e, data: make([]float32, n)}
	}
	was.shape, was.data = t.shape, was.data[:n]
	return was
}
