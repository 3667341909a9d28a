package placement

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Workloads, as [Config.Workload] names them.
const (
	// Steady has normally distributed gaps between requests, as in the paper.
	Steady = "steady"
	// Poisson has exponential gaps.
	Poisson = "poisson"
	// Bursty has periods in which requests arrive several times as fast.
	Bursty = "bursty"
	// Periodic has a rate that swings.
	Periodic = "periodic"
	// Mixed is poisson with as many requests of every class of functions.
	Mixed = "mixed"
	// Azure is the functions of the Azure trace, each with its own invocations, from a drawn minute on.
	Azure = "azure"
	// TPCH is the jobs of the TPC-H benchmark, one invocation for each stage, with exponential gaps.
	TPCH = "tpch"
)

// How long a wait lasts, as [Config.Wait] names it.
const (
	// WaitEvent lets time pass to the next arrival or end of an invocation after which something fits.
	WaitEvent = "event"
	// WaitTick lets it pass to the next multiple of a tick.
	WaitTick = "tick"
)

// Resources of a node, in the order in which observations list them.
const (
	CPU     = iota // millicores
	Memory         // MB
	Network        // Mbit/s
	GPU            // slices
	NumResources
)

// ResourceNames are the resources' names in this order.
var ResourceNames = [NumResources]string{"cpu", "memory", "network", "gpu"}

// Between is a range of whole numbers, both ends included.
type Between struct {
	// Low is the smallest.
	Low int `yaml:"low" json:"low"`
	// High is the largest.
	High int `yaml:"high" json:"high"`
}

// Span is a range of numbers, both ends included.
type Span struct {
	// Low is the smallest.
	Low float64 `yaml:"low" json:"low"`
	// High is the largest.
	High float64 `yaml:"high" json:"high"`
}

// NodeClass is a class of equal nodes.
type NodeClass struct {
	// Name appears in errors.
	Name string `yaml:"name" json:"name"`
	// Count is the number of such nodes.
	Count int `yaml:"count" json:"count" range:"[1,4096]"`
	// CPU in millicores, Memory in MB, Network in Mbit/s and GPU in slices are what a node has.
	CPU     int `yaml:"cpu" json:"cpu" range:"[1,2^20]"`
	Memory  int `yaml:"memory" json:"memory" range:"[1,2^20]"`
	Network int `yaml:"network" json:"network" range:"[1,2^20]"`
	GPU     int `yaml:"gpu" json:"gpu" range:"[0,2^20]"`
	// Speed divides execution times: the work of a step is its time at speed 1.
	Speed float64 `yaml:"speed" json:"speed" range:"[1e-3,1e3]"`
	// Price multiplies the prices of resources.
	Price float64 `yaml:"price" json:"price" range:"[0,1e6]"`
}

// Function is a given function.
type Function struct {
	// Name is unique.
	Name string `yaml:"name" json:"name"`
	// CPU in millicores, Memory in MB, Network in Mbit/s and GPU in slices are its demand at amount 1.
	CPU     int `yaml:"cpu" json:"cpu"`
	Memory  int `yaml:"memory" json:"memory"`
	Network int `yaml:"network" json:"network"`
	GPU     int `yaml:"gpu" json:"gpu"`
	// Image is the size in MB of what a cold start fetches.
	Image float64 `yaml:"image" json:"image"`
	// Parallel is the share of its work that becomes faster with the amount (Amdahl's law).
	Parallel float64 `yaml:"parallel" json:"parallel"`
}

// Workflow is a given workflow: the steps of a request.
type Workflow struct {
	// Name is unique.
	Name string `yaml:"name" json:"name"`
	// Share is its weight among requests.
	Share float64 `yaml:"share" json:"share"`
	// Steps are its invocations.
	Steps []Step `yaml:"steps" json:"steps"`
}

// Step is an invocation of a workflow.
type Step struct {
	// Name is unique within the workflow.
	Name string `yaml:"name" json:"name"`
	// Function is the name of the function that is invoked.
	Function string `yaml:"function" json:"function"`
	// Work is the seconds that it takes at amount 1 on a node of speed 1, for an input of size 1.
	Work float64 `yaml:"work" json:"work"`
	// Output is the MB that it passes to each successor.
	Output float64 `yaml:"output" json:"output"`
	// After names the steps that must be done before it.
	After []string `yaml:"after" json:"after"`
}

