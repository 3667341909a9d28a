package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Config configures stoker/Sizing-v2 and stoker/Sizing-v3, except for their load, which is a workload.Config.
type Config struct {
	// Workflow is sequential (5 functions), parallel (6), branch (7), tcktapp (12), generated (a random one, see
	// Generated) or own (the workflow in Graph).
	Workflow string `yaml:"workflow" json:"workflow" oneof:"sequential|parallel|branch|tcktapp|generated|own"`
	// Workflows puts several workflows side by side in one environment, such as [sequential, parallel, branch], so that
	// one policy learns on all of them. Workflow is then not read. Each has its own machines, its own draws of the same
	// workload, its own QoS and reward; what is reported is the mean over them. features must be described. [] is off.
	Workflows []string `yaml:"workflows" json:"workflows" oneof:"sequential|parallel|branch|tcktapp|generated|own"`
	// Generated says which workflow generated is. Its laws are drawn within the range of the built-in ones, its latency
	// threshold is 2.6 times the response of a request that is alone, and platform.nodes are those for each six functions.
	Generated workflow.GenerateConfig `yaml:"generated" json:"generated"`
	// Sizes are the numbers of functions of the generated workflows among Workflows, in their order; [] is
	// generated.functions for all. It is not read where workflows is [], so that a policy which learned on several is
	// evaluated in one by workflows and workflow alone.
	Sizes []int `yaml:"generated_sizes,omitempty" json:"generated_sizes,omitempty" range:"[3,1000]"`
	// Slack is how many times the response of a request that is alone the latency threshold of generated workflows is: one
	// number for all, or one for each generated workflow among Workflows, in their order (not read where workflows is []).
	// [] is 2.6.
	Slack []float64 `yaml:"generated_slack,omitempty" json:"generated_slack,omitempty" range:"[1,1000]"`
	// Services says which generated workflows are of services as TcktApp's: lighter, and each instance takes one request at
	// a time while the others wait in place of being refused. One value for all, or one for each generated workflow among
	// Workflows, in their order (not read where workflows is []). [] is false.
	Services []bool `yaml:"generated_services,omitempty" json:"generated_services,omitempty"`
	// Graph is the workflow if Workflow is own. Each of its functions needs a law: one of FaaSConf's, by its name, or one
	// in Laws. QoS must then be given, too.
	Graph workflow.Graph `yaml:"graph,omitempty" json:"graph,omitzero"`
	// Windows is the length of an episode; each window lasts 30 s. FaaSConf searches for 15 windows under static users
	// and runs its trace for 170.
	Windows int `yaml:"windows" json:"windows" range:"[1,2^20]"`
	// Warmup is the number of windows under Initial before an episode, which give the first observation.
	Warmup int `yaml:"warmup" json:"warmup" range:"[0,1000]"`
	// Protocol is fresh (every window a new deployment: remove, deploy, wait, ramp up; as FaaSConf measured),
	// continuous (instances, requests and queues continue from window to window; a resize is a rolling update) or auto:
	// fresh for closed-loop users, continuous for arrivals.
	Protocol string `yaml:"protocol" json:"protocol" oneof:"auto|fresh|continuous"`
	// Initial is the normalised configuration of every function before the first decision (without concurrency where
	// that is not decided). The default is the middle of the ranges, as in the fixed baseline.
	Initial []float64 `yaml:"initial" json:"initial" range:"[0,1]"`
	// Start is the minute of the workload at which episodes start; -1 draws one for each episode.
	Start float64 `yaml:"start" json:"start" range:"[-1,2^24]"`
	// Users lists numbers of closed-loop users; each episode draws one of them. Empty means the workload's number.
	Users []int `yaml:"users" json:"users" range:"[1,2^16]"`
	// Decide is hybrid (CPU, memory, replicas and concurrency limit) or hardware (the first three, as the hardware-only
	// methods of FaaSConf's Figs. 11 and 12). TcktApp's functions have no limit to decide.
	Decide string `yaml:"decide" json:"decide" oneof:"hybrid|hardware"`
	// Concurrency is the concurrency limit of every instance if Decide is hardware; 0 is no limit, which is OpenFaaS'
	// default and what the published files leave it at (max_inflight is commented out there).
	Concurrency int `yaml:"concurrency" json:"concurrency" range:"[0,4096]"`
	// QoS are the thresholds that each window must meet.
	QoS QoSConfig `yaml:"qos" json:"qos"`
	// Reward is the agents' reward.
	Reward Reward `yaml:"reward" json:"reward"`
	// Price is the price of resources.
	Price Price `yaml:"price" json:"price"`
	// Refusals says which refusals fail a request: counted (that of every function) or published (all but those by
	// starter, whose response FaaSConf's handlers drop).
	Refusals string `yaml:"refusals" json:"refusals" oneof:"counted|published"`
	// Noise is the variation between repetitions of a measurement.
	Noise Noise `yaml:"noise" json:"noise"`
	// Platform is the platform of the functions.
	Platform Platform `yaml:"platform" json:"platform"`
	// MemoryLimit lets memory limit the requests in an instance, if the function's law says how much one holds: resnet
	// refuses requests that do not fit.
	MemoryLimit bool `yaml:"memory_limit" json:"memory_limit"`
	// Laws replaces the laws of functions.
	Laws []FunctionLaw `yaml:"laws" json:"laws"`
	// Features is paper (11 numbers per function, 10 where concurrency is not decided), extended (five more) or described:
	// what the function is, its load relative to what is deployed, and the trend, the same columns for every workflow, so
	// that one set of weights serves any function of any workflow. An action then always has four components; where the
	// concurrency limit is not decided the fourth is ignored.
	Features string `yaml:"features" json:"features" oneof:"paper|extended|described"`
	// LoadKnown lets agents observe the load of the next window instead of the last one's, as in FaaSConf's dynamic
	// experiment. In a trace it is the expected number, not the drawn one.
	LoadKnown bool `yaml:"load_known" json:"load_known"`
	// LoadNext adds the load expected in the next window to the observations, beside the last one's; with described also the
	// demand and the utilisation that it brings. Not together with LoadKnown.
	LoadNext bool `yaml:"load_next,omitempty" json:"load_next,omitempty"`
}

