package workflow

import "fmt"

// counter counts expected runs.
type counter struct {
	w     *Workflow
	inner [][]float64 // per inner region and node: runs per pass, without the fork's
	meets []bool      // whether parallel paths meet at a node in some scenario
	seen  []int
}

// countRuns computes the expected runs of each node, and checks that parallel paths meet at each node that says so.
func (w *Workflow) countRuns() error {
	n := len(w.function)
	c := counter{w: w, inner: make([][]float64, len(w.inner)), meets: make([]bool, n), seen: make([]int, n)}
	for _, t := range w.terms {
		if t.region {
			runs := make([]float64, n)
			c.region(runs, &w.inner[t.index], 1)
			runs[w.inner[t.index].from] = 0
			c.inner[t.index] = runs
		}
	}
	w.execs = make([]float64, n)
	for i := range w.regions {
		c.region(w.execs, &w.regions[i], w.regions[i].weight)
	}
	for _, m := range w.order {
		if caller := w.caller[m]; caller >= 0 {
			w.execs[m], w.factor[m] = w.execs[caller], w.factor[caller]
		} else if w.overlap != nil {
			w.execs[m] *= w.factor[m]
		}
	}
	for m, node := range w.graph.Nodes {
		if node.Join && !c.meets[m] {
			return fmt.Errorf("node %q is a join without a fork: no parallel paths meet there; remove the join or "+
				"lead a second path to it", node.Name)
		}
	}
	return nil
}

// region adds the runs in a region that a request enters with a weight.
func (c *counter) region(dst []float64, r *region, weight float64) {
	for _, s := range r.scenarios {
		p := float64(weight * s.p)
		dst[r.from] += p
		for _, l := range s.links {
			if l.to != exit {
				c.seen[l.to] = 0
			}
		}
		for i, l := range s.links {
			if l.span >= 0 && i > 0 && s.links[i-1].from == l.from && s.links[i-1].span == l.span {
				continue // a decision, see decide.go
			}
			if l.span >= 0 {
				c.span(dst, &c.w.spans[l.span], p)
				if c.w.spans[l.span].fork { // it goes on with the fork's last run
					dst[l.to] += p
					continue
				}
			}
			if l.to == exit {
				continue
			}
			if c.seen[l.to]++; c.seen[l.to] > 1 {
				c.meets[l.to] = true
			} else if l.to != s.to {
				dst[l.to] += p
			}
		}
	}
}

// span adds what repeats in a span.
func (c *counter) span(dst []float64, s *span, p float64) {
	for _, r := range s.runs {
		dst[r.what] += float64(p * r.n)
	}
	for _, f := range s.forks {
		for m, x := range c.inner[f.what] {
			dst[m] += float64(float64(p*f.n) * x)
		}
	}
}
