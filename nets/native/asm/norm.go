package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (g *gen) norms() {
	g.norm()
	g.normBack()
}

// count sets all lanes to a whole number.
func (g *gen) count(n reg.GPVirtual, v vec) {
	x := g.XMM()
	g.VXORPS(x, x, x)
	g.VCVTSI2SSQ(n, x, x)
	for _, r := range v {
		g.VBROADCASTSS(x, r)
	}
}

// columns runs body once per row, with pointers to lanes l of that row in each tile.
func (g *gen) columns(tiles []reg.GPVirtual, l, t4, rows reg.GPVirtual, body func(p []reg.GPVirtual)) {
	p, k := make([]reg.GPVirtual, len(tiles)), g.GP64()
	for i := range p {
		p[i] = g.GP64()
		g.LEAQ(indexed(tiles[i], l), p[i])
	}
	g.MOVQ(rows, k)
	g.each(k, func() {
		body(p)
		for i := range p {
			g.ADDQ(t4, p[i])
		}
	})
}

func (g *gen) norm() {
	g.begin("Norm", "(y, hat, scale, x, gain, offset []float32, t int, epsilon float32)",
		"normalises the len(gain) ≥ 1 rows of each lane of x.")
	t, rows, t4 := g.value("t"), g.size("gain"), g.GP64()
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	n := g.vec()
	g.count(rows, n)
	g.blocks(t, g.many(), func(l reg.GPVirtual, vecs int) {
		x := g.pointer("x")
		mean, square := g.vecs(vecs), g.vecs(vecs)
		for v := range vecs {
			g.clear(mean[v])
			g.clear(square[v])
		}
		g.columns([]reg.GPVirtual{x}, l, t4, rows, func(p []reg.GPVirtual) {
			for v := range vecs {
				g.do(g.VADDPS, at(p[0], 64*v), mean[v], mean[v])
			}
		})
		for v := range vecs {
			g.do(g.VDIVPS, n, mean[v], mean[v])
		}
		g.columns([]reg.GPVirtual{x}, l, t4, rows, func(p []reg.GPVirtual) {
			for v := range vecs {
				d := g.vec()
				g.get(at(p[0], 64*v), nil, d)
				g.do(g.VSUBPS, mean[v], d, d)
				g.do(g.VFMADD231PS, d, d, square[v])
			}
		})
		scale := g.pointer("scale")
		epsilon := g.scalar(g.address("epsilon"))
		for v := range vecs {
			one := g.vec()
			g.do(g.VDIVPS, n, square[v], square[v])
			g.do(g.VADDPS, epsilon, square[v], square[v])
			g.do(g.VSQRTPS, square[v], square[v])
			g.set(one, g.float(1))
			g.do(g.VDIVPS, square[v], one, square[v])
			g.put(square[v], nil, step(indexed(scale, l), 64*v))
		}
		hat, y, gain, offset := g.pointer("hat"), g.pointer("y"), g.pointer("gain"), g.pointer("offset")
		g.columns([]reg.GPVirtual{x, hat, y}, l, t4, rows, func(p []reg.GPVirtual) {
			for v := range vecs {
				h, a := g.vec(), g.vec()
				g.get(at(p[0], 64*v), nil, h)
				g.do(g.VSUBPS, mean[v], h, h)
				g.do(g.VMULPS, square[v], h, h)
				g.put(h, nil, at(p[1], 64*v))
				g.spread(at(gain, 0), a)
				g.do(g.VFMADD213PS, g.scalar(at(offset, 0)), h, a)
				g.put(a, nil, at(p[2], 64*v))
			}
			g.ADDQ(operand.I32(4), gain)
			g.ADDQ(operand.I32(4), offset)
		})
	})
	g.end()
}

func (g *gen) normBack() {
	g.begin("NormBack", "(g, hat, scale, gain []float32, t int)", "replaces g by the gradient by x of Norm.")
	t, rows, t4, grad, hat := g.value("t"), g.size("gain"), g.GP64(), g.pointer("g"), g.pointer("hat")
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	n := g.vec()
	g.count(rows, n)
	g.blocks(t, g.many(), func(l reg.GPVirtual, vecs int) {
		mean, along := g.vecs(vecs), g.vecs(vecs)
		for v := range vecs {
			g.clear(mean[v])
			g.clear(along[v])
		}
		gain := g.pointer("gain")
		g.columns([]reg.GPVirtual{grad, hat}, l, t4, rows, func(p []reg.GPVirtual) {
			for v := range vecs {
				x := g.vec()
				g.spread(at(gain, 0), x)
				g.do(g.VMULPS, at(p[0], 64*v), x, x)
				g.do(g.VADDPS, x, mean[v], mean[v])
				g.do(g.VFMADD231PS, at(p[1], 64*v), x, along[v])
			}
			g.ADDQ(operand.I32(4), gain)
		})
		for v := range vecs {
			g.do(g.VDIVPS, n, mean[v], mean[v])
			g.do(g.VDIVPS, n, along[v], along[v])
		}
		scale := g.pointer("scale")
		gain = g.pointer("gain")
		g.columns([]reg.GPVirtual{grad, hat}, l, t4, rows, func(p []reg.GPVirtual) {
			for v := range vecs {
				x := g.vec()
				g.spread(at(gain, 0), x)
				g.do(g.VMULPS, at(p[0], 64*v), x, x)
				g.do(g.VSUBPS, mean[v], x, x)
				g.do(g.VFNMADD231PS, at(p[1], 64*v), along[v], x)
				g.do(g.VMULPS, step(indexed(scale, l), 64*v), x, x)
				g.put(x, nil, at(p[0], 64*v))
			}
			g.ADDQ(operand.I32(4), gain)
		})
	})
	g.end()
}