// FunctionLaw is the law of a function of the workflow.
type FunctionLaw struct {
	// Function is the function's name.
	Function      string `yaml:"function" json:"function"`
	perfmodel.Law `yaml:",inline"`
}

// Protocols, as [Config.Protocol] names them.
const (
	Auto       = "auto"
	Fresh      = "fresh"
	Continuous = "continuous"
)

// What is decided, as [Config.Decide] names it.
const (
	Hybrid   = "hybrid"
	Hardware = "hardware"
)

// Sets of features, as [Config.Features] names them.
const (
	PaperFeatures    = "paper"
	ExtendedFeatures = "extended"
	Described        = "described"
)

// What refusals do, as [Config.Refusals] names it.
const (
	CountedRefusals   = "counted"
	PublishedRefusals = "published"
)

// QoSConfig are thresholds and the table for those that are 0.
type QoSConfig struct {
	// Table is quantiles (the published thresholds, and the same quantiles of random configurations elsewhere) or rising
	// (a fixed latency, successes in proportion to users, and a share of successes, so that more users cost more).
	Table string `yaml:"table" json:"table" oneof:"quantiles|rising"`
	QoS   `yaml:",inline"`
}

// QoS are the thresholds of a window.
type QoS struct {
	// Latency is the highest allowed mean latency of successful requests, in seconds.
	Latency float64 `yaml:"latency" json:"latency" range:"[0,1e6]"`
	// Count is the smallest allowed number of successes in a window with closed-loop users.
	Count int `yaml:"count" json:"count" range:"[0,2^30]"`
	// Success is the smallest allowed fraction of successes among the requests that end in a window of a trace.
	Success float64 `yaml:"success" json:"success" range:"[0,1]"`
}

