package variants

import (
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// App describes an application. Its zero value is not valid: it has no functions.
type App struct {
	// Name is the application's name in reports; About says in a sentence what it is and where its numbers are from.
	Name  string `yaml:"name" json:"name"`
	About string `yaml:"about,omitempty" json:"about,omitempty"`
	// Workflow says in which order the functions run.
	Workflow workflow.Graph `yaml:"workflow" json:"workflow"`
	// Delays are what the platform adds for each run of a node and for each edge, in seconds.
	Delays workflow.Delays `yaml:"delays,omitempty" json:"delays,omitzero"`
	// Tariff is what runs of functions cost: lambda100 (OptiServe's eq. 3.2: times rounded up to 100 ms), lambda (to 1 ms),
	// table (SLApp's printed prices per 100 ms, 128 to 3008 MB in steps of 64 MB) or own (Prices). Empty is lambda100.
	Tariff string `yaml:"tariff,omitempty" json:"tariff,omitempty" oneof:"|lambda100|lambda|table|own"`
	// Prices is the tariff own.
	Prices bill.Tariff `yaml:"prices,omitempty" json:"prices,omitzero"`
	// Billing says what is rounded up: expected (each run's time, so the price is the expectation of the rounded time
	// wherever the times' distribution is known) or mean (the mean time, as the papers do). Empty is expected.
	Billing string `yaml:"billing,omitempty" json:"billing,omitempty" oneof:"|expected|mean"`
	// Orchestration is who moves requests between functions: none (costs nothing, as in the papers), standard or express
	// (AWS Step Functions). Empty is none.
	Orchestration bill.Orchestration `yaml:"orchestration,omitempty" json:"orchestration,omitempty" oneof:"|none|standard|express"`
	// Transitions are the state transitions of an execution that the orchestration standard bills; 0 is one for each run of
	// a node. State machines have more: states that are no functions.
	Transitions float64 `yaml:"transitions,omitempty" json:"transitions,omitempty" range:"[0,1e9]"`
	// Accuracy is the formula of the application's accuracy score: mean, weighted, min or geometric over the functions
	// whose variants have accuracies, or an expression over their names, such as 2*resnet + yolo. Empty is mean.
	Accuracy string `yaml:"accuracy,omitempty" json:"accuracy,omitempty"`
	// Weights are those of weighted and geometric, per function. They are divided by their sum; empty is equal ones.
	Weights map[string]float64 `yaml:"weights,omitempty" json:"weights,omitempty"`
	// Normalize divides the score by its greatest value, so that the best variants give 1.
	Normalize bool `yaml:"normalize,omitempty" json:"normalize,omitempty"`
	// Profiles is a CSV file of measured runs for all variants that have neither a law nor a file of their own.
	Profiles string `yaml:"profiles,omitempty" json:"profiles,omitempty"`
	// Functions are the workflow's functions, in any order.
	Functions []Function `yaml:"functions" json:"functions"`
}

// Function is a function of an application.
type Function struct {
	// Name is the function's name in the workflow.
	Name string `yaml:"name" json:"name"`
	// Memory are the sizes in MB that all variants can have.
	Memory Grid `yaml:"memory,omitempty" json:"memory,omitzero"`
	// Variants are what the function can run, such as models of growing accuracy. A function that is no model has one; it
	// may be left out where the application's profiles have the function.
	Variants []Variant `yaml:"variants,omitempty" json:"variants,omitempty"`
	// Fixed says that nothing is to choose and no run is billed: a state of the workflow that takes Seconds, such as a wait.
	Fixed   bool    `yaml:"fixed,omitempty" json:"fixed,omitempty"`
	Seconds float64 `yaml:"seconds,omitempty" json:"seconds,omitempty" range:"[0,1e9]"`
}

// Variant is one implementation of a function.
type Variant struct {
	// Name is the variant's name; it may be empty where it is the only one.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Accuracy is in [0, 1]. A function with several variants of which none has one gives the i-th of N the accuracy i/N.
	Accuracy *float64 `yaml:"accuracy,omitempty" json:"accuracy,omitempty"`
	// Memory are the sizes that this variant can have, where they differ from the function's.
	Memory Grid `yaml:"memory,omitempty" json:"memory,omitzero"`
	// Law gives the mean time of a run over the memory size.
	Law Law `yaml:"law,omitempty" json:"law,omitzero"`
	// CV is the coefficient of variation of a run's time at any one size, 0 for times that do not vary. Billed times and
	// percentiles take the times as lognormal.
	CV float64 `yaml:"cv,omitempty" json:"cv,omitempty" range:"[0,100]"`
	// Profiles is a CSV file of measured runs, from which Law and CV are fitted, as stoker profile fit reads it. Law may
	// then name the form. Profile is the function's name in the file; empty is the variant's or the function's name.
	Profiles string `yaml:"profiles,omitempty" json:"profiles,omitempty"`
	Profile  string `yaml:"profile,omitempty" json:"profile,omitempty"`
}

// Tariffs by name.
const (
	Lambda100 = "lambda100"
	Lambda    = "lambda"
	Table     = "table"
	Own       = "own"
)

// Billing by name.
const (
	Expected = "expected"
	OfMean   = "mean"
)

// tariff returns the prices that the App's keys name.
func (a *App) tariff() bill.Tariff {
	switch a.Tariff {
	case Lambda:
		return bill.Lambda()
	case Table:
		return bill.LambdaTable()
	case Own:
		return a.Prices
	}
	return bill.Lambda100()
}
