package profiles

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// CheckOptions say how [Check] predicts.
type CheckOptions struct {
	// Simulated is the number of requests that percentiles are taken from.
	Simulated int
	Seed      uint64
	// Estimate takes the delay of each run of a node from every second measured request, such that their mean comes out;
	// predictions are then judged on the other half. The edges' delay is 0.
	Estimate bool
}

// DefaultCheck simulates 100,000 requests with the delays of the application.
func DefaultCheck() CheckOptions { return CheckOptions{Simulated: 100000, Seed: 1} }

// Checked is what stoker profile check prints as JSON.
type Checked struct {
	Name string `json:"name"`
	// Requests is the number of measured requests that the predictions are compared with.
	Requests int `json:"requests"`
	// Delays are those of the platform that the predictions have; Estimated says that they were taken from the other half
	// of the requests.
	Delays    workflow.Delays `json:"delays"`
	Estimated bool            `json:"estimated"`
	Rows      []CheckRow      `json:"rows"`
	// Published is what the papers' model says: mean times, each bill that of the mean time, parallel paths as long as
	// the longer mean, delays counted as SLApp counts them.
	Published Published  `json:"published"`
	Functions []Billed   `json:"functions"`
	Moved     MovedPrice `json:"orchestration"`

	measured, predicted []float64 // times in seconds, ascending
}

// CheckRow is a predicted quantity beside the measured one.
type CheckRow struct {
	Quantity string `json:"quantity"` // mean, p50, p95, p99, cost
	Unit     string `json:"unit"`
	// Predicted, and the standard error that it has because requests are simulated.
	Predicted float64     `json:"predicted"`
	SE        eval.Number `json:"standard_error"`
	// Measured with its 95 % interval.
	Measured float64     `json:"measured"`
	Low      eval.Number `json:"low"`
	High     eval.Number `json:"high"`
	// Error is relative: predicted / measured - 1.
	Error float64 `json:"error"`
}

// Published is the papers' model.
type Published struct {
	Seconds      float64     `json:"seconds"`
	SecondsError eval.Number `json:"seconds_error"`
	USD          float64     `json:"usd"`
	USDError     eval.Number `json:"usd_error"`
}

// Billed is a function's part of the bill.
type Billed struct {
	Name    string  `json:"name"`
	MB      float64 `json:"mb"`
	Runs    float64 `json:"runs"`
	Seconds float64 `json:"seconds"` // mean of a run
	// USD is for a million requests, Rounding the part of it that is there because billed times are rounded up.
	USD      float64 `json:"usd"`
	Rounding float64 `json:"rounding"`
}

// MovedPrice is what orchestration costs.
type MovedPrice struct {
	Name        bill.Orchestration `json:"name"`
	Transitions float64            `json:"transitions"`
	USD         float64            `json:"usd"` // for a million requests
}

const million = 1e6

// Check predicts mean, percentiles and cost of an application and compares them with measured requests.
func Check(s *Subject, m Requests, o CheckOptions) (*Checked, error) {
	if len(m.Seconds) < 2 {
		return nil, fmt.Errorf("%d measured requests, want at least 2", len(m.Seconds))
	}
	if o.Simulated < 100 {
		return nil, fmt.Errorf("%d requests to simulate, want at least 100", o.Simulated)
	}
	judged, costs := m.Seconds, m.USD
	subject := *s
	if o.Estimate {
		var fitted []float64
		fitted, judged = halves(m.Seconds)
		if len(m.USD) > 0 {
			_, costs = halves(m.USD)
		}
		d, err := subject.estimate(stats.Mean(fitted), o)
		if err != nil {
			return nil, err
		}
		subject.Delays = workflow.Delays{Node: d}
	}
	out := &Checked{Name: s.Name, Requests: len(judged), Delays: subject.Delays, Estimated: o.Estimate}
	times, err := subject.simulate(o.Simulated, o.Seed)
	if err != nil {
		return nil, err
	}
	sorted := slices.Sorted(slices.Values(judged))
	out.measured, out.predicted = sorted, times
	predicted, measured := stats.Mean(times), stats.Mean(judged)
	se := deviation(times) / math.Sqrt(float64(len(times)))
	half := 1.96 * deviation(judged) / math.Sqrt(float64(len(judged)))
	out.Rows = append(out.Rows, row("mean", "s", predicted, se, measured, measured-half, measured+half))
	for _, p := range []int{50, 95, 99} {
		q := float64(p) / 100
		low, high := interval(sorted, q, 1.96)
		l, h := interval(times, q, 1)
		out.Rows = append(out.Rows, row(fmt.Sprintf("p%d", p), "s", quantile(times, q), (h-l)/2, quantile(sorted, q), low, high))
	}
	published := subject.bills(out)
	if len(costs) > 0 {
		var usd float64
		for _, f := range out.Functions {
			usd += f.USD
		}
		c := stats.Mean(costs)
		if c == 0 {
			return nil, fmt.Errorf("all %d measured costs are 0 USD, want some above 0, or no column for them", len(costs))
		}
		half := 1.96 * deviation(costs) / math.Sqrt(float64(len(costs)))
		out.Rows = append(out.Rows, row("cost", "USD a million requests", usd, 0, c, c-half, c+half))
		published.USDError = eval.Number(published.USD/c - 1)
	}
	published.SecondsError = eval.Number(published.Seconds/measured - 1)
	out.Published = published
	runs, err := bill.NewRuns(times)
	if err != nil {
		return nil, err
	}
	out.Moved = MovedPrice{Name: s.Orchestration, Transitions: s.Transitions,
		USD: million * s.Orchestration.Request(s.Transitions, 0, runs)}
	return out, nil
}

