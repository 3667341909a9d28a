package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// indexed is memory at a base and an offset in a register.
func indexed(base, offset reg.Register) operand.Mem {
	return operand.Mem{Base: base, Index: offset, Scale: 1}
}

// neighbour sets p to the address of neighbour e's part: base + 4·places[e] + l.
func (g *gen) neighbour(places reg.GPVirtual, e int, base, l, p reg.GPVirtual) {
	g.MOVLQSX(at(places, 4*e), p)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 4}, p)
	g.ADDQ(l, p)
}

func (g *gen) attention() {
	g.scores()
	g.mix()
	g.scatter()
	g.softmax()
	g.softmaxBack()
}

// scores multiplies one row of q with the same row of several neighbours at once. The sums stay in registers and are
// taken in the order of the rows.
func (g *gen) scores() {
	g.begin("Scores", "(out, q, base []float32, at []int32, rows, t int, scale float32)",
		"sets out[e·t + l] = scale·Σ q[u·t + l]·base[at[e] + u·t + l] over u < rows.")
	t4 := g.value("t")
	t := g.GP64()
	g.MOVQ(t4, t)
	g.SHLQ(operand.U8(2), t4)
	lanes, l := g.AllocLocal(8), g.GP64()
	g.MOVQ(t, lanes)
	g.XORQ(l, l)
	atOnce := 4 // neighbours: sums, a row of q and a factor must fit
	if !g.wide {
		atOnce = 2
	}
	for _, step := range []struct{ vecs, neighbours int }{{g.many(), atOnce}, {1, 4}} {
		loop, done := g.label("block"), g.label("smaller")
		g.Label(loop)
		g.CMPQ(lanes, operand.I32(16*step.vecs))
		g.JLT(to(done))
		places, n, out := g.pointer("at"), g.size("at"), g.pointer("out")
		g.ADDQ(l, out)
		for some := step.neighbours; some > 0; some /= 2 {
			again, fewer := g.label("neighbours"), g.label("fewer")
			g.Label(again)
			g.CMPQ(n, operand.I32(some))
			g.JLT(to(fewer))
			g.scoresOf(step.vecs, some, places, out, l, t4)
			g.ADDQ(operand.I32(4*some), places)
			g.SUBQ(operand.I32(some), n)
			g.JMP(to(again))
			g.Label(fewer)
		}
		g.ADDQ(operand.I32(64*step.vecs), l)
		g.SUBQ(operand.I32(16*step.vecs), lanes)
		g.JMP(to(loop))
		g.Label(done)
	}
	g.end()
}

// scoresOf computes the scores of some neighbours for some vecs of lanes, and advances out behind them.
func (g *gen) scoresOf(vecs, some int, places, out, l, t4 reg.GPVirtual) {
	base, q, rows := g.pointer("base"), g.pointer("q"), g.value("rows")
	p := make([]reg.GPVirtual, some)
	sum := make([][]vec, some)
	for e := range p {
		p[e] = g.GP64()
		g.neighbour(places, e, base, l, p[e])
		sum[e] = g.vecs(vecs)
		for _, s := range sum[e] {
			g.clear(s)
		}
	}
	g.ADDQ(l, q)
	g.each(rows, func() {
		for v := range vecs {
			x := g.vec()
			g.get(at(q, 64*v), nil, x)
			for e := range p {
				g.do(g.VFMADD231PS, at(p[e], 64*v), x, sum[e][v])
			}
		}
		g.ADDQ(t4, q)
		for e := range p {
			g.ADDQ(t4, p[e])
		}
	})
	scale := g.scalar(g.address("scale"))
	for e := range p {
		for v := range vecs {
			g.do(g.VMULPS, scale, sum[e][v], sum[e][v])
			g.put(sum[e][v], nil, at(out, 64*v))
		}
		g.ADDQ(t4, out)
	}
}

