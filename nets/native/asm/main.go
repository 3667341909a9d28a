package main

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "asm: %d arguments, want one: the folder of package kernel\n", len(os.Args)-1)
		os.Exit(2)
	}
	for _, set := range []string{"avx512", "avx2"} {
		for prefix, kernels := range map[string]func(*gen){"": (*gen).tiles, "graph_": (*gen).graphs} {
			g := newGen(set)
			kernels(g)
			if err := g.write(os.Args[1], prefix+set); err != nil {
				fmt.Fprintln(os.Stderr, "asm:", err)
				os.Exit(1)
			}
		}
	}
}

// tiles are the kernels of package kernel's Set.
func (g *gen) tiles() {
	g.product()
	g.activations()
	g.attention()
	g.norms()
	g.optimisers()
	g.transpose()
	g.dots()
	g.vector()
	g.peak()
	g.gumbel()
	g.oneHot()
	g.together()
}

// write writes the kernels of one instruction set, NAME_amd64.s, and their declarations, NAME_amd64.go.
func (g *gen) write(dir, name string) error {
	file, err := g.Result()
	if err != nil {
		return fmt.Errorf("%s: %w", g.name, err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return fmt.Errorf("%s: %w", g.name, err)
	}
	cfg := printer.Config{Name: "nets/native/asm", Pkg: "kernel"}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
		text, err := p.Print(file)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if beyond := regexp.MustCompile(`(?m)^.*\b[XY](1[6-9]|2\d|3[01])\b.*$`).Find(text); !g.wide && beyond != nil {
			return fmt.Errorf("%s: too many registers at once: %s", g.name, beyond)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64"+ext), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// peak does multiply-adds on registers alone: as many independent sums as the product has, all of zeros.
func (g *gen) peak() {
	g.begin("Peak", "(rounds int)", "does rounds times the multiply-adds of one step of the product's largest tile, in registers alone.")
	n, x := g.value("rounds"), g.reg()
	sums := g.regs(g.inPeak())
	g.zero(sums...)
	g.zero(x)
	g.each(n, func() {
		for _, s := range sums {
			g.VFMADD231PS(x, x, s)
		}
	})
	g.end()
}

// inPeak is the number of sums: 6 × 4 registers or 6 × 2.
func (g *gen) inPeak() int {
	if g.wide {
		return 24
	}
	return 12
}

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
