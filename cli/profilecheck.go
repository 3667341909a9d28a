package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/eval/profiles"
)

func profileCheckCommand() *cobra.Command {
	source, o := profiles.DefaultSource(), profiles.DefaultCheck()
	var costs, orchestration, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check MODEL RUNS",
		Short: "Predict mean, percentiles and cost of a workflow, beside measured requests",
		Long: `Predict the mean response time, its percentiles and the cost of an application, and compare them with measured requests.

MODEL is an application's file (or app1 to app6), or a state machine of AWS Step Functions (Amazon States Language, JSON).
RUNS is a CSV file with a row per request: ms or seconds, and perhaps the functions' cost in usd or usd_per_million; the
cost may also be in a file of its own (--cost).

An application's file has laws for many memory sizes: --choice says which one was deployed. A state machine says nothing
about times and probabilities. Its functions come with --functions, a CSV file with function, memory (MB) and either ms or
seconds, a row per run, or quantiles p0, p50, … p100 in ms, a row per function. The probabilities of its choices, the items
of its maps and the seconds of its waits come with --facts, a YAML file:

  choices:
    In stock?: {Reserve: 0.9, Sorry: 0.1}
  maps: {Items: 3}
  waits: {Confirmation: 12}

Percentiles come from simulated requests; bills are the expectation of the rounded time. With --estimate-delay the
platform's delay of each run of a function is taken from every second request, and judged on the others.`,
		Example: `  stoker profile check app.yaml runs.csv --choice resize=1024 --choice detect=yolov10n@4096
  stoker profile check machine.asl.json runs.csv --functions functions.csv --facts facts.yaml
  stoker profile check App8.json App8_Duration_AWS.csv --cost App8_Cost_AWS.csv --functions App8_functions.csv \
    --percent --tariff table --orchestration express`,
		Args: args(2, 2, "a model and a CSV file of requests"),
		RunE: func(c *cobra.Command, a []string) error {
			source.Machine.Orchestration = bill.Orchestration(orchestration)
			s, err := profiles.Open(a[0], source)
			if err != nil {
				return usage("%w", err)
			}
			requests, err := profiles.OpenRequests(a[1], costs)
			if err != nil {
				return usage("%w", err)
			}
			r, err := profiles.Check(s, requests, o)
			if err != nil {
				return usage("%w", err)
			}
			w := c.OutOrStdout()
			var files []string
			if out != "" {
				if files, err = profiles.WriteCheck(out, r); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			if asJSON {
				return printJSON(w, r)
			}
			fmt.Fprint(w, profiles.CheckText(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	fl := c.Flags()
	m := &source.Machine
	fl.StringVar(&costs, "cost", "", "CSV file of the requests' costs, where RUNS has none")
	fl.StringToStringVar(&source.Choices, "choice", nil, "the option that ran, function=MB or function=variant@MB")
	fl.StringVar(&m.Functions, "functions", "", "CSV file of a state machine's functions: memory sizes and times")
	fl.StringVar(&m.Facts, "facts", "", "YAML file of a state machine's probabilities, items and waits")
	fl.BoolVar(&m.Percent, "percent", false,
		"read choices that compare a number as percentages: it is drawn evenly from 0 to 100")
	fl.StringVar(&m.Tariff, "tariff", m.Tariff, "prices of a state machine's functions: lambda, lambda100 or table")
	fl.StringVar(&orchestration, "orchestration", string(m.Orchestration),
		"who moves a state machine's requests: none, standard or express")
	fl.Float64Var(&m.Delays.Node, "delay-node", m.Delays.Node, "seconds that a state machine adds for each run of a node")
	fl.Float64Var(&m.Delays.Edge, "delay-edge", m.Delays.Edge, "seconds that it adds for each edge")
	fl.BoolVar(&o.Estimate, "estimate-delay", false, "take the delay from every second request, and judge on the others")
	countVar(fl, &o.Simulated, "simulate", o.Simulated, 100, "requests to simulate")
	fl.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the simulated requests")
	fl.StringVar(&out, "out", "", "folder for tables and figure")
	fl.BoolVar(&asJSON, "json", false, "print the comparison as JSON")
	completeWords(c, "tariff", profiles.Tariffs()...)
	completeWords(c, "orchestration", string(bill.None), string(bill.Standard), string(bill.Express))
	return c
}
