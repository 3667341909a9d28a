package steps

import (
	"github.com/stoker-rl/stoker/envs/workflow"
)

// App describes a workflow of steps. Its zero value is not valid: it has no steps.
type App struct {
	// Name is the workflow's name in reports; About says in a sentence what it is and where its numbers are from.
	Name  string `yaml:"name" json:"name"`
	About string `yaml:"about,omitempty" json:"about,omitempty"`
	// Workflow says in which order the steps run: each node is a step. It has neither loops nor calls.
	Workflow workflow.Graph `yaml:"workflow" json:"workflow"`
	// Platform names where the steps run: aws, knative, or own (Own). Empty is aws.
	Platform string   `yaml:"platform,omitempty" json:"platform,omitempty" oneof:"|aws|knative|own"`
	Own      Platform `yaml:"own,omitempty" json:"own,omitzero"`
	// SLO is the limit in seconds of a request's time, in place of the environment's range of factors on the fastest.
	SLO float64 `yaml:"slo,omitempty" json:"slo,omitempty" range:"[0,1e6]"`
	// Steps are the workflow's nodes, in any order.
	Steps []StepConfig `yaml:"steps" json:"steps"`
}

// StepConfig describes a step.
type StepConfig struct {
	// Name is the name of the step's node in the workflow.
	Name string `yaml:"name" json:"name"`
	// Tasks is the number of tasks, which the step's instances share evenly (γ). 0 is a state that does nothing, such as
	// the fork at which parallel pipelines begin: nothing is to choose, it takes Wait seconds and costs nothing.
	Tasks int     `yaml:"tasks" json:"tasks" range:"[0,1e6]"`
	Wait  float64 `yaml:"wait,omitempty" json:"wait,omitempty" range:"[0,1e6]"`
	// Law is the time that an instance computes for its tasks.
	Law Law `yaml:"law,omitempty" json:"law,omitzero"`
	// Multicore says that the code itself uses several cores: processes change nothing, and Law is case 1 of eq. 1.
	Multicore bool `yaml:"multicore,omitempty" json:"multicore,omitempty"`
	// Download is what the instances fetch before they compute, Upload what they store after it.
	Download Transfer `yaml:"download" json:"download"`
	Upload   Transfer `yaml:"upload" json:"upload"`
	// MinMemory is the least memory in MB that the code runs with. MaxInstances and MaxProcesses bound the step below what
	// the platform allows: 1 for tasks that cannot be shared. 0 is the platform's limit.
	MinMemory    int `yaml:"min_memory,omitempty" json:"min_memory,omitempty" range:"[0,1e6]"`
	MaxInstances int `yaml:"max_instances,omitempty" json:"max_instances,omitempty" range:"[0,1000]"`
	MaxProcesses int `yaml:"max_processes,omitempty" json:"max_processes,omitempty" range:"[0,64]"`
}

// Transfer is data that a step moves between its instances and the storage. The objects are spread evenly over the
// instances; where there are fewer objects than instances, each instance moves one.
type Transfer struct {
	// Objects is their number, 0 for none; MB is the size of each.
	Objects int     `yaml:"objects" json:"objects" range:"[0,1e6]"`
	MB      float64 `yaml:"mb" json:"mb" range:"[0,1e6]"`
}

// Law is the mean time in seconds that an instance computes for γ tasks (StepConf, eq. 1). With m MB and q processes it
// has the speed x = min(m/m_s, q), where m_s is the platform's [Platform.SingleCore].
//
// Code of one core (case 2, δ_s = 1) takes A·γ/(x + B) + Fixed. Code of several cores (case 1) takes
// (A·γ + B)·e^(−C·x) + Fixed with x = min(m/m_s, Cores) of at least 1, and x times less below one core:
// (A·γ + B)·e^(−C)/x + Fixed.
//
// In place of A and B it can be measured: Seconds that a process with a whole core takes for Tasks tasks.
type Law struct {
	// A is in seconds a task. B is in cores for code of one core, in seconds for code of several ones.
	A float64 `yaml:"a,omitempty" json:"a,omitempty" range:"[0,1e6]"`
	B float64 `yaml:"b,omitempty" json:"b,omitempty" range:"[0,1e6]"`
	// C is per core: how fast more cores shorten the time of code of several cores.
	C float64 `yaml:"c,omitempty" json:"c,omitempty" range:"[0,100]"`
	// Cores is the most cores that code of several cores uses; 0 is all of the platform's largest size.
	Cores float64 `yaml:"cores,omitempty" json:"cores,omitempty" range:"[0,1024]"`
	// Fixed is in seconds (φ).
	Fixed float64 `yaml:"fixed,omitempty" json:"fixed,omitempty" range:"[0,1e6]"`
	// Tasks and Seconds are measured times, both ascending, with straight lines between them. More tasks than the last
	// take longer in proportion.
	Tasks   []int     `yaml:"tasks,omitempty" json:"tasks,omitempty" range:"[1,1e6]"`
	Seconds []float64 `yaml:"seconds,omitempty" json:"seconds,omitempty" range:"(0,1e6]"`
}
