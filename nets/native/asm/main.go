package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
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
