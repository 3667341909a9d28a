package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// graphs are the kernels of networks over graphs, on row-major matrices whose rows are t float32, a multiple of 16.
func (g *gen) graphs() {
	g.weigh()
	g.gather("Gather", true, true)
	g.gather("Combine", true, false)
	g.gather("Sums", false, false)
	g.spreadBack()
	g.normRows()
	g.normRowsBack()
	g.biasRows()
	g.biasRowsBack()
}

// weigh is attention's softmax. For rows of at most 16 edges all values stay in registers.
func (g *gen) weigh() {
	g.begin("Weigh", "(w, p, q, extra []float32, src, in []int32, slope float32)",
		"sets the weights of the edges into len(q) rows.")
	g.holdExp()
	w, p, q, src, in, rows := g.pointer("w"), g.pointer("p"), g.pointer("q"), g.pointer("src"), g.pointer("in"),
		g.size("q")
	g.each(rows, func() {
		next, long := g.label("next"), g.label("long")
		n, first := g.GP64(), g.GP64()
		g.MOVLQSX(at(in, 0), first)
		g.MOVLQSX(at(in, 4), n)
		g.SUBQ(first, n)
		g.JEQ(to(next))
		pw, ps, pc := g.GP64(), g.GP64(), g.pointer("extra")
		for _, x := range [][2]reg.GPVirtual{{pw, w}, {ps, src}, {pc, pc}} {
			g.LEAQ(operand.Mem{Base: x[1], Index: first, Scale: 4}, x[0])
		}
		// score is LeakyReLU(z), z = p + q + extra, computed as max(z, slope·z).
		score := func(pw, ps, pc reg.GPVirtual, c cut) vec {
			z, s := g.vec(), g.vec()
			g.pick(p, at(ps, 0), c, z)
			g.do(g.VADDPS, g.scalar(at(q, 0)), z, z)
			plain := g.label("plain")
			none := g.size("extra")
			g.TESTQ(none, none)
			g.JEQ(to(plain))
			g.get(at(pc, 0), c, s)
			g.do(g.VADDPS, s, z, z)
			g.Label(plain)
			g.do(g.VMULPS, g.scalar(g.address("slope")), z, s)
			g.do(g.VMAXPS, z, s, z)
			return z
		}
		// signed sets the sign bit of weights whose scores are not above 0.
		signed := func(e, z vec) {
			for i := range z {
				m := g.reg()
				if g.wide {
					k := g.K()
					zero := g.reg()
					g.zero(zero)
					g.VCMPPS(operand.U8(notGreater), zero, z[i], k)
					g.VPORD(g.operand(g.word(signBit)), e[i], k, e[i])
					continue
				}
				g.zero(m)
				g.VCMPPS(operand.U8(notGreater), m, z[i], m)
				g.VANDPS(g.operand(g.word(signBit)), m, m)
				g.VORPS(m, e[i], e[i])
			}
		}
		inverse := func(sum vec) reg.VecVirtual {
			s, one := g.total(sum), g.reg()
			g.VMOVUPS(g.operand(g.float(1)), one)
			g.VDIVPS(s, one, s)
			return s
		}
		low := func(v vec) {
			g.set(v, g.word(math.Float32bits(float32(math.Inf(-1)))))
		}
		g.CMPQ(n, operand.I32(lanes))
		g.JGT(to(long))
		{
			c := g.lowest(n)
			z, top, e := score(pw, ps, pc, c), g.vec(), g.vec()
			low(top)
			g.raise(top, z, c)
			g.do(g.VSUBPS, g.highest(top), z, top)
			g.exp(top, e)
			g.only(c, e)
			g.do(g.VMULPS, inverse(e), e, top)
			signed(top, z)
			g.put(top, c, at(pw, 0))
			g.JMP(to(next))
		}
		g.Label(long)
		{
			top := g.vec()
			low(top)
			left, dst := g.GP64(), g.GP64()
			g.MOVQ(n, left)
			g.MOVQ(pw, dst)
			g.elementwise(left, []reg.GPVirtual{dst, ps, pc}, func(c cut) {
				z := score(dst, ps, pc, c)
				g.put(z, c, at(dst, 0))
				g.raise(top, z, c)
			})
			most, sum := g.highest(top), g.vec()
			g.clear(sum)
			g.MOVQ(n, left)
			g.MOVQ(pw, dst)
			g.elementwise(left, []reg.GPVirtual{dst}, func(c cut) {
				z, e := g.vec(), g.vec()
				g.get(at(dst, 0), c, z)
				g.do(g.VSUBPS, most, z, z)
				g.exp(z, e)
				g.only(c, e)
				g.do(g.VADDPS, e, sum, sum)
				g.get(at(dst, 0), c, z)
				signed(e, z)
				g.put(e, c, at(dst, 0))
			})
			scale := inverse(sum)
			g.MOVQ(n, left)
			g.MOVQ(pw, dst)
			g.elementwise(left, []reg.GPVirtual{dst}, func(c cut) {
				e := g.vec()
				g.get(at(dst, 0), c, e)
				g.do(g.VMULPS, scale, e, e)
				g.put(e, c, at(dst, 0))
			})
		}
		g.Label(next)
		g.ADDQ(operand.I32(4), in)
		g.ADDQ(operand.I32(4), q)
	})
	g.end()
}

// notGreater is quiet, and true where unordered.
const notGreater = 0x1a

