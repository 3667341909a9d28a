package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The coefficients interpolate (eˣ − 1 − x)/x² for |x| ≤ 1.001·ln 2/2 and (tanh x/x − 1)/x² for |x| ≤ 0.625 at
// Chebyshev nodes, rounded to float32. The errors are at most 0.02 and 0.08 units in the last place.
var (
	expCoefficients = []float64{0.5, 0.1666666716337204, 0.041666463017463684, 0.00833331048488617,
		0.0013933731243014336, 0.000198910798644647}
	tanhCoefficients = []float64{-0.3333333432674408, 0.13333304226398468, -0.053959257900714874,
		0.02176891826093197, -0.008343945257365704, 0.002292744815349579}
)

const (
	log2e   = 1.44269504088896341
	ln2High = 0.693147182464599609375 // ln 2 as float32; a multiply-add subtracts a multiple of it exactly
	ln2Low  = -1.904654299957767878e-9
	// Above expMax eˣ overflows. Below expMin it is smaller than the smallest normal number, and is set to 0.
	expMax, expMin = 88.72283172607421875, -87.33654022216796875
)

// Predicates of VCMPPS, and bit masks.
const (
	notLess   = 0x15 // true where unordered
	greater   = 0x1e // false where unordered
	less      = 0x11 // false where unordered
	signBit   = 0x80000000
	magnitude = 0x7fffffff
	infinity  = 0x7f800000
)