// Reward configures the agents' reward.
type Reward struct {
	// Form is paper (-price·Price + QoS if the QoS is met), code (-price·Price - QoS if it is not) or local-global
	// (the code's first form: half each agent's own price and latency, half the workflow's latency and throughput).
	Form string `yaml:"form" json:"form" oneof:"paper|code|local-global"`
	// Price is the weight of the price, per USD per hour.
	Price float64 `yaml:"price" json:"price" range:"[0,1e6]"`
	// PerFunctions is the number of functions for which Price is meant: a workflow of n functions has the weight
	// Price·PerFunctions/n, so that a kept window is worth about as much in large workflows as in small ones. 0 is Price
	// for all.
	PerFunctions int `yaml:"per_functions,omitempty" json:"per_functions,omitempty" range:"[0,1000]"`
	// QoS is the reward for meeting the QoS, or the penalty for missing it.
	QoS float64 `yaml:"qos" json:"qos" range:"[0,1e6]"`
	// Served is the reward for one request per second that succeeds. Beyond the load that the ranges serve every window
	// misses the QoS, so that without it giving up (nearly no price, nearly no success) is the best policy there.
	Served float64 `yaml:"served" json:"served" range:"[0,1e6]"`
	// NearMiss gives windows that miss the QoS a part of QoS.
	NearMiss NearMiss `yaml:"near_miss" json:"near_miss"`
	// Dial replaces QoS. [] is off; [2] is 2 in every episode; [0.5, 8] draws a number for each episode by its seed, log
	// uniform, which the described features show. One policy that learned under a range then serves every number in it:
	// small ones ask for low prices, large ones for few violations. Returns under different numbers are not comparable,
	// prices and violations are. Where it is drawn the reward is divided by its square root, so that in learning episodes
	// with large numbers do not drown the others; which policy is best under a number does not depend on this.
	Dial []float64 `yaml:"dial" json:"dial" range:"(0,1e6]"`
}

// NearMiss is the credit for a window that misses the QoS: the share
//
//	Credit · (min(1, success/threshold) · min(1, latency threshold/latency))^Power
//
// of the reward for a kept one (with the form code: that share of the penalty is let off). With closed-loop users the
// number of successes over its threshold is a factor, too. Prices and violations are not changed.
type NearMiss struct {
	// Credit is the share that a window just short of the thresholds earns; 0 is off.
	Credit float64 `yaml:"credit" json:"credit" range:"[0,1]"`
	// Power is how fast the credit falls with the distance.
	Power float64 `yaml:"power" json:"power" range:"(0,100]"`
}

// Forms of the reward, as [Reward.Form] names them.
const (
	PaperReward       = "paper"
	CodeReward        = "code"
	LocalGlobalReward = "local-global"
)

// Price is the price of resources.
type Price struct {
	// CPU is in USD per vCPU-hour, Memory in USD per 1000 MB and hour. FaaSConf's code has 0.012 for memory, which agrees
	// with its data; the paper's text has 0.0123.
	CPU    float64 `yaml:"cpu" json:"cpu" range:"[0,1e6]"`
	Memory float64 `yaml:"memory" json:"memory" range:"[0,1e6]"`
	// ExecTime multiplies each function's price by its mean execution time of the window in seconds, as Eq. 2 of the
	// paper says. FaaSConf's code and data do not.
	ExecTime bool `yaml:"exec_time" json:"exec_time"`
}

// Noise is the variation between repetitions of a measurement.
type Noise struct {
	// Request scales the coefficient of variation of a request's work: 1 is that of the laws, 0 is none.
	Request float64 `yaml:"request" json:"request" range:"[0,100]"`
	// Window is the coefficient of variation of a random factor on all work of a function in a window. The factor stands
	// for the influence of the machines and of other containers.
	Window float64 `yaml:"window" json:"window" range:"[0,10]"`
}

// Platform describes the platform of the functions. The default is FaaSConf's testbed.
type Platform struct {
	// Nodes is the number of machines; in a generated workflow it is that for each six functions. Each machine has CPU
	// millicores and Memory MB. A configuration that needs more than all of them have is refused.
	Nodes  int `yaml:"nodes" json:"nodes" range:"[1,2^20]"`
	CPU    int `yaml:"cpu" json:"cpu" range:"[250,2^30]"`
	Memory int `yaml:"memory" json:"memory" range:"[128,2^30]"`
	// Orchestrator is the time in seconds that a request spends outside its functions, Hop the time to pass it to a
	// function.
	Orchestrator float64 `yaml:"orchestrator" json:"orchestrator" range:"[0.001,3600]"`
	Hop          float64 `yaml:"hop" json:"hop" range:"[0,3600]"`
	// ColdStart is the time in seconds until a new instance accepts requests. Settle is the time in seconds between a new
	// deployment and its load, Drain the time after the load in which functions' latencies are still measured.
	ColdStart float64 `yaml:"cold_start" json:"cold_start" range:"[0,3600]"`
	Settle    float64 `yaml:"settle" json:"settle" range:"[0,3600]"`
	Drain     float64 `yaml:"drain" json:"drain" range:"[0,3600]"`
	// Timeout is the time in seconds after which a function aborts a request.
	Timeout float64 `yaml:"timeout" json:"timeout" range:"[0,86400]"`
	// OnFailure is continue (the workflow continues with an invalid input, as FaaSConf's handlers do) or abort.
	OnFailure string `yaml:"on_failure" json:"on_failure" oneof:"continue|abort"`
}

