package main

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
