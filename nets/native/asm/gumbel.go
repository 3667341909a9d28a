package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// logCoefficients interpolate, at Chebyshev's nodes and then rounded to float32, (ln(1 + f) − f + f²/2)/f³ for √½ ≤ 1 + f ≤ √2: within 0.07 units
// in the last place.
var logCoefficients = []float64{0.3333333134651184, -0.2499999701976776, 0.20000718533992767, -0.1666780561208725, 0.14248967170715332,
	-0.1242552399635315, 0.1168622225522995, -0.11481407284736633, 0.06971478462219238}

// rootHalf is √½ as float32: mantissas from there to √2 are closest to 1.
var rootHalf = math.Float32bits(float32(math.Sqrt2 / 2))

// minusLog sets y = −ln x, for x positive and neither denormal nor infinite: x = 2ⁿ·(1 + f) with 1 + f from √½ to √2, and ln(1 + f) =
// f − f²/2 + f³·P(f). x is lost.
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

// gumbel takes the upper 23 bits of a word, k, to u = (k + ½)·2⁻²³, which is exact and neither 0 nor 1.
func (g *gen) gumbel() {
	g.begin("Gumbel", "(dst []float32, words []uint32)", "sets dst = −ln(−ln u), u the middle of the interval of width 2⁻²³ that a word's upper bits name.")
	g.hold(g.word(rootHalf), g.word(signBit), g.float(1), g.float(-0.5), g.float(0.5), g.float(0x1p-23), g.float(ln2Low), g.float(ln2High))
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
