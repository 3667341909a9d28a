package steps

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
)

// HindsightConfig configures [Hindsight].
type HindsightConfig struct {
	// Miss is the price of a miss as a multiple of the request's own.
	Miss float64 `yaml:"miss" json:"miss" range:"(0,1e9]"`
}

// DefaultHindsight takes the request's price of a miss.
func DefaultHindsight() HindsightConfig { return HindsightConfig{Miss: 1} }

// Hindsight knows beforehand what every option of every step will take and cost, and plays the cheapest plan of which
// every path ends within the limit; where a miss is cheaper, all of the cheapest. Nobody can decide like this: it is a
// bound on what deciders can reach with the options on the steps' fronts, to 0.2 % of price.
type Hindsight struct {
	config HindsightConfig
	static
	draw func(step, option int) (seconds, usd float64)
}

// NewHindsight returns the decider. [Hindsight.Foresee] comes before each request.
func NewHindsight(c HindsightConfig) (*Hindsight, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	return &Hindsight{config: c}, nil
}

// Foresee tells what options will take and cost in the request that begins next.
func (h *Hindsight) Foresee(draw func(step, option int) (seconds, usd float64)) { h.draw = draw }

// Begin implements [steps.Decider].
func (h *Hindsight) Begin(m *steps.Model, slo, miss float64) {
	n := m.NumSteps()
	h.choice = resized(h.choice, n)
	menus := make([]menu, n)
	cheapest := 0.0
	for v := range menus {
		var all []choice
		for i := range m.Options[v] {
			o := choice{code: i}
			if !m.Free(v) {
				o.seconds, o.option.USD = h.draw(v, i)
			}
			all = append(all, o)
		}
		menus[v] = staircase(all)
		cheapest += float64(m.Runs[v] * menus[v][len(menus[v])-1].option.USD)
	}
	t := newPlans(m, menus, 2e-3)
	p, ok := t.cheapest(slo)
	ok = ok && p.USD <= cheapest+float64(h.config.Miss*miss)
	for v, l := range menus {
		if ok {
			h.choice[v] = l[p.Choice[v]].code
		} else {
			h.choice[v] = l[len(l)-1].code
		}
	}
}
