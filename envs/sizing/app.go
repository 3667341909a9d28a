package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Workflows, as [Config.Workflow] names them.
const (
	Sequential = "sequential"
	Parallel   = "parallel"
	Branch     = "branch"
	TcktApp    = "tcktapp"
	Generated  = "generated"
	Own        = "own"
)

var workflows = []string{Sequential, Parallel, Branch, TcktApp, Generated, Own}

// app is an application: its workflow and the properties of its functions, in their order.
type app struct {
	flow *workflow.Workflow
	laws []perfmodel.Law
	rng  Range
	// unused: the function's result is not used, so its failure does not fail the request. FaaSConf's handlers drop
	// starter's response and pass on the image's address. With [CountedRefusals] there is no such function.
	unused []bool
	// queued: requests wait for a free slot, first come, first served, as in TcktApp's Java services, which serve one
	// request at a time, and in generated workflows of services. The functions of the other workflows refuse instead.
	queued bool
	// refs are the reference latencies of the local-global reward in seconds, one per function. refLatency is the
	// end-to-end one, refSuccesses the reference number of successes in a window.
	refs         []float64
	refLatency   float64
	refSuccesses float64
	generated    bool
	// latency is the threshold of a generated workflow in seconds, where the configuration gives none.
	latency float64
}

var (
	mlRange = Range{
		Low: Resources{CPU: 250, Memory: 256, Replicas: 1, Concurrency: 1}, High: Resources{CPU: 2000, Memory: 2048,
			Replicas: 8, Concurrency: 10},
		Concurrency: true,
	}
	ticketRange = Range{
		Low: Resources{CPU: 250, Memory: 128, Replicas: 1, Concurrency: 1}, High: Resources{CPU: 1000, Memory: 1024,
			Replicas: 8, Concurrency: 1},
	}
)

// ticketRefs are the reference p75 latencies of FaaSConf's code, in the code's order.
var ticketRefs = []float64{0.194, 3.51, 0.0118, 0.0083, 0.0383, 0.0082, 0.01, 0.0372, 0.011, 0.0088, 0.0109, 0.2245}

func newApp(c *Config) (*app, error) {
	graphs := map[string]func() workflow.Graph{
		Sequential: workflow.FaaSConfSequential, Parallel: workflow.FaaSConfParallel, Branch: workflow.FaaSConfBranch,
		TcktApp: func() workflow.Graph { return workflow.FaaSConfTcktApp(workflow.OneByOne) },
		Own:     func() workflow.Graph { return c.Graph },
	}
	if c.Workflow == Generated {
		g, err := workflow.Generate(c.Generated)
		if err != nil {
			return nil, fmt.Errorf("generated.%w", err)
		}
		graphs[Generated] = func() workflow.Graph { return g }
	}
	graph, ok := graphs[c.Workflow]
	if !ok {
		return nil, bounds.Errorf("workflow", "is %q, want one of %s", c.Workflow, strings.Join(workflows, ", "))
	}
	flow, err := graph().Compile()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if err := flow.Walkable(); err != nil {
		return nil, bounds.Errorf("graph", "cannot be served: %v", err)
	}
	if flow.NumNodes() > serve.MaxNodes {
		return nil, bounds.Errorf("graph", "has %d nodes, want at most %d", flow.NumNodes(), serve.MaxNodes)
	}
	n := flow.NumFunctions()
	a := &app{flow: flow, rng: mlRange, unused: make([]bool, n), refs: make([]float64, n)}
	if c.Workflow == TcktApp || c.services() {
		a.rng, a.queued = ticketRange, true
	}
	for f, name := range flow.Functions() {
		l, err := c.law(f, name)
		if err != nil {
			return nil, fmt.Errorf("laws: %w; add one to laws", err)
		}
		if !c.MemoryLimit {
			l.Memory = 0
		}
		a.laws = append(a.laws, l)
		a.unused[f] = name == "starter" && c.Workflow != Own && c.Refusals == PublishedRefusals
		a.refs[f] = l.Alone(float64(a.rng.High.CPU))
	}
	for i, l := range c.Laws {
		if !slices.Contains(flow.Functions(), l.Function) {
			return nil, bounds.Errorf(fmt.Sprintf("laws[%d].function", i), "is %q, want one of %s", l.Function,
				strings.Join(flow.Functions(), ", "))
		}
	}
	// The references of the other workflows are our choice: a lone request at full CPU, and Parallel's thresholds.
	a.refLatency, a.refSuccesses = 13, 20
	if c.Workflow == TcktApp {
		a.refs, a.refLatency, a.refSuccesses = ticketRefs, 3.5, 110
	}
	if c.Decide == Hardware && a.rng.Concurrency {
		a.rng.Concurrency, a.rng.Low.Concurrency = false, c.Concurrency
		if c.Concurrency == 0 {
			a.rng.Low.Concurrency = noLimit
		}
	}
	a.rng.Padded = c.Features == Described
	if c.Workflow == Generated {
		slack := generousFactor
		if len(c.Slack) == 1 {
			slack = c.Slack[0]
		}
		a.generated, a.latency = true, a.generous(&c.Platform, slack)
	}
	return a, nil
}

// law returns the law of a function by its number and name: the last one that the configuration has for it, or else the
// drawn one of a generated workflow, or the built-in one.
func (c *Config) law(number int, function string) (perfmodel.Law, error) {
	for _, l := range slices.Backward(c.Laws) {
		if l.Function == function {
			return l.Law, nil
		}
	}
	switch {
	case c.services():
		return perfmodel.DrawService(c.Generated.Seed, number), nil
	case c.Workflow == Generated:
		return perfmodel.Draw(c.Generated.Seed, number), nil
	}
	return perfmodel.FaaSConf(function)
}

// services reports whether the workflow is a generated one of services.
func (c *Config) services() bool {
	return c.Workflow == Generated && len(c.Services) == 1 && c.Services[0]
}

// noLimit is a concurrency limit that no instance reaches: the machines are overloaded long before.
const noLimit = 4096
