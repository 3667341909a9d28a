package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of kernel.Product (a test of package kernel compares them).
const (
	productK      = 16
	productA      = 24
	productAK     = 48
	productAM     = 56
	productB      = 64
	productLDB    = 88
	productC      = 96
	productLDC    = 120
	productStart  = 128
	productBias   = 136
	productFinish = 160
	productMask   = 168
	productLDM    = 192
)

// A panel is a block of columns nv registers wide, with the numbers of rows whose sums fit in registers at once,
// largest first. The registers must hold nv·rows sums (8 or more hide the latency of multiply-adds), nv columns and
// one factor.
type panel struct {
	nv   int
	rows []int
}

func (g *gen) panels() []panel {
	if g.wide {
		return []panel{{4, []int{6, 5, 4, 3, 2, 1}}, {3, []int{8, 4, 2, 1}}, {2, []int{12, 8, 4, 2, 1}},
			{1, []int{16, 8, 4, 2, 1}}}
	}
	return []panel{{2, []int{6, 5, 4, 3, 2, 1}}, {1, []int{12, 8, 4, 2, 1}}}
}

// productState holds what a whole product needs: pointers in registers and, in memory, values read once per tile.
type productState struct {
	p, a, c, rows         reg.GPVirtual
	ak, am, am3, ldb, ldc reg.GPVirtual
	b                     operand.Mem // of the block's first column, as are the next ones
	bias, mask            operand.Mem
	cols                  operand.Mem
	rows0, a0, c0, bias0  operand.Mem // of the first row
	mask0                 operand.Mem
}

// product loops over blocks of columns as wide as a panel, then over tiles of rows, then over k.
func (g *gen) product() {
	g.begin("Product", "(p *Product, m, rows, n, cols int)",
		"computes rows m to m+rows and columns n to n+cols of a product, at least one each.")
	s := &productState{p: g.GP64(), a: g.GP64(), c: g.GP64(), rows: g.GP64(), ak: g.GP64(), am: g.GP64(),
		am3: g.GP64(), ldb: g.GP64(), ldc: g.GP64()}
	for _, m := range []*operand.Mem{&s.b, &s.bias, &s.mask, &s.cols, &s.rows0, &s.a0, &s.c0, &s.bias0, &s.mask0} {
		*m = g.AllocLocal(8)
	}
	g.Load(g.Param("p"), s.p)
	for _, f := range []struct {
		offset int
		r      reg.GPVirtual
	}{{productAK, s.ak}, {productAM, s.am}, {productLDB, s.ldb}, {productLDC, s.ldc}} {
		g.MOVQ(at(s.p, f.offset), f.r)
		g.SHLQ(operand.U8(2), f.r)
	}
	g.LEAQ(operand.Mem{Base: s.am, Index: s.am, Scale: 2}, s.am3)
	m, n, t := g.Load(g.Param("m"), g.GP64()), g.Load(g.Param("n"), g.GP64()), g.GP64()
	keep := func(offset int, to operand.Mem, stride reg.Register, times reg.Register, col bool) {
		g.MOVQ(stride, t)
		g.IMULQ(times, t)
		g.ADDQ(at(s.p, offset), t)
		if col {
			g.LEAQ(operand.Mem{Base: t, Index: n, Scale: 4}, t)
		}
		g.MOVQ(t, to)
	}
	keep(productA, s.a0, s.am, m, false)
	keep(productC, s.c0, s.ldc, m, true)
	ldm := g.GP64()
	g.MOVQ(at(s.p, productLDM), ldm)
	g.SHLQ(operand.U8(2), ldm)
	keep(productMask, s.mask0, ldm, m, true)
	g.MOVQ(at(s.p, productB), t)
	g.LEAQ(operand.Mem{Base: t, Index: n, Scale: 4}, t)
	g.MOVQ(t, s.b)
	g.MOVQ(at(s.p, productBias), t)
	g.LEAQ(operand.Mem{Base: t, Index: m, Scale: 4}, t)
	g.MOVQ(t, s.bias0)
	g.MOVQ(g.Load(g.Param("rows"), g.GP64()), s.rows0)
	g.MOVQ(g.Load(g.Param("cols"), g.GP64()), s.cols)

	next, done := g.label("block"), g.label("done")
	g.Label(next)
	cols := g.GP64()
	g.MOVQ(s.cols, cols)
	var full, masked []string
	panels := g.panels()
	// The widest panel takes as many columns or more, another panel exactly its width; any other number of columns
	// takes the next wider panel with a mask.
	for i, p := range panels {
		full, masked = append(full, g.label(fmt.Sprintf("full%d", p.nv))),
			append(masked, g.label(fmt.Sprintf("masked%d", p.nv)))
		g.CMPQ(cols, operand.I32(p.nv*g.width))
		if i == 0 {
			g.JGE(to(full[i]))
		} else {
			g.JEQ(to(full[i]))
			g.JGT(to(masked[i-1]))
		}
	}
	g.JMP(to(masked[len(masked)-1]))
	for i, p := range panels {
		for _, cut := range []bool{false, true} {
			if cut {
				g.Label(masked[i])
			} else {
				g.Label(full[i])
			}
			g.panel(s, p, cut)
			if i > 0 || cut {
				g.JMP(to(done))
				continue
			}
			width := operand.I32(4 * p.nv * g.width)
			for _, m := range []operand.Mem{s.b, s.c0, s.mask0} {
				g.ADDQ(width, m)
			}
			g.SUBQ(operand.I32(p.nv*g.width), s.cols)
			g.JNE(to(next))
			g.JMP(to(done))
		}
	}
	g.Label(done)
	g.end()
}

