package variants

import (
	"fmt"
	"math"
	"strings"
)

// Infeasible says that a problem's constraints cannot be met together.
type Infeasible struct {
	Problem Problem `json:"problem"`
	// Alone are the constraints that cannot be met even without the others.
	Alone []Need `json:"alone,omitempty"`
	// Needs say for each constraint what it would have to be with the others as they are, the one that has to give way
	// least first. A constraint that is not among them does not help.
	Needs []Need `json:"needs,omitempty"`
}

func (e *Infeasible) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing has %s", strings.TrimPrefix(e.Problem.constraints(), "with "))
	for _, n := range e.Alone {
		fmt.Fprintf(&b, "\n  %s cannot be met, even alone: the %s is %s", n.wanted(e.Problem), n.least(), n.value(n.Least))
	}
	for i, n := range e.Needs {
		nearest := ""
		if i == 0 {
			nearest = "nearest: "
		}
		fmt.Fprintf(&b, "\n  %s%s can be met with the others as they are: %s", nearest, n.asked(e.Problem), n.outcome())
	}
	return b.String()
}

// Nearest returns the configuration of the constraint that has to give way least, false where none alone is enough.
func (e *Infeasible) Nearest() (Plan, bool) {
	if len(e.Needs) == 0 {
		return Plan{}, false
	}
	return e.Needs[0].Plan, true
}

func (n Need) value(x float64) string {
	switch n.Constraint {
	case "latency":
		return fmt.Sprintf("%.4g s", x)
	case "budget":
		return fmt.Sprintf("%.6g USD", x)
	}
	return fmt.Sprintf("%.4g", x)
}

func (n Need) least() string {
	return map[string]string{"latency": "least response time", "budget": "least cost", "accuracy": "greatest accuracy"}[n.Constraint]
}

// wanted names the constraint as the problem has it, asked as it can be met: rounded to the side on which it still can.
func (n Need) wanted(p Problem) string { return n.named(p, n.Wanted) }

func (n Need) asked(p Problem) string {
	digits, round := 4.0, math.Ceil
	switch n.Constraint {
	case "accuracy":
		round = math.Floor
	case "budget":
		digits = 6
	}
	if n.Least == 0 {
		return n.named(p, 0)
	}
	unit := math.Pow(10, math.Floor(math.Log10(n.Least))+1-digits)
	return n.named(p, round(n.Least/unit*(1-1e-12))*unit)
}

func (n Need) named(p Problem, x float64) string {
	if n.Constraint == "latency" && p.Percentile > 0 {
		return fmt.Sprintf("p%g %s", p.Percentile, n.value(x))
	}
	return n.Constraint + " " + n.value(x)
}

func (n Need) outcome() string {
	o := n.Plan.Outcome
	return fmt.Sprintf("%.4g s, %.6g USD per million executions, accuracy %.4g", o.Seconds, o.USD, o.Accuracy)
}