// FunctionClass describes functions that are drawn, and the workflows that are drawn from them.
type FunctionClass struct {
	// Name begins the functions' names.
	Name string `yaml:"name" json:"name"`
	// Functions and Workflows are how many are drawn.
	Functions int `yaml:"functions" json:"functions" range:"[1,4096]"`
	Workflows int `yaml:"workflows" json:"workflows" range:"[1,4096]"`
	// Share is the weight of the class's workflows among requests.
	Share float64 `yaml:"share" json:"share" range:"[0,1e9]"`
	// Work is the seconds of a step.
	Work Span `yaml:"work" json:"work" range:"[1e-3,1e5]"`
	// CPU, Memory, Network, GPU, Image and Parallel are those of a [Function].
	CPU      Span `yaml:"cpu" json:"cpu" range:"[1,2^20]"`
	Memory   Span `yaml:"memory" json:"memory" range:"[1,2^20]"`
	Network  Span `yaml:"network" json:"network" range:"[1,2^20]"`
	GPU      Span `yaml:"gpu" json:"gpu" range:"[0,2^20]"`
	Image    Span `yaml:"image" json:"image" range:"[0,1e7]"`
	Parallel Span `yaml:"parallel" json:"parallel" range:"[0,1]"`
	// Output is the MB that a step passes to each successor.
	Output Span `yaml:"output" json:"output" range:"[0,1e7]"`
}

// Priority is a class of requests.
type Priority struct {
	// Share is the weight of the class among requests.
	Share float64 `yaml:"share" json:"share" range:"[0,1e9]"`
	// Weight is the weight of a violation.
	Weight float64 `yaml:"weight" json:"weight" range:"[0,1e9]"`
	// Factor and Grace make its deadline: Factor times the ideal response time, and Grace seconds.
	Factor float64 `yaml:"factor" json:"factor" range:"[0,1e6]"`
	Grace  float64 `yaml:"grace" json:"grace" range:"[0,1e6]"`
}

// ColdStart says how long a cold start takes.
type ColdStart struct {
	// Boot is the seconds that every one takes.
	Boot float64 `yaml:"boot" json:"boot" range:"[0,1e4]"`
	// Pull is the MB of image that are fetched in a second.
	Pull float64 `yaml:"pull" json:"pull" range:"[1e-3,1e9]"`
}

// Prices of what is allocated.
type Prices struct {
	// CPU is USD per core and hour, Memory per GB and hour, GPU per slice and hour.
	CPU    float64 `yaml:"cpu" json:"cpu" range:"[0,1e6]"`
	Memory float64 `yaml:"memory" json:"memory" range:"[0,1e6]"`
	GPU    float64 `yaml:"gpu" json:"gpu" range:"[0,1e6]"`
	// Idle is the share of the memory's price that a warm instance costs while it waits.
	Idle float64 `yaml:"idle" json:"idle" range:"[0,1e3]"`
}

// Weights of the reward's terms. 0 leaves a term out.
type Weights struct {
	// Latency weighs slowdowns: an episode's term is minus their sum over requests.
	Latency float64 `yaml:"latency" json:"latency" range:"[0,1e9]"`
	// Utilisation weighs the seconds of the cluster that lie idle while an invocation waits.
	Utilisation float64 `yaml:"utilisation" json:"utilisation" range:"[0,1e9]"`
	// Violations weighs deadlines missed, times the priority's weight.
	Violations float64 `yaml:"violations" json:"violations" range:"[0,1e9]"`
	// Cost weighs USD.
	Cost float64 `yaml:"cost" json:"cost" range:"[0,1e9]"`
}

