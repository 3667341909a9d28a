package steps

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
)

// LookaheadConfig configures [Lookahead].
type LookaheadConfig struct {
	// Miss multiplies the request's price of a miss.
	Miss float64 `yaml:"miss" json:"miss" range:"(0,1e9]"`
}

// DefaultLookahead takes the request's price of a miss.
func DefaultLookahead() LookaheadConfig { return LookaheadConfig{Miss: 1} }

// Lookahead takes the option with the least expected price of the whole request, a miss included, by the same estimate
// that policies see ([steps.Outlook]): it is what can be had without learning from what they see.
type Lookahead struct {
	config  LookaheadConfig
	outlook steps.Outlook
	all     []steps.Prospect
}

// NewLookahead returns the decider.
func NewLookahead(c LookaheadConfig) (*Lookahead, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	return &Lookahead{config: c}, nil
}

// Begin implements [steps.Decider].
func (l *Lookahead) Begin(m *steps.Model, _, _ float64) { l.outlook.Begin(m) }

// Decide implements [steps.Decider].
func (l *Lookahead) Decide(at *steps.Moment, step int) int {
	seen := *at
	seen.Miss = float64(at.Miss * l.config.Miss)
	l.all = l.outlook.Look(l.all[:0], &seen, step)
	best := 0
	for i := range l.all {
		if l.all[i].USD < l.all[best].USD {
			best = i
		}
	}
	return best
}
