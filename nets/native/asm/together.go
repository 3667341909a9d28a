package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// These kernels process several agents with the same neighbours in one call, so that a neighbour's values are read
// once for all agents. The agents' own values are packed, sixteen lanes of one agent next to those of the next:
// rows that are a tile apart would map to few sets of the L1 cache.

// sizesTogether are the possible numbers of agents.
var sizesTogether = []int{6, 4, 3, 2}

func (g *gen) together() {
	g.pack()
	for _, n := range sizesTogether {
		g.scoresTogether(n)
		g.mixTogether(n)
	}
}

// pack copies sixteen lanes at a time.
func (g *gen) pack() {
	g.begin("Pack", "(dst, src []float32, stride, agents, rows, t int)",
		"sets dst[((v·rows + u)·agents + i)·16 + l] = src[i·stride + u·t + 16v + l].")
	dst, stride, rows, t4 := g.pointer("dst"), g.value("stride"), g.GP64(), g.value("t")
	g.SHLQ(operand.U8(2), stride)
	vecs := g.GP64()
	g.MOVQ(t4, vecs)
	g.SHRQ(operand.U8(4), vecs)
	g.SHLQ(operand.U8(2), t4)
	lane := g.GP64()
	g.XORQ(lane, lane)
	g.each(vecs, func() {
		row := g.pointer("src")
		g.ADDQ(lane, row)
		g.Load(g.Param("rows"), rows)
		g.each(rows, func() {
			p, n := g.GP64(), g.value("agents")
			g.MOVQ(row, p)
			g.each(n, func() {
				x := g.vec()
				g.get(at(p, 0), nil, x)
				g.put(x, nil, at(dst, 0))
				g.ADDQ(stride, p)
				g.ADDQ(operand.I32(64), dst)
			})
			g.ADDQ(t4, row)
		})
		g.ADDQ(operand.I32(64), lane)
	})
	g.end()
}

// halves are the parts of sixteen lanes that one register holds, as offsets in bytes.
func (g *gen) halves() []int {
	if g.wide {
		return []int{0}
	}
	return []int{0, 32}
}

// beside is the number of neighbours, or rows, whose sums are in registers at once. With six agents that leaves one
// register for each agent and one more.
func (g *gen) beside() int {
	if g.wide {
		return 4
	}
	return 2
}

// scoresTogether is Scores of several agents: packed queries, and neighbours' rows that are read in order.
func (g *gen) scoresTogether(agents int) {
	g.begin(fmt.Sprintf("Scores%d", agents), "(out []float32, stride int, q, base []float32, at []int32, rows, t int, scale float32)",
		fmt.Sprintf("sets out[i·stride + e·t + l] = scale·Σ q_i[u·t + l]·base[at[e] + u·t + l] over u < rows, for i < %d; q is packed.", agents))
	t4 := g.value("t")
	left, q0 := g.AllocLocal(8), g.AllocLocal(8)
	t, l := g.GP64(), g.GP64()
	g.MOVQ(t4, t)
	g.SHRQ(operand.U8(4), t)
	g.MOVQ(t, left)
	g.SHLQ(operand.U8(2), t4)
	g.MOVQ(g.pointer("q"), t)
	g.MOVQ(t, q0)
	g.XORQ(l, l)
	block, done := g.label("block"), g.label("done")
	g.Label(block)
	g.CMPQ(left, operand.I32(0))
	g.JEQ(to(done))
	places, n, out := g.pointer("at"), g.size("at"), g.pointer("out")
	g.ADDQ(l, out)
	for some := g.beside(); some > 0; some /= 2 {
		again, fewer := g.label("neighbours"), g.label("fewer")
		g.Label(again)
		g.CMPQ(n, operand.I32(some))
		g.JLT(to(fewer))
		g.scoresBlock(agents, some, places, out, l, t4, q0)
		g.ADDQ(operand.I32(4*some), places)
		g.SUBQ(operand.I32(some), n)
		for range some {
			g.ADDQ(t4, out)
		}
		g.JMP(to(again))
		g.Label(fewer)
	}
	g.ADDQ(operand.I32(64), l)
	step := g.value("rows")
	g.IMUL3Q(operand.I32(64*agents), step, step)
	g.ADDQ(step, q0)
	g.DECQ(left)
	g.JMP(to(block))
	g.Label(done)
	g.end()
}