// bills fills in the functions' bills and returns the papers' model.
func (s *Subject) bills(out *Checked) Published {
	p := Published{USDError: eval.Number(math.NaN())}
	exact := s.Tariff
	exact.Step, exact.Digits = 0, 0
	runs := s.Flow.FunctionExecutions()
	times := lists.Make(s.Flow.NumNodes(), func(n int) float64 { return s.Functions[s.Flow.Function(n)].Law.Mean() })
	for f, d := range s.Functions {
		if d.Fixed {
			continue
		}
		b := Billed{Name: d.Name, MB: d.MB, Runs: runs[f], Seconds: d.Law.Mean(),
			USD: million * runs[f] * s.Tariff.Expected(d.MB, d.Law)}
		b.Rounding = b.USD - million*runs[f]*exact.Run(d.MB, b.Seconds)
		out.Functions = append(out.Functions, b)
		p.USD += million * runs[f] * s.Tariff.OfMean(d.MB, b.Seconds)
	}
	d := s.Delays
	if out.Estimated {
		d = workflow.StepFunctions(workflow.Published)
	}
	d.Count = workflow.Published
	p.Seconds = s.Flow.Response(times, d)
	return p
}

// estimate returns the delay in seconds of each run of a node with which the mean response time is the given one, at
// least 0. The mean rises with the delay, and is nearly straight.
func (s *Subject) estimate(want float64, o CheckOptions) (float64, error) {
	mean := func(d float64) (float64, error) {
		at := *s
		at.Delays = workflow.Delays{Node: d}
		times, err := at.simulate(min(o.Simulated, 20000), o.Seed)
		return stats.Mean(times), err
	}
	low, err := mean(0)
	if err != nil || low >= want {
		return 0, err
	}
	d, at := 0.0, low
	step := 0.01
	for range 8 {
		next, err := mean(d + step)
		if err != nil {
			return 0, err
		}
		slope := (next - at) / step
		d, at = d+step, next
		step = (want - at) / slope
		if math.Abs(step) < 1e-7 {
			break
		}
	}
	return max(0, d), nil
}

func row(quantity, unit string, predicted, se, measured, low, high float64) CheckRow {
	return CheckRow{quantity, unit, predicted, eval.Number(se), measured, eval.Number(low), eval.Number(high),
		predicted/measured - 1}
}

// halves splits into the numbers at even and at odd places.
func halves(x []float64) (even, odd []float64) {
	for i, v := range x {
		if i%2 == 0 {
			even = append(even, v)
		} else {
			odd = append(odd, v)
		}
	}
	return even, odd
}

func deviation(x []float64) float64 {
	m, sum := stats.Mean(x), 0.0
	for _, v := range x {
		sum += float64((v - m) * (v - m))
	}
	return math.Sqrt(sum / float64(max(1, len(x)-1)))
}

// quantile returns the smallest number that a share p of the sorted numbers does not exceed.
func quantile(sorted []float64, p float64) float64 {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(p*float64(len(sorted))))-1))]
}

// interval returns the order statistics that are z standard deviations of the binomial count from a quantile.
func interval(sorted []float64, p, z float64) (low, high float64) {
	n := float64(len(sorted))
	d := z * math.Sqrt(p*(1-p)/n)
	return quantile(sorted, max(0, p-d)), quantile(sorted, min(1, p+d))
}

