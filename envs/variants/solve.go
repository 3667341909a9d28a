package variants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
)

// Solve returns the best configuration. It is exact: the answer is the best over the combinations of variants that have the
// accuracy, by their exact fronts over time and cost, or where the front of a crossing graph would take long, by branch
// and bound for this one problem. Where the constraints cannot be met it returns an [Infeasible] error. A problem with a
// percentile is answered as [Model.SolveTail] says.
func (m *Model) Solve(ctx context.Context, p Problem) (Plan, error) {
	s, err := m.Search(ctx, p, nil)
	if err == nil && !s.Exact {
		err = ctx.Err()
	}
	return s.Plan, err
}

// Solved is the answer to a problem.
type Solved struct {
	Plan
	// Proved is a value of the objective that no configuration is better than; the plan's own where it is Exact.
	Proved float64
	Exact  bool
}

// Search is as [Model.Solve], but where the context is done it returns the best configuration found so far, if there is one,
// with what is proved by then. Watch, where it is not nil, is told the distributions that a percentile took, and their limit.
func (m *Model) Search(ctx context.Context, p Problem, watch func(done, most int)) (Solved, error) {
	if err := p.Validate(); err != nil {
		return Solved{}, err
	}
	if p.Percentile > 0 {
		t, err := m.SolveTail(ctx, p, watch)
		return Solved{t.Plan, t.Proved, t.Optimal(p)}, err
	}
	l, err := m.levels()
	if err != nil {
		return Solved{}, err
	}
	best, err := m.best(ctx, l, p)
	if err == nil && best.Choice == nil {
		if err = ctx.Err(); err == nil {
			err = m.infeasible(ctx, l, p)
		}
	}
	return best, err
}

// best returns the best configuration, one without a choice where there is none.
func (m *Model) best(ctx context.Context, l *levels, p Problem) (Solved, error) {
	if p.Objective != Accuracy {
		return m.bestAt(ctx, l, p, p.Accuracy)
	}
	// The greatest score that some configuration within the bounds has: a score is feasible where a greater one is.
	var failed error
	feasible := Solved{}
	unknown := -1.0 // the greatest score of which it is not known
	p.Objective = Cost
	from := sort.SearchFloat64s(l.values, p.Accuracy*(1-slack))
	values := l.values[from:]
	sort.Search(len(values), func(i int) bool {
		if failed != nil {
			return false
		}
		score := values[len(values)-1-i]
		s, err := m.bestAt(ctx, l, p, score)
		if failed = err; s.Choice != nil {
			feasible = s
		} else if !math.IsInf(s.Proved, 1) {
			unknown = max(unknown, score)
		}
		return s.Choice != nil
	})
	feasible.Proved, feasible.Exact = max(feasible.Accuracy, unknown), unknown < 0
	return feasible, failed
}

// maxFronts is the most floors of which a problem asks for fronts. With more, one solution of each is found faster.
const maxFronts = 400

// bestAt returns the fastest or the cheapest configuration with at least an accuracy score. Without a choice, Proved is
// infinite where there is none, else what one could have.
func (m *Model) bestAt(ctx context.Context, l *levels, p Problem, accuracy float64) (Solved, error) {
	best := Solved{Proved: math.Inf(1)}
	s := m.NewScratch()
	floors := l.floors(accuracy)
	alone := m.Orchestration != bill.Express && (m.crossing() || len(floors) > maxFronts)
	for _, floor := range floors {
		var plan Plan
		var proved float64
		var err error
		if alone {
			plan, proved, err = m.single(ctx, l, floor, p)
		} else {
			plan, proved, err = m.onFront(ctx, l, floor, p)
		}
		if err != nil {
			return Solved{}, err
		}
		best.Proved = min(best.Proved, proved)
		if plan.Choice == nil {
			continue
		}
		plan.Accuracy = m.accuracy(s, plan.Choice)
		if best.Choice == nil || p.Better(plan.Outcome, best.Outcome) {
			best.Plan = plan
		}
	}
	if best.Choice != nil {
		best.Choice = slices.Clone(best.Choice)
		best.Outcome = m.EvaluateWith(s, best.Choice)
		if own := p.Value(best.Outcome); best.Proved >= own*(1-slack) {
			best.Proved, best.Exact = own, true
		}
	}
	return best, nil
}

// onFront returns the best plan on a floor's front, one without a choice where there is none, and what none is below.
func (m *Model) onFront(ctx context.Context, l *levels, floor []int, p Problem) (Plan, float64, error) {
	front, err := m.front(ctx, l, floor)
	if err != nil {
		return Plan{}, 0, err
	}
	i := 0 // the first point within the budget is the fastest, the last within the latency the cheapest
	if p.Objective == Time {
		i = sort.Search(len(front), func(i int) bool { return within(front[i].USD, p.Budget) })
	} else {
		i = sort.Search(len(front), func(i int) bool { return !within(front[i].Seconds, p.Latency) }) - 1
	}
	if i < 0 || i == len(front) || !within(front[i].Seconds, p.Latency) || !within(front[i].USD, p.Budget) {
		return Plan{}, math.Inf(1), nil
	}
	return front[i], p.Value(front[i].Outcome), nil
}