// polynomial sets p = c0 + c1·x + …
func (g *gen) polynomial(c []float64, x, p vec) {
	g.set(p, g.float(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		g.do(g.VFMADD213PS, g.float(c[i]), x, p)
	}
}

// exp sets p = eˣ: x = n·ln 2 + f with |f| ≤ ln 2/2, and n goes into the exponent of 1 + f + f²·P(f). x is kept.
func (g *gen) exp(x, p vec) {
	n, i, f := g.vec(), g.vec(), g.vec()
	g.do(g.VMULPS, g.float(log2e), x, n)
	g.do(g.VCVTPS2DQ, n, i) // to the nearest, even at half; NaN and what is too large become −2³¹
	g.do(g.VCVTDQ2PS, i, n)
	g.set(f, x)
	g.do(g.VFNMADD231PS, g.float(ln2High), n, f)
	g.do(g.VFNMADD231PS, g.float(ln2Low), n, f)
	g.polynomial(expCoefficients, f, p)
	square := g.vec()
	g.do(g.VMULPS, f, f, square)
	g.do(g.VFMADD213PS, f, square, p)
	g.do(g.VADDPS, g.float(1), p, p)
	g.do(g.VPSLLD, operand.U8(23), i, i)
	g.do(g.VPADDD, i, p, p)
	g.replace(greater, g.float(expMax), x, g.word(infinity), p)
	for r := range x {
		if g.wide {
			k := g.K()
			g.VCMPPS(operand.U8(notLess), g.operand(g.float(expMin)), x[r], k)
			g.VMOVAPS_Z(p[r], k, p[r])
			continue
		}
		m := g.YMM()
		g.VCMPPS(operand.U8(notLess), g.operand(g.float(expMin)), x[r], m)
		g.VANDPS(m, p[r], p[r])
	}
}

// holdExp keeps the constants of exp, and 1, in registers.
func (g *gen) holdExp() {
	g.hold(g.float(1), g.float(log2e), g.float(ln2High), g.float(ln2Low), g.float(expMax), g.float(expMin),
		g.word(infinity))
	for _, c := range expCoefficients {
		g.hold(g.float(c))
	}
}

// replace sets p to y in lanes where the comparison of x with limit is true.
func (g *gen) replace(comparison uint8, limit constant, x vec, y any, p vec) {
	for r := range x {
		var from operand.Op
		switch y := y.(type) {
		case constant:
			from = g.operand(y)
		case vec:
			from = y[r]
		}
		if g.wide {
			k := g.K()
			g.VCMPPS(operand.U8(comparison), g.operand(limit), x[r], k)
			g.VMOVUPS(from, k, p[r])
			continue
		}
		m := g.YMM()
		g.VCMPPS(operand.U8(comparison), g.operand(limit), x[r], m)
		g.VBLENDVPS(m, from, p[r], p[r])
	}
}

// inPlace makes a kernel y = f(y) for any length.
func (g *gen) inPlace(name, doc string, held func(), f func(y vec) vec) {
	g.begin(name, "(y []float32)", doc)
	held()
	y, n := g.pointer("y"), g.size("y")
	g.elementwise(n, []reg.GPVirtual{y}, func(c cut) {
		v := g.vec()
		g.get(at(y, 0), c, v)
		g.put(f(v), c, at(y, 0))
	})
	g.end()
}

// backward makes a kernel dst = f(y, g) for the length of g.
func (g *gen) backward(name, doc string, f func(y, grad vec) vec) {
	g.begin(name, "(dst, y, g []float32)", doc)
	dst, y, grad, n := g.pointer("dst"), g.pointer("y"), g.pointer("g"), g.size("g")
	g.elementwise(n, []reg.GPVirtual{dst, y, grad}, func(c cut) {
		a, b := g.vec(), g.vec()
		g.get(at(y, 0), c, a)
		g.get(at(grad, 0), c, b)
		g.put(f(a, b), c, at(dst, 0))
	})
	g.end()
}

func (g *gen) activations() {
	sigmoid := func() {
		g.holdExp()
		g.hold(g.word(signBit))
	}
	tanh := func() {
		g.holdExp()
		g.hold(g.word(signBit), g.word(magnitude), g.float(0.625))
		for _, c := range tanhCoefficients {
			g.hold(g.float(c))
		}
	}
	g.inPlace("Sigmoid", "replaces y by 1/(1 + e⁻ʸ).", sigmoid, func(y vec) vec {
		e, one := g.vec(), g.vec()
		g.logic(g.VXORPS, g.VPXORD, g.word(signBit), y, y)
		g.exp(y, e)
		g.set(one, g.float(1))
		g.do(g.VADDPS, one, e, e)
		g.do(g.VDIVPS, e, one, e)
		return e
	})
	g.inPlace("Tanh", "replaces y by tanh y: y + y³·P(y²) for small |y|, else 1 − 2/(e²ʸ + 1) of |y|, with the sign of y.", tanh, func(y vec) vec {
		x, z, small, e := g.vec(), g.vec(), g.vec(), g.vec()
		g.logic(g.VANDPS, g.VPANDD, g.word(magnitude), y, x)
		g.do(g.VMULPS, x, x, z)
		g.polynomial(tanhCoefficients, z, small)
		g.do(g.VMULPS, x, z, z)
		g.do(g.VFMADD213PS, x, z, small)
		g.do(g.VADDPS, x, x, x)
		g.exp(x, e)
		g.logic(g.VANDPS, g.VPANDD, g.word(magnitude), y, x) // again: AVX2 has no register to keep it
		one, two := g.vec(), g.vec()
		g.set(one, g.float(1))
		g.do(g.VADDPS, one, e, e)
		g.do(g.VADDPS, one, one, two)
		g.do(g.VDIVPS, e, two, e)
		g.do(g.VSUBPS, e, one, e)
		g.replace(less, g.float(0.625), x, small, e)
		g.logic(g.VANDPS, g.VPANDD, g.word(signBit), y, y)
		g.logic(g.VORPS, g.VPORD, y, e, e)
		return e
	})
	g.backward("SigmoidBack", "sets dst = g·y(1 − y).", func(y, grad vec) vec {
		t := g.vec()
		g.set(t, g.float(1))
		g.do(g.VSUBPS, y, t, t)
		g.do(g.VMULPS, y, t, t)
		g.do(g.VMULPS, t, grad, t)
		return t
	})
	g.backward("TanhBack", "sets dst = g·(1 − y²).", func(y, grad vec) vec {
		t := g.vec()
		g.set(t, g.float(1))
		g.do(g.VFNMADD231PS, y, y, t)
		g.do(g.VMULPS, t, grad, t)
		return t
	})
	g.backward("ReLUBack", "sets dst = g where y > 0 or NaN, else 0.", func(y, grad vec) vec {
		zero := g.reg()
		g.zero(zero)
		for i := range y {
			g.keepAbove(y[i], zero, grad[i], grad[i])
		}
		return grad
	})
}

// logic is a bitwise operation: AVX2's instruction for float32, or AVX-512's for integers.
func (g *gen) logic(narrow, wide func(...operand.Op), args ...any) {
	if g.wide {
		g.do(wide, args...)
		return
	}
	g.do(narrow, args...)
}
