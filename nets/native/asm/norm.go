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

// along loops over the t columns of a row, sixteen at a time; l is the offset in bytes.
func (g *gen) along(t string, body func(l reg.GPVirtual)) {
	l, n := g.GP64(), g.size(t)
	g.XORQ(l, l)
	g.SHRQ(operand.U8(4), n)
	g.each(n, func() {
		body(l)
		g.ADDQ(operand.I32(64), l)
	})
}

// and keeps the lanes whose words in memory are all ones.
func (g *gen) and(m operand.Mem, v vec) { g.logic(g.VANDPS, g.VPANDD, m, v, v) }

// biased reads y + bias, plus x if there is an x.
func (g *gen) biased(y, bias, x, l reg.GPVirtual) vec {
	r, without := g.vec(), g.label("without")
	g.get(indexed(y, l), nil, r)
	g.do(g.VADDPS, indexed(bias, l), r, r)
	g.TESTQ(x, x)
	g.JEQ(to(without))
	g.do(g.VADDPS, indexed(x, l), r, r)
	g.Label(without)
	return r
}

// next advances x, if there is one, by a row of t4 bytes.
func (g *gen) next(t4, x reg.GPVirtual) {
	without := g.label("without")
	g.TESTQ(x, x)
	g.JEQ(to(without))
	g.ADDQ(t4, x)
	g.Label(without)
}

// rowBytes is four times a slice's length.
func (g *gen) rowBytes(of string) reg.GPVirtual {
	t4 := g.size(of)
	g.SHLQ(operand.U8(2), t4)
	return t4
}

func (g *gen) normRows() {
	g.begin("NormRows", "(out, hat, scale, y, x, bias, gain, offset, keep []float32, n, epsilon float32)",
		"normalises len(scale) rows of y + bias + x.")
	out, hat, scale, y, x, t4, rows := g.pointer("out"), g.pointer("hat"), g.pointer("scale"), g.pointer("y"),
		g.pointer("x"), g.rowBytes("bias"), g.size("scale")
	g.each(rows, func() {
		sum := g.vec()
		g.clear(sum)
		bias := g.pointer("bias")
		g.along("bias", func(l reg.GPVirtual) {
			r := g.biased(y, bias, x, l)
			g.put(r, nil, indexed(hat, l))
			g.do(g.VADDPS, r, sum, sum)
		})
		n := g.scalar(g.address("n"))
		mean, square := g.total(sum), g.vec()
		g.VDIVPS(n, mean, mean)
		g.clear(square)
		keep := g.pointer("keep")
		g.along("bias", func(l reg.GPVirtual) {
			d := g.vec()
			g.get(indexed(hat, l), nil, d)
			g.do(g.VSUBPS, mean, d, d)
			g.and(indexed(keep, l), d)
			g.put(d, nil, indexed(hat, l))
			g.do(g.VFMADD231PS, d, d, square)
		})
		s, one, epsilon := g.total(square), g.reg(), g.scalar(g.address("epsilon"))
		n = g.scalar(g.address("n"))
		g.VDIVPS(n, s, s)
		g.VADDPS(epsilon, s, s)
		g.VSQRTPS(s, s)
		g.VMOVUPS(g.operand(g.float(1)), one)
		g.VDIVPS(s, one, s)
		g.VMOVSS(s.AsX(), at(scale, 0))
		zero := g.reg()
		g.zero(zero)
		gain, offset := g.pointer("gain"), g.pointer("offset")
		g.along("bias", func(l reg.GPVirtual) {
			h, a := g.vec(), g.vec()
			g.do(g.VMULPS, indexed(hat, l), s, h)
			g.put(h, nil, indexed(hat, l))
			g.get(indexed(gain, l), nil, a)
			g.do(g.VFMADD213PS, indexed(offset, l), h, a)
			g.do(g.VMAXPS, a, zero, a)
			g.put(a, nil, indexed(out, l))
		})
		for _, p := range []reg.GPVirtual{out, hat, y} {
			g.ADDQ(t4, p)
		}
		g.next(t4, x)
		g.ADDQ(operand.I32(4), scale)
	})
	g.end()
}

