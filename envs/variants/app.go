package variants

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
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

// Grid are memory sizes in MB: either a list, or From, From+Step, … up to To.
type Grid struct {
	Sizes []float64 `yaml:"sizes,omitempty" json:"sizes,omitempty" range:"(0,1e9]"`
	From  float64   `yaml:"from,omitempty" json:"from,omitempty" range:"[0,1e9]"`
	To    float64   `yaml:"to,omitempty" json:"to,omitempty" range:"[0,1e9]"`
	Step  float64   `yaml:"step,omitempty" json:"step,omitempty" range:"[0,1e9]"`
}

// Sizes returns the grid of a list.
func Sizes(mb ...float64) Grid { return Grid{Sizes: mb} }

// Range returns the grid from, from+step, … up to to.
func Range(from, to, step float64) Grid { return Grid{From: from, To: to, Step: step} }

// General is the papers' grid of functions that are no models: 128 to 3008 MB, 16 sizes.
func General() Grid { return Range(128, 3008, 192) }

// ML is the papers' grid of functions that are models: 1024 to 10240 MB, 19 sizes.
func ML() Grid { return Range(1024, 10240, 512) }

// maxSizes bounds a variant's sizes.
const maxSizes = 4096

func (g Grid) empty() bool { return len(g.Sizes) == 0 && g.From == 0 && g.To == 0 && g.Step == 0 }

// list returns the sizes, ascending. key is the grid's place in the file.
func (g Grid) list(key string) ([]float64, error) {
	if len(g.Sizes) > 0 {
		if g.From != 0 || g.To != 0 || g.Step != 0 {
			return nil, bounds.Errorf(key, "has sizes and from, to, step: want one of both")
		}
		for i, mb := range g.Sizes {
			if !(mb > 0) || math.IsInf(mb, 0) {
				return nil, bounds.Errorf(key, "has %g MB, want positive numbers", mb)
			}
			if slices.Index(g.Sizes, mb) < i {
				return nil, bounds.Errorf(key, "has %g MB twice", mb)
			}
		}
		if len(g.Sizes) > maxSizes {
			return nil, bounds.Errorf(key, "has %d sizes, want at most %d", len(g.Sizes), maxSizes)
		}
		return slices.Sorted(slices.Values(g.Sizes)), nil
	}
	if !(g.From > 0) || !(g.To >= g.From) || math.IsInf(g.To, 0) || g.To > g.From && !(g.Step > 0) {
		return nil, bounds.Errorf(key, "goes from %g to %g MB in steps of %g, want 0 < from ≤ to and step > 0", g.From, g.To, g.Step)
	}
	if g.To == g.From {
		return []float64{g.From}, nil
	}
	n := math.Floor((g.To-g.From)/g.Step+1e-9) + 1
	if n > maxSizes {
		return nil, bounds.Errorf(key, "has %g sizes, want at most %d", n, maxSizes)
	}
	out := make([]float64, int(n))
	for i := range out {
		out[i] = g.From + float64(float64(i)*g.Step)
	}
	return out, nil
}

// Law is a law of package memory with its numbers: the mean seconds of a run over the memory size m in MB.
type Law struct {
	// Form is exponential: A + B·exp(-C·m); knee: A + B/min(m, K); single: A + B/(min(m/M, Q) + C); multi:
	// A + B·exp(-C·min(m/M, Q)); or table: Seconds at the sizes MB. With profiles, empty is the one that fits best.
	Form memory.Form `yaml:"form,omitempty" json:"form,omitempty" oneof:"|exponential|knee|single|multi|table"`
	A    float64     `yaml:"a,omitempty" json:"a,omitempty"`
	B    float64     `yaml:"b,omitempty" json:"b,omitempty"`
	C    float64     `yaml:"c,omitempty" json:"c,omitempty"`
	K    float64     `yaml:"k,omitempty" json:"k,omitempty"`
	// M is the size in MB that gives a whole core (empty: 1769), Q the cores that the code uses.
	M       float64   `yaml:"m,omitempty" json:"m,omitempty"`
	Q       float64   `yaml:"q,omitempty" json:"q,omitempty"`
	MB      []float64 `yaml:"mb,omitempty" json:"mb,omitempty"`
	Seconds []float64 `yaml:"seconds,omitempty" json:"seconds,omitempty"`
}

// numbers reports whether the law has what a fit would give.
func (l Law) numbers() bool {
	return l.A != 0 || l.B != 0 || l.C != 0 || l.K != 0 || len(l.MB) > 0 || len(l.Seconds) > 0
}

// law checks the numbers. key is the law's place in the file.
func (l Law) law(key string) (memory.Law, error) {
	for _, p := range [...]struct {
		name  string
		value float64
	}{{"a", l.A}, {"b", l.B}, {"c", l.C}, {"k", l.K}, {"m", l.M}, {"q", l.Q}} {
		if !(p.value >= 0) || math.IsInf(p.value, 0) {
			return nil, bounds.Errorf(key+"."+p.name, "is %g, want a number from 0", p.value)
		}
	}
	if l.Form != memory.Table && l.A == 0 && l.B == 0 {
		return nil, bounds.Errorf(key, "has neither a nor b: a run takes no time")
	}
	switch l.Form {
	case memory.Exponential:
		return memory.Exp{A: l.A, B: l.B, C: l.C}, nil
	case memory.Knee:
		if l.K == 0 {
			return nil, bounds.Errorf(key+".k", "is 0, want the size in MB from which on more memory changes nothing")
		}
		return memory.Inverse{A: l.A, B: l.B, K: l.K}, nil
	case memory.Single, memory.Multi:
		s := memory.Step{Case: l.Form, A: l.A, B: l.B, C: l.C, M: l.M, Q: l.Q}
		if s.M == 0 {
			s.M = memory.SingleCore
		}
		if s.Q == 0 {
			return nil, bounds.Errorf(key+".q", "is 0, want the cores that the code can use")
		}
		return s, nil
	case memory.Table:
		return l.table(key)
	}
	return nil, bounds.Errorf(key+".form", "is %q, want %v", l.Form, memory.Forms())
}

func (l Law) table(key string) (memory.Law, error) {
	n := len(l.MB)
	if n == 0 || len(l.Seconds) != n {
		return nil, bounds.Errorf(key, "has %d sizes (mb) and %d times (seconds), want as many of both, at least one", n,
			len(l.Seconds))
	}
	for i, mb := range l.MB {
		switch s := l.Seconds[i]; {
		case !(mb > 0) || math.IsInf(mb, 0) || i > 0 && !(mb > l.MB[i-1]):
			return nil, bounds.Errorf(key+".mb", "has %g MB as its size %d, want positive numbers that ascend", mb, i+1)
		case !(s > 0) || math.IsInf(s, 0):
			return nil, bounds.Errorf(key+".seconds", "has %g s as its time %d, want positive numbers", s, i+1)
		}
	}
	return memory.Measured{MB: l.MB, Mean: l.Seconds}, nil
}
