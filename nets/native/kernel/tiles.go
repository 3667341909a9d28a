package kernel

import "fmt"

func (u *unchecked) wholeProduct(p *Product) {
	if p.M <= 0 || p.N <= 0 {
		return
	}
	p.check()
	if p.M*p.N*p.K <= pieceProduct {
		u.product(p, 0, p.M, 0, p.N)
		return
	}
	cols := min(p.N, pieceColumns)
	rows := max(48, pieceProduct/(cols*p.K)/48*48) // a multiple of the rows of the largest tiles
	for n := 0; n < p.N; n += cols {
		for m := 0; m < p.M; m += rows {
			u.product(p, m, min(rows, p.M-m), n, min(cols, p.N-n))
		}
	}
}

// check panics unless every operand is long enough for the product.
func (p *Product) check() {
	if p.K < 0 || p.AK < 0 || p.AM < 0 || p.LDB < 0 || p.LDC < 0 || p.LDM < 0 {
		panic(fmt.Sprintf("kernel: product with K, AK, AM, LDB, LDC, LDM = %d, %d, %d, %d, %d, %d, want none negative",
			p.K, p.AK, p.AM, p.LDB, p.LDC, p.LDM))
	}
	m, n, k := p.M-1, p.N-1, p.K-1
	if k >= 0 {
		_ = p.A[k*p.AK+m*p.AM]
		_ = p.B[k*p.LDB+n]
	}
	_ = p.C[m*p.LDC+n]
	if p.Start == Bias {
		_ = p.Bias[m]
	}
	if p.Finish == Mask {
		_ = p.Mask[m*p.LDM+n]
	}
}

func (u *unchecked) wholeTranspose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	if cols <= 0 || ldd <= 0 {
		return
	}
	if rows < 0 || rows > ldd || lds < 0 {
		panic(fmt.Sprintf("kernel: transpose of %d rows from stride %d to stride %d, want 0 to %d rows and "+
			"no negative stride", rows, lds, ldd, ldd))
	}
	_ = dst[cols*ldd-1]
	if rows > 0 {
		_ = src[(rows-1)*lds+cols-1]
	}
	piece := max(Lanes, pieceTile/ldd/Lanes*Lanes)
	for ; cols > piece; cols -= piece {
		u.Transpose(dst, ldd, src, lds, rows, piece)
		dst = dst[piece*ldd:]
		if rows > 0 {
			src = src[piece:]
		}
	}
	u.Transpose(dst, ldd, src, lds, rows, cols)
}

func (u *unchecked) wholeDots(out []float32, stride int, x []float32, rows int, d []float32) {
	t := len(d)
	if !inTile(t) || rows <= 0 {
		return
	}
	if stride < 0 {
		panic(fmt.Sprintf("kernel: dots with a stride of %d, want 0 or more", stride))
	}
	_, _ = out[(rows-1)*stride], x[rows*t-1]
	piece := max(Lanes, pieceTile/t/Lanes*Lanes)
	for ; rows > piece; rows -= piece {
		u.Dots(out, stride, x, piece, d)
		out, x = out[piece*stride:], x[piece*t:]
	}
	u.Dots(out, stride, x, rows, d)
}

func (u *unchecked) wholeRowDots(out, x, y []float32, t int) {
	if !inTile(t) || len(out) == 0 {
		return
	}
	x, y = x[:len(out)*t], y[:len(out)*t]
	piece := max(Lanes, pieceTile/t/Lanes*Lanes)
	for ; len(out) > piece; out = out[piece:] {
		u.RowDots(out[:piece], x, y, t)
		x, y = x[piece*t:], y[piece*t:]
	}
	u.RowDots(out, x, y, t)
}

// checkNeighbours panics unless base holds size values for every neighbour.
func checkNeighbours(base []float32, at []int32, size int) {
	for _, from := range at {
		_ = base[int(from)+size-1]
		_ = base[from]
	}
}

func (u *unchecked) wholeScores(out, q, base []float32, at []int32, rows, t int, scale float32) {
	if !inTile(t) {
		return
	}
	rows = max(rows, 0)
	out, q = out[:len(at)*t], q[:rows*t]
	if rows > 0 {
		checkNeighbours(base, at, rows*t)
	}
	piece := max(4, pieceTile/max(1, rows*t)/4*4)
	for ; len(at) > piece; at = at[piece:] {
		u.Scores(out[:piece*t], q, base, at[:piece], rows, t, scale)
		out = out[piece*t:]
	}
	u.Scores(out, q, base, at, rows, t, scale)
}

func (u *unchecked) wholeMix(out, w, base []float32, at []int32, rows, t int) {
	if !inTile(t) || rows <= 0 {
		return
	}
	out, w = out[:rows*t], w[:len(at)*t]
	checkNeighbours(base, at, rows*t)
	piece := max(4, pieceTile/max(1, len(at)*t)/4*4)
	for ; rows > piece; rows -= piece {
		u.Mix(out, w, base, at, piece, t)
		out = out[piece*t:]
		if len(at) > 0 {
			base = base[piece*t:]
		}
	}
	u.Mix(out, w, base, at, rows, t)
}

func (u *unchecked) wholeScatter(base []float32, at []int32, w, x []float32, rows, t int) {
	if !inTile(t) || rows <= 0 {
		return
	}
	w, x = w[:len(at)*t], x[:rows*t]
	checkNeighbours(base, at, rows*t)
	piece := max(1, pieceTile/(rows*t))
	for ; len(at) > piece; at = at[piece:] {
		u.Scatter(base, at[:piece], w, x, rows, t)
		w = w[piece*t:]
	}
	u.Scatter(base, at, w, x, rows, t)
}
