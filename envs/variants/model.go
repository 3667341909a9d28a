package variants

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// Objective is what a configuration is to be best at.
type Objective string

// The objectives.
const (
	// Time is the least response time within a budget and with an accuracy: OptiServe, eq. 4.3.
	Time Objective = "time"
	// Cost is the least cost within a response time and with an accuracy: eq. 4.4.
	Cost Objective = "cost"
	// Accuracy is the greatest accuracy within a response time and a budget: eq. 4.5.
	Accuracy Objective = "accuracy"
)

// Objectives returns all of them.
func Objectives() []Objective { return []Objective{Time, Cost, Accuracy} }

// Problem is an objective with bounds. A bound of 0 is no bound; a bound on the objective itself is a constraint too.
type Problem struct {
	Objective Objective `json:"objective"`
	// Budget is in USD per million executions, Latency in seconds.
	Budget  float64 `json:"budget,omitempty"`
	Latency float64 `json:"latency,omitempty"`
	// Percentile is the percentile of the response time that Latency binds, such as 95; 0 is its mean (EET). With the
	// objective [Time] it is also what is to be least.
	Percentile float64 `json:"percentile,omitempty"`
	// Accuracy is the least accuracy score.
	Accuracy float64 `json:"accuracy,omitempty"`
}

// Validate reports what no problem can have.
func (p Problem) Validate() error {
	if !slices.Contains(Objectives(), p.Objective) {
		return fmt.Errorf("no objective %q, there are %v", string(p.Objective), Objectives())
	}
	for _, b := range [...]struct {
		name  string
		value float64
	}{{"budget", p.Budget}, {"latency", p.Latency}, {"accuracy", p.Accuracy}, {"percentile", p.Percentile}} {
		if !(b.value >= 0) || math.IsInf(b.value, 0) {
			return fmt.Errorf("the %s is %g, want a number from 0 (0 is no bound)", b.name, b.value)
		}
	}
	if p.Percentile >= 100 {
		return fmt.Errorf("the percentile is %g, want one below 100", p.Percentile)
	}
	return nil
}

// slack keeps what rounding moves: a bound counts as kept up to this share of it.
const slack = 1e-9

// within reports whether a value keeps an upper bound, 0 for none.
func within(value, bound float64) bool { return bound == 0 || value <= float64(bound*(1+slack)) }

// Keeps reports whether an outcome keeps the problem's constraints, where Latency binds the mean.
func (p Problem) Keeps(o Outcome) bool {
	return within(o.USD, p.Budget) && within(o.Seconds, p.Latency) && o.Accuracy >= float64(p.Accuracy*(1-slack))
}

// Better reports whether a is better than b at the objective. Where both are equal, the other two count: for [Time] and
// [Cost] each other, then accuracy; for [Accuracy] the cost, then the time.
func (p Problem) Better(a, b Outcome) bool {
	var order [3]float64
	switch p.Objective {
	case Time:
		order = [3]float64{a.Seconds - b.Seconds, a.USD - b.USD, b.Accuracy - a.Accuracy}
	case Cost:
		order = [3]float64{a.USD - b.USD, a.Seconds - b.Seconds, b.Accuracy - a.Accuracy}
	default:
		order = [3]float64{b.Accuracy - a.Accuracy, a.USD - b.USD, a.Seconds - b.Seconds}
	}
	for _, d := range order {
		if d != 0 {
			return d < 0
		}
	}
	return false
}

// Value returns the outcome's value of the objective.
func (p Problem) Value(o Outcome) float64 {
	switch p.Objective {
	case Time:
		return o.Seconds
	case Cost:
		return o.USD
	}
	return o.Accuracy
}

// bound is the constraint on what an objective is best at, and its name.
func (p *Problem) bound(o Objective) (name string, value *float64) {
	switch o {
	case Time:
		return "latency", &p.Latency
	case Cost:
		return "budget", &p.Budget
	}
	return "accuracy", &p.Accuracy
}

// OfIdeal returns how near an outcome comes to the best one in percent, as the papers count: 100·(1 - |value - best| /
// best).
func (p Problem) OfIdeal(o, best Outcome) float64 {
	v, b := p.Value(o), p.Value(best)
	if v == b {
		return 100
	}
	return 100 * (1 - math.Abs(v-b)/math.Abs(b))
}

// String says what is wanted.
func (p Problem) String() string {
	text := map[Objective]string{Time: "the least response time", Cost: "the least cost", Accuracy: "the greatest accuracy"}[p.Objective]
	if p.Objective == Time && p.Percentile > 0 {
		text = fmt.Sprintf("the least p%g of the response time", p.Percentile)
	}
	if c := p.constraints(); c != "" {
		text += " " + c
	}
	return text
}

// constraints says what is to be kept, empty where nothing is.
func (p Problem) constraints() string {
	var out []string
	if p.Latency > 0 {
		what := "a response time"
		if p.Percentile > 0 {
			what = fmt.Sprintf("a p%g of the response time", p.Percentile)
		}
		out = append(out, fmt.Sprintf("%s of at most %g s", what, p.Latency))
	}
	if p.Budget > 0 {
		out = append(out, fmt.Sprintf("a cost of at most %g USD per million executions", p.Budget))
	}
	if p.Accuracy > 0 {
		out = append(out, fmt.Sprintf("an accuracy of at least %g", p.Accuracy))
	}
	if len(out) == 0 {
		return ""
	}
	return "with " + strings.Join(out, " and ")
}

// Plan is a configuration with what it gives.
type Plan struct {
	// Choice is the option of each function.
	Choice []int `json:"choice"`
	Outcome
}
