package frontier

import (
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// term is the response time as a function of the functions' times: constant + weight·time of a function, or constant +
// the sum or maximum of terms, or an expectation over ways of longest paths through terms.
type term struct {
	kind     workflow.PartKind
	constant float64
	function int     // of a Single
	weight   float64 // of a Single
	terms    []*term
	ways     []workflow.PartWay
	uses     []int // functions in it, ascending, once each
}

// term returns the problem's response time. In its sums, the terms of one function are one term.
func (p *Problem) term() (*term, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	part, err := p.Flow.Parts(p.Delays)
	if err != nil {
		return nil, err
	}
	return p.convert(&part), nil
}

func (p *Problem) convert(part *workflow.Part) *term {
	t := &term{kind: part.Kind, constant: part.Delay, ways: part.Ways}
	if part.Kind == workflow.Single {
		t.function, t.weight = p.Flow.Function(part.Node), part.Runs
		t.uses = []int{t.function}
		return t
	}
	single := map[int]*term{}
	add := func(c *term) {
		if t.kind == workflow.Series && c.kind == workflow.Single {
			if first := single[c.function]; first != nil {
				first.weight += c.weight
				first.constant += c.constant
				return
			}
			single[c.function] = c
		}
		t.terms = append(t.terms, c)
	}
	for i := range part.Parts {
		c := p.convert(&part.Parts[i])
		if t.kind == workflow.Series && c.kind == workflow.Series {
			t.constant += c.constant
			for _, d := range c.terms {
				add(d)
			}
			continue
		}
		add(c)
	}
	return t.count()
}

// count fills in the functions that a term uses.
func (t *term) count() *term {
	t.uses = nil
	for _, c := range t.terms {
		t.uses = append(t.uses, c.uses...)
	}
	slices.Sort(t.uses)
	t.uses = slices.Compact(t.uses)
	return t
}

// groups returns the terms of a sum or maximum in groups, so that no function is in two of them.
func (t *term) groups() [][]*term {
	var groups [][]*term
	var uses []map[int]bool
	for _, c := range t.terms {
		group, with := []*term{c}, map[int]bool{}
		for _, f := range c.uses {
			with[f] = true
		}
		for i := 0; i < len(groups); {
			if !slices.ContainsFunc(c.uses, func(f int) bool { return uses[i][f] }) {
				i++
				continue
			}
			group = append(groups[i], group...)
			for f := range uses[i] {
				with[f] = true
			}
			groups, uses = slices.Delete(groups, i, i+1), slices.Delete(uses, i, i+1)
		}
		groups, uses = append(groups, group), append(uses, with)
	}
	return groups
}

// depth is how often fronts are thinned one after the other on the longest way from an option to the whole front.
func (t *term) depth() int {
	switch t.kind {
	case workflow.Single:
		return 1
	case workflow.Other:
		d := 1
		for _, c := range t.terms {
			d = max(d, c.depth())
		}
		return d + 1
	default:
		d := 0
		for _, c := range t.terms {
			d = max(d, c.depth())
		}
		return d + max(1, len(t.terms)-1)
	}
}

// Tree reports whether the response time is made of sums and maxima alone with each function in one of them, so that fronts
// are combined and nothing is searched.
func (p *Problem) Tree() (bool, error) {
	t, err := p.term()
	return err == nil && t.apart(), err
}

// apart reports whether a term is a tree and no function is in two of its terms.
func (t *term) apart() bool {
	if t.kind == workflow.Single {
		return true
	}
	return t.kind != workflow.Other && len(t.groups()) == len(t.terms) &&
		!slices.ContainsFunc(t.terms, func(c *term) bool { return !c.apart() })
}