// mix keeps the sums of four rows in registers over all neighbours, so that a weight is read once for four rows.
func (g *gen) mix() {
	g.begin("Mix", "(out, w, base []float32, at []int32, rows, t int)",
		"sets out[g·t + l] = Σ w[e·t + l]·base[at[e] + g·t + l] over the neighbours e, for g < rows.")
	t4, l, left := g.value("t"), g.GP64(), g.AllocLocal(8)
	g.MOVQ(t4, left)
	g.SHLQ(operand.U8(2), t4)
	t12 := g.GP64()
	g.LEAQ(operand.Mem{Base: t4, Index: t4, Scale: 2}, t12)
	g.XORQ(l, l)
	sizes := []int{1} // AVX2 has registers for four rows' sums of 16 lanes
	if g.wide {
		sizes = []int{4, 1}
	}
	for _, vecs := range sizes {
		loop, done := g.label("block"), g.label("smaller")
		g.Label(loop)
		g.CMPQ(left, operand.I32(16*vecs))
		g.JLT(to(done))
		out, rows, at0 := g.pointer("out"), g.value("rows"), g.GP64()
		g.ADDQ(l, out)
		g.MOVQ(l, at0) // the offset of the row within a neighbour's part
		for _, some := range []int{4, 1} {
			again, fewer := g.label("rows"), g.label("fewer")
			g.Label(again)
			g.CMPQ(rows, operand.I32(some))
			g.JLT(to(fewer))
			sum := make([][]vec, some)
			for r := range sum {
				sum[r] = g.vecs(vecs)
				for _, s := range sum[r] {
					g.clear(s)
				}
			}
			places, n, w, base := g.pointer("at"), g.size("at"), g.pointer("w"), g.pointer("base")
			g.ADDQ(l, w)
			g.each(n, func() {
				p := g.GP64()
				g.neighbour(places, 0, base, at0, p)
				g.ADDQ(operand.I32(4), places)
				for v := range vecs {
					x := g.vec()
					g.get(at(w, 64*v), nil, x)
					for r := range sum {
						from := [4]operand.Mem{{Base: p}, {Base: p, Index: t4, Scale: 1},
							{Base: p, Index: t4, Scale: 2}, {Base: p, Index: t12, Scale: 1}}[r]
						g.do(g.VFMADD231PS, step(from, 64*v), x, sum[r][v])
					}
				}
				g.ADDQ(t4, w)
			})
			for r := range sum {
				for v := range vecs {
					g.put(sum[r][v], nil, at(out, 64*v))
				}
				g.ADDQ(t4, out)
				g.ADDQ(t4, at0)
			}
			g.SUBQ(operand.I32(some), rows)
			g.JMP(to(again))
			g.Label(fewer)
		}
		g.ADDQ(operand.I32(64*vecs), l)
		g.SUBQ(operand.I32(16*vecs), left)
		g.JMP(to(loop))
		g.Label(done)
	}
	g.end()
}

// scatter keeps a neighbour's weights in registers over all rows.
func (g *gen) scatter() {
	g.begin("Scatter", "(base []float32, at []int32, w, x []float32, rows, t int)",
		"does base[at[e] + g·t + l] += w[e·t + l]·x[g·t + l] for each e in turn and g < rows.")
	t4, base, places, n, w := g.value("t"), g.pointer("base"), g.pointer("at"), g.size("at"), g.pointer("w")
	g.SHLQ(operand.U8(2), t4)
	g.each(n, func() {
		t := g.GP64()
		g.MOVQ(t4, t)
		g.SHRQ(operand.U8(2), t)
		g.blocks(t, g.many(), func(l reg.GPVirtual, vecs int) {
			a := g.vecs(vecs)
			for v := range a {
				g.get(step(indexed(w, l), 64*v), nil, a[v])
			}
			p, x, rows := g.GP64(), g.pointer("x"), g.value("rows")
			g.neighbour(places, 0, base, l, p)
			g.ADDQ(l, x)
			g.each(rows, func() {
				for v := range a {
					y := g.vec()
					g.get(at(p, 64*v), nil, y)
					g.do(g.VFMADD231PS, at(x, 64*v), a[v], y)
					g.put(y, nil, at(p, 64*v))
				}
				g.ADDQ(t4, p)
				g.ADDQ(t4, x)
			})
		})
		g.ADDQ(t4, w)
		g.ADDQ(operand.I32(4), places)
	})
	g.end()
}

