package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

// closed returns users in a closed loop.
func closed(users int) workload.Config {
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	w.Users.Count = users
	return w
}

// poisson returns arrivals at a mean rate per second for an hour.
func poisson(rate float64) workload.Config {
	w := workload.Default()
	w.Kind, w.Rate, w.Length = workload.Poisson, rate, 60
	return w
}

func TestContract(t *testing.T) {
	thinking := closed(5)
	thinking.Users.Think, thinking.Users.ThinkLaw = 2, workload.Exponential
	for name, c := range map[string]struct {
		load   workload.Config
		change func(*Config)
	}{
		"trace":            {DefaultWorkload(), func(c *Config) { c.Windows = 4 }},
		"users":            {closed(10), func(c *Config) { c.Windows = 4; c.Users = []int{5, 15} }},
		"continuous users": {thinking, func(c *Config) { c.Windows, c.Protocol = 5, Continuous }},
		"fresh arrivals":   {poisson(1), func(c *Config) { c.Windows, c.Protocol = 4, Fresh }},
		"branch": {poisson(1), func(c *Config) {
			c.Workflow, c.Windows, c.Platform.OnFailure = Branch, 4,
				AbortOnFailure
		}},
		"sequential": {poisson(3), func(c *Config) {
			c.Workflow, c.Windows, c.Features, c.LoadKnown = Sequential, 4,
				PaperFeatures, true
		}},
		"described":         {DefaultWorkload(), func(c *Config) { described(c); c.Windows = 4 }},
		"described users":   {closed(10), func(c *Config) { described(c); c.Workflow, c.Windows = Branch, 4 }},
		"described tcktapp": {poisson(2), func(c *Config) { described(c); c.Workflow, c.Windows = TcktApp, 4 }},
		"own":               {poisson(2), func(c *Config) { own(c); c.Windows = 4 }},
		"generated":         {poisson(2), func(c *Config) { c.Workflow, c.Windows = Generated, 4 }},
		"generated, more than 64 functions": {poisson(0.5), func(c *Config) {
			c.Workflow, c.Windows, c.Generated.Functions = Generated, 4, 70
		}},
		"tcktapp": {poisson(2), func(c *Config) {
			c.Workflow, c.Windows, c.Reward.Form = TcktApp, 4,
				LocalGlobalReward
		}},
		"tcktapp users": {closed(20), func(c *Config) {
			c.Workflow, c.Windows, c.Platform.Timeout, c.Platform.OnFailure = TcktApp, 4, 8, AbortOnFailure
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Default()
			c.change(&cfg)
			envtest.Run(t, func() (envs.Env, error) { return New(cfg, c.load) },
				envtest.Options{Seeds: []uint64{1}, Steps: 8})
		})
	}
}