// Reactions to a function's failure, as [Platform.OnFailure] names them.
const (
	ContinueOnFailure = "continue"
	AbortOnFailure    = "abort"
)

// rates returns the prices per millicore and MB. They are rounded decimal fractions, divided once, so that they equal
// the literals of FaaSConf's code bit for bit.
func (p *Price) rates() perfmodel.Rates {
	per := func(x float64) float64 { return math.Round(x*1e9) / 1e12 }
	return perfmodel.Rates{CPU: per(p.CPU), Memory: per(p.Memory)}
}

// Default returns the configuration of FaaSConf's main experiment, with the Parallel workflow: stoker/Sizing-v2.
func Default() Config {
	return Config{
		Workflow: Parallel, Workflows: []string{}, Generated: workflow.GenerateConfig{Functions: 20, Seed: 1},
		Windows: 60, Warmup: 1, Protocol: Auto, Initial: []float64{0.5, 0.5, 0.5, 0.5}, Start: -1,
		Decide: Hybrid, QoS: QoSConfig{Table: QuantilesQoS},
		Reward: Reward{Form: PaperReward, Price: 0.1, QoS: 0.5, NearMiss: NearMiss{Power: 4}, Dial: []float64{}},
		Price:  Price{CPU: 0.173, Memory: 0.012},
		Noise:  Noise{Request: 1, Window: 0.08},
		Platform: Platform{
			Nodes: 8, CPU: 8000, Memory: 16384, Orchestrator: 1, Hop: 0.02, ColdStart: 3, Settle: 20, Drain: 20, Timeout: 120,
			OnFailure: ContinueOnFailure,
		},
		MemoryLimit: true, Features: ExtendedFeatures, Refusals: PublishedRefusals,
	}
}

// DefaultCounted returns the configuration of stoker/Sizing-v3: [Default], with every refusal counted and thresholds that
// rise with users. A policy cannot save money by a single replica of starter that refuses most requests, and more users
// cost more.
func DefaultCounted() Config {
	c := Default()
	c.Refusals, c.QoS.Table = CountedRefusals, RisingQoS
	return c
}

// DefaultFactor scales the embedded Azure trace for the default configuration. With it an oracle that sees one window
// ahead, without noise, meets the QoS in
// nearly nine of ten windows, and the middle of the ranges as a fixed configuration does so in about half. From 0.25 to
// 1.2 the oracle meets it as often, at rising prices; but from 0.8 it costs more than 5 USD/h, the price from which
// missing it gives a higher reward of the paper's form, and below 0.4 the middle of the ranges meets it too. The
// experiment is TestFactor in agents/baselines/sizing.
const DefaultFactor = 0.6

// DefaultWorkload returns the embedded trace at [DefaultFactor].
func DefaultWorkload() workload.Config {
	w := workload.Default()
	w.Factor = DefaultFactor
	return w
}

// Validate reports the first wrong field by its key and says what is expected.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if len(c.Workflows) > 0 {
		return c.validateMany()
	}
	if own := c.Workflow == Own; own != (len(c.Graph.Nodes)+len(c.Graph.Edges) > 0) {
		return bounds.Errorf("graph", "is %s, want a graph where workflow is own, and only there",
			map[bool]string{true: "empty", false: "given"}[own])
	}
	if c.Workflow == Own && (c.QoS.Latency == 0 || c.QoS.Count == 0 && c.QoS.Success == 0) {
		return bounds.Errorf("qos", "is %+v, want a latency, and a count (users) or a share of successes (arrivals), "+
			"where workflow is own", c.QoS.QoS)
	}
	if c.Concurrency > 0 && c.Decide == Hybrid {
		return bounds.Errorf("concurrency", "is %d, want 0 where decide is %s: the agents then choose the limit",
			c.Concurrency, Hybrid)
	}
	if c.LoadKnown && c.LoadNext {
		return bounds.Errorf("load_next", "is true beside load_known, want one of both: load_known shows the next window's load in "+
			"place of the last one's, load_next beside it")
	}
	want := 4
	if (c.Workflow == TcktApp || c.Decide == Hardware) && c.Features != Described {
		want = 3
	}
	if len(c.Initial) < want || len(c.Initial) > 4 {
		return bounds.Errorf("initial", "is %v, want %d numbers: cpu, memory, replicas, concurrency", c.Initial, want)
	}
	return c.Reward.validate(c.Features)
}
