package profiles

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/table"
)

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
	b.WriteString(table.Columns(rows, true))
	fmt.Fprintf(&b, "\nThe papers' model (mean times, delays as SLApp counts them): mean %.4g s (%s)", c.Published.Seconds,
		signed(float64(c.Published.SecondsError)))
	if !math.IsNaN(float64(c.Published.USDError)) {
		fmt.Fprintf(&b, ", cost %.4g USD (%s)", c.Published.USD, signed(float64(c.Published.USDError)))
	}
	b.WriteString(".\n\n")
	functions := [][]string{{"function", "MB", "runs", "mean", "USD a million requests", "of it rounding"}}
	var usd, rounding float64
	for _, f := range c.Functions {
		functions = append(functions, []string{f.Name, table.Plain(f.MB), fmt.Sprintf("%.4g", f.Runs),
			fmt.Sprintf("%.4g s", f.Seconds), fmt.Sprintf("%.2f", f.USD), fmt.Sprintf("%.2f", f.Rounding)})
		usd, rounding = usd+f.USD, rounding+f.Rounding
	}
	functions = append(functions, []string{"all", "", "", "", fmt.Sprintf("%.2f", usd), fmt.Sprintf("%.2f", rounding)})
	b.WriteString(table.Columns(functions, true))
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
