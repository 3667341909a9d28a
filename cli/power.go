package cli

import (
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/eval"
)

func powerCommand() *command {
	p := eval.PowerPlan{Effects: []float64{0.2, 0.5, 0.8, 1, 1.5, 2}, Workloads: []int{10, 20, 50, 100}, Training: []int{1},
		SeedDeviation: 1, Rivals: 4, Trials: 400}
	return &command{
		name: "power", takes: "[EVALUATION]", args: arguments{most: 1},
		json: "print as JSON",
		flags: []flag{
			option(&p.Effects, "effect", "true differences, in standard deviations between workloads"),
			option(wholes{&p.Workloads}, "workloads", "numbers of workload seeds"),
			option(wholes{&p.Training}, "training", "numbers of training seeds"),
			option(&p.SeedDeviation, "seed-deviation", "deviation between training seeds over that between workloads"),
			option(whole{&p.Rivals, 1}, "rivals", "policies compared with, over which p is corrected"),
			option(&p.Metrics, "metric", "metrics of the evaluation (default: all)"),
			option(whole{&p.Trials, 100}, "trials", "simulated evaluations for each number"),
		},
		run: func(c *call) (any, error) {
			var rows []eval.PowerRow
			var err error
			if len(c.args) == 1 {
				why := "is for a table without an evaluation; " + c.args[0] + " has its own"
				if err := c.without(why, "effect", "seed-deviation", "rivals"); err != nil {
					return nil, err
				}
				rows, err = eval.PowerOf(c.args[0], p)
			} else {
				if len(p.Metrics) > 0 {
					return nil, usage("--metric is one of an evaluation: name its folder")
				}
				rows, err = eval.PowerTable(p)
			}
			if err != nil {
				return nil, err
			}
			return rows, printPower(c, rows)
		},
	}
}

// printPower prints a line per comparison and number of training seeds, or per number of seeds, and a column per what
// varies.
func printPower(c *call, rows []eval.PowerRow) error {
	t := tabwriter.NewWriter(c, 0, 0, 2, ' ', tabwriter.AlignRight)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	if len(rows) == 0 || rows[0].Metric == "" {
		fmt.Fprintln(c, "probability of a verdict, by true difference in deviations between workloads")
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
	fmt.Fprintln(c, "probability of a verdict by workload seeds, if difference and deviations are as measured")
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
