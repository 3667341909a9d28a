package sizing

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
)

// own is a workflow with a branch, a loop and a function of its own.
func own(c *Config) {
	c.Workflow, c.QoS.QoS = Own, QoS{Latency: 10, Success: 0.9, Count: 5}
	c.Graph = workflow.New("mine", workflow.Chain("rgb", "check"), workflow.Repeat("check", "check", 0.3),
		workflow.Choice("check",
			workflow.To("resnet", 0.5), workflow.To(workflow.End, 0.2)))
	c.Laws = []FunctionLaw{{Function: "check", Law: perfmodel.Law{Work: 0.2, Parallel: 1, CV: 0.5, Spoilt: 0.1}}}
}

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// Each wrong field is refused by its name.
func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"workflow is":                     func(c *Config) { c.Workflow = "loop" },
		"windows is 0":                    func(c *Config) { c.Windows = 0 },
		"warmup is":                       func(c *Config) { c.Warmup = -1 },
		"protocol is":                     func(c *Config) { c.Protocol = "rolling" },
		"initial is":                      func(c *Config) { c.Initial = []float64{0.5, 0.5} },
		"initial[2] is 2":                 func(c *Config) { c.Initial = []float64{0, 0, 2, 0} },
		"start is":                        func(c *Config) { c.Start = -2 },
		"generated.functions is 2":        func(c *Config) { c.Generated.Functions = 2 },
		"users[0] is":                     func(c *Config) { c.Users = []int{0} },
		"qos.latency is":                  func(c *Config) { c.QoS.Latency = -1 },
		"qos.success is":                  func(c *Config) { c.QoS.Success = 1.5 },
		"reward.form is":                  func(c *Config) { c.Reward.Form = "v3" },
		"reward.dial[0] is":               func(c *Config) { c.Reward.Dial = []float64{0} },
		"the lowest and the highest":      func(c *Config) { c.Reward.Dial = []float64{2, 1} },
		"reward.dial is":                  func(c *Config) { c.Reward.Dial = []float64{1, 2, 3} },
		"only the described ones show it": func(c *Config) { c.Reward.Dial = []float64{1, 2} },
		"it has no qos":                   func(c *Config) { c.Reward.Form, c.Reward.Dial = LocalGlobalReward, []float64{1} },
		"reward.near_miss.power is":       func(c *Config) { c.Reward.NearMiss.Power = 0 },
		"reward.served is 0.5, want 0":    func(c *Config) { c.Reward.Form, c.Reward.Served = LocalGlobalReward, 0.5 },
		"reward.near_miss.credit is 0.5, want 0": func(c *Config) {
			c.Reward.Form, c.Reward.NearMiss.Credit = LocalGlobalReward, 0.5
		},
		"price.cpu is":                        func(c *Config) { c.Price.CPU = -1 },
		"noise.window is":                     func(c *Config) { c.Noise.Window = -1 },
		"platform.nodes is":                   func(c *Config) { c.Platform.Nodes = 0 },
		"platform.orchestrator is":            func(c *Config) { c.Platform.Orchestrator = 0 },
		"platform.on_failure is":              func(c *Config) { c.Platform.OnFailure = "retry" },
		"decide is":                           func(c *Config) { c.Decide = "software" },
		"concurrency is 3, want 0 where":      func(c *Config) { c.Concurrency = 3 },
		"concurrency is 5000":                 func(c *Config) { c.Decide, c.Concurrency = Hardware, 5000 },
		"features is":                         func(c *Config) { c.Features = "all" },
		"laws[0].work is 0, want more than 0": func(c *Config) { c.Laws = []FunctionLaw{{Function: "rgb"}} },
		"laws[0].function is": func(c *Config) {
			c.Laws = []FunctionLaw{{Function: "fastercnn"}}
			c.Laws[0].Work, c.Laws[0].Parallel = 1, 1
		},
		"graph is empty": func(c *Config) { c.Workflow = Own },
		"graph is given": func(c *Config) { c.Graph = workflow.New("mine", workflow.Chain("rgb", "resnet")) },
		"qos is": func(c *Config) {
			c.Workflow, c.Graph = Own, workflow.New("mine", workflow.Chain("rgb", "resnet"))
		},
		"nowhere": func(c *Config) { // a dangling edge
			own(c)
			c.Graph.Edges = append(c.Graph.Edges, workflow.Edge{From: "rgb", To: "nowhere"})
		},
		"graph cannot be served: workflow \"mine\" cannot be simulated": func(c *Config) { // a loop out of a parallel path
			own(c)
			c.Graph = workflow.New("mine", workflow.Fork("rgb", "resize", "resnet"), workflow.Repeat("resize", "rgb", 0.2),
				workflow.Choice("resize", workflow.To("update", 0.8)), workflow.Chain("resnet", "update"))
		},
		"laws: perfmodel: there is no law for function \"mine\"": func(c *Config) {
			own(c)
			c.Graph = workflow.New("mine", workflow.Chain("rgb", "mine"))
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
