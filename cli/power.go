package cli

import (
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval"
)

func powerCommand() *cobra.Command {
	var p eval.PowerPlan
	var asJSON bool
	c := &cobra.Command{
		Use:   "power [EVALUATION]",
		Short: "Say how many seeds a verdict needs",
		Long: `Print the probability that stoker eval would say "better" (or "worse"), by simulating its decision: paired differences,
Holm's correction over the rivals, simultaneous intervals.

Without an evaluation, differences are in standard deviations of the paired differences between workloads. With an
evaluation's folder (a pilot), differences and deviations are the measured ones, and the table shows other numbers of
seeds. A pilot's difference is itself uncertain: use the smallest difference that matters to you. With one training seed a
verdict holds for that checkpoint only; for a method use --training 3,5,10.`,
		Example: `  stoker power                                             # workload seeds for one checkpoint
  stoker power --training 3,5,10,20 --seed-deviation 1     # training seeds for a method
  stoker power runs/sizing-s1/eval --metric price    # from a pilot
  stoker power --rivals 1 --effect 0.3 --workloads 50,100,200 --json`,
		Args: args(0, 1, ""),
		RunE: func(c *cobra.Command, a []string) error {
			var rows []eval.PowerRow
			var err error
			if len(a) == 1 {
				for _, name := range []string{"effect", "seed-deviation", "rivals"} {
					if c.Flags().Changed(name) {
						return usage("--%s is for a table without an evaluation; %s has its own", name, a[0])
					}
				}
				rows, err = eval.PowerOf(a[0], p)
			} else {
				if len(p.Metrics) > 0 {
					return usage("--metric is one of an evaluation: name its folder")
				}
				rows, err = eval.PowerTable(p)
			}
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(c.OutOrStdout(), rows)
			}
			return printPower(c, rows)
		},
	}
	fl := c.Flags()
	fl.Float64SliceVar(&p.Effects, "effect", []float64{0.2, 0.5, 0.8, 1, 1.5, 2},
		"true differences, in standard deviations between workloads")
	countsVar(fl, &p.Workloads, "workloads", []int{10, 20, 50, 100}, "numbers of workload seeds")
	countsVar(fl, &p.Training, "training", []int{1}, "numbers of training seeds")
	fl.Float64Var(&p.SeedDeviation, "seed-deviation", 1, "deviation between training seeds over that between workloads")
	countVar(fl, &p.Rivals, "rivals", 4, 1, "policies compared with, over which p is corrected")
	fl.StringSliceVar(&p.Metrics, "metric", nil, "metrics of the evaluation (default: all)")
	countVar(fl, &p.Trials, "trials", 400, 100, "simulated evaluations for each number")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// printPower prints a line per comparison and number of training seeds, or per number of seeds, and a column per what
// varies.
func printPower(c *cobra.Command, rows []eval.PowerRow) error {
	w := c.OutOrStdout()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	if len(rows) == 0 || rows[0].Metric == "" {
		fmt.Fprintln(w, "probability of a verdict, by true difference in deviations between workloads")
		head, last := "training seeds\tworkload seeds\t", ""
		var effects []float64
		for _, r := range rows {
			if !slices.Contains(effects, r.Difference) {
				effects = append(effects, r.Difference)
				head += number(r.Difference) + "\t"
			}
		}
		fmt.Fprint(t, head)
		for _, r := range rows {
			if line := fmt.Sprintf("\n%d\t%d\t", r.TrainingSeeds, r.WorkloadSeeds); line != last {
				fmt.Fprint(t, line)
				last = line
			}
			fmt.Fprintf(t, "%.2f\t", r.Power)
		}
		fmt.Fprintln(t)
		return t.Flush()
	}
	fmt.Fprintln(w, "probability of a verdict by workload seeds, if difference and deviations are as measured")
	head, last := "metric\ta\tb\tdifference\tdeviation\tof seeds\ttraining seeds\t", ""
	var counts []int
	for _, r := range rows {
		if !slices.Contains(counts, r.WorkloadSeeds) {
			counts = append(counts, r.WorkloadSeeds)
			head += fmt.Sprintf("%d\t", r.WorkloadSeeds)
		}
	}
	fmt.Fprint(t, head)
	for _, r := range rows {
		seeds := "?"
		if r.TrainingSeeds > 1 || r.SeedDeviation > 0 {
			seeds = number(r.SeedDeviation)
		}
		line := fmt.Sprintf("\n%s\t%s\t%s\t%s\t%s\t%s\t%d\t", r.Metric, r.A, r.B, number(r.Difference),
			number(r.Deviation), seeds, r.TrainingSeeds)
		if line != last {
			fmt.Fprint(t, line)
			last = line
		}
		fmt.Fprintf(t, "%.2f\t", r.Power)
	}
	fmt.Fprintln(t)
	return t.Flush()
}
