package whatif

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/table"
)

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

// quantities are the rows of a measured plan: name, value, and how it is written.
func quantities(m *variants.Measured) []struct {
	name  string
	of    variants.Interval
	write func(float64) string
} {
	return []struct {
		name  string
		of    variants.Interval
		write func(float64) string
	}{
		{"mean response time", m.Mean, seconds}, {"p50", m.P50, seconds}, {"p95", m.P95, seconds}, {"p99", m.P99, seconds},
		{"USD per million executions", m.USD, usd},
	}
}

// measuredText is what was measured of a plan, as a table with 95 % intervals.
func measuredText(m *variants.Measured) string {
	rows := [][]string{{"measured", "value", "95 % interval"}}
	for _, q := range quantities(m) {
		rows = append(rows, []string{q.name, q.write(q.of.Value), q.write(q.of.Lo) + " to " + q.write(q.of.Hi)})
	}
	var b strings.Builder
	b.WriteString(table.Columns(rows, true))
	fmt.Fprintf(&b, "\n%d requests, %.3g %% of which meet a cold start; %.3g instances in the mean", m.Requests,
		100*m.ColdRequests, m.Instances)
	if m.Idle > 0 {
		fmt.Fprintf(&b, ", whose idling costs %s USD of that", usd(m.Idle))
	}
	b.WriteString("\n")
	return b.String()
}
