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

// ahead is the prefetch distance in edges for the rows that edges enter; the edges themselves use twice that.
const ahead = 4

// Offsets of the fields of kernel.Edge, which has 16 bytes (a test of package kernel compares them).
const (
	edgeW  = 0
	edgeC  = 4
	edgeTo = 8
	edgeDZ = 12
)

// spreadBack loops over the edges that leave each row. The sums of rows of up to 64 columns stay in registers.
func (g *gen) spreadBack() {
	g.begin("Spread", "(gx, dp, x, y []float32, edges []Edge, out, starts []int32, t int, slope float32)",
		"takes gradients back along the edges that leave len(dp) rows.")
	g.hold(g.word(magnitude))
	slopes := g.AllocLocal(8)
	one := g.GP32()
	g.MOVL(operand.U32(math.Float32bits(1)), one)
	g.MOVL(one, slopes)
	s := g.XMM()
	g.VMOVSS(g.address("slope"), s)
	g.VMOVSS(s, step(slopes, 4))
	labels := []string{}
	t := g.value("t")
	for nv := 1; nv <= 4; nv++ {
		labels = append(labels, g.label("narrow"))
		g.CMPQ(t, operand.I32(lanes*nv))
		g.JEQ(to(labels[nv-1]))
	}
	done := g.label("done")
	g.spreadRows(slopes, 0)
	g.JMP(to(done))
	for i, l := range labels {
		g.Label(l)
		g.spreadRows(slopes, i+1)
		g.JMP(to(done))
	}
	g.Label(done)
	g.end()
}

// spreadRows is spreadBack for rows of nv vecs, or of any number of vecs if nv is 0.
func (g *gen) spreadRows(slopes operand.Mem, nv int) {
	gx, x, dp, starts, rows, t4 := g.pointer("gx"), g.pointer("x"), g.pointer("dp"), g.pointer("starts"),
		g.size("dp"), g.value("t")
	g.SHLQ(operand.U8(2), t4)
	last, end := g.GP64(), g.pointer("out")
	g.MOVLQSX(operand.Mem{Base: starts, Index: rows, Scale: 4}, last)
	g.LEAQ(operand.Mem{Base: end, Index: last, Scale: 4}, end)
	g.each(rows, func() {
		n, out, sum := g.GP64(), g.pointer("out"), g.XMM()
		first := g.GP64()
		g.MOVLQSX(at(starts, 0), first)
		g.MOVLQSX(at(starts, 4), n)
		g.SUBQ(first, n)
		g.LEAQ(operand.Mem{Base: out, Index: first, Scale: 4}, out)
		g.VXORPS(sum, sum, sum)
		acc := g.vecs(nv)
		for v := range acc {
			g.get(at(gx, 64*v), nil, acc[v])
		}
		g.each(n, func() {
			e, p, all, y := g.GP64(), g.GP64(), g.pointer("edges"), g.pointer("y")
			for _, far := range []int{2 * ahead, ahead} {
				next := g.GP64()
				g.LEAQ(at(out, 4*far), next)
				g.CMPQ(next, end)
				g.CMOVQCC(out, next)
				g.MOVLQSX(at(next, 0), next)
				g.SHLQ(operand.U8(4), next)
				g.ADDQ(all, next)
				if far > ahead {
					g.PREFETCHT0(at(next, 0))
					continue
				}
				g.MOVLQSX(at(next, edgeTo), next)
				g.IMULQ(t4, next)
				g.ADDQ(y, next)
				for v := range acc {
					g.PREFETCHT0(at(next, 64*v))
				}
			}
			g.MOVLQSX(at(out, 0), e)
			g.ADDQ(operand.I32(4), out)
			g.SHLQ(operand.U8(4), e)
			g.ADDQ(all, e)
			g.MOVLQSX(at(e, edgeTo), p)
			g.IMULQ(t4, p)
			g.ADDQ(y, p)
			a, dot := g.scalar(at(e, edgeW)), g.vec()
			if g.wide {
				g.VPANDD(g.operand(g.word(magnitude)), a, a)
			} else {
				g.VANDPS(g.operand(g.word(magnitude)), a, a)
			}
			g.clear(dot)
			for v := range acc {
				row := g.vec()
				g.get(at(p, 64*v), nil, row)
				g.do(g.VFMADD231PS, row, a, acc[v])
				g.do(g.VFMADD231PS, at(x, 64*v), row, dot)
			}
			if nv == 0 {
				l, end := g.GP64(), g.value("t")
				g.XORQ(l, l)
				g.SHRQ(operand.U8(4), end)
				g.each(end, func() {
					row, s := g.vec(), g.vec()
					g.get(indexed(p, l), nil, row)
					g.get(indexed(gx, l), nil, s)
					g.do(g.VFMADD231PS, row, a, s)
					g.put(s, nil, indexed(gx, l))
					g.do(g.VFMADD231PS, indexed(x, l), row, dot)
					g.ADDQ(operand.I32(64), l)
				})
			}
			d := g.fold(g.VADDPS, dot).AsX()
			g.VADDSS(at(e, edgeC), d, d)
			g.VMULSS(a.AsX(), d, d)
			sign := g.GP64()
			g.MOVL(at(e, edgeW), sign.As32())
			g.SHRL(operand.U8(31), sign.As32())
			f := g.GP64()
			g.LEAQ(slopes, f)
			g.VMULSS(operand.Mem{Base: f, Index: sign, Scale: 4}, d, d)
			g.VMOVSS(d, at(e, edgeDZ))
			g.VADDSS(d, sum, sum)
		})
		for v := range acc {
			g.put(acc[v], nil, at(gx, 64*v))
		}
		g.VMOVSS(sum, at(dp, 0))
		g.ADDQ(t4, gx)
		g.ADDQ(t4, x)
		g.ADDQ(operand.I32(4), dp)
		g.ADDQ(operand.I32(4), starts)
	})
}