// gather keeps the sums of up to 64 columns of a row in registers over all its edges.
func (g *gen) gather(name string, weighted, indexed bool) {
	signature, doc := "(out, ", "sums rows of x over"
	if weighted {
		signature += "w, "
	}
	signature += "x []float32, "
	if indexed {
		signature += "src, "
	}
	g.begin(name, signature+"in []int32, t int)", doc+" the segments of in.")
	g.hold(g.word(magnitude))
	out, in, rows, t4 := g.pointer("out"), g.pointer("in"), g.size("in"), g.value("t")
	g.SHLQ(operand.U8(2), t4)
	g.DECQ(rows)
	g.each(rows, func() {
		t := g.value("t")
		g.blocks(t, 4, func(l reg.GPVirtual, vecs int) {
			sum := g.vecs(vecs)
			for _, s := range sum {
				g.clear(s)
			}
			first, n, x := g.GP64(), g.GP64(), g.pointer("x")
			g.MOVLQSX(at(in, 0), first)
			g.MOVLQSX(at(in, 4), n)
			g.SUBQ(first, n)
			var w, src reg.GPVirtual
			if weighted {
				w = g.pointer("w")
				g.LEAQ(operand.Mem{Base: w, Index: first, Scale: 4}, w)
			}
			if indexed {
				src = g.pointer("src")
				g.LEAQ(operand.Mem{Base: src, Index: first, Scale: 4}, src)
			} else {
				g.IMULQ(t4, first)
				g.ADDQ(first, x)
			}
			g.ADDQ(l, x)
			g.each(n, func() {
				p := x
				if indexed {
					p = g.GP64()
					g.MOVLQSX(at(src, 0), p)
					g.IMULQ(t4, p)
					g.ADDQ(x, p)
					g.ADDQ(operand.I32(4), src)
				}
				if weighted {
					a := g.scalar(at(w, 0))
					g.ADDQ(operand.I32(4), w)
					if g.wide {
						g.VPANDD(g.operand(g.word(magnitude)), a, a)
					} else {
						g.VANDPS(g.operand(g.word(magnitude)), a, a)
					}
					for v := range sum {
						g.do(g.VFMADD231PS, at(p, 64*v), a, sum[v])
					}
				} else {
					for v := range sum {
						g.do(g.VADDPS, at(p, 64*v), sum[v], sum[v])
					}
				}
				if !indexed {
					g.ADDQ(t4, x)
				}
			})
			for v := range sum {
				g.put(sum[v], nil, step(operand.Mem{Base: out, Index: l, Scale: 1}, 64*v))
			}
		})
		g.ADDQ(t4, out)
		g.ADDQ(operand.I32(4), in)
	})
	g.end()
}

// total is the sum of a vec's lanes in fold's order, in all lanes of a register.
func (g *gen) total(v vec) reg.VecVirtual { return g.everywhere(g.fold(g.VADDPS, v)) }

// highest is the largest of a vec's lanes, in all lanes of a register.
func (g *gen) highest(v vec) reg.VecVirtual { return g.everywhere(g.fold(g.VMAXPS, v)) }

// fold reduces a vec's lanes as a binary tree: the upper eight with the lower eight, then four, two and one. The
// result is in the lowest lane.
func (g *gen) fold(op func(...operand.Op), v vec) reg.VecVirtual {
	t, u := g.YMM(), g.XMM()
	if g.wide {
		g.VEXTRACTF64X4(operand.U8(1), v[0], t)
		op(t, v[0].AsY(), t)
		g.VEXTRACTF32X4(operand.U8(1), t, u) // VEXTRACTF128 cannot encode registers 16 to 31
	} else {
		op(v[1], v[0], t)
		g.VEXTRACTF128(operand.U8(1), t, u)
	}
	op(u, t.AsX(), t.AsX())
	g.VMOVHLPS(t.AsX(), t.AsX(), u)
	op(u, t.AsX(), t.AsX())
	g.VMOVSHDUP(t.AsX(), u)
	op(u, t.AsX(), t.AsX())
	return t
}

// everywhere broadcasts a register's lowest lane.
func (g *gen) everywhere(x reg.VecVirtual) reg.VecVirtual {
	r := g.reg()
	g.VBROADCASTSS(x.AsX(), r)
	return r
}

// only clears the lanes outside the cut.
func (g *gen) only(c cut, v vec) {
	if c == nil {
		return
	}
	for i, r := range v {
		if g.wide {
			g.VMOVAPS_Z(r, c[i].r, r)
		} else {
			g.VANDPS(c[i].r, r, r)
		}
	}
}

// raise sets top to max(top, x). Lanes outside the cut, and those where x is NaN, keep their value.
func (g *gen) raise(top, x vec, c cut) {
	for i, r := range top {
		switch {
		case c == nil:
			g.VMAXPS(r, x[i], r)
		case g.wide:
			g.VMAXPS(r, x[i], c[i].r, r)
		default:
			t := g.YMM()
			g.VBLENDVPS(c[i].r, x[i], r, t)
			g.VMAXPS(r, t, r)
		}
	}
}

// pick reads table[index] for 16 indices in memory; lanes outside the cut are 0.
func (g *gen) pick(table reg.GPVirtual, index operand.Mem, c cut, v vec) {
	for i, r := range v {
		x, m := g.reg(), step(index, 4*g.width*i)
		from := operand.Mem{Base: table, Index: x, Scale: 4}
		g.zero(r)
		if g.wide {
			k := g.K()
			if c == nil {
				g.VMOVUPS(m, x)
				g.KXNORW(k, k, k)
			} else {
				g.VMOVUPS_Z(m, c[i].r, x)
				g.KMOVW(c[i].r, k)
			}
			g.VGATHERDPS(from, k, r)
			continue
		}
		k := g.YMM()
		if c == nil {
			g.VMOVUPS(m, x)
			g.VPCMPEQD(k, k, k)
		} else {
			g.VMASKMOVPS(m, c[i].r, x)
			g.VMOVAPS(c[i].r, k)
		}
		g.VGATHERDPS(k, from, r)
	}
}
