package sizing

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
)

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// Each wrong field is refused by its name.
func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"workflow is":              func(c *Config) { c.Workflow = "loop" },
		"windows is 0":             func(c *Config) { c.Windows = 0 },
		"warmup is":                func(c *Config) { c.Warmup = -1 },
		"protocol is":              func(c *Config) { c.Protocol = "rolling" },
		"initial is":               func(c *Config) { c.Initial = []float64{0.5, 0.5} },
		"initial[2] is 2":          func(c *Config) { c.Initial = []float64{0, 0, 2, 0} },
		"start is":                 func(c *Config) { c.Start = -2 },
		"users[0] is":              func(c *Config) { c.Users = []int{0} },
		"qos.latency is":           func(c *Config) { c.QoS.Latency = -1 },
		"qos.success is":           func(c *Config) { c.QoS.Success = 1.5 },
		"reward.form is":           func(c *Config) { c.Reward.Form = "v3" },
		"price.cpu is":             func(c *Config) { c.Price.CPU = -1 },
		"noise.window is":          func(c *Config) { c.Noise.Window = -1 },
		"platform.nodes is":        func(c *Config) { c.Platform.Nodes = 0 },
		"platform.orchestrator is": func(c *Config) { c.Platform.Orchestrator = 0 },
		"platform.on_failure is":   func(c *Config) { c.Platform.OnFailure = "retry" },
		"features is":              func(c *Config) { c.Features = "all" },
		"laws[0] of \"rgb\": work": func(c *Config) { c.Laws = []FunctionLaw{{Function: "rgb"}} },
		"laws[0].function is": func(c *Config) {
			c.Laws = []FunctionLaw{{Function: "fastercnn"}}
			c.Laws[0].Work, c.Laws[0].Parallel = 1, 1
		},
		"within the platform":     func(c *Config) { c.Platform.Nodes = 1 },
		"none: the workload":      func(c *Config) { c.Users = []int{5} },
		"but the workload has":    func(c *Config) { c.Windows = 3000 },
		"at most 1409.5, so that": func(c *Config) { c.Start = 1410 },
	} {
		c := Default()
		change(&c)
		if _, err := New(c, DefaultWorkload()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	bad := DefaultWorkload()
	bad.Path = "no such folder"
	if _, err := New(Default(), bad); err == nil || !strings.Contains(err.Error(), "no such folder") {
		t.Errorf("a missing trace gives %v", err)
	}
	bad = workload.Default()
	bad.Kind = "steady"
	if _, err := New(Default(), bad); err == nil {
		t.Error("an unknown kind of load was accepted")
	}
}