func (g *gen) normRowsBack() {
	g.begin("NormRowsBack", "(grad, out, hat, scale, gain, keep, dgain, doffset, dbias []float32, n float32)",
		"takes len(scale) rows of gradients back through NormRows.")
	grad, out, hat, scale, t4, rows := g.pointer("grad"), g.pointer("out"), g.pointer("hat"), g.pointer("scale"),
		g.rowBytes("gain"), g.size("scale")
	g.each(rows, func() {
		mean, along, zero := g.vec(), g.vec(), g.reg()
		g.clear(mean)
		g.clear(along)
		g.zero(zero)
		gain, dgain, doffset := g.pointer("gain"), g.pointer("dgain"), g.pointer("doffset")
		g.along("gain", func(l reg.GPVirtual) {
			x, o, h := g.vec(), g.vec(), g.vec()
			g.get(indexed(grad, l), nil, x)
			g.get(indexed(out, l), nil, o)
			for i := range x {
				g.keepAbove(o[i], zero, x[i], x[i])
			}
			g.get(indexed(hat, l), nil, h)
			g.get(indexed(dgain, l), nil, o)
			g.do(g.VFMADD231PS, h, x, o)
			g.put(o, nil, indexed(dgain, l))
			g.do(g.VADDPS, indexed(doffset, l), x, o)
			g.put(o, nil, indexed(doffset, l))
			g.do(g.VMULPS, indexed(gain, l), x, x)
			g.put(x, nil, indexed(grad, l))
			g.do(g.VADDPS, x, mean, mean)
			g.do(g.VFMADD231PS, h, x, along)
		})
		n, m, a := g.scalar(g.address("n")), g.total(mean), g.total(along)
		g.VDIVPS(n, m, m)
		g.VDIVPS(n, a, a)
		s, keep, dbias := g.scalar(at(scale, 0)), g.pointer("keep"), g.pointer("dbias")
		g.along("gain", func(l reg.GPVirtual) {
			x := g.vec()
			g.get(indexed(grad, l), nil, x)
			g.do(g.VSUBPS, m, x, x)
			g.do(g.VFNMADD231PS, indexed(hat, l), a, x)
			g.do(g.VMULPS, s, x, x)
			g.and(indexed(keep, l), x)
			g.put(x, nil, indexed(grad, l))
			g.do(g.VADDPS, indexed(dbias, l), x, x)
			g.put(x, nil, indexed(dbias, l))
		})
		for _, p := range []reg.GPVirtual{grad, out, hat} {
			g.ADDQ(t4, p)
		}
		g.ADDQ(operand.I32(4), scale)
	})
	g.end()
}

func (g *gen) biasRows() {
	g.begin("BiasRows", "(out, y, x, bias []float32, rows int)", "sets rows of out to max(y + bias + x, 0).")
	out, y, x, bias, t4, rows, zero := g.pointer("out"), g.pointer("y"), g.pointer("x"), g.pointer("bias"),
		g.rowBytes("bias"), g.value("rows"), g.reg()
	g.zero(zero)
	g.each(rows, func() {
		g.along("bias", func(l reg.GPVirtual) {
			r := g.biased(y, bias, x, l)
			g.do(g.VMAXPS, r, zero, r)
			g.put(r, nil, indexed(out, l))
		})
		g.ADDQ(t4, out)
		g.ADDQ(t4, y)
		g.next(t4, x)
	})
	g.end()
}

func (g *gen) biasRowsBack() {
	g.begin("BiasRowsBack", "(grad, out, dbias []float32, rows int)", "takes rows of gradients back through BiasRows.")
	grad, out, dbias, t4, rows, zero := g.pointer("grad"), g.pointer("out"), g.pointer("dbias"), g.rowBytes("dbias"),
		g.value("rows"), g.reg()
	g.zero(zero)
	g.each(rows, func() {
		g.along("dbias", func(l reg.GPVirtual) {
			x, o := g.vec(), g.vec()
			g.get(indexed(grad, l), nil, x)
			g.get(indexed(out, l), nil, o)
			for i := range x {
				g.keepAbove(o[i], zero, x[i], x[i])
			}
			g.put(x, nil, indexed(grad, l))
			g.do(g.VADDPS, indexed(dbias, l), x, x)
			g.put(x, nil, indexed(dbias, l))
		})
		g.ADDQ(t4, grad)
		g.ADDQ(t4, out)
	})
	g.end()
}