// CheckText is a check for a terminal.
func CheckText(c *Checked) string {
	var b strings.Builder
	of := ""
	if c.Estimated {
		of = ", every second one"
	}
	fmt.Fprintf(&b, "%s: %d measured requests%s\n", c.Name, c.Requests, of)
	from := "given"
	if c.Estimated {
		from = "from the other half of the requests"
	}
	fmt.Fprintf(&b, "delays: %.4g ms for each run of a node, %.4g ms for each edge, %s\n\n", 1000*c.Delays.Node,
		1000*c.Delays.Edge, from)
	rows := [][]string{{"", "predicted", "± simulation", "measured", "95 % interval", "error", ""}}
	for _, r := range c.Rows {
		se := ""
		if r.SE > 0 {
			se = fmt.Sprintf("%.2g", float64(r.SE))
		}
		rows = append(rows, []string{r.Quantity, fmt.Sprintf("%.4g", r.Predicted), se, fmt.Sprintf("%.4g", r.Measured),
			fmt.Sprintf("%.4g to %.4g", float64(r.Low), float64(r.High)), signed(r.Error), r.Unit})
	}
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\nThe papers' model (mean times, delays as SLApp counts them): mean %.4g s (%s)", c.Published.Seconds,
		signed(float64(c.Published.SecondsError)))
	if !math.IsNaN(float64(c.Published.USDError)) {
		fmt.Fprintf(&b, ", cost %.4g USD (%s)", c.Published.USD, signed(float64(c.Published.USDError)))
	}
	b.WriteString(".\n\n")
	functions := [][]string{{"function", "MB", "runs", "mean", "USD a million requests", "of it rounding"}}
	var usd, rounding float64
	for _, f := range c.Functions {
		functions = append(functions, []string{f.Name, report.Plain(f.MB), fmt.Sprintf("%.4g", f.Runs),
			fmt.Sprintf("%.4g s", f.Seconds), fmt.Sprintf("%.2f", f.USD), fmt.Sprintf("%.2f", f.Rounding)})
		usd, rounding = usd+f.USD, rounding+f.Rounding
	}
	functions = append(functions, []string{"all", "", "", "", fmt.Sprintf("%.2f", usd), fmt.Sprintf("%.2f", rounding)})
	b.WriteString(report.Columns(functions, true))
	fmt.Fprintf(&b, "\nOrchestration (%s): %.2f USD a million requests with %.4g transitions each; the measured cost is "+
		"compared without it.\n", c.Moved.Name, c.Moved.USD, c.Moved.Transitions)
	return b.String()
}

func signed(x float64) string { return fmt.Sprintf("%+.2f %%", 100*x) }

// CheckTable is a check's rows as CSV, with a row for each of the papers' predictions.
func CheckTable(checks ...*Checked) [][]string {
	out := [][]string{{"app", "model", "quantity", "unit", "predicted", "standard_error", "measured", "low", "high", "error"}}
	for _, c := range checks {
		model := "given delays"
		if c.Estimated {
			model = "estimated delay"
		}
		for _, r := range c.Rows {
			out = append(out, []string{c.Name, model, r.Quantity, r.Unit, short(r.Predicted), short(float64(r.SE)), short(r.Measured),
				short(float64(r.Low)), short(float64(r.High)), short(r.Error)})
			var p float64
			var e eval.Number
			switch r.Quantity {
			case "mean":
				p, e = c.Published.Seconds, c.Published.SecondsError
			case "cost":
				p, e = c.Published.USD, c.Published.USDError
			default:
				continue
			}
			out = append(out, []string{c.Name, "papers", r.Quantity, r.Unit, short(p), "", short(r.Measured), short(float64(r.Low)),
				short(float64(r.High)), short(float64(e))})
		}
	}
	return out
}

func short(x float64) string { return fmt.Sprintf("%.6g", x) }

// WriteCheck leaves profile_check.json, its rows as profile_check.csv, the quantiles that the figure is drawn from as
// profile_check_times.csv, and the figure. It returns the names of the files.
func WriteCheck(dir string, c *Checked) ([]string, error) {
	out := report.Into(dir)
	out.JSON("profile_check.json", c)
	out.CSV("profile_check.csv", CheckTable(c))
	rows := [][]string{{"share", "measured_s", "predicted_s"}}
	p := chart.NewPanel("", "response time (s)", "share of requests")
	measured, predicted := chart.Styles(0), chart.Styles(1)
	var share, x, y []float64
	for i := range 995 {
		q := (float64(i) + 0.5) / 1000
		share, x, y = append(share, q), append(x, quantile(c.measured, q)), append(y, quantile(c.predicted, q))
		rows = append(rows, []string{short(q), short(x[i]), short(y[i])})
	}
	out.CSV("profile_check_times.csv", rows)
	p.Line(measured, x, share, false)
	p.Line(predicted, y, share, false)
	p.RangeY(0, 1)
	f := &chart.Figure{Title: c.Name + ": predicted and measured response times", Panels: []*chart.Panel{p}, Columns: 1,
		Width: 11 * vg.Centimeter, Height: 7 * vg.Centimeter, Under: "distribution functions, up to the 99.5th percentile",
		Key: []chart.Entry{{Text: "measured", Style: measured, Line: true}, {Text: "predicted", Style: predicted, Line: true}}}
	out.Draw("profile_check", f)
	return out.Files()
}
