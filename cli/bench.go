package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

// benchFlags are the flags of bench that are not options of the measurements.
type benchFlags struct {
	json    bool
	seconds float64
	peers   []string
	beside  string
	pause   float64
}

// peerRounds is how often ours and the peers are run in turn where --repeat doesn't say.
const peerRounds = 5

func benchCommand() *cobra.Command {
	var o bench.Options
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [NAME]…",
		Short: "Measure the speed of this machine: updates, steps, requests, operations",
		Long: "Measure the speed of this machine. Each line is one measurement; with --json, one JSON object a line.\n\n" +
			benchNames() + "\nThe torch engine is measured by --engine torch, which needs make cuda.\n\n" +
			"With --peer-cmd a command of the shell runs in turn with ours, --repeat times over (" + strconv.Itoa(
			peerRounds,
		) + "). It prints a JSON object a line,\n" +
			`such as {"bench":"attmf","peer":"lean","agents":5,"batch":64,"updates_per_second":556}. What belongs together is found by the keys (agents, batch,` + "\n" +
			"env, instances, …) that both have; the ratio is of neighbours in time, its median and quartiles are " +
			"printed.",
		Example: `  stoker bench
  stoker bench attmf --agents 12 --batch 1024 --json
  stoker bench attmf --agents 50 --dense --threads 1,2 --kernels avx512,avx2,go --repeat 5
  stoker bench attmf op --engine torch
  stoker bench graph --edges 1000,1000000 --threads 1,2
  stoker bench scale --agents 200,1000 --form attmf,maddpg --threads 1
  stoker bench env --env stoker/CartPole-v1
  stoker bench sim --instances 230
  stoker bench decide --seconds 0.3
  stoker bench attmf --agents 5 --peer-cmd 'python torch_attmf.py --json --agents 5 --forms lean'
  stoker bench --beside docs/results/speed/recorded.jsonl`,
		RunE: func(c *cobra.Command, names []string) error {
			list, err := bench.Find(names)
			if err != nil {
				return usage("%w", err)
			}
			if !(f.seconds > 0) || f.seconds > 3600 {
				return usage("--seconds is %g, want more than 0 and at most 3600", f.seconds)
			}
			if err := o.Validate(); err != nil {
				return usage("%w", err)
			}
			if !(f.pause >= 0) || f.pause > 3600 {
				return usage("--pause is %g, want 0 to 3600", f.pause)
			}
			if slices.Contains(f.peers, "") {
				return usage("--peer-cmd is empty, want a command that prints measurements")
			}
			past, err := recorded(f.beside)
			if err != nil {
				return err
			}
			if o.Engine != "" || o.Device != "" {
				e := configs.Engine{Name: o.Engine, Device: o.Device}
				if e.Name == "" && e.Device != "cpu" {
					e.Name = engines.Torch
				}
				if err := runInTorch(e); err != nil {
					return err
				}
			}
			o.Time, o.Revision = time.Duration(f.seconds*float64(time.Second)), revision()
			if len(names) == 0 && !slices.Contains(engines.Names(), engines.Torch) {
				fmt.Fprintf(c.ErrOrStderr(), "op is left out: %v\n", libtorch.Unavailable("the torch engine", nil))
				list = slices.DeleteFunc(list, func(b bench.Benchmark) bool { return b.Name == "op" })
			}
			if len(f.peers) > 0 {
				return comparePeers(c, list, o, f)
			}
			return runBench(c, list, o, past, f.json)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, b := range bench.All() {
				out = append(out, b.Name+"\t"+b.Doc)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := c.Flags()
	fl.IntSliceVar(&o.Agents, "agents", nil, "numbers of agents (attmf) or functions (scale)")
	fl.IntSliceVar(&o.Batch, "batch", nil, "batch sizes (attmf)")
	fl.BoolVar(&o.Dense, "dense", false, "every agent sees all agents instead of about four (attmf)")
	fl.StringSliceVar(&o.Forms, "form", nil, "learners: attmf, mf, maddpg (scale)")
	fl.IntSliceVar(&o.Instances, "instances", nil, "numbers of instances (sim)")
	fl.StringVar(&o.EnvID, "env", "", "one environment (env)")
	fl.IntSliceVar(&o.Edges, "edges", nil, "numbers of edges (graph)")
	countVar(fl, &o.Hidden, "hidden", 0, 1, "width of the network (graph; default 64)")
	countVar(fl, &o.Episodes, "episodes", 0, 1, "episodes of training (spread; default 2500), or problems of each application (plan; 250)")
	fl.StringVar(&o.Engine, "engine", "", "native (default), torch or gorgonia")
	fl.StringVar(&o.Device, "device", "", "cpu or cuda:N")
	fl.IntSliceVar(&o.Threads, "threads", nil,
		"threads of the engine, one measurement for each (0: the engine's choice)")
	fl.StringSliceVar(&o.Kernels, "kernels", nil,
		"kernels of the native engine (avx512, avx2, go), one measurement for each")
	fl.Float64Var(&f.seconds, "seconds", 1, "length of each measurement")
	countVar(fl, &o.Repeat, "repeat", 0, 1, "repeat each measurement this often, for its median and quartiles")
	fl.StringArrayVar(&f.peers, "peer-cmd", nil, "a command that measures the same, run in turn with ours (repeatable)")
	fl.Float64Var(&f.pause, "pause", 0, "with --peer-cmd: seconds of rest between two rounds")
	fl.StringVar(&f.beside, "beside", "", "a file of measurements (JSON lines) to show beside the new ones")
	fl.BoolVar(&f.json, "json", false, "print one JSON object a line")
	completeWords(c, "engine", engines.Native, engines.Torch)
	completeWords(c, "form", "attmf", "mf", "maddpg")
	completeWords(c, "kernels", "avx512", "avx2", "go")
	c.AddCommand(benchDayCommand())
	return c
}

func benchNames() string {
	out := ""
	for _, b := range bench.All() {
		out += fmt.Sprintf("  %-8s %s\n", b.Name, b.Doc)
	}
	return out
}

// recorded reads the file of --beside.
func recorded(path string) ([]bench.Line, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--beside: %w", err)
	}
	defer f.Close()
	lines, err := bench.ReadLines(f)
	if err == nil && len(lines) == 0 {
		err = errors.New("no measurement in it, want the lines of stoker bench --json")
	}
	if err != nil {
		return nil, usage("--beside %s: %w", path, err)
	}
	return lines, nil
}

// runBench runs the measurements and prints each when it is there, beside those of the past that match.
func runBench(c *cobra.Command, list []bench.Benchmark, o bench.Options, past []bench.Line, asJSON bool) error {
	w := c.OutOrStdout()
	// Not a tabwriter: each line is printed when it is measured.
	const row = "%-8s %-24s %-14s %7s %20s %17s %11s %9s  %s\n"
	// Only above a first measurement: where there is none, standard output stays empty.
	head := sync.OnceFunc(func() {
		m := bench.ThisMachine()
		fmt.Fprintf(w, "%s, %d cores, %.0f GB, %s/%s, %s; revision %s\n", m.CPU, m.Cores, m.Memory/1000, m.OS, m.Arch,
			m.Go, o.Revision)
		for _, r := range past[:min(len(past), 1)] {
			fmt.Fprintf(w, "recorded on %v, %v cores; revision %v\n", r["cpu"], r["cores"], r["revision"])
		}
		header := ""
		if len(past) > 0 {
			header = "times what was recorded"
		}
		fmt.Fprintf(w, row, "what", "of", "engine", "threads", "rate", "time", "allocations", "memory", header)
	})
	for _, b := range list {
		var failed error
		err := b.Run(o, func(r bench.Result) {
			line, err := bench.AsLine(r)
			if err != nil {
				failed = errors.Join(failed, err)
				return
			}
			if asJSON {
				text, err := json.Marshal(r)
				failed = errors.Join(failed, err)
				fmt.Fprintf(w, "%s\n", text)
				return
			}
			head()
			var remarks []string
			for _, p := range bench.Beside(line, past) {
				remarks = append(remarks, bench.Against(line, p))
			}
			if r.PartOfPeak > 0 {
				remarks = append(remarks, fmt.Sprintf("%.0f %% of the core's peak", 100*r.PartOfPeak))
			}
			fmt.Fprintf(w, row, r.Bench, of(r), engineOf(r), threads(r), r.Rate(), spread(r),
				fmt.Sprintf("%.3g", r.Allocations), memory(r), strings.Join(remarks, ", "))
		})
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("bench %s: %w", b.Name, err)
		}
	}
	return nil
}

