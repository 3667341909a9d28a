package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// What a provider sees of a market that moves, and what is reported of it. Each column is there where what it shows is
// configured. The sensitivity itself is not seen: only how many users came.

// marketFeatures are the columns behind the others.
func (c *Config) marketFeatures() (out []envs.Feature[Meters]) {
	m, slots := &c.Market, float64(c.Slots)
	if m.demands() {
		for i := range c.Tiers {
			out = append(out, envs.NewFeature(fmt.Sprintf("realised share %d", i+1), "of the potential load",
				"jobs of the tier that arrived, over the potential load", func(m *Meters) float32 {
					return float32(ratio(m.Tiers[i].Arrived, float64(m.Potential*slots), 0))
				}))
		}
		out = append(out, envs.NewFeature("realised demand", "of the expected arrivals",
			"jobs that arrived over those that were expected; 1 before the first window", func(m *Meters) float32 {
				var arrived, expected float64
				for i := range m.Tiers {
					arrived, expected = arrived+m.Tiers[i].Arrived, expected+m.Tiers[i].Rate
				}
				return float32(ratio(arrived, float64(expected*slots), 1))
			}))
	}
	if m.fails() {
		out = append(out, envs.NewFeature("capacity", "of vGPUs", "0 to 1: vGPUs that are there now",
			func(m *Meters) float32 { return float32(m.Capacity) }))
	}
	if m.rivals() {
		out = append(out, envs.NewFeature("rival price", "per billing unit", "what the rival asks in the next window",
			func(m *Meters) float32 { return float32(m.RivalPrice) }))
	}
	return out
}

// ratio is x over y, or what it is where y is 0.
func ratio(x, y, none float64) float64 {
	if y == 0 {
		return none
	}
	return x / y
}

// marketKeys are the keys of the readings that these columns show.
func (c *Config) marketKeys() (keys []string) {
	m := &c.Market
	if m.demands() {
		for i := range c.Tiers {
			keys = append(keys, fmt.Sprintf("tiers[%d].arrived", i))
		}
		keys = append(keys, "tiers[0].arrived")
	}
	if m.fails() {
		keys = append(keys, "capacity")
	}
	if m.rivals() {
		keys = append(keys, "rival_price")
	}
	return keys
}

// meterMarket fills what is measured of the market. Where demand moves, the expected arrivals are those of the
// configured sensitivity.
func (w *world) meterMarket(m *Meters) {
	c := &w.cfg.Market
	if c.drifts() && w.window >= 0 {
		w.divide(w.expected, true)
		potential := w.potential(int(w.window))
		for i := range m.Tiers {
			m.Tiers[i].Rate = float64(potential * w.expected[i])
		}
	}
	if c.fails() {
		m.Capacity = w.capacity()
	}
	if c.rivals() {
		m.RivalPrice = c.rivalPrice(&w.market.next)
	}
}

// validateMarket checks the readings that a market needs.
func (m *Meters) validateMarket(c *Market) error {
	if c.fails() && m.Capacity == 0 {
		return bounds.Errorf("capacity", "is 0, want the share of the vGPUs that is there, as env.market.failures is configured")
	}
	if c.rivals() && m.RivalPrice == 0 {
		return bounds.Errorf("rival_price", "is 0, want what the rival asks, as env.market.rival is configured")
	}
	return nil
}

// marketQuantities lists what is reported of the market, in the order in which reportMarket writes it.
func (c *Config) marketQuantities() (q []envs.Quantity) {
	m, some := &c.Market, envs.AtLeast(0)
	if m.drifts() {
		q = append(q, envs.Quantity{Name: "sensitivity", Unit: "of demand.beta", Reduce: envs.Mean, Bounds: some, Doc: "the factor on the users' sensitivity to prices"})
	}
	if m.fails() {
		q = append(q, envs.Quantity{Name: "capacity", Unit: "of vGPUs", Reduce: envs.PerTime, Bounds: envs.Share(),
			Doc: "vGPUs that are there"})
	}
	if m.rivals() {
		q = append(q,
			envs.Quantity{Name: "rival_price", Unit: "per billing unit", Reduce: envs.Mean, Bounds: some,
				Doc: "the rival's price"},
			envs.Quantity{Name: "rival_share", Unit: "of the potential load", Reduce: envs.Mean, Bounds: envs.Share(),
				Doc: "the rival's share"})
	}
	return q
}

// reportMarket adds the market's quantities to those of an account.
func (w *world) reportMarket(info, acc []float64) {
	m, at := &w.cfg.Market, &w.market.now
	if m.drifts() {
		info = append(info, m.sensitivity(at))
	}
	if m.fails() {
		info = append(info, acc[len(acc)-1]/max(acc[accSlots], 1))
	}
	if m.rivals() {
		_ = append(info, m.rivalPrice(at), w.rival)
	}
}
