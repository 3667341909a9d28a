package spsa

// Propose writes the next window's action where the environment itself runs the perturbed actions (realised:
// perturbed): s⁺ and s⁻ of each pair, one after the other.
func (p *Pricer) Propose(act []float32) {
	if p.phase%2 == 0 {
		p.draw(p.searched[int(p.phase/2)%len(p.searched)])
		p.perturbed(1, p.above, act)
		return
	}
	p.perturbed(1, p.above, act) // the window before's action, for the distance between the two
	p.perturbed(-1, p.below, act)
}

// Observe takes the profit of the window that ran the proposed action, and moves the action after the last pair.
func (p *Pricer) Observe(profit float64) {
	if p.phase%2 == 0 {
		p.plus = profit
	} else {
		p.add(p.plus - profit)
	}
	if p.phase++; p.phase == p.cycle() {
		p.phase, p.worlds = 0, 1
		p.Move()
	}
}

// cycle is the number of windows per move.
func (p *Pricer) cycle() int64 { return 2 * int64(p.c.Pairs) * int64(len(p.searched)) }