// comparePeers runs ours and the peers in turn and prints ratios.
func comparePeers(c *cobra.Command, list []bench.Benchmark, o bench.Options, f benchFlags) error {
	p := bench.Peers{Commands: f.peers, Rounds: o.Repeat, OurCommand: strings.Join(os.Args, " "),
		Revision: o.Revision, Log: c.ErrOrStderr()}
	p.Pause = time.Duration(f.pause * float64(time.Second))
	if p.Rounds == 0 {
		p.Rounds = peerRounds
	}
	o.Repeat = 1
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping")
	defer release()
	rows, err := p.Compare(ctx, func() ([]bench.Line, error) { return measureAll(ctx, list, o) })
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	w := c.OutOrStdout()
	if f.json {
		for _, r := range rows {
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\n", text)
		}
		return nil
	}
	m := bench.ThisMachine()
	fmt.Fprintf(w, "%s, %d cores, %.0f GB, %s/%s; revision %s\n", m.CPU, m.Cores, m.Memory/1000, m.OS, m.Arch,
		o.Revision)
	const row = "%-44s %-26s %-22s %-20s %10s %10s %8s  %-15s %s\n"
	fmt.Fprintf(w, row, "what", "ours", "peer", "figure", "ours", "peer's", "ratio", "quartiles", "rounds")
	for _, r := range rows {
		fmt.Fprintf(w, row, r.What, r.Ours, r.Peer, r.Figure, bench.Digits(r.OurValue), bench.Digits(r.PeerValue),
			bench.Digits(r.Ratio), bench.Digits(r.Low)+"–"+bench.Digits(r.High), strconv.Itoa(r.Rounds))
	}
	return nil
}

