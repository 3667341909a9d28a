package tile

import "github.com/stoker-rl/stoker/nets/internal/core"

// Tensor is a tensor of float32: in tiles where it is [agents, batch, width], else row-major.
type Tensor struct {
	core.Header
	tiling
	data []float32
	b    *Backend
}

// NewTensor implements [core.Backend].
func (b *Backend) NewTensor(h core.Header) *Tensor {
	t := &Tensor{Header: h, b: b}
	t.place()
	return t
}

// place gives the tensor memory for its shape.
func (t *Tensor) place() {
	size := t.Len()
	t.tiling = tiling{}
	if shape := t.Shape(); len(shape) == 3 && size > 0 {
		t.tiling = newTiling(shape[0], shape[1], shape[2])
		size = t.size()
	}
	t.data = core.Grow(t.data, size)
}

// Resize implements [core.Tensor].
func (t *Tensor) Resize(rows int) {
	t.SetRows(rows)
	t.place()
}

// Clear implements [core.Tensor].
func (t *Tensor) Clear() { clear(t.data) }

// Data is the memory of a tensor that is not in tiles.
func (t *Tensor) Data() []float32 { return t.data }

// of returns an agent's values in a tile, [width][lanes].
func (t *Tensor) of(tile, agent int) []float32 {
	n := t.width * t.lanes
	from := t.block(tile, agent)
	return t.data[from : from+n : from+n]
}

// Store sets the tensor from a row-major array of its size, Load copies it to one. Set and Get check before.
func (t *Tensor) Store(src []float32) {
	if t.lanes <= 1 {
		copy(t.data, src)
		return
	}
	t.transpose(t.b.set, t.data, src)
}

// Load is the opposite of Store.
func (t *Tensor) Load(dst []float32) {
	if t.lanes <= 1 {
		copy(dst, t.data)
		return
	}
	gather(t.tiling, dst, t.data)
}

// Set implements [nets.Tensor].
func (t *Tensor) Set(src []float32) {
	if t.Host("Set", len(src)) {
		t.Store(src)
	}
}

// Get implements [nets.Tensor].
func (t *Tensor) Get(dst []float32) {
	if t.Host("Get", len(dst)) {
		t.Load(dst)
	}
}

// Set64 implements [nets.Tensor].
func (t *Tensor) Set64(src []float64) {
	switch {
	case !t.Host("Set64", len(src)):
	case t.lanes <= 1:
		core.Convert(t.data, src)
	default:
		spread(t.tiling, t.data, src)
	}
}

// Get64 implements [nets.Tensor].
func (t *Tensor) Get64(dst []float64) {
	switch {
	case !t.Host("Get64", len(dst)):
	case t.lanes <= 1:
		core.Convert(dst, t.data)
	default:
		gather(t.tiling, dst, t.data)
	}
}

// SetBlock sets features from to from+width of samples row to row+rows of one agent: those of sample row + r
// are src[r·stride] and those behind it. It is Set in parts, for numbers that lie in rows of something larger.
func (t *Tensor) SetBlock(agent, row, rows, from, width int, src []float32, stride int) {
	if !t.HostBlock("SetBlock", core.Block{Agent: agent, Row: row, Rows: rows, From: from, Width: width}, len(src),
		stride) {
		return
	}
	if t.lanes <= 1 {
		for r := range rows {
			copy(t.data[(agent*t.batch+row+r)*t.width+from:][:width], src[r*stride:][:width])
		}
		return
	}
	for end := row + rows; row < end; {
		tile, lane := row/t.lanes, row%t.lanes
		n := min(t.valid(tile)-lane, end-row)
		dst := t.data[t.block(tile, agent)+from*t.lanes:]
		if n == t.valid(tile) {
			t.b.set.Transpose(dst, t.lanes, src, stride, n, width)
		} else {
			for r := range n {
				for f, v := range src[r*stride:][:width] {
					dst[f*t.lanes+lane+r] = v
				}
			}
		}
		if row += n; row < end {
			src = src[n*stride:]
		}
	}
}

// GetBlock copies samples row to row+rows of one agent to dst, row after row. It is Get in parts, which several
// goroutines may read.
func (t *Tensor) GetBlock(agent, row, rows int, dst []float32) {
	if !t.HostRows("GetBlock", agent, row, rows, len(dst)) {
		return
	}
	if t.lanes <= 1 {
		copy(dst, t.data[(agent*t.batch+row)*t.width:][:len(dst)])
		return
	}
	for end := row + rows; row < end; {
		tile, lane := row/t.lanes, row%t.lanes
		n := min(t.valid(tile)-lane, end-row)
		t.b.set.Transpose(dst[:n*t.width], t.width, t.data[t.block(tile, agent)+lane:], t.lanes, t.width, n)
		row, dst = row+n, dst[n*t.width:]
	}
}
