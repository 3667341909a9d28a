package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
)

// Limits of a configuration beside those of its fields.
const (
	maxTiers     = 64
	maxFunctions = 4096 // of all tiers
	maxLength    = 1000 // of a job, in slots
)

// fieldError says what is wrong with a field, by its key in a file.
func fieldError(key string, got any, want string) error {
	return bounds.Errorf(key, "is %v, want %s", got, want)
}

// Validate reports the first field that is wrong, by its key, and what would be right.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.PriceMin > c.PriceMax {
		return fieldError("price_max", c.PriceMax, fmt.Sprintf("at least price_min, %g", c.PriceMin))
	}
	if c.BaselineMax > c.VGPUs {
		return fieldError("baseline_max", c.BaselineMax, fmt.Sprintf("at most vgpus, %d", c.VGPUs))
	}
	if n := c.Windows * c.Slots; n > 1<<30 {
		return fieldError("windows", c.Windows, fmt.Sprintf("at most %d of %d slots", (1<<30)/c.Slots, c.Slots))
	}
	if len(c.Tiers) == 0 || len(c.Tiers) > maxTiers {
		return fieldError("tiers", fmt.Sprintf("a list of %d", len(c.Tiers)), fmt.Sprintf("1 to %d tiers", maxTiers))
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
	return nil
}

func (t *Tier) validate(key string) error {
	if len(t.Lengths) > maxLength {
		return fieldError(key+".lengths", fmt.Sprintf("a list of %d", len(t.Lengths)),
			fmt.Sprintf("at most %d probabilities", maxLength))
	}
	var sum float64
	for _, p := range t.Lengths {
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
		if p < c.PriceMin || p > c.PriceMax {
			return fieldError(fmt.Sprintf("prices[%d]", i), p, fmt.Sprintf("%g to %g", c.PriceMin, c.PriceMax))
		}
	}
	for i, n := range c.Baselines {
		if n > c.baselineMax() {
			return fieldError(fmt.Sprintf("baselines[%d]", i), n, fmt.Sprintf("0 to %d", c.baselineMax()))
		}
		sum += n
	}
	if sum > c.VGPUs {
		return fieldError("baselines", fmt.Sprintf("%v, %d keep-alive vGPUs in all", c.Baselines, sum),
			fmt.Sprintf("at most vgpus, %d", c.VGPUs))
	}
	return nil
}
