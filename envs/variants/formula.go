package variants

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/stoker-rl/stoker/bounds"
)

// Templates of the accuracy score (OptiServe, appendix A). They keep its contract by their form.
const (
	Mean      = "mean"      // eq. A.2 with equal weights
	Weighted  = "weighted"  // eq. A.2
	Min       = "min"       // eq. A.3
	Geometric = "geometric" // eq. A.4
)

// Templates returns the names of all templates.
func Templates() []string { return []string{Mean, Weighted, Min, Geometric} }

// maxChecked bounds the combinations of variants over which a formula is checked and kept.
const maxChecked = 1 << 16

// score is the accuracy score of an application over its variants.
type score struct {
	accuracy  [][]float64 // per function and variant; nil for a function that has none
	weight    []float64
	template  string
	table     []float64 // of a formula: all combinations of variants, the last function's varying fastest
	low, high float64
	scale     float64 // of a template
}

// newScore checks an application's formula. names are the functions', accuracy their variants' accuracies, nil for a
// function without.
func newScore(a *App, names []string, accuracy [][]float64) (*score, error) {
	s := &score{accuracy: accuracy, template: a.Accuracy, scale: 1, weight: make([]float64, len(names))}
	rated := 0
	for f := range names {
		if accuracy[f] != nil {
			s.weight[f] = 1
			rated++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Weights)) {
		f := slices.Index(names, name)
		if f < 0 || accuracy[f] == nil {
			return nil, bounds.Errorf("weights", "has function %q, which has no accuracies: want some of %s", name, s.rated(names))
		}
		if w := a.Weights[name]; !(w >= 0) || math.IsInf(w, 0) {
			return nil, bounds.Errorf("weights."+name, "is %g, want a number from 0", w)
		}
	}
	switch {
	case s.template == "":
		s.template = Mean
	case !slices.Contains(Templates(), s.template):
		if len(a.Weights) > 0 {
			return nil, bounds.Errorf("weights", "are read with weighted and geometric, but accuracy is a formula of its own")
		}
		if err := s.compile(a.Accuracy, names); err != nil {
			return nil, err
		}
		return s, s.normalize(a.Normalize)
	}
	if s.template == Weighted || s.template == Geometric {
		if len(a.Weights) > 0 {
			for f, name := range names {
				s.weight[f] = a.Weights[name]
			}
		}
	} else if len(a.Weights) > 0 {
		return nil, bounds.Errorf("weights", "are read with weighted and geometric, but accuracy is %s", s.template)
	}
	var sum float64
	for _, w := range s.weight {
		sum += w
	}
	if rated > 0 && !(sum > 0) {
		return nil, bounds.Errorf("weights", "sum to %g, want a positive sum", sum)
	}
	for f := range s.weight {
		s.weight[f] /= max(sum, math.SmallestNonzeroFloat64)
	}
	low, high := make([]int, len(names)), make([]int, len(names))
	for f, a := range accuracy {
		for v := range a {
			if a[v] < a[low[f]] {
				low[f] = v
			}
			if a[v] > a[high[f]] {
				high[f] = v
			}
		}
	}
	s.low, s.high = s.of(low), s.of(high)
	return s, s.normalize(a.Normalize)
}

// normalize divides the score by its greatest value.
func (s *score) normalize(on bool) error {
	if !on {
		return nil
	}
	if !(s.high > 0) {
		return bounds.Errorf("normalize", "divides by the greatest accuracy score, which is %g: want a positive one", s.high)
	}
	for i := range s.table {
		s.table[i] /= s.high
	}
	s.scale, s.low, s.high = 1/s.high, s.low/s.high, 1
	return nil
}

