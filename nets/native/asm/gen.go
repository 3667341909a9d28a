package main

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes is kernel.Lanes, the number of float32 in a vec.
const lanes = 16

// gen writes the kernels of one instruction set.
type gen struct {
	*build.Context
	name   string
	wide   bool // AVX-512
	width  int  // float32 in a register
	prefix string
	labels int
	tables map[string]operand.Mem
	held   map[string]reg.VecVirtual // constants of the function being written
}

// kernel is a stand-in for package kernel with the types of parameters.
var kernel = func() *types.Package {
	p := types.NewPackage("kernel", "kernel")
	for _, name := range []string{"Product", "Adam", "Edge"} {
		n := types.NewTypeName(token.NoPos, p, name, nil)
		types.NewNamed(n, types.NewStruct(nil, nil), nil)
		p.Scope().Insert(n)
	}
	return p
}()

func newGen(name string) *gen {
	g := &gen{Context: build.NewContext(), name: name, width: 8, tables: map[string]operand.Mem{}}
	if name == "avx512" {
		g.wide, g.width = true, 16
	}
	return g
}

// begin starts the function named with the given parameters, as Go text in parentheses.
func (g *gen) begin(name, signature, doc string) {
	g.Function(g.name + name)
	g.Attributes(attr.NOSPLIT)
	g.Pragma("noescape")
	s, err := gotypes.ParseSignatureInPackage(kernel, "func"+signature)
	if err != nil {
		panic(fmt.Sprintf("%s%s: %v", g.name, name, err))
	}
	g.Signature(s)
	g.Doc(g.name + name + " " + doc)
	g.prefix, g.held = name, map[string]reg.VecVirtual{}
}

// end clears the upper halves of the registers, as Go requires, and returns.
func (g *gen) end() {
	g.VZEROUPPER()
	g.RET()
}

// label makes a unique label.
func (g *gen) label(what string) string {
	g.labels++
	return fmt.Sprintf("%s_%s_%d", g.prefix, what, g.labels)
}

// to refers to a label.
func to(label string) operand.Op { return operand.LabelRef(label) }

// reg is a register of this set's width.
func (g *gen) reg() reg.VecVirtual {
	if g.wide {
		return g.ZMM()
	}
	return g.YMM()
}

// regs makes n registers.
func (g *gen) regs(n int) []reg.VecVirtual {
	r := make([]reg.VecVirtual, n)
	for i := range r {
		r[i] = g.reg()
	}
	return r
}

// zero clears registers.
func (g *gen) zero(rs ...reg.VecVirtual) {
	for _, r := range rs {
		g.VXORPS(r, r, r) // avo knows only of this xor, in all widths, that it does not read r
	}
}

// at is the memory disp bytes behind a pointer.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// mask selects float32 of a register; a nil mask selects all.
type mask struct{ r reg.Register }

// low makes the mask of the n lowest float32 of one register, 0 ≤ n ≤ width. n is unchanged.
func (g *gen) low(n reg.Register) *mask {
	if g.wide {
		t, k := g.GP32(), g.K()
		g.MOVL(operand.I32(-1), t)
		g.BZHIL(n.(reg.GPVirtual).As32(), t, t)
		g.KMOVW(t, k)
		return &mask{k}
	}
	t, r := g.GP64(), g.YMM()
	g.LEAQ(g.window(), t)
	m := g.GP64()
	g.MOVQ(n, m)
	g.NEGQ(m)
	g.VMOVUPS(operand.Mem{Base: t, Index: m, Scale: 4, Disp: 64}, r)
	return &mask{r}
}

// window is a table of 16 all-ones and 16 all-zero words: a mask of n ones begins n words before its middle.
func (g *gen) window() operand.Mem {
	if m, ok := g.tables["window"]; ok {
		return m
	}
	m := g.StaticGlobal("window")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 2 * lanes {
		word := operand.U32(0xffffffff)
		if i >= lanes {
			word = 0
		}
		g.AddDatum(4*i, word)
	}
	g.tables["window"] = m
	return m
}

// load reads one register. Elements outside the mask become 0 and their memory is not read.
func (g *gen) load(m operand.Mem, k *mask, r reg.Register) {
	switch {
	case k == nil:
		g.VMOVUPS(m, r)
	case g.wide:
		g.VMOVUPS_Z(m, k.r, r)
	default:
		g.VMASKMOVPS(m, k.r, r)
	}
}

// store writes one register. Memory outside the mask is unchanged.
func (g *gen) store(r reg.Register, k *mask, m operand.Mem) {
	switch {
	case k == nil:
		g.VMOVUPS(r, m)
	case g.wide:
		g.VMOVUPS(r, k.r, m)
	default:
		g.VMASKMOVPS(r, k.r, m)
	}
}