// Config configures [Env].
type Config struct {
	// Seconds is the time in which requests arrive.
	Seconds float64 `yaml:"seconds" json:"seconds" range:"[1e-3,1e7]"`
	// MaxTime is the second at which an episode is cut.
	MaxTime float64 `yaml:"max_time" json:"max_time" range:"[1e-3,1e7]"`
	// Load is what arrives in a second over what the cluster can do in one, for the resource that is scarcest; see
	// [System.Rate].
	Load float64 `yaml:"load" json:"load" range:"[0,100]"`
	// LoadTo, where it is above Load, makes every episode draw its load from Load to LoadTo.
	LoadTo float64 `yaml:"load_to" json:"load_to" range:"[0,100]"`
	// Workload is steady, poisson, bursty, periodic, mixed, azure or tpch.
	Workload string `yaml:"workload" json:"workload" oneof:"steady|poisson|bursty|periodic|mixed|azure|tpch"`
	// Variation is the deviation of steady's gaps over their mean.
	Variation float64 `yaml:"variation" json:"variation" range:"[0,1]"`
	// Burst shapes bursty.
	Burst workload.Burst `yaml:"burst" json:"burst"`
	// Wave shapes periodic.
	Wave workload.Wave `yaml:"wave" json:"wave"`
	// TPCH selects the jobs of tpch.
	TPCH TPCHConfig `yaml:"tpch" json:"tpch"`
	// Longest is the seconds at which the durations of azure's functions are cut.
	Longest float64 `yaml:"longest" json:"longest" range:"[1e-3,1e7]"`

	// Wait is event or tick.
	Wait string `yaml:"wait" json:"wait" oneof:"event|tick"`
	// Tick is the seconds of a tick, and of a wait where no event is due.
	Tick float64 `yaml:"tick" json:"tick" range:"[1e-3,1e7]"`
	// Hold allows waiting while something that waits fits somewhere. Without it the schedule is work-conserving, and
	// rules that hold invocations back, such as fcfs-nodes, give the smallest amount instead.
	Hold bool `yaml:"hold" json:"hold"`

	// Nodes are the cluster.
	Nodes []NodeClass `yaml:"nodes" json:"nodes"`
	// Amounts are the choices of how much an invocation gets, as multiples of its function's demand of CPU, network and
	// GPU (rounded up; memory is the same at all), ascending, 1 among them.
	Amounts []float64 `yaml:"amounts" json:"amounts" range:"[1e-3,1e3]"`
	// Functions and Workflows are given; where they are empty, both are drawn from Classes.
	Functions []Function `yaml:"functions" json:"functions"`
	Workflows []Workflow `yaml:"workflows" json:"workflows"`
	// Classes of functions and workflows that are drawn.
	Classes []FunctionClass `yaml:"classes" json:"classes"`
	// System is the seed of what is drawn once, for all episodes: functions and workflows.
	System uint64 `yaml:"system" json:"system"`
	// Steps is the number of steps of a workflow that is drawn; Join the probability that a step has a second
	// predecessor.
	Steps Between `yaml:"steps" json:"steps" range:"[1,256]"`
	Join  float64 `yaml:"join" json:"join" range:"[0,1]"`

	// Size is that of a request's input, uniform; it multiplies work and output.
	Size Span `yaml:"size" json:"size" range:"[1e-3,1e3]"`
	// Noise is the deviation of the logarithm of an execution's time over what was expected of it; the mean ratio is 1.
	Noise float64 `yaml:"noise" json:"noise" range:"[0,2]"`
	// Priorities of requests.
	Priorities []Priority `yaml:"priorities" json:"priorities"`
	// Cold says how long cold starts take.
	Cold ColdStart `yaml:"cold" json:"cold"`
	// KeepAlive is the seconds for which an instance stays warm after an invocation; 0 keeps none.
	KeepAlive float64 `yaml:"keep_alive" json:"keep_alive" range:"[0,1e7]"`
	// Prices of what is allocated.
	Prices Prices `yaml:"prices" json:"prices"`
	// Weights of the reward's terms.
	Weights Weights `yaml:"weights" json:"weights"`

	// Window is the number of waiting invocations that are seen and can be chosen; more wait in the backlog, in order.
	Window int `yaml:"window" json:"window" range:"[1,4096]"`
	// Running is the number of running invocations that are seen, the first to be started first.
	Running int `yaml:"running" json:"running" range:"[1,4096]"`
	// Most is the number of requests that can be in the system. Requests that arrive while it is full are dropped.
	Most int `yaml:"most" json:"most" range:"[1,2^20]"`
}

