package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of kernel.Adam (a test of package kernel compares them).
const (
	adamBeta1 = 4 * iota
	adamRest1
	adamBeta2
	adamRest2
	adamRate
	adamScale
	adamEpsilon
	adamClip
)

func (g *gen) optimisers() {
	g.begin("Axpy", "(a float32, x, y []float32)", "does y += a·x for the length of x.")
	a, x, y, n := g.scalar(g.address("a")), g.pointer("x"), g.pointer("y"), g.size("x")
	g.elementwise(n, []reg.GPVirtual{x, y}, func(c cut) {
		u, v := g.vec(), g.vec()
		g.get(at(x, 0), c, u)
		g.get(at(y, 0), c, v)
		g.do(g.VFMADD231PS, u, a, v)
		g.put(v, c, at(y, 0))
	})
	g.end()

	g.begin("Lerp", "(t float32, x, y []float32)", "does y += t·(x − y) for the length of x.")
	t, x, y, n := g.scalar(g.address("t")), g.pointer("x"), g.pointer("y"), g.size("x")
	g.elementwise(n, []reg.GPVirtual{x, y}, func(c cut) {
		u, v := g.vec(), g.vec()
		g.get(at(x, 0), c, u)
		g.get(at(y, 0), c, v)
		g.lerp(t, u, v)
		g.put(v, c, at(y, 0))
	})
	g.end()

	g.sumSquares()
	g.adam()
	g.update()
}

// lerp does y += t·(x − y) and overwrites x.
func (g *gen) lerp(t reg.VecVirtual, x, y vec) {
	g.do(g.VSUBPS, y, x, x)
	g.do(g.VFMADD231PS, x, t, y)
}

// sumSquares keeps sixteen float64 in registers; the square of a float32 is exact in float64.
func (g *gen) sumSquares() {
	g.begin("SumSquares", "(s *[16]float64, x []float32)", "adds the squares of x to s, lane by lane.")
	s, x, n := g.value("s"), g.pointer("x"), g.size("x")
	sum := g.regs(2 * lanes / g.width)
	for i, r := range sum {
		g.VMOVUPD(at(s, 4*g.width*i), r)
	}
	g.elementwise(n, []reg.GPVirtual{x}, func(c cut) {
		v := g.vec()
		g.get(at(x, 0), c, v)
		for i, r := range v {
			low, high := g.reg(), g.reg()
			if g.wide {
				g.VCVTPS2PD(r.AsY(), low)
				g.VEXTRACTF64X4(operand.U8(1), r, high.AsY())
				g.VCVTPS2PD(high.AsY(), high)
			} else {
				g.VCVTPS2PD(r.AsX(), low)
				g.VEXTRACTF128(operand.U8(1), r, high.AsX())
				g.VCVTPS2PD(high.AsX(), high)
			}
			g.VFMADD231PD(low, low, sum[2*i])
			g.VFMADD231PD(high, high, sum[2*i+1])
		}
	})
	for i, r := range sum {
		g.VMOVUPD(r, at(s, 4*g.width*i))
	}
	g.end()
}

// factors are the fields of an Adam, each in a register.
func (g *gen) factors(c reg.GPVirtual) func(field int) reg.VecVirtual {
	var f [8]reg.VecVirtual
	for i := range f {
		f[i] = g.scalar(at(c, 4*i))
	}
	return func(field int) reg.VecVirtual { return f[field/4] }
}

// adamStep updates m, v and p in memory from the gradient x, which it overwrites. It returns the new p.
func (g *gen) adamStep(f func(int) reg.VecVirtual, x vec, p, m, v operand.Mem, c cut) vec {
	a, b, t := g.vec(), g.vec(), g.vec()
	g.do(g.VMULPS, f(adamClip), x, x)
	g.do(g.VMULPS, f(adamRest2), x, t)
	g.do(g.VMULPS, x, t, t)
	g.do(g.VMULPS, f(adamRest1), x, x)
	g.get(m, c, a)
	g.do(g.VFMADD213PS, x, f(adamBeta1), a)
	g.put(a, c, m)
	g.get(v, c, b)
	g.do(g.VFMADD213PS, t, f(adamBeta2), b)
	g.put(b, c, v)
	g.do(g.VSQRTPS, b, b)
	g.do(g.VFMADD213PS, f(adamEpsilon), f(adamScale), b)
	g.do(g.VMULPS, f(adamRate), a, a)
	g.do(g.VDIVPS, b, a, a)
	g.get(p, c, x)
	g.do(g.VSUBPS, a, x, x)
	g.put(x, c, p)
	return x
}