// rated lists the functions with accuracies.
func (s *score) rated(names []string) string {
	var out []string
	for f, name := range names {
		if s.accuracy[f] != nil {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return "none: no function has accuracies"
	}
	return strings.Join(out, ", ")
}

// of returns the score of a combination of variants.
func (s *score) of(variants []int) float64 {
	if s.table != nil {
		at := 0
		for f, v := range variants {
			at = at*s.count(f) + s.index(f, v)
		}
		return s.table[at]
	}
	sum, least, product, any := 0.0, math.Inf(1), 1.0, false
	for f, v := range variants {
		if s.accuracy[f] == nil {
			continue
		}
		any = true
		a := s.accuracy[f][v]
		switch s.template {
		case Min:
			least = min(least, a)
		case Geometric:
			product *= math.Pow(a, s.weight[f])
		default:
			sum += float64(s.weight[f] * a)
		}
	}
	switch {
	case !any: // nothing can be inaccurate
		return 1
	case s.template == Min:
		return least * s.scale
	case s.template == Geometric:
		return product * s.scale
	}
	return sum * s.scale
}

// count and index number a function's variants in the table: a function without accuracies counts as one.
func (s *score) count(f int) int { return max(1, len(s.accuracy[f])) }

func (s *score) index(f, v int) int {
	if s.accuracy[f] == nil {
		return 0
	}
	return v
}

// compile compiles a formula, evaluates it for all combinations of variants and checks its contract: a finite score
// that does not fall where one function's accuracy rises.
func (s *score) compile(text string, names []string) error {
	combinations := 1
	for f := range names {
		if combinations *= s.count(f); combinations > maxChecked {
			return bounds.Errorf("accuracy", "is a formula over more than %d combinations of variants, too many to check: "+
				"want one of %s", maxChecked, strings.Join(Templates(), ", "))
		}
	}
	program, env, err := parse(text, names, s)
	if err != nil {
		return err
	}
	s.table = make([]float64, combinations)
	s.low, s.high = math.Inf(1), math.Inf(-1)
	variants := make([]int, len(names))
	var machine vm.VM
	for i := range s.table {
		s.unrank(i, variants)
		for f, name := range names {
			if s.accuracy[f] != nil {
				env[name] = s.accuracy[f][variants[f]]
			}
		}
		out, err := machine.Run(program, env)
		if err != nil {
			return bounds.Errorf("accuracy", "%q: %s", text, firstLine(err))
		}
		x, ok := number(out)
		if !ok {
			return bounds.Errorf("accuracy", "%q gives %v, want a number", text, out)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return bounds.Errorf("accuracy", "%q is not bounded: it is %g for %s", text, x, s.say(names, variants))
		}
		s.table[i], s.low, s.high = x, min(s.low, x), max(s.high, x)
	}
	return s.monotone(text, names, variants)
}

// monotone checks that the score never falls where one function takes its next better variant.
func (s *score) monotone(text string, names []string, variants []int) error {
	next := make([][]int, len(names)) // per function and variant the variants that are next better
	for f, acc := range s.accuracy {
		next[f] = make([]int, len(acc))
		for v := range acc {
			next[f][v] = -1
			for u := range acc {
				if acc[u] > acc[v] && (next[f][v] < 0 || acc[u] < acc[next[f][v]]) {
					next[f][v] = u
				}
			}
		}
	}
	for i, x := range s.table {
		s.unrank(i, variants)
		for f := range names {
			v := variants[f]
			if s.accuracy[f] == nil || next[f][v] < 0 {
				continue
			}
			before := s.say(names, variants)
			variants[f] = next[f][v]
			y := s.of(variants)
			if y < x-float64(1e-12*math.Abs(x)) {
				return bounds.Errorf("accuracy", "%q is not monotone: it is %.6g for %s, and falls to %.6g where %s rises to %g",
					text, x, before, y, names[f], s.accuracy[f][variants[f]])
			}
			variants[f] = v
		}
	}
	return nil
}

// unrank writes combination i of variants, or of their ranks, the last function's varying fastest.
func (s *score) unrank(i int, variants []int) {
	for f := len(variants) - 1; f >= 0; f-- {
		n := s.count(f)
		variants[f] = i % n
		i /= n
	}
}

// say writes a combination's accuracies.
func (s *score) say(names []string, variants []int) string {
	var out []string
	for f, name := range names {
		if s.accuracy[f] != nil {
			out = append(out, fmt.Sprintf("%s = %g", name, s.accuracy[f][variants[f]]))
		}
	}
	return strings.Join(out, ", ")
}

// parse compiles a formula over the functions that have accuracies: by name where the name is one that a formula can
// have, and as A("name") always.
func parse(text string, names []string, s *score) (*vm.Program, map[string]any, error) {
	env := map[string]any{}
	for f, name := range names {
		if s.accuracy[f] != nil && token.IsIdentifier(name) {
			env[name] = 0.0
		}
	}
	known := maps.Clone(env)
	for f, name := range names {
		if s.accuracy[f] != nil {
			known[name] = 0.0
		}
	}
	value := func(params ...any) (any, error) {
		name := params[0].(string)
		x, ok := env[name]
		if !ok {
			return nil, fmt.Errorf("no function %q with accuracies, there is %s", name, s.rated(names))
		}
		return x, nil
	}
	program, err := expr.Compile(text, expr.Env(maps.Clone(env)), expr.Function("A", value, new(func(string) float64)),
		power("pow", math.Pow), unary("sqrt", math.Sqrt), unary("exp", math.Exp), unary("log", math.Log),
		expr.MaxNodes(10_000))
	if err != nil {
		return nil, nil, bounds.Errorf("accuracy", "%q: %s; the functions with accuracies are %s", text, firstLine(err),
			s.rated(names))
	}
	maps.Copy(env, known)
	return program, env, nil
}

func power(name string, f func(a, b float64) float64) expr.Option {
	return expr.Function(name, func(p ...any) (any, error) {
		a, ok := number(p[0])
		b, ok2 := number(p[1])
		if !ok || !ok2 {
			return nil, errors.New(name + " wants two numbers")
		}
		return f(a, b), nil
	}, new(func(float64, float64) float64), new(func(float64, int) float64), new(func(int, float64) float64))
}

func unary(name string, f func(float64) float64) expr.Option {
	return expr.Function(name, func(p ...any) (any, error) {
		a, ok := number(p[0])
		if !ok {
			return nil, errors.New(name + " wants a number")
		}
		return f(a), nil
	}, new(func(float64) float64), new(func(int) float64))
}

func number(x any) (float64, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	}
	return 0, false
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