// softmax makes three passes over a column of 16 lanes: the largest value; the exponentials and their sum;
// multiplication by the sum's reciprocal, which is computed by a division.
func (g *gen) softmax() {
	g.begin("Softmax", "(w []float32, n, t int)", "replaces the n ≥ 1 rows of w by their softmax, lane by lane.")
	g.holdExp()
	w, n, t := g.pointer("w"), g.value("n"), g.value("t")
	t4 := g.GP64()
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	g.blocks(t, 1, func(l reg.GPVirtual, _ int) {
		top, sum, x := g.vec(), g.vec(), g.vec()
		rewind := func() (p, k reg.GPVirtual) {
			p, k = g.GP64(), g.GP64()
			g.LEAQ(indexed(w, l), p)
			g.MOVQ(n, k)
			return p, k
		}
		p, k := rewind()
		g.get(at(p, 0), nil, top)
		g.each(k, func() {
			g.get(at(p, 0), nil, x)
			g.do(g.VMAXPS, top, x, top) // returns top where x is NaN: the exponential of x makes the lane NaN
			g.ADDQ(t4, p)
		})
		p, k = rewind()
		g.clear(sum)
		g.each(k, func() {
			e := g.vec()
			g.get(at(p, 0), nil, x)
			g.do(g.VSUBPS, top, x, x)
			g.exp(x, e)
			g.do(g.VADDPS, e, sum, sum)
			g.put(e, nil, at(p, 0))
			g.ADDQ(t4, p)
		})
		one := g.vec()
		g.set(one, g.float(1))
		g.do(g.VDIVPS, sum, one, sum)
		p, k = rewind()
		g.each(k, func() {
			g.do(g.VMULPS, at(p, 0), sum, x)
			g.put(x, nil, at(p, 0))
			g.ADDQ(t4, p)
		})
	})
	g.end()
}

func (g *gen) softmaxBack() {
	g.begin("SoftmaxBack", "(g, w []float32, n, t int, scale float32)",
		"replaces g by scale·w·(g − Σ w·g), lane by lane, the sum over the n rows.")
	grad, w, n, t, scale := g.pointer("g"), g.pointer("w"), g.value("n"), g.value("t"), g.scalar(g.address("scale"))
	t4 := g.GP64()
	g.MOVQ(t, t4)
	g.SHLQ(operand.U8(2), t4)
	g.blocks(t, 1, func(l reg.GPVirtual, _ int) {
		sum, x, y := g.vec(), g.vec(), g.vec()
		p, q, k := g.GP64(), g.GP64(), g.GP64()
		rewind := func() {
			g.LEAQ(indexed(grad, l), p)
			g.LEAQ(indexed(w, l), q)
			g.MOVQ(n, k)
		}
		next := func() {
			g.ADDQ(t4, p)
			g.ADDQ(t4, q)
		}
		rewind()
		g.clear(sum)
		g.each(k, func() {
			g.get(at(q, 0), nil, x)
			g.do(g.VFMADD231PS, at(p, 0), x, sum)
			next()
		})
		rewind()
		g.each(k, func() {
			g.get(at(p, 0), nil, x)
			g.do(g.VSUBPS, sum, x, x)
			g.do(g.VMULPS, at(q, 0), scale, y)
			g.do(g.VMULPS, x, y, x)
			g.put(x, nil, at(p, 0))
			next()
		})
	})
	g.end()
}
