package pricing

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a configuration. The number of jobs in a slot is bounded by maxMean, since each is simulated.
const (
	maxVGPUs     = 1 << 16
	maxFunctions = 4096
	maxSLA       = 1000
	maxLength    = 1000
	maxMean      = 1 << 20
)

// fieldError says what is wrong with a field, by its key in a file.
func fieldError(key string, got any, want string) error {
	return fmt.Errorf("%s is %v, want %s", key, got, want)
}

func number(key string, x, low, high float64) error {
	if !(x >= low && x <= high) {
		return fieldError(key, x, fmt.Sprintf("a number from %g to %g", low, high))
	}
	return nil
}

func word(key, x string, allowed ...string) error {
	if !slices.Contains(allowed, x) {
		return fieldError(key, fmt.Sprintf("%q", x), "one of "+strings.Join(allowed, ", "))
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Validate reports the first field that is wrong, by its key, and what would be right.
func (c *Config) Validate() error {
	d := &c.Demand
	if err := first(
		word("profile", c.Profile, PaperProfile, OutsideProfile),
		number("vgpus", float64(c.VGPUs), 1, maxVGPUs),
		number("windows", float64(c.Windows), 1, 1<<20),
		number("slots", float64(c.Slots), 1, 1<<16),
		number("slot_seconds", c.SlotSeconds, 1e-3, 86400),
		number("zipf", c.Zipf, 0, 10),
		word("demand.source", d.Source, FromWorkload, Generated),
		number("demand.mean", d.Mean, 0, maxMean),
		number("demand.start", float64(d.Start), -1, 1<<20),
		number("demand.alpha", d.Alpha, -100, 100),
		number("demand.beta", d.Beta, 0, 100),
		number("demand.outside", d.Outside, -100, 100),
		number("demand.period", float64(d.Period), 1, 1<<20),
		number("demand.amplitude", d.Amplitude, 0, 1),
		number("demand.phase", d.Phase, -100, 100),
		number("demand.noise", d.Noise, 0, 10),
		number("demand.floor", d.Floor, 0, 1),
		number("burst.start", c.Burst.Start, 0, 1),
		number("burst.slots", float64(c.Burst.Slots), 1, 1<<16),
		number("burst.factor", c.Burst.Factor, 1, 100),
		word("pool", c.Pool, Reserved, Elastic, Fixed),
		number("layout.gpu", float64(c.Layout.GPU), 1, 64),
		word("layout.warm", c.Layout.Warm, WarmLast, WarmShared),
		number("load", c.Load, 0, 100),
		number("late", c.Late, 1, 100),
		number("forecast", c.Forecast, 0, 1),
		number("patience", float64(c.Patience), 1, 1<<16),
		number("costs.gpu", c.Costs.GPU, 0, 1e9),
		number("costs.switch", c.Costs.Switch, 0, 1e9),
		number("costs.fixed", c.Costs.Fixed, 0, 1e9),
		word("costs.revenue", c.Costs.Revenue, ExpectedRevenue, ArrivedRevenue, ServedRevenue),
		word("costs.deployed", c.Costs.Deployed, CountTransient, CountAll),
		word("costs.switches", c.Costs.Switches, CountKeepAlive, CountAll),
		number("price_min", c.PriceMin, 0, 1e6),
		number("price_max", c.PriceMax, c.PriceMin, 1e6),
		number("baseline_max", float64(c.BaselineMax), 0, float64(c.VGPUs)),
		word("acts", c.Acts, ActsCounts, ActsMoves),
		word("rewards", c.Rewards, SharedRewards, OwnRewards),
	); err != nil {
		return err
	}
	if n := c.Windows * c.Slots; n > 1<<30 {
		return fieldError("windows", c.Windows, fmt.Sprintf("at most %d of %d slots", (1<<30)/c.Slots, c.Slots))
	}
	if len(c.Tiers) == 0 || len(c.Tiers) > 64 {
		return fieldError("tiers", fmt.Sprintf("a list of %d", len(c.Tiers)), "1 to 64 tiers")
	}
	for i := range c.Tiers {
		if err := c.Tiers[i].validate(fmt.Sprintf("tiers[%d]", i)); err != nil {
			return err
		}
	}
	if n := c.functions(); n > maxFunctions {
		return fieldError("tiers", fmt.Sprintf("%d functions", n), fmt.Sprintf("at most %d in all", maxFunctions))
	}
	if err := c.validateStart(); err != nil {
		return err
	}
	if err := c.Work.validate(); err != nil {
		return err
	}
	if c.Scheduler == "" {
		return fieldError("scheduler", `""`, "the name of a scheduling policy, such as "+ARMSName)
	}
	if err := c.ARMS.Validate(); err != nil {
		return fmt.Errorf("arms.%w", err)
	}
	return nil
}

func (t *Tier) validate(key string) error {
	if err := first(
		number(key+".sla", float64(t.SLA), 1, maxSLA),
		number(key+".functions", float64(t.Functions), 1, maxFunctions),
		number(key+".service", t.Service, 1, 100),
		number(key+".demand", t.Demand, 0, 1e6),
		number(key+".penalty", t.Penalty, 0, 1e9),
		number(key+".rate", t.Rate, 0, 1e9),
	); err != nil {
		return err
	}
	if len(t.Lengths) > maxLength {
		return fieldError(key+".lengths", fmt.Sprintf("a list of %d", len(t.Lengths)), fmt.Sprintf("at most %d probabilities", maxLength))
	}
	var sum float64
	for i, p := range t.Lengths {
		if err := number(fmt.Sprintf("%s.lengths[%d]", key, i), p, 0, 1); err != nil {
			return err
		}
		sum += p
	}
	if len(t.Lengths) > 0 && !(sum > 1-1e-6 && sum < 1+1e-6) {
		return fieldError(key+".lengths", fmt.Sprintf("a list with the sum %g", sum), "probabilities with the sum 1")
	}
	return nil
}

// validateStart checks what holds before the first decision.
func (c *Config) validateStart() error {
	if len(c.Prices) != len(c.Tiers) {
		return fieldError("prices", c.Prices, fmt.Sprintf("%d numbers, one for each tier", len(c.Tiers)))
	}
	if len(c.Baselines) != len(c.Tiers) {
		return fieldError("baselines", c.Baselines, fmt.Sprintf("%d numbers, one for each tier", len(c.Tiers)))
	}
	sum := 0
	for i, p := range c.Prices {
		if err := number(fmt.Sprintf("prices[%d]", i), p, c.PriceMin, c.PriceMax); err != nil {
			return err
		}
	}
	for i, n := range c.Baselines {
		if err := number(fmt.Sprintf("baselines[%d]", i), float64(n), 0, float64(c.baselineMax())); err != nil {
			return err
		}
		sum += n
	}
	if sum > c.VGPUs {
		return fieldError("baselines", fmt.Sprintf("%v, %d keep-alive vGPUs in all", c.Baselines, sum), fmt.Sprintf("at most vgpus, %d", c.VGPUs))
	}
	return nil
}
