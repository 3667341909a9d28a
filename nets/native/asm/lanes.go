package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A vec is sixteen float32: one register of AVX-512, two of AVX2. Kernels written with vecs do the same
// operations on the same lanes in both sets, so that their bits agree.
type vec []reg.VecVirtual

func (g *gen) vec() vec { return g.regs(lanes / g.width) }

func (g *gen) vecs(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = g.vec()
	}
	return v
}

// A constant is one float32 in all lanes, in memory.
type constant operand.Mem

// float is the constant x.
func (g *gen) float(x float64) constant { return g.word(math.Float32bits(float32(x))) }

// word is the constant with the given bits.
func (g *gen) word(bits uint32) constant {
	name := fmt.Sprintf("word%08x", bits)
	m, ok := g.tables[name]
	if !ok {
		m = g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range g.width {
			g.AddDatum(4*i, operand.U32(bits))
		}
		g.tables[name] = m
	}
	return constant(m)
}

// hold keeps constants in registers to the end of the function. Only AVX-512 has enough registers; AVX2 reads memory.
func (g *gen) hold(constants ...constant) {
	for _, c := range constants {
		if g.wide {
			g.held[c.Symbol.Name] = g.scalar(operand.Mem(c))
		}
	}
}

// operand is the constant in its register, or else in memory.
func (g *gen) operand(c constant) operand.Op {
	if r, ok := g.held[c.Symbol.Name]; ok {
		return r
	}
	return operand.Mem(c)
}

// do emits an instruction for each register of its vecs. Memory operands advance with the registers; other operands
// are the same in each instruction.
func (g *gen) do(f func(...operand.Op), args ...any) {
	for i := range lanes / g.width {
		ops := make([]operand.Op, len(args))
		for j, a := range args {
			switch a := a.(type) {
			case vec:
				ops[j] = a[i]
			case operand.Mem:
				ops[j] = step(a, 4*g.width*i)
			case constant:
				ops[j] = g.operand(a)
			case operand.Op:
				ops[j] = a
			default:
				panic(fmt.Sprintf("operand %T", a))
			}
		}
		f(ops...)
	}
}

// step is the memory some bytes after m.
func step(m operand.Mem, bytes int) operand.Mem {
	m.Disp += bytes
	return m
}

// set copies from a vec, memory or a constant.
func (g *gen) set(dst vec, from any) {
	if v, ok := from.(vec); ok {
		g.do(g.VMOVAPS, v, dst)
		return
	}
	g.do(g.VMOVUPS, from, dst)
}

func (g *gen) clear(v vec) { g.zero(v...) }

// spread broadcasts one float32 in memory to all lanes.
func (g *gen) spread(m operand.Mem, v vec) {
	for _, r := range v {
		g.VBROADCASTSS(m, r)
	}
}

// A cut is the masks of a vec's registers; nil means all lanes.
type cut []*mask

// lowest is the cut of the n lowest lanes, 0 ≤ n ≤ 16.
func (g *gen) lowest(n reg.GPVirtual) cut {
	if g.wide {
		return cut{g.low(n)}
	}
	t, m := g.GP64(), g.GP64()
	g.LEAQ(g.window(), t)
	g.MOVQ(n, m)
	g.NEGQ(m)
	c := make(cut, 2)
	for i := range c {
		r := g.YMM()
		g.VMOVUPS(operand.Mem{Base: t, Index: m, Scale: 4, Disp: 64 + 32*i}, r)
		c[i] = &mask{r}
	}
	return c
}

// get reads a vec; lanes outside the cut are 0.
func (g *gen) get(m operand.Mem, c cut, v vec) {
	for i, r := range v {
		var k *mask
		if c != nil {
			k = c[i]
		}
		g.load(step(m, 4*g.width*i), k, r)
	}
}

// put writes the lanes of a vec that are inside the cut.
func (g *gen) put(v vec, c cut, m operand.Mem) {
	for i, r := range v {
		var k *mask
		if c != nil {
			k = c[i]
		}
		g.store(r, k, step(m, 4*g.width*i))
	}
}

// elementwise loops over n float32, sixteen at a time with a cut for the last ones, and advances the pointers.
func (g *gen) elementwise(n reg.GPVirtual, pointers []reg.GPVirtual, body func(c cut)) {
	loop, tail, done := g.label("lanes"), g.label("tail"), g.label("done")
	g.Label(loop)
	g.CMPQ(n, operand.I32(lanes))
	g.JLT(to(tail))
	body(nil)
	for _, p := range pointers {
		g.ADDQ(operand.I32(4*lanes), p)
	}
	g.SUBQ(operand.I32(lanes), n)
	g.JMP(to(loop))
	g.Label(tail)
	g.TESTQ(n, n)
	g.JEQ(to(done))
	body(g.lowest(n))
	g.Label(done)
}

// pointer and size load a slice parameter's parts.
func (g *gen) pointer(name string) reg.GPVirtual { return g.gp(g.Load(g.Param(name).Base(), g.GP64())) }
func (g *gen) size(name string) reg.GPVirtual    { return g.gp(g.Load(g.Param(name).Len(), g.GP64())) }
func (g *gen) value(name string) reg.GPVirtual   { return g.gp(g.Load(g.Param(name), g.GP64())) }

func (g *gen) gp(r reg.Register) reg.GPVirtual { return r.(reg.GPVirtual) }

// address is the memory of a parameter that is not a slice.
func (g *gen) address(name string) operand.Mem {
	c, err := g.Param(name).Resolve()
	if err != nil {
		panic(fmt.Sprintf("%s%s: %v", g.name, g.prefix, err))
	}
	return c.Addr
}

// scalar broadcasts a float32 to one register, which serves for all registers of a vec.
func (g *gen) scalar(m operand.Mem) reg.VecVirtual {
	r := g.reg()
	g.VBROADCASTSS(m, r)
	return r
}

// each is a loop of n ≥ 0 iterations that counts the register n down.
func (g *gen) each(n reg.GPVirtual, body func()) {
	loop, done := g.label("each"), g.label("none")
	g.TESTQ(n, n)
	g.JEQ(to(done))
	g.Label(loop)
	body()
	g.DECQ(n)
	g.JNE(to(loop))
	g.Label(done)
}

// blocks loops over the t lanes of a tile, t a multiple of 16: many vecs at a time, then one at a time. l is the
// offset of the first lane in bytes. t is counted down.
func (g *gen) blocks(t reg.GPVirtual, many int, body func(l reg.GPVirtual, vecs int)) {
	l := g.GP64()
	g.XORQ(l, l)
	for _, n := range []int{many, 1} {
		loop, done := g.label("block"), g.label("smaller")
		g.Label(loop)
		g.CMPQ(t, operand.I32(n*lanes))
		g.JLT(to(done))
		body(l, n)
		g.ADDQ(operand.I32(4*n*lanes), l)
		g.SUBQ(operand.I32(n*lanes), t)
		g.JMP(to(loop))
		g.Label(done)
		if n == 1 {
			return
		}
	}
}

// many is the number of vecs of a tile's lanes to process at once if one sum for each must stay in registers.
func (g *gen) many() int {
	if g.wide {
		return 4
	}
	return 2
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
