package pricing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

// poisson returns arrivals at a mean rate per second for two days.
func poisson() workload.Config {
	w := workload.Default()
	w.Kind, w.Rate, w.Length = workload.Poisson, 0.05, 2880
	return w
}

// generated takes the load from the configuration's own wave.
func generated(c *Config) { c.Demand.Source = Generated }

func TestContract(t *testing.T) {
	calibrated := workload.Default()
	calibrated.Kind, calibrated.Factor = workload.Calibrated, 0.01
	for name, c := range map[string]struct {
		load   workload.Config
		change func(*Config)
	}{
		"trace":      {workload.Default(), func(c *Config) { c.Windows, c.Slots = 3, 20 }},
		"generated":  {workload.Default(), func(c *Config) { generated(c); c.Windows, c.Slots = 4, 20 }},
		"poisson":    {poisson(), func(c *Config) { c.Windows, c.Slots, c.Profile = 3, 15, OutsideProfile }},
		"calibrated": {calibrated, func(c *Config) { c.Windows, c.Slots, c.Costs.Switch = 3, 10, 0.5 }},
		"elastic shared": {workload.Default(), func(c *Config) {
			c.Windows, c.Slots, c.VGPUs, c.Pool, c.Layout.Warm = 3, 20, 30, Elastic, WarmShared
			c.Demand.Mean, c.Baselines = 60, []int{0, 0, 0}
		}},
		"market": {workload.Default(), func(c *Config) { moving(WalkDrift)(c); c.Windows, c.Slots = 6, 15 }},
		"market of regimes": {poisson(), func(c *Config) {
			moving(RegimesDrift)(c)
			c.Windows, c.Slots, c.Demand.Source, c.Layout.Warm = 6, 15, FromWorkload, WarmShared
		}},
		"fixed": {workload.Default(), func(c *Config) {
			generated(c)
			c.Windows, c.Slots, c.Pool, c.Load, c.Costs.Revenue = 3, 20, Fixed, 0.5, ServedRevenue
		}},
		"reserved shared": {workload.Default(), func(c *Config) {
			generated(c)
			c.Windows, c.Slots, c.Layout.Warm, c.Preload, c.Load, c.Costs.Deployed = 3, 20, WarmShared, false, 2.5, CountAll
			c.Tiers[2].Lengths, c.Costs.Switches, c.Costs.Revenue = []float64{0.5, 0.2, 0, 0.3}, CountAll, ArrivedRevenue
		}},
	} {
		cfg := Default()
		c.change(&cfg)
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return New(cfg, c.load, nil) },
				envtest.Options{Seeds: []uint64{1}, Steps: 8})
		})
		t.Run(name+" slots", func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return NewSlots(cfg, c.load, nil) },
				envtest.Options{Seeds: []uint64{1}, Steps: 30})
		})
	}
}