// panel loops over the tiles of a block of columns.
func (g *gen) panel(s *productState, p panel, cut bool) {
	var k *mask
	if cut {
		n := g.GP64()
		g.MOVQ(s.cols, n)
		if p.nv > 1 {
			g.SUBQ(operand.I32((p.nv-1)*g.width), n)
		}
		k = g.low(n)
	}
	g.MOVQ(s.a0, s.a)
	g.MOVQ(s.c0, s.c)
	g.MOVQ(s.rows0, s.rows)
	t := g.GP64()
	g.MOVQ(s.bias0, t)
	g.MOVQ(t, s.bias)
	g.MOVQ(s.mask0, t)
	g.MOVQ(t, s.mask)
	for _, rows := range p.rows {
		again, smaller := g.label("tile"), g.label("smaller")
		g.Label(again)
		g.CMPQ(s.rows, operand.I32(rows))
		g.JLT(to(smaller))
		g.tile(s, rows, p.nv, k)
		g.SUBQ(operand.I32(rows), s.rows)
		g.JMP(to(again))
		g.Label(smaller)
	}
}

// tile computes rows × nv registers of the product and advances to the next rows.
func (g *gen) tile(s *productState, rows, nv int, cut *mask) {
	last := func(v int) *mask { // the mask of a row's register v
		if v == nv-1 {
			return cut
		}
		return nil
	}
	acc := make([][]reg.VecVirtual, rows)
	for m := range acc {
		acc[m] = g.regs(nv)
	}
	g.start(s, acc, last)

	loop, out := g.label("k"), g.label("out")
	a, b, k := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(at(s.p, productK), k)
	g.MOVQ(s.a, a)
	g.MOVQ(s.b, b)
	g.TESTQ(k, k)
	g.JEQ(to(out))
	g.Label(loop)
	x := g.regs(nv)
	for v := range x {
		g.load(at(b, 4*g.width*v), last(v), x[v])
	}
	group := a
	for m := range rows {
		if m > 0 && m%4 == 0 {
			next := g.GP64()
			g.LEAQ(operand.Mem{Base: group, Index: s.am, Scale: 4}, next)
			group = next
		}
		from := [4]operand.Mem{{Base: group}, {Base: group, Index: s.am, Scale: 1},
			{Base: group, Index: s.am, Scale: 2}, {Base: group, Index: s.am3, Scale: 1}}[m%4]
		if g.wide && nv == 1 {
			g.VFMADD231PS_BCST(from, x[0], acc[m][0])
			continue
		}
		w := g.reg()
		g.VBROADCASTSS(from, w)
		for v := range x {
			g.VFMADD231PS(w, x[v], acc[m][v])
		}
	}
	g.ADDQ(s.ak, a)
	g.ADDQ(s.ldb, b)
	g.DECQ(k)
	g.JNE(to(loop))
	g.Label(out)

	g.finish(s, acc, last)
	t := g.GP64()
	g.MOVQ(s.am, t)
	g.IMUL3Q(operand.I32(rows), t, t)
	g.ADDQ(t, s.a)
	g.ADDQ(operand.I32(4*rows), s.bias)
}