// Need is what one constraint would have to be for the problem to have an answer, with the others as they are.
type Need struct {
	// Constraint is latency, budget or accuracy; Wanted is what the problem has, Least what can be met.
	Constraint string  `json:"constraint"`
	Wanted     float64 `json:"wanted"`
	Least      float64 `json:"least"`
	// Plan is a configuration that meets it.
	Plan Plan `json:"plan"`
}

// distance is how far the constraint has to give way, relative to what was wanted.
func (n Need) distance() float64 { return math.Abs(n.Least-n.Wanted) / n.Wanted }

// infeasible says which constraints are in the way.
func (m *Model) infeasible(ctx context.Context, l *levels, p Problem) error {
	out := &Infeasible{Problem: p}
	for _, o := range Objectives() {
		relaxed := p
		name, bound := relaxed.bound(o)
		wanted := *bound
		if wanted == 0 {
			continue
		}
		relaxed.Objective, *bound = o, 0
		plan, err := m.best(ctx, l, relaxed)
		if err != nil {
			return err
		}
		if plan.Choice != nil {
			out.Needs = append(out.Needs, Need{name, wanted, relaxed.Value(plan.Outcome), plan.Plan})
		}
		// Alone, the constraint is in the way where even without the others it cannot be met.
		alone := Problem{Objective: o}
		if plan, err = m.best(ctx, l, alone); err != nil {
			return err
		}
		_, bound = alone.bound(o)
		*bound = wanted
		if !alone.Keeps(plan.Outcome) {
			out.Alone = append(out.Alone, Need{name, wanted, alone.Value(plan.Outcome), plan.Plan})
		}
	}
	slices.SortStableFunc(out.Needs, func(a, b Need) int { return cmp.Compare(a.distance(), b.distance()) })
	return out
}

// crossing reports whether the response time is no tree of sums and maxima, so that a front takes long.
func (m *Model) crossing() bool {
	m.fronts.shape.Do(func() {
		p := frontier.Problem{Flow: m.Flow, Delays: m.Delays}
		for _, options := range m.Options {
			p.Options = append(p.Options, []frontier.Option{{Seconds: options[0].Seconds}})
		}
		tree, err := p.Tree()
		m.fronts.crossing = err == nil && !tree
	})
	return m.fronts.crossing
}

// single returns the best plan of a floor by branch and bound, where the cost is a sum over functions: what Express
// orchestration costs grows with the time. It is one without a choice where there is none, and what none is
// below. Of plans that are equally good at the objective it is the one that is best at the other.
func (m *Model) single(ctx context.Context, l *levels, floor []int, p Problem) (Plan, float64, error) {
	q, kept := m.problem(l, floor)
	bound := func(b float64) float64 {
		if b == 0 {
			return math.Inf(1)
		}
		return b * (1 + slack)
	}
	orchestration := m.OrchestrationUSD(0) // the same for all times
	var a frontier.Answer
	var err error
	if p.Objective == Time {
		a, err = frontier.Fastest(ctx, q, bound(p.Budget)/Executions-orchestration)
	} else {
		a, err = frontier.Cheapest(ctx, q, bound(p.Latency))
	}
	switch {
	case errors.Is(err, frontier.ErrNone):
		return Plan{}, math.Inf(1), nil
	case err != nil:
		return Plan{}, 0, fmt.Errorf("%s: %s", m.App.Name, strings.TrimPrefix(err.Error(), "frontier: "))
	}
	proved := a.Bound
	if a.Exact {
		other := frontier.Fastest
		at := a.USD
		if p.Objective == Time {
			other, at = frontier.Cheapest, a.Seconds
		}
		if b, err := other(ctx, q, at); err == nil {
			a.Point = b.Point
		}
	}
	out := Plan{a.Choice, Outcome{Seconds: a.Seconds, USD: Executions * (a.USD + orchestration)}}
	if p.Objective != Time {
		proved = Executions * (proved + orchestration)
	}
	for f, i := range out.Choice {
		out.Choice[f] = kept[f][i]
	}
	if within(out.Seconds, p.Latency) && within(out.USD, p.Budget) {
		return out, proved, nil
	}
	// The bound on the other quantity. Where even the best answer misses it, no configuration keeps both bounds.
	if p.Objective == Time && !within(proved, p.Latency) || p.Objective != Time && !within(proved, p.Budget) {
		proved = math.Inf(1)
	}
	return Plan{}, proved, nil
}

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
