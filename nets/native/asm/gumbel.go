package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// logCoefficients interpolate (ln(1 + f) − f + f²/2)/f³ for √½ ≤ 1 + f ≤ √2 at Chebyshev nodes, rounded to float32.
// The error is at most 0.07 units in the last place.
var logCoefficients = []float64{0.3333333134651184, -0.2499999701976776, 0.20000718533992767, -0.1666780561208725,
	0.14248967170715332,
	-0.1242552399635315, 0.1168622225522995, -0.11481407284736633, 0.06971478462219238}

// rootHalf is √½ as float32, the lower end of the mantissas: those from √½ to √2 are closest to 1.
var rootHalf = math.Float32bits(float32(math.Sqrt2 / 2))

// minusLog sets y = −ln x, for x positive and neither denormal nor infinite: x = 2ⁿ·(1 + f) with 1 + f from √½
// to √2, and ln(1 + f) = f − f²/2 + f³·P(f). x is overwritten.
func (g *gen) minusLog(x, y vec) {
	n, f := g.vec(), g.vec()
	g.do(g.VPSUBD, g.word(rootHalf), x, n)
	g.do(g.VPSRAD, operand.U8(23), n, n)
	g.do(g.VPSLLD, operand.U8(23), n, f)
	g.do(g.VPSUBD, f, x, f)
	g.do(g.VSUBPS, g.float(1), f, f)
	g.do(g.VCVTDQ2PS, n, n)
	g.polynomial(logCoefficients, f, y)
	g.do(g.VMULPS, f, y, y)
	g.do(g.VADDPS, g.float(-0.5), y, y)
	g.do(g.VMULPS, f, f, x)
	g.do(g.VMULPS, x, y, y) // −f²/2 + f³·P
	g.do(g.VFMADD231PS, g.float(ln2Low), n, y)
	g.do(g.VADDPS, f, y, y)
	g.do(g.VFMADD231PS, g.float(ln2High), n, y)
	g.logic(g.VXORPS, g.VPXORD, g.word(signBit), y, y)
}

// oneHot makes two passes over a column of 16 lanes: the largest value, then the first row that has it. NaN equals
// nothing, so a lane of NaN is set to NaN by NaN − NaN.
func (g *gen) oneHot() {
	g.begin("OneHot", "(out, y []float32, n, t int)",
		"sets out to 1 in the first row with the largest of the n ≥ 1 rows of y, else 0, lane by lane; NaN where the first row is NaN.")
	out, y, n, t := g.pointer("out"), g.pointer("y"), g.value("n"), g.value("t")
	t4 := g.GP64()
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	g.blocks(t, 1, func(l reg.GPVirtual, _ int) {
		top, x, nan, one := g.vec(), g.vec(), g.vec(), g.vec()
		p, q, k := g.GP64(), g.GP64(), g.GP64()
		g.LEAQ(indexed(y, l), p)
		g.MOVQ(n, k)
		g.get(at(p, 0), nil, top)
		g.each(k, func() {
			g.get(at(p, 0), nil, x)
			g.do(g.VMAXPS, top, x, top) // returns top where either is NaN
			g.ADDQ(t4, p)
		})
		g.do(g.VSUBPS, top, top, nan) // 0, or NaN (infinities give NaN too, but softmax gives none)
		g.set(one, g.float(1))
		found := g.found()
		g.LEAQ(indexed(y, l), p)
		g.LEAQ(indexed(out, l), q)
		g.MOVQ(n, k)
		g.each(k, func() {
			g.get(at(p, 0), nil, x)
			g.firstEqual(x, top, one, found)
			g.do(g.VADDPS, nan, x, x)
			g.put(x, nil, at(q, 0))
			g.ADDQ(t4, p)
			g.ADDQ(t4, q)
		})
	})
	g.end()
}

// found makes a mask register for each register of a vec, with no lanes set.
func (g *gen) found() []reg.Register {
	var f []reg.Register
	for range lanes / g.width {
		if g.wide {
			k := g.K()
			g.KXORW(k, k, k)
			f = append(f, k)
			continue
		}
		r := g.YMM()
		g.zero(r)
		f = append(f, r)
	}
	return f
}

// firstEqual sets x to one where it equals top in a lane not found yet, else to 0, and marks that lane.
func (g *gen) firstEqual(x, top, one vec, found []reg.Register) {
	const equal = 0 // false where unordered
	for i := range x {
		if g.wide {
			k := g.K()
			g.VCMPPS(operand.U8(equal), top[i], x[i], k)
			g.KANDNW(k, found[i], k)
			g.KORW(k, found[i], found[i])
			g.VMOVAPS_Z(one[i], k, x[i])
			continue
		}
		m := g.YMM()
		g.VCMPPS(operand.U8(equal), top[i], x[i], m)
		g.VANDNPS(m, found[i], m)
		g.VORPS(m, found[i], found[i])
		g.VANDPS(m, one[i], x[i])
	}
}

// gumbel computes u = (k + ½)·2⁻²³ from a word's upper 23 bits k: u is exact, above 0 and below 1.
func (g *gen) gumbel() {
	g.begin("Gumbel", "(dst []float32, words []uint32)",
		"sets dst = −ln(−ln u), u the middle of the interval of width 2⁻²³ that a word's upper bits name.")
	g.hold(g.word(rootHalf), g.word(signBit), g.float(1), g.float(-0.5), g.float(0.5), g.float(0x1p-23),
		g.float(ln2Low), g.float(ln2High))
	for _, c := range logCoefficients {
		g.hold(g.float(c))
	}
	dst, words, n := g.pointer("dst"), g.pointer("words"), g.size("dst")
	g.elementwise(n, []reg.GPVirtual{dst, words}, func(c cut) {
		x, y := g.vec(), g.vec()
		g.get(at(words, 0), c, x)
		g.do(g.VPSRLD, operand.U8(9), x, x)
		g.do(g.VCVTDQ2PS, x, x)
		g.do(g.VADDPS, g.float(0.5), x, x)
		g.do(g.VMULPS, g.float(0x1p-23), x, x)
		g.minusLog(x, y)
		g.minusLog(y, x)
		g.put(x, c, at(dst, 0))
	})
	g.end()
}