// Default returns a cluster of 16 nodes, 40 cores and 8 GPU slices under a steady load of 0.7. The CPU and memory
// prices are those of Aquatope's and FaaSConf's evaluations. No source gives the classes of functions and nodes,
// deadlines and weights: these are our choice.
func Default() Config {
	return Config{
		Seconds: 30, MaxTime: 600, Load: 0.7, Workload: Steady, Variation: 0.25,
		// Bursts of 7.5 times the rate for 2 s in 12, a swing every 15 s: days and hours scaled to an episode's length.
		Burst:   workload.Burst{Factor: 7.5, On: 2, Off: 10},
		Wave:    workload.Wave{Period: 0.25, Amplitude: 0.8},
		TPCH:    TPCHConfig{Sizes: []string{"2g"}, Executors: 20, Scale: 0.1},
		Longest: 15,
		Wait:    WaitEvent, Tick: 1, Hold: true,
		Nodes: []NodeClass{
			{Name: "standard", Count: 8, CPU: 2000, Memory: 4096, Network: 1000, Speed: 1, Price: 1},
			{Name: "fast", Count: 4, CPU: 4000, Memory: 8192, Network: 2500, Speed: 1.5, Price: 1.6},
			{Name: "memory", Count: 2, CPU: 2000, Memory: 16384, Network: 1000, Speed: 1, Price: 1.1},
			{Name: "gpu", Count: 2, CPU: 2000, Memory: 8192, Network: 2500, GPU: 4, Speed: 1.2, Price: 1.3},
		},
		Amounts: []float64{0.5, 1, 2, 4},
		Classes: []FunctionClass{
			{Name: "short", Functions: 8, Workflows: 6, Share: 0.6, Work: Span{0.2, 2}, CPU: Span{500, 1000},
				Memory:  Span{128, 512},
				Network: Span{20, 100}, Image: Span{50, 250}, Parallel: Span{0.5, 0.8}, Output: Span{0.1, 2}},
			{Name: "long", Functions: 4, Workflows: 4, Share: 0.2, Work: Span{5, 15}, CPU: Span{1000, 2000},
				Memory:  Span{512, 1024},
				Network: Span{20, 100}, Image: Span{200, 600}, Parallel: Span{0.8, 0.95}, Output: Span{5, 50}},
			{Name: "memory", Functions: 4, Workflows: 3, Share: 0.1, Work: Span{1, 4}, CPU: Span{500, 1000},
				Memory:  Span{2048, 4096},
				Network: Span{50, 200}, Image: Span{200, 600}, Parallel: Span{0.5, 0.8}, Output: Span{5, 50}},
			{Name: "gpu", Functions: 4, Workflows: 3, Share: 0.1, Work: Span{0.5, 3}, CPU: Span{500, 1000},
				Memory:  Span{1024, 4096},
				Network: Span{50, 200}, GPU: Span{1, 1}, Image: Span{500, 1500}, Parallel: Span{0.8, 0.95}, Output: Span{1, 10}},
		},
		Steps: Between{1, 4}, Join: 0.3,
		Size: Span{0.5, 1.5}, Noise: 0.1,
		Priorities: []Priority{{Share: 0.8, Weight: 1, Factor: 3, Grace: 2}, {Share: 0.2, Weight: 3, Factor: 2, Grace: 1}},
		Cold:       ColdStart{Boot: 0.2, Pull: 300}, KeepAlive: 10,
		Prices:  Prices{CPU: 0.173, Memory: 0.0123, GPU: 0.5, Idle: 1},
		Weights: Weights{Latency: 1, Utilisation: 1, Violations: 1, Cost: 100},
		Window:  64, Running: 64, Most: 4096,
	}
}

// Limits that keep shares of resources exact in float32, and states small.
const (
	mostNodes    = 1 << 12
	mostAmounts  = 16
	mostFunction = 1 << 12
	mostHour     = 1e10 // USD of the whole cluster; in pUSD a second it fits 64 bits
)

