package pricing

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// A scheduler refuses a pool, a layout or an environment that it is not made for.
func TestRefusals(t *testing.T) {
	x, f := newTable(t, 1, nil), newTable(t, 1, fixed)
	p := must.Get(pricing.New(pricing.Default(), workload.Default(), nil))(t)
	y := newTable(t, 1, func(c *pricing.Config) { c.Pool = pricing.Elastic })
	m := newTable(t, 1, func(c *pricing.Config) { fixed(c); c.Acts = pricing.ActsMoves })
	for want, try := range map[string]func() error{
		"want pool: fixed":      func() error { _, err := NewMQFQ(DefaultMQFQ(), x.env); return err },
		"torpor: the env":       func() error { _, err := NewTorpor(DefaultTorpor(), x.env); return err },
		"want pool: elastic":    func() error { _, err := NewHAS(DefaultHAS(), x.env); return err },
		"want pool: reserved":   func() error { _, err := NewARMS(pricing.DefaultARMS(), f.env); return err },
		"acts is moves, want c": func() error { _, err := NewTorpor(DefaultTorpor(), m.env); return err },
		"want shared":           func() error { _, err := NewHAS(DefaultHAS(), y.env); return err },
		"PricingSlots-v1 only":  func() error { _, err := NewMQFQ(DefaultMQFQ(), p); return err },
		"stoker/Pricing-v1 onl": func() error { _, err := NewSPSS(DefaultSPSS(), x.env); return err },
		"down is 0.95":          func() error { c := DefaultHAS(); c.Down = 0.95; _, err := NewHAS(c, x.env); return err },
		"choice is": func() error {
			c := DefaultMQFQ()
			c.Choice = "any"
			_,
				err := NewMQFQ(c, f.env)
			return err
		},
		"percentile is 1": func() error {
			c := DefaultTorpor()
			c.Percentile = 1
			_,
				err := NewTorpor(c, f.env)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
