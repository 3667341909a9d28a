package asl

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// visits adds to transitions how often the machine's states are expected to be entered in so many runs of it. Within one
// part of a machine states follow each other as in a Markov chain, so that the expected entries v solve v = e + Pᵀv with
// e = 1 at StartAt; parts inside run once for each entry of their state, or item.
func (b *builder) visits(m *Machine, runs float64) error {
	at := map[string]int{m.StartAt: 0}
	names := []string{m.StartAt}
	var ways [][]arm
	for k := 0; k < len(names); k++ {
		s := m.state(names[k])
		var arms []arm
		if s.Type == Choice {
			var err error
			if arms, err = s.arms(b.o); err != nil {
				return err
			}
		} else {
			f := s.failing(b.o)
			if f.again > 0 {
				arms = append(arms, arm{s.Name, f.again})
			}
			if s.Next != "" {
				arms = append(arms, arm{s.Next, (1 - f.again) * (1 - f.caught)})
			}
			if f.caught > 0 {
				arms = append(arms, arm{s.Catch, (1 - f.again) * f.caught})
			}
		}
		for _, a := range arms {
			if _, ok := at[a.to]; !ok {
				at[a.to] = len(names)
				names = append(names, a.to)
			}
		}
		ways = append(ways, arms)
	}
	n := len(names)
	a, e := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	e.SetVec(0, 1)
	for i := range n {
		a.Set(i, i, 1)
	}
	for from, arms := range ways {
		for _, w := range arms {
			to := at[w.to]
			a.Set(to, from, a.At(to, from)-w.p)
		}
	}
	var v mat.VecDense
	err := v.SolveVec(a, e)
	for i, name := range names {
		s := m.state(name)
		x := v.AtVec(i)
		if err != nil || !(x > 0 && x < maxVisits) || math.IsNaN(x) {
			return s.wrong(s.Line, "no way leads from here to an end: want a choice that leaves the cycle")
		}
		b.transitions += float64(runs * x)
		inside := runs * x
		for _, p := range s.Branches {
			if err := b.visits(p, inside); err != nil {
				return err
			}
		}
		if s.Each != nil {
			if items := b.o.Facts.Maps[s.Name]; items > 0 {
				if err := b.visits(s.Each, inside*float64(items)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// maxVisits is how often a state is entered at most. Beyond it an execution practically never ends.
const maxVisits = 1e9
