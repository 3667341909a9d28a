package variants

import (
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Model is an [App] worked out. It never changes and may be used by several goroutines; callers must not write to it.
type Model struct {
	App    *App
	Flow   *workflow.Workflow
	Delays workflow.Delays
	// Options are per function, in the order of Flow.Functions, all choices: ascending by variant, then memory.
	Options [][]Option
	// Fixed is what orchestration costs in USD per execution, whatever is chosen.
	Fixed float64
	// Variants are the functions' variants with their accuracies filled in.
	Variants [][]VariantInfo
	// Transitions are the expected runs of nodes in an execution, Runs those of each function.
	Transitions float64
	Runs        []float64
	// Tariff prices runs of functions, Orchestration what moves requests between them.
	Tariff        bill.Tariff
	Orchestration bill.Orchestration

	score  *score
	fronts *fronts
	first  [][]int // per function and variant its first option
}

// VariantInfo is a variant of a function in a [Model].
type VariantInfo struct {
	Name     string
	Accuracy float64 // in [0, 1]; 0 for a function without accuracies
}

// Option is a choice for a function: one of its variants with a memory size.
type Option struct {
	// Variant counts the function's variants, Step the variant's own sizes, ascending.
	Variant, Step int
	// MB is the memory size, Seconds the mean time of a run.
	MB, Seconds float64
	// USD is the expected price of a run, the request included. Rounded is the part of it that is there because billed
	// times are rounded up.
	USD, Rounded float64
	// CV is the coefficient of variation of a run's time.
	CV float64
}

// Outcome is what a configuration gives.
type Outcome struct {
	// Seconds is the expected end-to-end execution time of a request (EET).
	Seconds float64 `json:"seconds"`
	// USD is the expected cost of a million executions.
	USD float64 `json:"usd"`
	// Accuracy is the application's accuracy score (EAS).
	Accuracy float64 `json:"accuracy"`
}

// Executions is the number of executions that [Outcome] prices.
const Executions = 1e6

// NumFunctions returns the number of functions.
func (m *Model) NumFunctions() int { return len(m.Options) }

// NumVariants returns the number of variants of function f.
func (m *Model) NumVariants(f int) int { return len(m.Variants[f]) }

// VariantOptions returns the index of the first option of a variant of function f and the one behind its last.
func (m *Model) VariantOptions(f, variant int) (from, to int) {
	if variant+1 < len(m.first[f]) {
		return m.first[f][variant], m.first[f][variant+1]
	}
	return m.first[f][variant], len(m.Options[f])
}

// Scratch holds what [Model.EvaluateWith] needs, so that it does not allocate. It is for one goroutine.
type Scratch struct {
	times    []float64
	variants []int
	response *workflow.Evaluator
}

// NewScratch returns a scratch for the model.
func (m *Model) NewScratch() *Scratch {
	return &Scratch{times: make([]float64, m.Flow.NumNodes()), variants: make([]int, len(m.Options)),
		response: m.Flow.Evaluator(m.Delays)}
}

// Evaluate returns the outcome of choosing option choice[f] for each function f.
func (m *Model) Evaluate(choice []int) Outcome { return m.EvaluateWith(m.NewScratch(), choice) }

// EvaluateWith is [Model.Evaluate] with memory of the caller's.
func (m *Model) EvaluateWith(s *Scratch, choice []int) Outcome {
	seconds := m.seconds(s, choice)
	return Outcome{Seconds: seconds, USD: Executions * (m.functionsUSD(choice) + m.OrchestrationUSD(seconds)),
		Accuracy: m.accuracy(s, choice)}
}

// seconds returns the expected response time.
func (m *Model) seconds(s *Scratch, choice []int) float64 {
	for n := range s.times {
		f := m.Flow.Function(n)
		s.times[n] = m.Options[f][choice[f]].Seconds
	}
	return s.response.Response(s.times)
}

// functionsUSD returns what the functions of an execution cost.
func (m *Model) functionsUSD(choice []int) float64 {
	var usd float64
	for f, c := range choice {
		usd += float64(m.Runs[f] * m.Options[f][c].USD)
	}
	return usd
}

// OrchestrationUSD returns what orchestration costs for an execution with a response time.
func (m *Model) OrchestrationUSD(seconds float64) float64 {
	if m.Orchestration == bill.Express {
		return m.Orchestration.Request(m.Transitions, 0, bill.Always(seconds))
	}
	return m.Fixed
}

func (m *Model) accuracy(s *Scratch, choice []int) float64 {
	for f, c := range choice {
		s.variants[f] = m.Options[f][c].Variant
	}
	return m.score.of(s.variants)
}

// Accuracy returns the accuracy score of choosing variants[f] for each function f.
func (m *Model) Accuracy(variants []int) float64 { return m.score.of(variants) }

// AccuracyRange returns the least and the greatest accuracy score.
func (m *Model) AccuracyRange() (low, high float64) { return m.score.low, m.score.high }