// scoresBlock computes the scores of some neighbours for sixteen lanes of all agents.
func (g *gen) scoresBlock(agents, some int, places, out, l, t4 reg.GPVirtual, q0 operand.Mem) {
	p := make([]reg.GPVirtual, some)
	base := g.pointer("base")
	for e := range p {
		p[e] = g.GP64()
		g.neighbour(places, e, base, l, p[e])
	}
	for _, half := range g.halves() {
		sum := make([][]reg.VecVirtual, agents)
		for i := range sum {
			sum[i] = g.regs(some)
			g.zero(sum[i]...)
		}
		q, rows, row := g.GP64(), g.value("rows"), g.GP64()
		g.MOVQ(q0, q)
		g.XORQ(row, row)
		g.each(rows, func() {
			k := g.regs(some)
			for e := range k {
				g.load(step(indexed(p[e], row), half), nil, k[e])
			}
			for i := range sum {
				x := g.reg()
				g.load(at(q, 64*i+half), nil, x)
				for e := range k {
					g.VFMADD231PS(k[e], x, sum[i][e])
				}
			}
			g.ADDQ(operand.I32(64*agents), q)
			g.ADDQ(t4, row)
		})
		scale, to, stride := g.scalar(g.address("scale")), g.GP64(), g.value("stride")
		g.SHLQ(operand.U8(2), stride)
		g.MOVQ(out, to)
		for i := range sum {
			o := g.GP64()
			g.MOVQ(to, o)
			for e, s := range sum[i] {
				g.VMULPS(scale, s, s)
				g.store(s, nil, at(o, half))
				if e < some-1 {
					g.ADDQ(t4, o)
				}
			}
			g.ADDQ(stride, to)
		}
	}
}

// mixTogether is Mix of several agents, added to out: packed weights, and neighbours' rows that are read in order.
func (g *gen) mixTogether(agents int) {
	g.begin(fmt.Sprintf("Mix%d", agents), "(out []float32, stride int, w, base []float32, at []int32, rows, t int)",
		fmt.Sprintf("does out[i·stride + r·t + l] += Σ w_i[e·t + l]·base[at[e] + r·t + l] over the neighbours e, for r < rows and i < %d; w is packed.", agents))
	t4, left, w0 := g.value("t"), g.AllocLocal(8), g.AllocLocal(8)
	t, l, t12 := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(t4, t)
	g.SHRQ(operand.U8(4), t)
	g.MOVQ(t, left)
	g.SHLQ(operand.U8(2), t4)
	g.LEAQ(operand.Mem{Base: t4, Index: t4, Scale: 2}, t12)
	g.MOVQ(g.pointer("w"), t)
	g.MOVQ(t, w0)
	g.XORQ(l, l)
	block, done := g.label("block"), g.label("done")
	g.Label(block)
	g.CMPQ(left, operand.I32(0))
	g.JEQ(to(done))
	out, rows, row := g.pointer("out"), g.value("rows"), g.GP64()
	g.ADDQ(l, out)
	g.MOVQ(l, row) // the offset of the row within a neighbour's part
	for some := g.beside(); some > 0; some /= 2 {
		again, fewer := g.label("rows"), g.label("fewer")
		g.Label(again)
		g.CMPQ(rows, operand.I32(some))
		g.JLT(to(fewer))
		g.mixBlock(agents, some, out, row, t4, t12, w0)
		for range some {
			g.ADDQ(t4, out)
			g.ADDQ(t4, row)
		}
		g.SUBQ(operand.I32(some), rows)
		g.JMP(to(again))
		g.Label(fewer)
	}
	g.ADDQ(operand.I32(64), l)
	step := g.size("at")
	g.IMUL3Q(operand.I32(64*agents), step, step)
	g.ADDQ(step, w0)
	g.DECQ(left)
	g.JMP(to(block))
	g.Label(done)
	g.end()
}

// mixBlock adds the neighbours' values to some rows of sixteen lanes of all agents.
func (g *gen) mixBlock(agents, some int, out, row, t4, t12 reg.GPVirtual, w0 operand.Mem) {
	rowsAt := func(p reg.GPVirtual, half int) []operand.Mem {
		return []operand.Mem{
			{Base: p, Disp: half}, {Base: p, Index: t4, Scale: 1, Disp: half},
			{Base: p, Index: t4, Scale: 2, Disp: half}, {Base: p, Index: t12, Scale: 1, Disp: half},
		}[:some]
	}
	for _, half := range g.halves() {
		sum := make([][]reg.VecVirtual, agents)
		each := func(f func(m operand.Mem, r reg.VecVirtual)) {
			o, stride := g.GP64(), g.value("stride")
			g.SHLQ(operand.U8(2), stride)
			g.MOVQ(out, o)
			for i := range sum {
				for r, m := range rowsAt(o, half) {
					f(m, sum[i][r])
				}
				if i < agents-1 {
					g.ADDQ(stride, o)
				}
			}
		}
		for i := range sum {
			sum[i] = g.regs(some)
		}
		each(func(m operand.Mem, r reg.VecVirtual) { g.load(m, nil, r) })
		places, n, w, base := g.pointer("at"), g.size("at"), g.GP64(), g.pointer("base")
		g.MOVQ(w0, w)
		g.each(n, func() {
			p := g.GP64()
			g.neighbour(places, 0, base, row, p)
			g.ADDQ(operand.I32(4), places)
			x := g.regs(some)
			for r, m := range rowsAt(p, half) {
				g.load(m, nil, x[r])
			}
			for i := range sum {
				f := g.reg()
				g.load(at(w, 64*i+half), nil, f)
				for r := range x {
					g.VFMADD231PS(x[r], f, sum[i][r])
				}
			}
			g.ADDQ(operand.I32(64*agents), w)
		})
		each(func(m operand.Mem, r reg.VecVirtual) { g.store(r, nil, m) })
	}
}
