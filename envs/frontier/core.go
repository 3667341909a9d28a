package frontier

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// core is a response time that is no tree of sums and maxima over its variables: a convex, rising, piecewise linear
// function of their times. Each variable is a front: of a part whose functions are nowhere else in the core, or of the
// options of a function that is at several places.
type core struct {
	vars []*stair
	ops  []op
	last int // the op whose result is the time
	// value and weight are scratch, one per op: its time, and its share in a slope.
	value, weight []float64
	variable      map[int]int    // variable of a shared function
	known         map[string]int // index of each op, so that none is there twice
	keep          func(*term) bool
}

// op is a step of the evaluation: factor times the time of a variable, or the sum, maximum or mixture of earlier
// results, plus a constant.
type op struct {
	kind     opKind
	variable int
	factor   float64
	constant float64
	args     []int
	share    []float64 // probabilities of a mixture
}

type opKind int

const (
	variableOp opKind = iota
	sumOp
	maxOp
	mixOp
)

// newCore writes a term as a core. Its parts whose functions are nowhere else become variables, if keep is nil or says so.
func (s *solver) newCore(t *term, keep func(*term) bool) (*core, error) {
	c := &core{variable: map[int]int{}, known: map[string]int{}, keep: keep}
	places := map[int]int{}
	t.places(places)
	var err error
	if c.last, err = c.add(s, t, places); err != nil {
		return nil, err
	}
	c.value, c.weight = make([]float64, len(c.ops)), make([]float64, len(c.ops))
	return c, nil
}

// places counts the Singles of each function.
func (t *term) places(n map[int]int) {
	if t.kind == workflow.Single {
		n[t.function]++
	}
	for _, c := range t.terms {
		c.places(n)
	}
}

// add appends the ops of a term and returns the last one's index.
func (c *core) add(s *solver, t *term, places map[int]int) (int, error) {
	if t.kind == workflow.Single && places[t.function] > 1 {
		v, ok := c.variable[t.function]
		if !ok {
			v = len(c.vars)
			c.variable[t.function] = v
			c.vars = append(c.vars, s.options(t.function, 1, 0))
		}
		return c.push(op{kind: variableOp, variable: v, factor: t.weight, constant: t.constant}), nil
	}
	if len(c.ops) > 0 || t.kind == workflow.Single { // the core itself is no variable of itself
		here := map[int]int{}
		t.places(here)
		closed := true
		for f, n := range here {
			closed = closed && n == places[f]
		}
		if closed && (c.keep == nil || t.kind == workflow.Single || c.keep(t)) {
			f, err := s.front(t)
			if err != nil {
				return 0, err
			}
			c.vars = append(c.vars, f)
			return c.push(op{kind: variableOp, variable: len(c.vars) - 1, factor: 1}), nil
		}
	}
	if len(c.ops) == 0 {
		c.push(op{kind: sumOp}) // zero: marks that the core has begun, and is where paths start
	}
	args := make([]int, len(t.terms))
	for i, child := range t.terms {
		a, err := c.add(s, child, places)
		if err != nil {
			return 0, err
		}
		args[i] = a
	}
	switch t.kind {
	case workflow.Series:
		return c.push(op{kind: sumOp, args: args, constant: t.constant}), nil
	case workflow.Parallel:
		return c.push(op{kind: maxOp, args: args, constant: t.constant}), nil
	default:
		return c.paths(t, args), nil
	}
}

// push appends an op, unless it is there, and returns its index: ways of a crossing share most of theirs.
func (c *core) push(o op) int {
	if len(o.args) == 1 && o.kind != mixOp && o.constant == 0 {
		return o.args[0]
	}
	key := fmt.Sprint(o)
	if i, ok := c.known[key]; ok {
		return i
	}
	c.known[key] = len(c.ops)
	c.ops = append(c.ops, o)
	return len(c.ops) - 1
}

// paths appends the ops of a crossing's longest paths.
func (c *core) paths(t *term, own []int) int {
	mix := op{kind: mixOp, constant: t.constant}
	n := len(t.terms)
	for _, way := range t.ways {
		into := make([][]int, n+1) // per part, the ops whose ends it waits for
		end := slices.Repeat([]int{-1}, n)
		start := func(i int) int {
			slices.Sort(into[i])
			into[i] = slices.Compact(into[i])
			return c.push(op{kind: maxOp, args: into[i]})
		}
		for _, l := range way.Links {
			from := 0 // the op that is zero
			if f := l[0]; f >= 0 {
				if end[f] < 0 {
					end[f] = c.push(op{kind: sumOp, args: []int{start(f), own[f]}})
				}
				from = end[f]
			}
			into[l[1]] = append(into[l[1]], from)
		}
		mix.args = append(mix.args, start(n))
		mix.share = append(mix.share, way.Probability)
	}
	return c.push(mix)
}

// seconds returns the time for given times of the variables.
func (c *core) seconds(times []float64) float64 {
	for i := range c.ops {
		o := &c.ops[i]
		v := o.constant
		switch o.kind {
		case variableOp:
			v += float64(o.factor * times[o.variable])
		case sumOp:
			for _, a := range o.args {
				v += c.value[a]
			}
		case maxOp:
			longest := 0.0
			for _, a := range o.args {
				longest = max(longest, c.value[a])
			}
			v += longest
		case mixOp:
			for k, a := range o.args {
				v += float64(o.share[k] * c.value[a])
			}
		}
		c.value[i] = v
	}
	return c.value[c.last]
}

// slopes writes how much the time rises with each variable's, at the times of the last call of seconds: how often the
// variable is on the longest way. Of equally long ways the first counts.
func (c *core) slopes(g []float64) {
	clear(g)
	clear(c.weight)
	c.weight[c.last] = 1
	for i, o := range slices.Backward(c.ops) {
		w := c.weight[i]
		if w == 0 {
			continue
		}
		switch o.kind {
		case variableOp:
			g[o.variable] += float64(w * o.factor)
		case sumOp:
			for _, a := range o.args {
				c.weight[a] += w
			}
		case maxOp:
			longest := o.args[0]
			for _, a := range o.args {
				if c.value[a] > c.value[longest] {
					longest = a
				}
			}
			c.weight[longest] += w
		case mixOp:
			for k, a := range o.args {
				c.weight[a] += float64(w * o.share[k])
			}
		}
	}
}
