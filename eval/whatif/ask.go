// Package whatif answers what a serverless application would cost, take and be worth under other memory sizes and model
// variants: the best configuration under constraints as a table with a split of its cost, and the exact trade-offs
// between time, cost and accuracy as CSV and figure.
//
// The answers are package variants', the command is stoker whatif.
package whatif

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/report"
)

// Request is what is asked. Numbers that are 0 are no constraints.
type Request struct {
	// Objective is time, cost or accuracy; empty is what the constraints leave open (see [Request.Problem]).
	Objective string
	// Latency bounds the mean response time in seconds, P95 its 95th percentile.
	Latency, P95 float64
	// Budget is in USD per million executions.
	Budget float64
	// Accuracy is the least accuracy score.
	Accuracy float64
	// Load, where it is given, serves every plan, so that its response times and bills are measured too.
	Load *variants.Load
	// Measured has the plan keep Latency or P95 as measured under Load, not as the model has it. It is then the cheapest
	// one on the model's front that does ([variants.Measurer.Solve]).
	Measured bool
	// Limit, where it is not 0, stops the search: the answer is then the best plan found, with what is proved by then.
	Limit time.Duration
}

// Watch is told how far something that takes a while is.
type Watch func(what string, done, all int)

// Problem returns the problem that is asked, and false where there is neither a constraint nor an objective. Without an
// objective it is the time where only cost is bounded, accuracy where time and cost are and accuracy is not, else cost.
func (q Request) Problem() (variants.Problem, bool, error) {
	p := variants.Problem{Objective: variants.Objective(q.Objective), Budget: q.Budget, Latency: q.Latency, Accuracy: q.Accuracy}
	if q.P95 != 0 {
		if q.Latency != 0 {
			return p, false, errors.New("latency bounds the mean and p95 the 95th percentile: want one of both")
		}
		p.Latency, p.Percentile = q.P95, 95
	}
	constraints := q
	constraints.Load, constraints.Measured, constraints.Limit = nil, false, 0
	asked := constraints != Request{}
	if q.Measured && (q.Load == nil || p.Latency == 0 || p.Budget != 0) {
		return p, asked, errors.New("measured needs a load and a bound on latency or p95, and no budget")
	}
	if p.Objective == "" {
		switch {
		case p.Budget != 0 && p.Latency == 0:
			p.Objective = variants.Time
		case p.Budget != 0 && p.Accuracy == 0:
			p.Objective = variants.Accuracy
		default:
			p.Objective = variants.Cost
		}
	}
	return p, asked, p.Validate()
}

// Result is what stoker whatif prints as JSON.
type Result struct {
	App   string `json:"app"`
	About string `json:"about,omitempty"`
	// Problem is the question. Without a question it is missing, and Plans are the extreme plans.
	Problem *variants.Problem `json:"problem,omitempty"`
	Plans   []Plan            `json:"plans"`
	// Load is what the plans were measured under.
	Load *variants.Load `json:"load,omitempty"`
}

// Plan is a configuration in words.
type Plan struct {
	// Name says what the plan is best at.
	Name string `json:"name"`
	variants.Outcome
	// P95 is the 95th percentile of the response time in seconds of requests that find warm instances; the true one is
	// between P95Low and P95High. All are 0 where the workflow's distribution cannot be computed.
	P95     float64 `json:"p95,omitempty"`
	P95Low  float64 `json:"p95_low,omitempty"`
	P95High float64 `json:"p95_high,omitempty"`
	// Proved is a value of the objective that no configuration is better than; it is missing where the plan was found by
	// measurements. Exact says that it is the plan's own: the search was not stopped and did not end at its limit.
	Proved float64 `json:"proved,omitempty"`
	Exact  bool    `json:"exact"`
	Split  Split   `json:"usd_split"`
	// Functions are the functions in the workflow's order.
	Functions []Function `json:"functions"`
	Choice    []int      `json:"choice"`
	// Measured is what the plan gives under the load.
	Measured *variants.Measured `json:"measured,omitempty"`
}

// Split is where the cost comes from, in USD per million executions.
type Split struct {
	// Time is for the runs' time as it is, Rounding for rounding it up, Requests for starting runs, Orchestration for moving
	// requests between them.
	Time          float64 `json:"time"`
	Rounding      float64 `json:"rounding"`
	Requests      float64 `json:"requests"`
	Orchestration float64 `json:"orchestration"`
}

// Function is a function's part of a plan.
type Function struct {
	Function string `json:"function"`
	Variant  string `json:"variant"`
	// Accuracy is the variant's, 0 for a function that has none.
	Accuracy float64 `json:"accuracy,omitempty"`
	MB       float64 `json:"mb"`
	// Seconds is the mean time of a run, Runs the expected runs in an execution, USD what they cost in a million.
	Seconds float64 `json:"seconds"`
	Runs    float64 `json:"runs"`
	USD     float64 `json:"usd"`
}