// flushed runs body with denormal results and inputs treated as 0 (bits of the thread's control word MXCSR), and then
// restores the control word. The moments of a parameter whose gradient stays 0 shrink until they are denormal, and
// each operation on a denormal number would take hundreds of cycles.
func (g *gen) flushed(body func()) {
	const both = 0x8040 // results and inputs
	before, now, word := g.AllocLocal(8), g.AllocLocal(8), g.GP32()
	g.VSTMXCSR(before)
	g.MOVL(before, word)
	g.ORL(operand.U32(both), word)
	g.MOVL(word, now)
	g.VLDMXCSR(now)
	body()
	g.VLDMXCSR(before)
}

func (g *gen) adam() {
	g.begin("Adam", "(c *Adam, p, g, m, v []float32)", "is one step of Adam for the length of p.")
	f := g.factors(g.value("c"))
	p, x, m, v, n := g.pointer("p"), g.pointer("g"), g.pointer("m"), g.pointer("v"), g.size("p")
	g.flushed(func() {
		g.elementwise(n, []reg.GPVirtual{p, x, m, v}, func(c cut) {
			grad := g.vec()
			g.get(at(x, 0), c, grad)
			g.adamStep(f, grad, at(p, 0), at(m, 0), at(v, 0), c)
		})
	})
	g.end()
}

// update reads every shard of the gradient (the parameter shares) once, and clears it if asked. The rest of a
// parameter's step is then done in registers.
func (g *gen) update() {
	g.begin("Update", "(c *Adam, p, m, v, target []float32, shares [][]float32, from int, tau float32, clear bool)",
		"is one step of Adam for the length of p by the sum of at least one share's elements from on, then target += tau·(p − target) if there is one.")
	f := g.factors(g.value("c"))
	p, m, v, target, n := g.pointer("p"), g.pointer("m"), g.pointer("v"), g.pointer("target"), g.size("p")
	l := g.value("from")
	g.SHLQ(operand.U8(2), l)
	tau := g.address("tau")
	body := func(c cut) {
		share, left, grad := g.pointer("shares"), g.size("shares"), g.vec()
		start, x := g.GP64(), g.vec()
		g.MOVQ(at(share, 0), start)
		g.get(indexed(start, l), c, grad)
		g.DECQ(left)
		g.each(left, func() {
			g.ADDQ(operand.I32(24), share)
			g.MOVQ(at(share, 0), start)
			g.get(indexed(start, l), c, x)
			g.do(g.VADDPS, x, grad, grad)
		})
		keep := g.label("keep")
		g.CMPB(g.address("clear"), operand.I8(0))
		g.JEQ(to(keep))
		share, left = g.pointer("shares"), g.size("shares")
		g.clear(x)
		g.each(left, func() {
			g.MOVQ(at(share, 0), start)
			g.put(x, c, indexed(start, l))
			g.ADDQ(operand.I32(24), share)
		})
		g.Label(keep)
		y := g.adamStep(f, grad, at(p, 0), at(m, 0), at(v, 0), c)
		alone := g.label("alone")
		g.TESTQ(target, target)
		g.JEQ(to(alone))
		g.get(at(target, 0), c, x)
		g.lerp(g.scalar(tau), y, x)
		g.put(x, c, at(target, 0))
		g.ADDQ(operand.I32(4*lanes), target)
		g.Label(alone)
		g.ADDQ(operand.I32(4*lanes), l)
	}
	g.flushed(func() { g.elementwise(n, []reg.GPVirtual{p, m, v}, body) })
	g.end()
}
