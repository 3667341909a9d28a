package envtest

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9_.-]+-v[0-9]+$`)

// checkSpec checks the spec.
func checkSpec(c *checker) error {
	env, err := c.build()
	if err != nil {
		return err
	}
	s := env.Spec()
	if s == nil {
		c.report("Spec is nil")
		return nil
	}
	if !idForm.MatchString(s.ID) {
		c.report("ID is %q, want the form maker/Name-v1", s.ID)
	}
	if s.Doc == "" {
		c.report("Doc is empty, want a sentence that says what the agents decide")
	}
	if s.Step.Unit == "" || s.Step.Fixed < 0 || s.MaxSteps < 0 {
		c.report("timing is %+v and MaxSteps %d, want a unit and nothing negative", s.Step, s.MaxSteps)
	}
	if len(s.Kinds) == 0 {
		c.report("there are no agents")
	}
	var names []string
	for _, k := range s.Kinds {
		c.checkKind(&k)
		names = append(names, k.Name)
	}
	c.distinct("kinds", names)
	c.checkQuantities("Info", s.Info, true)
	c.checkQuantities("Samples", s.Samples, false)
	for _, l := range s.Levels {
		if _, err := s.InfoIndex(l.Of); err != nil && l.Of != envs.ReturnLevel {
			c.report("Levels names %q, which is neither a quantity of Info nor %q", l.Of, envs.ReturnLevel)
		}
		if l.Doc == "" || math.IsNaN(l.Value) || math.IsInf(l.Value, 0) {
			c.report("the level of %q is %g (%q), want a finite number and what is known of it", l.Of, l.Value, l.Doc)
		}
	}
	for what, name := range map[string]string{"Objective": s.Objective, "Constraint": s.Constraint} {
		if i, err := s.InfoIndex(name); name != "" && (err != nil || s.Info[i].Better == envs.Neither) {
			c.report("%s is %q, want a quantity of Info that is better lower or higher, or none", what, name)
		}
	}
	if env.Spec() != s {
		c.report("Spec returns another pointer at each call, want the same one")
	}
	return nil
}

func (c *checker) checkKind(k *envs.Kind) {
	if k.Agents < 1 {
		c.report("kind %q has %d agents, want at least 1", k.Name, k.Agents)
	}
	if k.Observation == nil || k.Action == nil {
		c.report("kind %q lacks a space: observation %v, action %v", k.Name, k.Observation, k.Action)
		return
	}
	if k.Action.Width() == 0 {
		c.report("kind %q has nothing to decide: its action space is %v", k.Name, k.Action)
	}
	c.checkSpace(k.Name+"'s observation", k.Observation)
	c.checkSpace(k.Name+"'s action", k.Action)
	if n := len(k.Features); n != 0 && n != k.Observation.Width() {
		c.report("kind %q names %d features, but its observation has %d", k.Name, n, k.Observation.Width())
	}
	if n := len(k.Actions); n != 0 && n != k.Action.Width() {
		c.report("kind %q names %d actions, but its action space has %d", k.Name, n, k.Action.Width())
	}
	if n := len(k.FeatureUnits); n != 0 && n != len(k.Features) {
		c.report("kind %q has %d units of features, but names %d features", k.Name, n, len(k.Features))
	}
	if n := len(k.ActionUnits); n != 0 && n != len(k.Actions) {
		c.report("kind %q has %d units of actions, but names %d actions", k.Name, n, len(k.Actions))
	}
	if n := len(k.FeatureDocs); n != 0 && n != len(k.Features) {
		c.report("kind %q describes %d features, but names %d", k.Name, n, len(k.Features))
	}
	if n := len(k.ActionDocs); n != 0 && n != len(k.Actions) {
		c.report("kind %q describes %d actions, but names %d", k.Name, n, len(k.Actions))
	}
	c.distinct("features of "+k.Name, k.Features)
	c.distinct("actions of "+k.Name, k.Actions)
	if err := checkPoints(k); err != nil {
		c.report("kind %q %v", k.Name, err)
	}
	if n := len(k.Names); n != 0 && n != k.Agents {
		c.report("kind %q names %d agents, but has %d agents", k.Name, n, k.Agents)
	}
	c.distinct("names of "+k.Name, k.Names)
	c.others(k, "neighbours", k.Neighbours)
	c.others(k, "next", k.Next)
	if i := onCycle(k.Next); i >= 0 {
		c.report("next: %s %d comes after itself", k.Name, i)
	}
}

// others checks lists of other agents, one for each agent.
func (c *checker) others(k *envs.Kind, what string, lists [][]int) {
	if lists != nil && len(lists) != k.Agents {
		c.report("kind %q lists %s of %d agents, but has %d agents", k.Name, what, len(lists), k.Agents)
		return
	}
	for i, ns := range lists {
		for j, n := range ns {
			if n < 0 || n >= k.Agents || n == i || slices.Contains(ns[:j], n) {
				c.report("%s of %s %d are %v, want distinct others in [0, %d)", what, k.Name, i, ns, k.Agents)
				break
			}
		}
	}
}

// onCycle is an agent that comes after itself, -1 where there is none.
func onCycle(next [][]int) int {
	before := make([]int, len(next))
	for _, ns := range next {
		for _, n := range ns {
			if n >= 0 && n < len(next) {
				before[n]++
			}
		}
	}
	var free []int
	for i, n := range before {
		if n == 0 {
			free = append(free, i)
		}
	}
	for ; len(free) > 0; free = free[1:] {
		for _, n := range next[free[0]] {
			if n >= 0 && n < len(next) {
				if before[n]--; before[n] == 0 {
					free = append(free, n)
				}
			}
		}
	}
	return slices.IndexFunc(before, func(n int) bool { return n > 0 })
}

// checkPoints checks that components that choose among nodes name a kind of nodes and have a choice for each node.
func checkPoints(k *envs.Kind) error {
	if len(k.Points) == 0 {
		return nil
	}
	choices := envs.Choices(k.Action)
	if len(k.Points) != len(choices) {
		return fmt.Errorf("lists %d components in Points, but its action has %d", len(k.Points), len(choices))
	}
	g, ok := k.Observation.(envs.Graph)
	for i, to := range k.Points {
		switch {
		case to == -1:
		case !ok:
			return fmt.Errorf("points at nodes in component %d of its action, but its observation is not a graph: %v", i,
				k.Observation)
		case to < 0 || to >= len(g.Nodes):
			return fmt.Errorf("points in component %d of its action at nodes of kind %d, want -1 to %d", i, to, len(g.Nodes)-1)
		case choices[i] < g.Nodes[to].Capacity:
			return fmt.Errorf("has %d choices in component %d of its action, want one for each of the %d nodes of kind %q "+
				"that it points at", choices[i], i, g.Nodes[to].Capacity, g.Nodes[to].Name)
		}
	}
	return nil
}

func (c *checker) checkSpace(whose string, s envs.Space) {
	switch s := s.(type) {
	case envs.Box:
		if len(s.Low) != len(s.High) || (s.Integer != nil && len(s.Integer) != len(s.Low)) {
			c.report("%s space has %d lower and %d upper bounds and %d integer marks", whose, len(s.Low), len(s.High),
				len(s.Integer))
			return
		}
		for i := range s.Low {
			if !(s.Low[i] <= s.High[i]) || math.IsInf(float64(s.Low[i]), 1) || math.IsInf(float64(s.High[i]), -1) {
				c.report("%s component %d ranges over [%g, %g], which is empty", whose, i, s.Low[i], s.High[i])
			}
		}
	case envs.Graph:
		for _, n := range s.Nodes {
			c.checkFeatures(fmt.Sprintf("%s space: nodes of kind %q", whose, n.Name), n.Features, n.Width)
		}
		for i, e := range s.Edges {
			c.checkFeatures(fmt.Sprintf("%s space: edges of kind %q", whose, e.Name), e.Features, e.Width)
			if e.From < 0 || e.To < 0 || e.From >= len(s.Nodes) || e.To >= len(s.Nodes) {
				c.report("%s space: edges of kind %d (%q) join node kinds %d and %d, but there are %d kinds", whose, i,
					e.Name, e.From, e.To, len(s.Nodes))
			}
		}
	case envs.Tuple:
		for _, p := range s.Spaces {
			c.checkSpace(whose, p)
		}
	case envs.Dict:
		if len(s.Keys) != len(s.Spaces) {
			c.report("%s space has %d keys for %d parts", whose, len(s.Keys), len(s.Spaces))
		}
		c.distinct("keys of "+whose, s.Keys)
		c.checkSpace(whose, s.Tuple)
	default:
		for i, n := range envs.Choices(s) {
			if n < 1 && s.MaskWidth() > 0 {
				c.report("%s component %d has %d choices, want at least 1", whose, i, n)
			}
		}
	}
}

// checkFeatures checks that the features of a kind of nodes or edges are described all or not at all.
func (c *checker) checkFeatures(whose string, features []envs.Component, width int) {
	if len(features) != 0 && len(features) != width {
		c.report("%s describe %d features, but have %d", whose, len(features), width)
	}
	names, _, _ := envs.Columns(features)
	c.distinct("features of "+whose, names)
}

func (c *checker) checkQuantities(what string, qs []envs.Quantity, reduced bool) {
	var names []string
	for _, q := range qs {
		names = append(names, q.Name)
		if q.Name == "" || q.Unit == "" {
			c.report("%s has a quantity %q in unit %q, want both named", what, q.Name, q.Unit)
		}
		if !slices.Contains([]envs.Better{envs.Lower, envs.Higher, envs.Neither}, q.Better) {
			c.report("%s: %q is better %q, want %q, %q or %q", what, q.Name, q.Better, envs.Lower, envs.Higher, envs.Neither)
		}
		if reduced && !slices.Contains([]envs.Reduce{envs.Mean, envs.Sum, envs.Last, envs.Max, envs.PerTime}, q.Reduce) {
			c.report("%s: %q is reduced by %q, which is not a reduction of package envs", what, q.Name, q.Reduce)
		}
		if low, high := q.Bounds.Limits(); !(low < high) {
			c.report("%s: the bounds of %q are %g to %g, want the first below the second", what, q.Name, low, high)
		}
	}
	c.distinct(what, names)
}

func (c *checker) distinct(what string, names []string) {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			c.report("%s has the name %q twice", what, n)
		}
	}
}