// Validate names the first field that is wrong.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	switch {
	case c.MaxTime < c.Seconds:
		return bounds.Errorf("max_time", "is %g, want at least seconds, %g", c.MaxTime, c.Seconds)
	case c.Steps.High < c.Steps.Low:
		return bounds.Errorf("steps", "is %d to %d, want low ≤ high", c.Steps.Low, c.Steps.High)
	case c.Size.High < c.Size.Low:
		return bounds.Errorf("size", "is %g to %g, want low ≤ high", c.Size.Low, c.Size.High)
	case c.Workload == TPCH && c.TPCH.Path == "":
		return bounds.Errorf("tpch.path", "is empty, want the file of TPC-H's jobs for workload %q", TPCH)
	}
	for _, check := range []func() error{c.validateNodes, c.validateAmounts, c.validatePriorities, c.validateClasses} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) validateNodes() error {
	nodes, hour := 0, 0.0
	for _, n := range c.Nodes {
		nodes += n.Count
		each := float64(c.Prices.CPU*float64(n.CPU))/1000 + float64(c.Prices.Memory*max(1, c.Prices.Idle)*float64(n.Memory))/1000 +
			float64(c.Prices.GPU*float64(n.GPU))
		hour += float64(n.Price * float64(n.Count) * each)
	}
	if nodes < 1 || nodes > mostNodes {
		return bounds.Errorf("nodes", "are %d in all, want 1 to %d", nodes, mostNodes)
	}
	if hour > mostHour {
		return bounds.Errorf("prices", "are %+v, with which all nodes cost %g USD an hour, want at most %g", c.Prices, hour, mostHour)
	}
	return nil
}

func (c *Config) validateAmounts() error {
	if len(c.Amounts) > mostAmounts || !slices.Contains(c.Amounts, 1) {
		return bounds.Errorf("amounts", "are %v, want at most %d with 1 among them", c.Amounts, mostAmounts)
	}
	for i, a := range c.Amounts {
		if i > 0 && a <= c.Amounts[i-1] {
			return bounds.Errorf(fmt.Sprintf("amounts[%d]", i), "is %g, want them ascending: %v", a, c.Amounts)
		}
	}
	return nil
}

func (c *Config) validatePriorities() error {
	total := 0.0
	for _, p := range c.Priorities {
		total += p.Share
	}
	if !(total > 0) || len(c.Priorities) > 1<<8 {
		return bounds.Errorf("priorities", "are %d with shares of %g in all, want 1 to 256 with some", len(c.Priorities),
			total)
	}
	return nil
}

func (c *Config) validateClasses() error {
	if (len(c.Functions) > 0) != (len(c.Workflows) > 0) {
		return bounds.Errorf("functions", "are %d and workflows %d, want both or neither", len(c.Functions), len(c.Workflows))
	}
	if len(c.Functions) > 0 && (c.Workload == Azure || c.Workload == TPCH) {
		return bounds.Errorf("functions", "are given, but workload %q has its own; want none", c.Workload)
	}
	if len(c.Functions) > mostFunction {
		return bounds.Errorf("functions", "are %d, want at most %d", len(c.Functions), mostFunction)
	}
	if len(c.Classes) == 0 && len(c.Functions) == 0 {
		return bounds.Errorf("classes", "are none, want some, or functions and workflows that are given")
	}
	total := 0.0
	for i, k := range c.Classes {
		total += k.Share
		for _, f := range []struct {
			key string
			got Span
		}{
			{"work", k.Work}, {"cpu", k.CPU}, {"memory", k.Memory}, {"network", k.Network},
			{"gpu", k.GPU}, {"image", k.Image}, {"parallel", k.Parallel}, {"output", k.Output},
		} {
			if f.got.Low > f.got.High {
				return bounds.Errorf(fmt.Sprintf("classes[%d].%s", i, f.key), "is %g to %g, want low ≤ high", f.got.Low, f.got.High)
			}
		}
	}
	if len(c.Functions) == 0 && !(total > 0) {
		return bounds.Errorf("classes", "have shares of %g in all, want some", total)
	}
	return nil
}