// start sets the sums to 0, to their row's bias or to c.
func (g *gen) start(s *productState, acc [][]reg.VecVirtual, last func(int) *mask) {
	bias, add, done := g.label("bias"), g.label("add"), g.label("started")
	g.CMPB(at(s.p, productStart), operand.I8(1))
	g.JEQ(to(bias))
	g.JHI(to(add))
	for _, row := range acc {
		g.zero(row...)
	}
	g.JMP(to(done))
	g.Label(bias)
	t := g.GP64()
	g.MOVQ(s.bias, t)
	for m, row := range acc {
		g.VBROADCASTSS(at(t, 4*m), row[0])
		for _, r := range row[1:] {
			g.VMOVAPS(row[0], r)
		}
	}
	g.JMP(to(done))
	g.Label(add)
	g.MOVQ(s.c, t)
	for _, row := range acc {
		for v, r := range row {
			g.load(at(t, 4*g.width*v), last(v), r)
		}
		g.ADDQ(s.ldc, t)
	}
	g.Label(done)
}

// finish applies ReLU or the mask, writes the sums to c and advances c.
func (g *gen) finish(s *productState, acc [][]reg.VecVirtual, last func(int) *mask) {
	relu, store := g.label("relu"), g.label("store")
	g.CMPB(at(s.p, productFinish), operand.I8(1))
	g.JLT(to(store))
	zero := g.reg()
	g.zero(zero)
	g.JEQ(to(relu))
	h, ldm := g.GP64(), g.GP64()
	g.MOVQ(s.mask, h)
	g.MOVQ(at(s.p, productLDM), ldm)
	g.SHLQ(operand.U8(2), ldm)
	for _, row := range acc {
		for v, r := range row {
			y := g.reg()
			g.load(at(h, 4*g.width*v), last(v), y)
			g.keepAbove(y, zero, r, r)
		}
		g.ADDQ(ldm, h)
	}
	g.MOVQ(h, s.mask)
	g.JMP(to(store))
	g.Label(relu)
	for _, row := range acc {
		for _, r := range row {
			g.VMAXPS(r, zero, r) // returns its last source, r, where that is NaN
		}
	}
	g.Label(store)
	for _, row := range acc {
		for v, r := range row {
			g.store(r, last(v), at(s.c, 4*g.width*v))
		}
		g.ADDQ(s.ldc, s.c)
	}
}

// keepAbove sets dst to x where y > 0 or y is NaN, else to 0. y is overwritten.
func (g *gen) keepAbove(y, zero, x, dst reg.VecVirtual) {
	const notLessEqual = 0x16 // quiet, true where unordered
	if g.wide {
		k := g.K()
		g.VCMPPS(operand.U8(notLessEqual), zero, y, k)
		g.VMOVAPS_Z(x, k, dst)
		return
	}
	g.VCMPPS(operand.U8(notLessEqual), zero, y, y)
	g.VANDPS(y, x, dst)
}

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
