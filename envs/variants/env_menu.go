package variants

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// menu is what an agent can choose from in one application: its model's options without the dominated ones.
type menu struct {
	model   *Model
	service *service // nil where plans are judged by the model
	scratch *Scratch
	// offers are per function what it can be, by variant, then memory. spans has for each function and variant its first
	// offer and the one behind its last.
	offers [][]offer
	spans  [][][2]int
	// rated are the functions with several variants left; combinations are all choices of their variants, the last
	// function's varying fastest, [combination][function of rated], and scores their accuracy scores.
	rated        []int
	combinations [][]int
	scores       []float64
	// left is the number of variants left of each function, ranges how far its times and prices range, next the functions
	// whose work comes right after its own.
	left   []int
	ranges []offer
	next   [][]int
	// order is the order in which functions are decided: those with several variants first, then those whose price
	// depends most on the choice.
	order []int
}

// offer is an option of a function that no other one dominates.
type offer struct {
	// option is its index among the model's options.
	option, variant int
	// seconds is the mean time of a run; usd is what a million executions of the application pay for its runs.
	seconds, usd float64
}

// maxCombinations bounds the combinations of variants of an application that agents are to configure.
const maxCombinations = 1024

// newMenu leaves out dominated options: a rule that is monotone in time, price and accuracy loses nothing.
func newMenu(m *Model, most int) (*menu, error) {
	n := &menu{model: m, scratch: m.NewScratch(), next: m.Flow.Next()}
	for f := range m.Options {
		n.offers = append(n.offers, undominated(m, f))
		if k := len(n.offers[f]); k > most {
			return nil, fmt.Errorf("function %q has %d options that no other one dominates, and env.options is %d: "+
				"want at least %d", m.Flow.Functions()[f], k, most, k)
		}
		spans := make([][2]int, m.NumVariants(f))
		left := 0
		for i, o := range n.offers[f] {
			if spans[o.variant][1] == 0 {
				spans[o.variant][0] = i
				left++
			}
			spans[o.variant][1] = i + 1
		}
		n.spans = append(n.spans, spans)
		n.left = append(n.left, left)
		n.ranges = append(n.ranges, rangeOf(n.offers[f]))
		if left > 1 {
			n.rated = append(n.rated, f)
		}
		n.order = append(n.order, f)
	}
	if err := n.combine(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(n.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(n.left[b], n.left[a]), cmp.Compare(n.ranges[b].usd, n.ranges[a].usd))
	})
	return n, nil
}

// worth reports why there is nothing to learn from problems with an objective (mixed is all of them).
func (n *menu) worth(objective Objective) error {
	choice, options := make([]int, len(n.offers)), 0
	for f := range choice {
		choice[f] = n.offers[f][0].option
		options = max(options, len(n.offers[f]))
	}
	out := n.model.Evaluate(choice)
	switch {
	case options == 1:
		return bounds.Errorf("functions", "have one option each that no other one dominates: there is nothing to choose")
	case out.Seconds <= 0 || out.USD <= 0:
		return bounds.Errorf("functions", "take %g s and cost %g USD a million executions, want more than 0", out.Seconds, out.USD)
	case objective == Accuracy && !n.model.rated():
		return bounds.Errorf("functions", "have one accuracy score only, and objective is accuracy")
	}
	return nil
}

// rated reports whether there is more than one accuracy score.
func (m *Model) rated() bool {
	low, high := m.AccuracyRange()
	return high > low
}

// rangeOf returns by how much the times and the prices of offers differ at most.
func rangeOf(offers []offer) offer {
	low, high := offers[0], offers[0]
	for _, o := range offers {
		low.seconds, high.seconds = min(low.seconds, o.seconds), max(high.seconds, o.seconds)
		low.usd, high.usd = min(low.usd, o.usd), max(high.usd, o.usd)
	}
	return offer{seconds: high.seconds - low.seconds, usd: high.usd - low.usd}
}

// undominated returns the options of function f for which no other one takes no more time, costs no more, and is of a
// variant that is as accurate. Of equal ones the first stays.
func undominated(m *Model, f int) []offer {
	accuracy := func(o Option) float64 { return m.Variants[f][o.Variant].Accuracy }
	var out []offer
	for i, o := range m.Options[f] {
		beaten := false
		for j, p := range m.Options[f] {
			if p.Seconds <= o.Seconds && p.USD <= o.USD && accuracy(p) >= accuracy(o) &&
				(j < i || p.Seconds < o.Seconds || p.USD < o.USD || accuracy(p) > accuracy(o)) {
				beaten = true
				break
			}
		}
		if !beaten {
			out = append(out, offer{i, o.Variant, o.Seconds, Executions * float64(m.Runs[f]*o.USD)})
		}
	}
	return out
}

// offer returns the offer that is an option of function f, or the first that dominates it.
func (n *menu) offer(f, option int) int {
	m := n.model
	accuracy := func(i int) float64 { return m.Variants[f][m.Options[f][i].Variant].Accuracy }
	o := m.Options[f][option]
	dominates := -1
	for i, x := range n.offers[f] {
		if x.option == option {
			return i
		}
		p := m.Options[f][x.option]
		if dominates < 0 && p.Seconds <= o.Seconds && p.USD <= o.USD && accuracy(x.option) >= accuracy(option) {
			dominates = i
		}
	}
	return dominates
}

// combine lists the combinations of variants and their scores.
func (n *menu) combine() error {
	total := 1
	for _, f := range n.rated {
		if total *= n.left[f]; total > maxCombinations {
			return fmt.Errorf("its functions have more than %d combinations of variants", maxCombinations)
		}
	}
	variants := make([]int, len(n.offers))
	for f := range variants {
		variants[f] = n.offers[f][0].variant
	}
	var walk func(k int)
	walk = func(k int) {
		if k == len(n.rated) {
			c := make([]int, k)
			for i, f := range n.rated {
				c[i] = variants[f]
			}
			n.combinations = append(n.combinations, c)
			n.scores = append(n.scores, n.model.Accuracy(variants))
			return
		}
		f := n.rated[k]
		for v, s := range n.spans[f] {
			if s[1] > s[0] {
				variants[f] = v
				walk(k + 1)
			}
		}
	}
	walk(0)
	return nil
}
