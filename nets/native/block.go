package native

// SetBlock sets features from to from+width of samples row to row+rows of one agent: that of sample row + r are src[r·stride] and those behind
// it. So numbers come into a tensor [agents, batch, width] from where they lie in rows of something larger, without a copy in between. It is
// what [nets.Tensor] has in Set, in parts; what is wrong is reported by Err.
func (t *tensor[T]) SetBlock(agent, row, rows, from, width int, src []float32, stride int) {
	if !t.host("SetBlock", t.n) || rows == 0 || width == 0 {
		return
	}
	if len(t.shape) != 3 || agent < 0 || row < 0 || rows < 0 || from < 0 || width < 0 || stride < 0 ||
		agent >= t.shape[0] || row+rows > t.shape[1] || from+width > t.shape[2] || len(src) < (rows-1)*stride+width {
		t.e.fail("SetBlock", "agent %d, samples %d to %d, features %d to %d from %d values in steps of %d for %v, want what is in both",
			agent, row, row+rows, from, from+width, len(src), stride, t)
		return
	}
	if t.lanes <= 1 {
		for r := range rows {
			convert(t.data[(agent*t.shape[1]+row+r)*t.shape[2]+from:][:width], src[r*stride:][:width])
		}
		return
	}
	for end := row + rows; row < end; {
		tile, lane := row/t.lanes, row%t.lanes
		n := min(t.valid(tile)-lane, end-row)
		dst := t.data[t.block(tile, agent)+from*t.lanes:]
		if d, ok := any(dst).([]float32); ok && n == t.valid(tile) {
			t.e.tiler.set.Transpose(d, t.lanes, src, stride, n, width)
		} else {
			for r := range n {
				for f, v := range src[r*stride:][:width] {
					dst[f*t.lanes+lane+r] = T(v)
				}
			}
		}
		if row += n; row < end {
			src = src[n*stride:]
		}
	}
}

// GetBlock copies samples row to row+rows of one agent to dst, row after row: what [nets.Tensor] has in Get, in parts that can be read side by side.
func (t *tensor[T]) GetBlock(agent, row, rows int, dst []float32) {
	if !t.host("GetBlock", t.n) || rows == 0 {
		return
	}
	if len(t.shape) != 3 || agent < 0 || row < 0 || rows < 0 || agent >= t.shape[0] || row+rows > t.shape[1] || len(dst) != rows*t.shape[2] {
		t.e.fail("GetBlock", "agent %d, samples %d to %d to %d values from %v, want what is in it", agent, row, row+rows, len(dst), t)
		return
	}
	width := t.shape[2]
	if t.lanes <= 1 {
		convert(dst, t.data[(agent*t.shape[1]+row)*width:][:len(dst)])
		return
	}
	for end := row + rows; row < end; {
		tile, lane := row/t.lanes, row%t.lanes
		n := min(t.valid(tile)-lane, end-row)
		src := as32[[]float32](t.data[t.block(tile, agent)+lane:])
		t.e.tiler.set.Transpose(dst[:n*width], width, src, t.lanes, width, n)
		row, dst = row+n, dst[n*width:]
	}
}
