package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dots and rowDots process as many rows at a time as a register has float32, and reduce their partial sums together.
func (g *gen) dots() {
	g.begin("Dots", "(out []float32, stride int, x []float32, rows int, d []float32)",
		"does out[i·stride] += Σ x[i·t + l]·d[l] for i < rows, t = len(d).")
	g.dotLoop("d", g.value("rows"), g.value("stride"), g.size("d"), false)
	g.end()
	g.begin("RowDots", "(out, x, y []float32, t int)", "does out[i] += Σ x[i·t + l]·y[i·t + l] for i < len(out).")
	one := g.GP64()
	g.MOVQ(operand.I32(1), one)
	g.dotLoop("y", g.size("out"), one, g.value("t"), true)
	g.end()
}

// dotLoop multiplies the rows of x with the slice of the given name or, with many, with that slice's rows.
func (g *gen) dotLoop(other string, rows, stride, t reg.GPVirtual, many bool) {
	out, x, y := g.pointer("out"), g.pointer("x"), g.pointer(other)
	t4, t12, sums := g.GP64(), g.GP64(), g.AllocLocal(4*g.width)
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	g.LEAQ(operand.Mem{Base: t4, Index: t4, Scale: 2}, t12)
	g.SHLQ(operand.U8(2), stride)
	for _, some := range []int{g.width, 1} {
		again, fewer := g.label("rows"), g.label("fewer")
		g.Label(again)
		g.CMPQ(rows, operand.I32(some))
		g.JLT(to(fewer))
		if some == 1 {
			s := g.dotsOf(x, y, t4, t12, 1, many)
			v := g.halve(s[0])
			g.VADDSS(at(out, 0), v.AsX(), v.AsX())
			g.VMOVSS(v.AsX(), at(out, 0))
			g.ADDQ(stride, out)
			g.ADDQ(t4, x)
			if many {
				g.ADDQ(t4, y)
			}
		} else {
			g.addSums(g.manyDots(x, y, t4, t12, many), out, stride, sums)
		}
		g.SUBQ(operand.I32(some), rows)
		g.JMP(to(again))
		g.Label(fewer)
	}
}

// dotsOf multiplies some rows, at most 16 of AVX-512 and 4 of AVX2: sixteen partial sums each.
func (g *gen) dotsOf(x, y, t4, t12 reg.GPVirtual, some int, many bool) []vec {
	sum := g.vecs(some)
	for _, s := range sum {
		g.clear(s)
	}
	p, q, end := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(x, p)
	g.MOVQ(y, q)
	g.LEAQ(operand.Mem{Base: x, Index: t4, Scale: 1}, end)
	loop, done := g.label("lanes"), g.label("added")
	g.Label(loop)
	g.CMPQ(p, end)
	g.JEQ(to(done))
	d := g.vec()
	if !many {
		g.get(at(q, 0), nil, d)
	}
	group, other := p, q
	for i := range some {
		if i > 0 && i%4 == 0 {
			group = g.behind(group, t4)
			if many {
				other = g.behind(other, t4)
			}
		}
		if many {
			d = g.vec()
			g.get(fourth(other, t4, t12, i%4), nil, d)
		}
		g.do(g.VFMADD231PS, fourth(group, t4, t12, i%4), d, sum[i])
	}
	g.ADDQ(operand.I32(64), p)
	g.ADDQ(operand.I32(64), q)
	g.JMP(to(loop))
	g.Label(done)
	return sum
}

// behind is the address four rows on.
func (g *gen) behind(p, t4 reg.GPVirtual) reg.GPVirtual {
	next := g.GP64()
	g.LEAQ(operand.Mem{Base: p, Index: t4, Scale: 4}, next)
	return next
}

// fourth is row i < 4 from p on.
func fourth(p, t4, t12 reg.GPVirtual, i int) operand.Mem {
	return [4]operand.Mem{{Base: p}, {Base: p, Index: t4, Scale: 1}, {Base: p, Index: t4, Scale: 2},
		{Base: p, Index: t12, Scale: 1}}[i]
}

