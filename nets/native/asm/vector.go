package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector keeps a block of outputs in registers over all inputs while it reads the matrix once. The sums are taken in
// the order of the inputs, as in the product.
func (g *gen) vector() {
	g.begin("Vector", "(y, x, w, bias []float32, stride int, relu bool)",
		"computes y = x·w + bias, or max of that and 0; row k of w begins at k·stride.")
	y, w, bias, cols, stride := g.pointer("y"), g.pointer("w"), g.pointer("bias"), g.size("y"), g.value("stride")
	g.SHLQ(operand.U8(2), stride)
	done := g.label("done")
	for _, nv := range []int{8, 4, 2, 1} {
		loop, fewer := g.label(fmt.Sprintf("full%d", nv)), g.label("fewer")
		g.Label(loop)
		g.CMPQ(cols, operand.I32(nv*g.width))
		g.JLT(to(fewer))
		g.vectorBlock(y, w, bias, stride, nv, nil)
		g.SUBQ(operand.I32(nv*g.width), cols)
		g.JMP(to(loop))
		g.Label(fewer)
	}
	g.TESTQ(cols, cols)
	g.JEQ(to(done))
	g.vectorBlock(y, w, bias, stride, 1, g.low(cols))
	g.Label(done)
	g.end()
}

// vectorBlock computes nv registers of outputs and advances over them.
func (g *gen) vectorBlock(y, w, bias, stride reg.GPVirtual, nv int, cut *mask) {
	acc := g.regs(nv)
	start, ready := g.label("biased"), g.label("k")
	g.TESTQ(bias, bias)
	g.JNE(to(start))
	g.zero(acc...)
	g.JMP(to(ready))
	g.Label(start)
	for v := range acc {
		g.load(at(bias, 4*g.width*v), cut, acc[v])
	}
	g.ADDQ(operand.I32(4*g.width*nv), bias)
	g.Label(ready)
	x, k, p := g.pointer("x"), g.size("x"), g.GP64()
	g.MOVQ(w, p)
	g.each(k, func() {
		f := g.scalar(at(x, 0))
		for v := range acc {
			if cut == nil {
				g.VFMADD231PS(at(p, 4*g.width*v), f, acc[v])
				continue
			}
			t := g.reg()
			g.load(at(p, 4*g.width*v), cut, t)
			g.VFMADD231PS(t, f, acc[v])
		}
		g.ADDQ(operand.I32(4), x)
		g.ADDQ(stride, p)
	})
	linear := g.label("linear")
	g.CMPB(g.address("relu"), operand.I8(0))
	g.JEQ(to(linear))
	zero := g.reg()
	g.zero(zero)
	for _, r := range acc {
		g.VMAXPS(r, zero, r)
	}
	g.Label(linear)
	for v, r := range acc {
		g.store(r, cut, at(y, 4*g.width*v))
	}
	g.ADDQ(operand.I32(4*g.width*nv), y)
	g.ADDQ(operand.I32(4*g.width*nv), w)
}
