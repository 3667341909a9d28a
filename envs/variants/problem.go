package variants

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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