// halve adds sixteen partial sums as a binary tree: the upper eight to the lower eight, then four, two and one. The
// result is in the lowest lane.
func (g *gen) halve(s vec) reg.VecVirtual {
	t := g.YMM()
	if g.wide {
		g.VEXTRACTF64X4(operand.U8(1), s[0], t)
		g.VADDPS(t, s[0].AsY(), t)
	} else {
		g.VADDPS(s[1], s[0], t)
	}
	u := g.YMM()
	g.VEXTRACTF128(operand.U8(1), t, u.AsX())
	g.VADDPS(u.AsX(), t.AsX(), t.AsX())
	g.VMOVHLPS(t.AsX(), t.AsX(), u.AsX())
	g.VADDPS(u.AsX(), t.AsX(), t.AsX())
	g.VMOVSHDUP(t.AsX(), u.AsX())
	g.VADDSS(u.AsX(), t.AsX(), t.AsX())
	return t
}

// manyDots returns the sums of as many rows as a register has lanes, in order, and advances over the rows.
func (g *gen) manyDots(x, y, t4, t12 reg.GPVirtual, many bool) reg.VecVirtual {
	var s []reg.VecVirtual // rows i and i+4 beside each other: eights (AVX2: fours) of partial sums
	if g.wide {
		r := g.dotsOf(x, y, t4, t12, 16, many)
		g.skip(x, y, t4, 16, many)
		for _, i := range []int{0, 1, 2, 3, 8, 9, 10, 11} {
			s = append(s, g.merge(g.VSHUFF64X2, 0x44, 0xee, r[i][0], r[i+4][0]))
		}
		for i := range 4 {
			s[i] = g.merge(g.VSHUFF32X4, 0x88, 0xdd, s[i], s[i+4])
		}
	} else {
		var r []reg.VecVirtual
		for range 2 {
			for _, v := range g.dotsOf(x, y, t4, t12, 4, many) {
				g.VADDPS(v[1], v[0], v[0])
				r = append(r, v[0])
			}
			g.skip(x, y, t4, 4, many)
		}
		halves := func(ops ...operand.Op) { g.VPERM2F128(ops[0], ops[1], ops[2], ops[3]) }
		for i := range 4 {
			s = append(s, g.merge(halves, 0x20, 0x31, r[i], r[i+4]))
		}
	}
	return g.merge(g.VSHUFPS, 0x88, 0xdd, g.merge(g.VSHUFPD, 0, 0xff, s[0], s[1]), g.merge(g.VSHUFPD, 0, 0xff, s[2], s[3]))
}

func (g *gen) skip(x, y, t4 reg.GPVirtual, rows int, many bool) {
	for range rows / 4 {
		g.LEAQ(operand.Mem{Base: x, Index: t4, Scale: 4}, x)
		if many {
			g.LEAQ(operand.Mem{Base: y, Index: t4, Scale: 4}, y)
		}
	}
}

// merge adds two shuffles of a and b.
func (g *gen) merge(shuffle func(...operand.Op), one, other uint8, a, b reg.VecVirtual) reg.VecVirtual {
	x, y := g.reg(), g.reg()
	shuffle(operand.U8(one), b, a, x)
	shuffle(operand.U8(other), b, a, y)
	g.VADDPS(y, x, x)
	return x
}

// addSums adds a register of sums to out, and advances out.
func (g *gen) addSums(s reg.VecVirtual, out, stride reg.GPVirtual, local operand.Mem) {
	apart, done := g.label("apart"), g.label("written")
	g.CMPQ(stride, operand.I32(4))
	g.JNE(to(apart))
	g.VADDPS(at(out, 0), s, s)
	g.VMOVUPS(s, at(out, 0))
	g.ADDQ(operand.I32(4*g.width), out)
	g.JMP(to(done))
	g.Label(apart)
	g.VMOVUPS(s, local)
	x := g.XMM()
	for i := range g.width {
		g.VMOVSS(step(local, 4*i), x)
		g.VADDSS(at(out, 0), x, x)
		g.VMOVSS(x, at(out, 0))
		g.ADDQ(stride, out)
	}
	g.Label(done)
}
