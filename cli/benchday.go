package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/bench"
)

// benchDayCommand is bench sim-day: apart from the other measurements, since it takes minutes.
func benchDayCommand() *cobra.Command {
	o := bench.Day{Functions: 50_000, Hours: 24, Factor: 1, Seed: 1}
	asJSON := false
	c := &cobra.Command{
		Use:   "sim-day",
		Short: "Simulate a day of 50,000 functions like those of the Azure Functions trace",
		Long: "Simulate a day of 50,000 functions, generated like those of the embedded sample of the Azure " +
			"Functions trace: their rates over the\n" +
			"day, bursts, durations and memory; one request at a time in an instance, ten minutes of keep-alive, a " +
			"cold start of a second. It takes\n" +
			"some minutes on one core. With --json, one JSON object.",
		Example: "  stoker bench sim-day\n  stoker bench sim-day --functions 5000 --hours 2 --json",
		Args:    args(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Hours == 0 || o.Factor == 0 { // which stand for the defaults in Go
				return usage("--hours and --factor are %g and %g, want more than 0", o.Hours, o.Factor)
			}
			if err := o.Validate(); err != nil {
				return usage("%w", err)
			}
			o.Revision, o.Progress = revision(), countProgress(c, "minutes")
			r, err := o.Run()
			if err != nil {
				return fmt.Errorf("bench sim-day: %w", err)
			}
			w := c.OutOrStdout()
			if asJSON {
				return json.NewEncoder(w).Encode(r)
			}
			const row = "%-34s %s\n"
			fmt.Fprintf(w, row, fmt.Sprintf("%d functions, %g hours", r.Functions, r.Hours),
				fmt.Sprintf("%d requests in %.1f s", r.Requests, r.Wall))
			fmt.Fprintf(w, row, "speed",
				bench.Digits(r.RequestsPerSecond)+" requests/s, "+duration(r.Nanoseconds)+" each")
			fmt.Fprintf(w, row, "requests expected", fmt.Sprintf("%.0f", r.Expected))
			fmt.Fprintf(w, row, "instances, busy (by Little's law)",
				fmt.Sprintf("%.0f, %.0f (%.0f)", r.Instances, r.Busy, r.Little))
			fmt.Fprintf(w, row, "utilisation", fmt.Sprintf("%.1f %%", 100*r.Utilisation))
			fmt.Fprintf(w, row, "cold starts", fmt.Sprintf("%.2f %% of requests", 100*r.Cold))
			fmt.Fprintf(w, row, "busiest 18.6 % of functions",
				fmt.Sprintf("%.2f %% of requests (sample: %.2f %%)", 100*r.TopShare, 100*r.SampleTopShare))
			fmt.Fprintf(w, row, "latency, median and 99 %", fmt.Sprintf("%.3g s, %.3g s", r.Median, r.P99))
			if r.PeakMemory > 0 {
				fmt.Fprintf(w, row, "peak memory", fmt.Sprintf("%.0f MB", r.PeakMemory))
			}
			return nil
		},
	}
	fl := c.Flags()
	countVar(fl, &o.Functions, "functions", o.Functions, 1, "number of functions")
	fl.Float64Var(&o.Hours, "hours", o.Hours, "length of the day")
	fl.Float64Var(&o.Factor, "factor", o.Factor, "times the sample's requests")
	fl.Uint64Var(&o.Seed, "seed", o.Seed, "seed of arrivals and durations")
	fl.BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
