package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/eval/profiles"
)

func profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Fit laws of execution time to measurements, check predictions against measured requests",
		Example: `  stoker profile fit windows.csv --out profile/
  stoker profile fit function_profiles.csv
  stoker profile check app.yaml requests.csv --choice resize=1024`,
		Args: args(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(profileFitCommand(), profileCheckCommand(), profileReplayCommand())
	return c
}

func profileFitCommand() *cobra.Command {
	q := profiles.Default()
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "fit FILE",
		Short: "Fit laws to measurements in a CSV file, and say how far each errs",
		Long: `Fit laws of functions' execution times. The header of FILE says which laws; function may be missing, seconds stand for ms,
cores for cpu (millicores):

  function, cpu, instances, rate, ms   a row per window: the laws of env.laws in stoker/Sizing-v3. rate is in requests a
                                       second of all instances (or requests and window, in seconds), ms the mean time;
                                       limit (requests at once in an instance) and memory_mb may be there
  function, cpu, inside, ms            a row per request: the same laws. inside is the number of requests in the
                                       instance while this one ran, itself included
  function, memory, ms                 a row per run: laws over the memory size (MB); pacslab's function_profiles.csv is one

The laws of env.laws are printed as YAML for the configuration that stoker new sizing writes (stoker new sizing NAME --laws
LAWS takes them in). A number that the measurements do not tell is named, with what was taken and what to measure. With
--out the folder gets laws.yaml, laws.json, settings and predictions as CSV, and a figure.

The laws over memory:

  exponential  A + B·exp(-C·m), OptiServe's eq. 3.1
  knee         A + B/min(m, K): more memory helps up to the last core that the code uses
  single       A + B/(min(m/M, Q) + C), StepConf's eq. 1 for code of one core
  multi        A + B·exp(-C·min(m/M, Q)), StepConf's eq. 1 for code of several cores
  table        the measured means, with straight lines in logarithms between them

Each is fitted by least squares of relative errors (--plain: of errors in seconds, as the papers do) and judged at memory
sizes that were left out of the fit, one after the other. With --law auto the best of them is taken. The last column is
what the papers' fit gives. With --out the folder gets profile.json, the laws and the predictions as CSV, and figures.
--law, --few, --plain, --single-core and --cores are for these laws alone.`,
		Example: `  stoker profile fit windows.csv --out profile/
  stoker profile fit function_profiles.csv
  stoker profile fit runs.csv --law auto --few 12 --out profile/
  stoker profile fit runs.csv --law exponential --plain --json`,
		Args: args(1, 1, "a CSV file of measurements"),
		RunE: func(c *cobra.Command, a []string) error {
			if err := q.Validate(); err != nil {
				return usage("%w", err)
			}
			f, err := os.Open(a[0])
			if err != nil {
				return usage("%w", err)
			}
			defer f.Close()
			b := bufio.NewReader(f)
			kind, err := profiles.KindOf(b)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			p := fitted{out: out, json: asJSON}
			if kind != profiles.RunRows {
				for _, name := range []string{"law", "few", "plain", "single-core", "cores"} {
					if c.Flags().Changed(name) {
						return usage("--%s is for runs over memory sizes, and %s has %s", name, a[0], kind)
					}
				}
				r, err := profiles.FitLaws(b, filepath.Base(a[0]))
				if err != nil {
					return usage("%s: %w", a[0], err)
				}
				return p.show(c.OutOrStdout(), r, profiles.LawsText(r), func() ([]string, error) { return profiles.WriteLaws(out, r) })
			}
			r, err := profiles.Fit(b, q)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			return p.show(c.OutOrStdout(), r, profiles.Text(r), func() ([]string, error) { return profiles.Write(out, r) })
		},
	}
	fl := c.Flags()
	fl.StringVar(&q.Law, "law", q.Law, "a law, or auto for the one that errs least at sizes left out")
	countVar(fl, &q.Few, "few", 0, 0, "memory sizes to fit to, spread evenly (0 is all); errors are over all")
	fl.BoolVar(&q.Options.Plain, "plain", false, "least squares of errors in seconds in place of relative ones")
	fl.Float64Var(&q.Options.SingleCore, "single-core", q.Options.SingleCore,
		"memory in MB that gives a whole core (StepConf's m_s)")
	fl.Float64Var(&q.Options.Cores, "cores", 0,
		"cores that the code can use (StepConf's q; 0 is what the largest size gives)")
	fl.StringVar(&out, "out", "", "folder for tables and figures")
	fl.BoolVar(&asJSON, "json", false, "print profile.json")
	completeWords(c, "law", profiles.Laws()...)
	return c
}

// fitted says where a fit is shown.
type fitted struct {
	out  string
	json bool
}

// show writes the files where a folder is named, and prints the result r, or its text and the files.
func (p fitted) show(w io.Writer, r any, text string, write func() ([]string, error)) error {
	var files []string
	if p.out != "" {
		var err error
		if files, err = write(); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if p.json {
		return printJSON(w, r)
	}
	fmt.Fprint(w, text)
	for _, f := range files {
		fmt.Fprintf(w, "wrote %s\n", filepath.Join(p.out, f))
	}
	return nil
}

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

func profileReplayCommand() *cobra.Command {
	o := profiles.DefaultReplay()
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Say how many runs a law needs: buy measured runs as Parrotfish would, and at sizes spread evenly",
		Long: `Replay the profiling of functions that were measured at many memory sizes. FILE is as for profile fit, with at least 11
runs at each size. Parrotfish measures first the smallest size, one at a third and the largest one, then each time the size
with the least cost·(1 + knowledge), where knowledge is that of the sizes around it that were measured; OptiServe profiles
functions this way. The other design spreads the same number of sizes evenly. Two laws are fitted to what was bought: the
exponential one by plain least squares, as the papers do, and the law that errs least at sizes left out. Errors are over
all sizes of FILE.`,
		Example: `  stoker profile replay function_profiles.csv
  stoker profile replay function_profiles.csv --samples 4 --seeds 20 --out replay/`,
		Args: args(1, 1, "a CSV file of runs"),
		RunE: func(c *cobra.Command, a []string) error {
			f, err := os.Open(a[0])
			if err != nil {
				return usage("%w", err)
			}
			defer f.Close()
			r, err := profiles.Replay(f, o)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			w := c.OutOrStdout()
			var files []string
			if out != "" {
				if files, err = profiles.WriteReplay(out, r); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			if asJSON {
				return printJSON(w, r)
			}
			fmt.Fprint(w, profiles.ReplayText(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	fl := c.Flags()
	countVar(fl, &o.Parrotfish.Samples, "samples", o.Parrotfish.Samples, 1, "runs at each size at first (4 in Parrotfish's code)")
	countVar(fl, &o.Seeds, "seeds", o.Seeds, 2, "times that each function is profiled")
	countVar(fl, &o.Points, "sizes", o.Points, 4, "most memory sizes that are bought")
	fl.StringVar(&out, "out", "", "folder for table and figure")
	fl.BoolVar(&asJSON, "json", false, "print the errors as JSON")
	return c
}
