package traces

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text is the report for a terminal.
func Text(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s requests of %s in %s\n", r.Trace, grouped(r.Requests), plural(r.Functions, "function"),
		length(r.Minutes))
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "missing: %s\n", strings.Join(r.Missing, ", "))
	}
	fmt.Fprintf(&b, "\nrate over time, requests/s by %s, 0 to %s\n%s\n\n", plural(r.perColumn(), "minute"),
		short(r.columnPeak()), r.spark())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "mean rate\t%s requests/s\t\n", short(r.Rate))
	fmt.Fprintf(t, "minutes' rates\t%s · %s · %s · %s\trequests/s: 5th, 50th, 95th and 99th percentile\n", short(r.Rates.P5),
		short(r.Rates.P50), short(r.Rates.P95), short(r.Rates.P99))
	fmt.Fprintf(t, "busiest minute\t%s requests/s\t%s, minute %d: %s requests\n", short(r.Busiest.Rate), r.Busiest.At,
		r.Busiest.Minute, grouped(r.Busiest.Requests))
	for _, m := range r.Bursts {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Name, short(m.Value), m.Meaning)
	}
	for _, s := range r.Top {
		of := "the busiest function has"
		if s.Functions > 1 {
			of = fmt.Sprintf("the %d busiest have", s.Functions)
		}
		fmt.Fprintf(t, "%s\t%.1f %%\tof the requests\n", of, 100*s.Share)
	}
	if idle := r.Functions - r.Active; idle > 0 {
		fmt.Fprintf(t, "functions without a request\t%d\t\n", idle)
	}
	t.Flush() // a strings.Builder does not fail
	if r.Scale != nil {
		b.WriteString(r.Scale.text(r.Rate))
	}
	if r.Stretch != nil {
		b.WriteString(r.Stretch.text(r.perMinute))
	}
	return b.String()
}

func (s *Scale) text(rate float64) string {
	out := fmt.Sprintf("\n%s serves about %s %s. The trace as it is (%s requests/s) is a utilisation of %s.\n", s.Env,
		short(s.Serves), s.Unit, short(rate), short(s.Utilisation))
	out += fmt.Sprintf("Utilisation %s, %s %s in the mean, follows from %s %s", short(s.Target), short(s.Mean), s.Unit, s.Key,
		strconv.FormatFloat(s.Value, 'g', -1, 64))
	if s.Above > 0 {
		out += fmt.Sprintf("; %.1f %% of the %ss are then above what is served", 100*s.Above, s.Part)
	}
	out += ":\n\n "
	for _, set := range s.Set {
		out += " --set " + quoted(set)
	}
	return out + "\n"
}

// quoted writes an argument as a shell takes it.
func quoted(s string) string {
	if strings.ContainsAny(s, " []*?'\"$&;()") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// columns is the width of the sparkline.
const columns = 72

// perColumn is the number of minutes in a column of the sparkline.
func (r *Report) perColumn() int { return max(1, (len(r.perMinute)+columns-1)/columns) }

// columnRates are the mean rates of the sparkline's columns, in requests a second.
func (r *Report) columnRates() []float64 {
	var out []float64
	for from := 0; from < len(r.perMinute); from += r.perColumn() {
		part := r.perMinute[from:min(from+r.perColumn(), len(r.perMinute))]
		var sum uint64
		for _, n := range part {
			sum += n
		}
		out = append(out, float64(sum)/60/float64(len(part)))
	}
	return out
}

func (r *Report) columnPeak() float64 {
	var peak float64
	for _, x := range r.columnRates() {
		peak = max(peak, x)
	}
	return peak
}

// spark draws the rate in one line, from 0 to the highest column.
func (r *Report) spark() string {
	levels := []rune("▁▂▃▄▅▆▇█")
	peak := r.columnPeak()
	var b strings.Builder
	for _, x := range r.columnRates() {
		switch {
		case x == 0:
			b.WriteRune(' ')
		default:
			b.WriteRune(levels[min(len(levels)-1, int(x/peak*float64(len(levels))))])
		}
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// length is a number of minutes as days or hours.
func length(minutes int) string {
	switch {
	case minutes%1440 == 0:
		return plural(minutes/1440, "day")
	case minutes >= 120:
		return fmt.Sprintf("%s hours", short(float64(minutes)/60))
	}
	return plural(minutes, "minute")
}

// grouped writes a number with commas between thousands.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a number with three digits.
func short(x float64) string {
	if x >= 1000 || x == 0 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
