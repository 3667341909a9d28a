package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

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
