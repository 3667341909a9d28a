package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose goes through squares as wide as a register. Rows that are not there are zero: so dst is filled up to ldd.
func (g *gen) transpose() {
	g.begin("Transpose", "(dst []float32, ldd int, src []float32, lds, rows, cols int)", "sets dst[c·ldd + r] = src[r·lds + c], and 0 for rows ≤ r < ldd, where c < cols.")
	dst, src, ldd, lds, rows := g.pointer("dst"), g.pointer("src"), g.value("ldd"), g.value("lds"), g.value("rows")
	space, ldd4 := g.GP64(), g.GP64() // columns of dst that are left
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
	r := g.regs(w)
	p := g.GP64()
	g.MOVQ(s, p)
	for i := range r {
		g.load(at(p, 0), nil, r[i])
		g.ADDQ(lds, p)
	}
	for _, x := range g.square(r) {
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

// partialSquare transposes what is there of a square, and steps d as far.
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

// pairs sets the registers 2i and 2i+1 of the result to lower and upper of two registers of r, which are stride apart.
func (g *gen) pairs(r []reg.VecVirtual, stride int, lower, upper func(a, b, dst reg.VecVirtual)) []reg.VecVirtual {
	out := g.regs(len(r))
	for i := 0; i < len(r); i += 2 * stride {
		for j := i; j < i+stride; j++ {
			k := i + 2*(j-i)
			lower(r[j], r[j+stride], out[k])
			upper(r[j], r[j+stride], out[k+1])
		}
	}
	return out
}

// square transposes a square of registers: interleaving the elements of rows half the square apart, again and again, does it.
// Within 128 bits that is two unpackings; across them it is a choice of quarters or halves.
func (g *gen) square(r []reg.VecVirtual) []reg.VecVirtual {
	op := func(f func(...operand.Op)) func(a, b, dst reg.VecVirtual) {
		return func(a, b, dst reg.VecVirtual) { f(b, a, dst) }
	}
	choose := func(f func(...operand.Op), imm uint8) func(a, b, dst reg.VecVirtual) {
		return func(a, b, dst reg.VecVirtual) { f(operand.U8(imm), b, a, dst) }
	}
	// Now element c of row i, within each 128 bits. Rows 4i to 4i+3 first become columns there.
	quads := make([]reg.VecVirtual, len(r)) // quads[4q + c]: columns c, c+4, … of rows 4q to 4q+3
	for q := 0; q < len(r); q += 4 {
		t := g.pairs([]reg.VecVirtual{r[q], r[q+1]}, 1, op(g.VUNPCKLPS), op(g.VUNPCKHPS))
		u := g.pairs([]reg.VecVirtual{r[q+2], r[q+3]}, 1, op(g.VUNPCKLPS), op(g.VUNPCKHPS))
		for h := range 2 {
			v := g.pairs([]reg.VecVirtual{t[h], u[h]}, 1, op(g.VUNPCKLPD), op(g.VUNPCKHPD))
			quads[q+2*h], quads[q+2*h+1] = v[0], v[1]
		}
	}
	out := make([]reg.VecVirtual, len(r))
	for c := range 4 {
		if !g.wide {
			half := func(a, b, dst reg.VecVirtual, imm uint8) { g.VPERM2F128(operand.U8(imm), b, a, dst) }
			out[c], out[c+4] = g.reg(), g.reg()
			half(quads[c], quads[c+4], out[c], 0x20)
			half(quads[c], quads[c+4], out[c+4], 0x31)
			continue
		}
		// Columns c, c+4, c+8, c+12 lie in the quarters of four registers, for rows 0–3, 4–7, 8–11, 12–15.
		t := g.pairs([]reg.VecVirtual{quads[c], quads[c+4]}, 1, choose(g.VSHUFF32X4, 0x88), choose(g.VSHUFF32X4, 0xdd))
		u := g.pairs([]reg.VecVirtual{quads[c+8], quads[c+12]}, 1, choose(g.VSHUFF32X4, 0x88), choose(g.VSHUFF32X4, 0xdd))
		even := g.pairs([]reg.VecVirtual{t[0], u[0]}, 1, choose(g.VSHUFF32X4, 0x88), choose(g.VSHUFF32X4, 0xdd))
		odd := g.pairs([]reg.VecVirtual{t[1], u[1]}, 1, choose(g.VSHUFF32X4, 0x88), choose(g.VSHUFF32X4, 0xdd))
		out[c], out[c+8], out[c+4], out[c+12] = even[0], even[1], odd[0], odd[1]
	}
	return out
}
