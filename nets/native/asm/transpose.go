package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose loops over squares as wide as a register. Missing rows are 0, so that dst is filled up to ldd.
func (g *gen) transpose() {
	g.begin("Transpose", "(dst []float32, ldd int, src []float32, lds, rows, cols int)",
		"sets dst[c·ldd + r] = src[r·lds + c], and 0 for rows ≤ r < ldd, where c < cols.")
	dst, src, ldd, lds, rows := g.pointer("dst"), g.pointer("src"), g.value("ldd"), g.value("lds"), g.value("rows")
	space, ldd4 := g.GP64(), g.GP64() // remaining columns of dst
	g.MOVQ(ldd, space)
	g.MOVQ(ldd, ldd4)
	g.SHLQ(operand.U8(2), ldd4)
	g.SHLQ(operand.U8(2), lds)
	w := g.width
	next, done := g.label("rows"), g.label("done")
	g.Label(next)
	g.CMPQ(space, operand.I32(0))
	g.JLE(to(done))
	cols, s, d := g.value("cols"), g.GP64(), g.GP64()
	g.MOVQ(src, s)
	g.MOVQ(dst, d)
	across, partial, below := g.label("cols"), g.label("partial"), g.label("below")
	g.Label(across)
	g.CMPQ(cols, operand.I32(0))
	g.JLE(to(below))
	g.CMPQ(cols, operand.I32(w))
	g.JLT(to(partial))
	g.CMPQ(rows, operand.I32(w))
	g.JLT(to(partial))
	for _, x := range g.wholeSquare(s, lds) {
		g.store(x, nil, at(d, 0))
		g.ADDQ(ldd4, d)
	}
	g.ADDQ(operand.I32(4*w), s)
	g.SUBQ(operand.I32(w), cols)
	g.JMP(to(across))
	g.Label(partial)
	g.partialSquare(s, d, lds, ldd4, rows, cols, space)
	g.ADDQ(operand.I32(4*w), s)
	g.SUBQ(operand.I32(w), cols)
	g.JMP(to(across))
	g.Label(below)
	step := g.GP64()
	g.MOVQ(lds, step)
	g.IMUL3Q(operand.I32(w), step, step)
	g.ADDQ(step, src)
	g.ADDQ(operand.I32(4*w), dst)
	g.SUBQ(operand.I32(w), rows)
	g.SUBQ(operand.I32(w), space)
	g.JMP(to(next))
	g.Label(done)
	g.end()
}

// wholeSquare transposes a square from memory. For each four columns it loads the quarters (AVX2: halves) of rows
// four apart into one register. Loads to the right place cost less than shuffles, because a core has fewer shuffle
// units.
func (g *gen) wholeSquare(s, lds reg.GPVirtual) []reg.VecVirtual {
	r := g.regs(g.width)
	p := g.GP64()
	g.MOVQ(s, p)
	var quarter [4]reg.Register
	for i := 1; g.wide && i < 4; i++ {
		t, k := g.GP32(), g.K()
		g.MOVL(operand.U32(0xf<<(4*i)), t)
		g.KMOVW(t, k)
		quarter[i] = k
	}
	for row := range g.width {
		for q := range g.width / 4 {
			x, from := r[4*q+row%4], at(p, 16*q) // columns 4q to 4q+3 of rows row%4, row%4+4, …
			switch {
			case g.wide && row < 4:
				g.VBROADCASTF32X4(from, x)
			case g.wide:
				g.VBROADCASTF32X4(from, quarter[row/4], x)
			case row < 4:
				g.VBROADCASTF128(from, x)
			default:
				g.VINSERTF128(operand.U8(1), from, x, x)
			}
		}
		g.ADDQ(lds, p)
	}
	var out []reg.VecVirtual
	for q := range g.width / 4 {
		out = append(out, g.quads(r[4*q:4*q+4])...)
	}
	return out
}

// quads transposes 4 × 4 within each 128 bits of four registers.
func (g *gen) quads(r []reg.VecVirtual) []reg.VecVirtual {
	t := g.pair(r[0], r[1], g.VUNPCKLPS, g.VUNPCKHPS)
	u := g.pair(r[2], r[3], g.VUNPCKLPS, g.VUNPCKHPS)
	return append(g.pair(t[0], u[0], g.VUNPCKLPD, g.VUNPCKHPD), g.pair(t[1], u[1], g.VUNPCKLPD, g.VUNPCKHPD)...)
}

// partialSquare transposes a square of which some rows or columns are missing, and advances d.
func (g *gen) partialSquare(s, d, lds, ldd4, rows, cols, space reg.GPVirtual) {
	w := g.width
	atMost := func(n reg.GPVirtual) reg.GPVirtual {
		m, limit := g.GP64(), g.GP64()
		g.MOVQ(operand.I32(w), limit)
		g.MOVQ(n, m)
		g.CMPQ(m, limit)
		g.CMOVQGT(limit, m)
		return m
	}
	in, out := g.low(atMost(cols)), g.low(atMost(space))
	r, p := g.regs(w), g.GP64()
	g.zero(r...)
	g.MOVQ(s, p)
	loaded := g.label("loaded")
	for i := range r {
		g.CMPQ(rows, operand.I32(i))
		g.JLE(to(loaded))
		g.load(at(p, 0), in, r[i])
		g.ADDQ(lds, p)
	}
	g.Label(loaded)
	stored := g.label("stored")
	for i, x := range g.square(r) {
		if i > 0 {
			g.CMPQ(cols, operand.I32(i))
			g.JLE(to(stored))
		}
		g.store(x, out, at(d, 0))
		g.ADDQ(ldd4, d)
	}
	g.Label(stored)
}

// pair applies two instructions to the same two registers.
func (g *gen) pair(a, b reg.VecVirtual, one, other func(...operand.Op)) []reg.VecVirtual {
	x, y := g.reg(), g.reg()
	one(b, a, x)
	other(b, a, y)
	return []reg.VecVirtual{x, y}
}

// square transposes a square of registers: first 4 × 4 within each 128 bits, then the 128-bit blocks.
func (g *gen) square(r []reg.VecVirtual) []reg.VecVirtual {
	q := make([]reg.VecVirtual, 0, len(r)) // q[4i + c]: columns c, c+4, … of rows 4i to 4i+3
	for i := 0; i < len(r); i += 4 {
		q = append(q, g.quads(r[i:i+4])...)
	}
	choose := func(f func(...operand.Op), imm uint8) func(...operand.Op) {
		return func(ops ...operand.Op) { f(append([]operand.Op{operand.U8(imm)}, ops...)...) }
	}
	out := make([]reg.VecVirtual, len(r))
	for c := range 4 {
		if !g.wide {
			halves := func(ops ...operand.Op) { g.VPERM2F128(ops[0], ops[1], ops[2], ops[3]) }
			h := g.pair(q[c], q[c+4], choose(halves, 0x20), choose(halves, 0x31))
			out[c], out[c+4] = h[0], h[1]
			continue
		}
		even, odd := choose(g.VSHUFF32X4, 0x88), choose(g.VSHUFF32X4, 0xdd)
		t, u := g.pair(q[c], q[c+4], even, odd), g.pair(q[c+8], q[c+12], even, odd)
		v, w := g.pair(t[0], u[0], even, odd), g.pair(t[1], u[1], even, odd)
		out[c], out[c+8], out[c+4], out[c+12] = v[0], v[1], w[0], w[1]
	}
	return out
}
