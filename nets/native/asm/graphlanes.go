package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