// Ask answers a request. Where constraints cannot be met the error is a [variants.Infeasible]. Where the context is done
// during a search, the answer is the best plan found by then, if there is one, and nothing is measured. watch may be nil.
func Ask(ctx context.Context, m *variants.Model, q Request, watch Watch) (*Result, error) {
	p, asked, err := q.Problem()
	if err != nil {
		return nil, err
	}
	out := &Result{App: m.App.Name, About: m.App.About, Load: q.Load}
	if asked {
		out.Problem = &p
		if err := out.answer(ctx, m, q, p, watch); err != nil {
			return nil, err
		}
		return out, out.measure(ctx, m)
	}
	low, high := m.AccuracyRange()
	type end struct {
		name string
		p    variants.Problem
	}
	ends := []end{{"fastest", variants.Problem{Objective: variants.Time}}, {"cheapest", variants.Problem{Objective: variants.Cost}}}
	if low < high {
		ends = append(ends, end{"fastest of the most accurate", variants.Problem{Objective: variants.Time, Accuracy: high}},
			end{"cheapest of the most accurate", variants.Problem{Objective: variants.Cost, Accuracy: high}})
	}
	for _, e := range ends {
		plan, err := m.Solve(ctx, e.p)
		if err != nil {
			return nil, err
		}
		out.add(m, e.name, variants.Solved{Plan: plan, Proved: e.p.Value(plan.Outcome), Exact: true})
	}
	return out, out.measure(ctx, m)
}

// answer adds the plan that solves a problem.
func (r *Result) answer(ctx context.Context, m *variants.Model, q Request, p variants.Problem, watch Watch) error {
	if !q.Measured {
		limited := ctx
		if q.Limit > 0 {
			var stop context.CancelFunc
			limited, stop = context.WithTimeout(ctx, q.Limit)
			defer stop()
		}
		var tell func(done, all int)
		if watch != nil {
			tell = func(done, all int) { watch("distributions at most", done, all) }
		}
		s, err := m.Search(limited, p, tell)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = fmt.Errorf("no plan was found within %v: want more time, or looser bounds", q.Limit)
		}
		if err != nil {
			return err
		}
		r.add(m, p.String(), s)
		return nil
	}
	x, period, err := q.Load.Measurer(m)
	if err != nil {
		return err
	}
	plan, _, err := x.Solve(ctx, p, period)
	if err != nil {
		return err
	}
	r.add(m, p.String()+", as measured", variants.Solved{Plan: plan})
	return nil
}

// measure serves the load with every plan.
func (r *Result) measure(ctx context.Context, m *variants.Model) error {
	if r.Load == nil {
		return nil
	}
	x, period, err := r.Load.Measurer(m)
	if err != nil {
		return err
	}
	for i := range r.Plans {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // whoever stops the question gets the plans that were served until then
		}
		got, err := x.Measure(r.Plans[i].Choice, period)
		if err != nil {
			return err
		}
		r.Plans[i].Measured = &got
	}
	return nil
}

// add describes a plan.
func (r *Result) add(m *variants.Model, name string, plan variants.Solved) {
	p := Plan{Name: name, Outcome: plan.Outcome, Choice: plan.Choice, Proved: plan.Proved, Exact: plan.Exact}
	if d, err := m.Distribution(plan.Choice, workflow.Grid{}); err == nil {
		p.P95Low, p.P95High = d.Bounds(0.95)
		p.P95 = min(max(d.P95, p.P95Low), p.P95High)
	}
	for f, c := range plan.Choice {
		o := m.Options[f][c]
		runs := m.Runs[f] * variants.Executions
		v := m.Variants[f][o.Variant]
		p.Functions = append(p.Functions, Function{m.Flow.Functions()[f], v.Name, v.Accuracy, o.MB, o.Seconds, m.Runs[f], runs * o.USD})
		p.Split.Rounding += runs * o.Rounded
		request := runs * min(o.USD, m.Tariff.Request) // what is fixed costs nothing
		p.Split.Requests += request
		p.Split.Time += runs*(o.USD-o.Rounded) - request
	}
	p.Split.Orchestration = variants.Executions * m.OrchestrationUSD(plan.Seconds)
	r.Plans = append(r.Plans, p)
}

// load says what a plan was measured under.
func load(l *variants.Load) string {
	p := &l.Platform
	what := l.Workload.Kind
	switch {
	case what == workload.Poisson:
		what = fmt.Sprintf("Poisson arrivals, %g a second", l.Workload.Rate)
	case l.Workload.Mean > 0:
		what += fmt.Sprintf(", %g requests a second in the mean", l.Workload.Mean)
	}
	cold := fmt.Sprintf("cold starts of %s", seconds(p.ColdStart))
	switch {
	case p.Loading == 1:
		cold += " and the variant's run at its largest memory"
	case p.Loading > 0:
		cold += fmt.Sprintf(" and %g times the variant's run at its largest memory", p.Loading)
	}
	out := fmt.Sprintf("%s; %s; idle instances are kept for %s", what, cold, seconds(p.KeepAlive))
	if p.Prewarmed > 0 {
		out += fmt.Sprintf(", %d of each function always", p.Prewarmed)
	}
	if p.StartRate > 0 {
		out += fmt.Sprintf("; %g starts a second", p.StartRate)
	}
	return out
}

// measuredText is what was measured of a plan, as a table with 95 % intervals.
func measuredText(m *variants.Measured) string {
	rows := [][]string{{"measured", "value", "95 % interval"}}
	for _, q := range []struct {
		name  string
		of    variants.Interval
		write func(float64) string
	}{
		{"mean response time", m.Mean, seconds}, {"p50", m.P50, seconds}, {"p95", m.P95, seconds}, {"p99", m.P99, seconds},
		{"USD per million executions", m.USD, usd},
	} {
		rows = append(rows, []string{q.name, q.write(q.of.Value), q.write(q.of.Lo) + " to " + q.write(q.of.Hi)})
	}
	var b strings.Builder
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\n%d requests, %.3g %% of which meet a cold start; %.3g instances in the mean", m.Requests,
		100*m.ColdRequests, m.Instances)
	if m.Idle > 0 {
		fmt.Fprintf(&b, ", whose idling costs %s USD of that", usd(m.Idle))
	}
	b.WriteString("\n")
	return b.String()
}
