package whatif

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/report"
)

// Text is the result for a terminal.
func Text(r *Result) string {
	var b strings.Builder
	if r.About != "" {
		fmt.Fprintf(&b, "%s: %s\n\n", r.App, r.About)
	}
	if r.Problem == nil {
		r.ends(&b)
		return b.String()
	}
	p := &r.Plans[0]
	fmt.Fprintf(&b, "%s: %s\n\n", r.App, p.Name)
	rows := [][]string{{"function", "variant", "accuracy", "MB", "mean time", "runs", "USD a million"}}
	for _, f := range p.Functions {
		accuracy, variant := "", f.Variant
		if f.Accuracy > 0 {
			accuracy = report.Plain(f.Accuracy)
		}
		if variant == f.Function {
			variant = ""
		}
		mb := ""
		if f.MB > 0 {
			mb = report.Plain(f.MB)
		}
		rows = append(rows, []string{f.Function, variant, accuracy, mb, seconds(f.Seconds), fmt.Sprintf("%.3g", f.Runs),
			usd(f.USD)})
	}
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\nresponse time  %s mean%s\naccuracy       %.4g\ncost           %s USD per million executions: %s\n",
		seconds(p.Seconds), p.tail(), p.Accuracy, usd(p.USD), p.Split.text(p.USD))
	if p.Proved > 0 {
		b.WriteString("\n" + r.proof())
	}
	if p.Measured != nil {
		fmt.Fprintf(&b, "\nmeasured under %s\n\n%s", load(r.Load), measuredText(p.Measured))
	}
	return b.String()
}

// tail says the 95th percentile where it is known.
func (p *Plan) tail() string {
	if p.P95 == 0 {
		return ""
	}
	return fmt.Sprintf(", p95 %s (%s to %s)", seconds(p.P95), seconds(p.P95Low), seconds(p.P95High))
}

// proof says whether the plan is the optimum.
func (r *Result) proof() string {
	p := &r.Plans[0]
	switch {
	case p.Exact && r.Problem.Percentile == 0:
		return "It is the optimum.\n"
	case p.Exact:
		return "It is the optimum, up to the error of the percentiles.\n"
	}
	value, unit := r.Problem.Value(p.Outcome), "USD"
	switch r.Problem.Objective {
	case variants.Time:
		unit = "s"
		if r.Problem.Percentile > 0 {
			value = p.P95
		}
	case variants.Accuracy:
		return "The search ended before its end: nothing has an accuracy above " + report.Plain(p.Proved) + ".\n"
	}
	return fmt.Sprintf("The search ended before its end: nothing is below %s %s (%.1f %% less).\n", report.Plain(p.Proved), unit,
		100*(1-p.Proved/value))
}

// ends writes what is possible at all.
func (r *Result) ends(b *strings.Builder) {
	head := []string{r.App, "mean time", "p95", "USD a million", "accuracy"}
	if r.Load != nil {
		head = append(head, "measured mean", "p95", "USD", "cold")
	}
	rows := [][]string{append(head, "configuration")}
	for _, p := range r.Plans {
		p95 := ""
		if p.P95 > 0 {
			p95 = seconds(p.P95)
		}
		row := []string{p.Name, seconds(p.Seconds), p95, usd(p.USD), fmt.Sprintf("%.4g", p.Accuracy)}
		if m := p.Measured; m != nil {
			row = append(row, seconds(m.Mean.Value), seconds(m.P95.Value), usd(m.USD.Value),
				fmt.Sprintf("%.3g %%", 100*m.ColdRequests))
		}
		rows = append(rows, append(row, p.short()))
	}
	b.WriteString(report.Columns(rows, true))
	if r.Load != nil {
		fmt.Fprintf(b, "\nmeasured under %s; cold: requests that meet a cold start\n", load(r.Load))
	}
	b.WriteString("\nAsk for more with --latency, --p95, --budget, --accuracy or --objective.\n")
}

// short is the configuration in a line.
func (p *Plan) short() string {
	var out []string
	for _, f := range p.Functions {
		if f.MB > 0 { // else nothing is to choose
			out = append(out, fmt.Sprintf("%s %g", f.Variant, f.MB))
		}
	}
	return strings.Join(out, ", ")
}

func (s Split) text(total float64) string {
	part := func(name string, x float64) string {
		return fmt.Sprintf("%s %s (%.1f %%)", name, usd(x), 100*x/max(total, 1e-300))
	}
	return strings.Join([]string{part("time", s.Time), part("rounding up", s.Rounding), part("requests", s.Requests),
		part("orchestration", s.Orchestration)}, ", ")
}

func seconds(x float64) string {
	switch {
	case x < 1:
		return fmt.Sprintf("%.0f ms", 1000*x)
	case x < 100:
		return fmt.Sprintf("%.2f s", x)
	}
	return fmt.Sprintf("%.0f s", x)
}

func usd(x float64) string { return fmt.Sprintf("%.2f", x) }

// options describes a plan's choices for a row of a table: variant and memory size of each function.
func options(m *variants.Model, choice []int) []string {
	var out []string
	for f, c := range choice {
		o := m.Options[f][c]
		out = append(out, m.Variants[f][o.Variant].Name, report.Exact(o.MB))
	}
	return out
}