// measureAll runs the measurements once.
func measureAll(ctx context.Context, list []bench.Benchmark, o bench.Options) ([]bench.Line, error) {
	var out []bench.Line
	for _, b := range list {
		var failed error
		err := b.Run(o, func(r bench.Result) {
			l, err := bench.AsLine(r)
			failed = errors.Join(failed, err)
			out = append(out, l)
		})
		if err := errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return out, nil
}

// duration writes nanoseconds with three digits.
func duration(ns float64) string {
	unit := "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if ns < 999.5 {
			break
		}
		ns, unit = ns/1000, next
	}
	return bench.Digits(ns) + " " + unit
}

// spread is the time of an operation and, where it was measured several times, half the distance of the quartiles in
// per cent.
func spread(r bench.Result) string {
	if r.Repeats < 2 {
		return duration(r.Nanoseconds)
	}
	return fmt.Sprintf("%s ± %.0f %%", duration(r.Nanoseconds), 50*(r.High-r.Low)/r.Nanoseconds)
}

func threads(r bench.Result) string {
	if r.Threads == 0 {
		return ""
	}
	return strconv.Itoa(r.Threads)
}

// engineOf is the engine, and on the CPU its kernels.
func engineOf(r bench.Result) string {
	return strings.TrimSpace(r.Engine + " " + r.Kernels)
}

func memory(r bench.Result) string {
	if r.PeakMemory == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MB", r.PeakMemory)
}

// of says what was measured, in a few words.
func of(r bench.Result) string {
	switch {
	case r.Scaled != nil:
		return fmt.Sprintf("%s, %d functions, decide %s", r.Form, r.Agents, duration(r.Decision))
	case r.Episodes > 0:
		return fmt.Sprintf("%d episodes", r.Episodes)
	case r.Env != "":
		return r.Env
	case r.Edges > 0:
		return fmt.Sprintf("%d edges, infer %s", r.Edges, duration(1e9*r.InferenceSeconds))
	case r.Size > 0:
		return fmt.Sprintf("%d instances", r.Size)
	case r.Agents > 0:
		dense := ""
		if r.Neighbours == "dense" {
			dense = ", dense"
		}
		return fmt.Sprintf("%d agents × %d%s", r.Agents, r.Batch, dense)
	}
	return r.What
}

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
