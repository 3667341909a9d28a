package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

// benchFlags are the flags of bench that are not options of the measurements.
type benchFlags struct {
	seconds float64
	peers   []string
	beside  string
	pause   float64
}

// peerRounds is how often ours and the peers are run in turn where --repeat doesn't say.
const peerRounds = 5

func benchCommand() *command {
	var o bench.Options
	f := &benchFlags{seconds: 1}
	return &command{
		name: "bench", takes: "[NAME]…", args: arguments{most: -1},
		fill: []string{"{benchmarks}", benchNames(), "{rounds}", strconv.Itoa(peerRounds)},
		json: "print one JSON object a line",
		flags: []flag{
			option(&o.Agents, "agents", "numbers of agents (attmf) or functions (scale)"),
			option(&o.Batch, "batch", "batch sizes (attmf)"),
			option(&o.Dense, "dense", "every agent sees all agents instead of about four (attmf)"),
			option(&o.Forms, "form", "learners: attmf, mf, maddpg (scale)", "attmf", "mf", "maddpg"),
			option(&o.Instances, "instances", "numbers of instances (sim)"),
			option(&o.EnvID, "env", "one environment (env)"),
			option(&o.Edges, "edges", "numbers of edges (graph)"),
			option(whole(&o.Hidden, 1), "hidden", "width of the network (graph; default 64), or of its layers (step; 64, 128 and 256)"),
			option(whole(&o.Episodes, 1), "episodes",
				"episodes of training (spread; default 2500), or problems of each application (plan; 250)"),
			option(&o.Engine, "engine", "native (default), torch or gorgonia", engines.Native, engines.Torch),
			option(&o.Device, "device", "cpu or cuda:N"),
			option(&o.Threads, "threads", "threads of the engine, one measurement for each (0: the engine's choice)"),
			option(&o.Kernels, "kernels", "kernels of the native engine (avx512, avx2, go), one measurement for each",
				"avx512", "avx2", "go"),
			option(&f.seconds, "seconds", "length of each measurement"),
			option(whole(&o.Repeat, 1), "repeat", "repeat each measurement this often, for its median and quartiles"),
			option(repeated{&f.peers}, "peer-cmd", "a command that measures the same, run in turn with ours (repeatable)"),
			option(&f.pause, "pause", "with --peer-cmd: seconds of rest between two rounds"),
			option(&f.beside, "beside", "a file of measurements (JSON lines) to show beside the new ones"),
		},
		complete: among(onlyThem, func(*call) (out []string) {
			for _, b := range bench.All() {
				out = append(out, b.Name+"\t"+b.Doc)
			}
			return out
		}),
		run: func(c *call) (any, error) {
			list, err := bench.Find(c.args)
			if err != nil {
				return nil, usage("%w", err)
			}
			if !(f.seconds > 0) || f.seconds > 3600 {
				return nil, usage("--seconds is %g, want more than 0 and at most 3600", f.seconds)
			}
			if err := o.Validate(); err != nil {
				return nil, usage("%w", err)
			}
			if !(f.pause >= 0) || f.pause > 3600 {
				return nil, usage("--pause is %g, want 0 to 3600", f.pause)
			}
			if slices.Contains(f.peers, "") {
				return nil, usage("--peer-cmd is empty, want a command that prints measurements")
			}
			past, err := recorded(f.beside)
			if err != nil {
				return nil, err
			}
			if o.Engine != "" || o.Device != "" {
				e := configs.Engine{Name: o.Engine, Device: o.Device}
				if e.Name == "" && e.Device != "cpu" {
					e.Name = engines.Torch
				}
				if err := runInTorch(e); err != nil {
					return nil, err
				}
			}
			o.Time, o.Revision = time.Duration(f.seconds*float64(time.Second)), revision()
			if len(c.args) == 0 && !slices.Contains(engines.Names(), engines.Torch) {
				fmt.Fprintf(c.errs, "op is left out: %v\n", libtorch.Unavailable("the torch engine", nil))
				list = slices.DeleteFunc(list, func(b bench.Benchmark) bool { return b.Name == "op" })
			}
			if len(f.peers) > 0 {
				return nil, comparePeers(c, list, o, f)
			}
			return nil, runBench(c, list, o, past)
		},
		sub: []*command{benchDayCommand()},
	}
}

func benchNames() string {
	out := ""
	for _, b := range bench.All() {
		out += fmt.Sprintf("  %-8s %s\n", b.Name, b.Doc)
	}
	return strings.TrimSuffix(out, "\n")
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
func runBench(c *call, list []bench.Benchmark, o bench.Options, past []bench.Line) error {
	// Not a tabwriter: each line is printed when it is measured.
	const row = "%-8s %-24s %-14s %7s %20s %17s %11s %9s  %s\n"
	// Only above a first measurement: where there is none, standard output stays empty.
	head := sync.OnceFunc(func() {
		m := bench.ThisMachine()
		fmt.Fprintf(c, "%s, %d cores, %.0f GB, %s/%s, %s; revision %s\n", m.CPU, m.Cores, m.Memory/1000, m.OS, m.Arch,
			m.Go, o.Revision)
		for _, r := range past[:min(len(past), 1)] {
			fmt.Fprintf(c, "recorded on %v, %v cores; revision %v\n", r["cpu"], r["cores"], r["revision"])
		}
		header := ""
		if len(past) > 0 {
			header = "times what was recorded"
		}
		fmt.Fprintf(c, row, "what", "of", "engine", "threads", "rate", "time", "allocations", "memory", header)
	})
	err := measure(c.ctx, list, o, func(r bench.Result, line bench.Line) error {
		head()
		remarks := lists.From(bench.Beside(line, past), func(p bench.Line) string { return bench.Against(line, p) })
		if r.PartOfPeak > 0 {
			remarks = append(remarks, fmt.Sprintf("%.0f %% of the core's peak", 100*r.PartOfPeak))
		}
		fmt.Fprintf(c, row, r.Bench, of(r), engineOf(r), known("%d", r.Threads), r.Rate(), spread(r),
			fmt.Sprintf("%.3g", r.Allocations), known("%.0f MB", r.PeakMemory), strings.Join(remarks, ", "))
		return c.line(r)
	})
	if err != nil {
		return fmt.Errorf("bench %w", err)
	}
	return nil
}

// comparePeers runs ours and the peers in turn and prints ratios.
func comparePeers(c *call, list []bench.Benchmark, o bench.Options, f *benchFlags) error {
	p := bench.Peers{Commands: f.peers, Rounds: o.Repeat, OurCommand: strings.Join(os.Args, " "),
		Revision: o.Revision, Log: c.errs}
	p.Pause = time.Duration(f.pause * float64(time.Second))
	if p.Rounds == 0 {
		p.Rounds = peerRounds
	}
	o.Repeat = 1
	ctx, release := c.stoppable("stopping")
	defer release()
	rows, err := p.Compare(ctx, func() (lines []bench.Line, err error) {
		err = measure(ctx, list, o, func(_ bench.Result, line bench.Line) error {
			lines = append(lines, line)
			return nil
		})
		return lines, err
	})
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	m := bench.ThisMachine()
	fmt.Fprintf(c, "%s, %d cores, %.0f GB, %s/%s; revision %s\n", m.CPU, m.Cores, m.Memory/1000, m.OS, m.Arch,
		o.Revision)
	const row = "%-44s %-26s %-22s %-20s %10s %10s %8s  %-15s %s\n"
	fmt.Fprintf(c, row, "what", "ours", "peer", "figure", "ours", "peer's", "ratio", "quartiles", "rounds")
	for _, r := range rows {
		fmt.Fprintf(c, row, r.What, r.Ours, r.Peer, r.Figure, bench.Digits(r.OurValue), bench.Digits(r.PeerValue),
			bench.Digits(r.Ratio), bench.Digits(r.Low)+"–"+bench.Digits(r.High), strconv.Itoa(r.Rounds))
		if err := c.line(r); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the measurements once and tells each when it is there.
func measure(ctx context.Context, list []bench.Benchmark, o bench.Options, tell func(bench.Result, bench.Line) error) error {
	for _, b := range list {
		var failed error
		err := b.Run(o, func(r bench.Result) {
			line, err := bench.AsLine(r)
			if err == nil {
				err = tell(r, line)
			}
			failed = errors.Join(failed, err)
		})
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
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

// engineOf is the engine, and on the CPU its kernels.
func engineOf(r bench.Result) string {
	return strings.TrimSpace(r.Engine + " " + r.Kernels)
}

// known is a number as text, and nothing where it is not known.
func known[T int | float64](format string, x T) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
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
func benchDayCommand() *command {
	o := bench.Day{Functions: 50_000, Hours: 24, Factor: 1, Seed: 1}
	return &command{
		name: "bench sim-day", json: "print one JSON object",
		flags: []flag{
			option(whole(&o.Functions, 1), "functions", "number of functions"),
			option(&o.Hours, "hours", "length of the day"),
			option(&o.Factor, "factor", "times the sample's requests"),
			option(&o.Seed, "seed", "seed of arrivals and durations"),
		},
		run: func(c *call) (any, error) {
			if o.Hours == 0 || o.Factor == 0 || o.Seed == 0 { // which stand for the defaults in Go
				return nil, usage("--hours, --factor and --seed are %g, %g and %d, want more than 0", o.Hours, o.Factor, o.Seed)
			}
			if err := o.Validate(); err != nil {
				return nil, usage("%w", err)
			}
			o.Revision, o.Progress = revision(), c.count("minutes")
			r, err := o.Run()
			if err != nil {
				return nil, fmt.Errorf("bench sim-day: %w", err)
			}
			const row = "%-34s %s\n"
			fmt.Fprintf(c, row, fmt.Sprintf("%d functions, %g hours", r.Functions, r.Hours),
				fmt.Sprintf("%d requests in %.1f s", r.Requests, r.Wall))
			fmt.Fprintf(c, row, "speed",
				bench.Digits(r.RequestsPerSecond)+" requests/s, "+duration(r.Nanoseconds)+" each")
			fmt.Fprintf(c, row, "requests expected", fmt.Sprintf("%.0f", r.Expected))
			fmt.Fprintf(c, row, "instances, busy (by Little's law)",
				fmt.Sprintf("%.0f, %.0f (%.0f)", r.Instances, r.Busy, r.Little))
			fmt.Fprintf(c, row, "utilisation", fmt.Sprintf("%.1f %%", 100*r.Utilisation))
			fmt.Fprintf(c, row, "cold starts", fmt.Sprintf("%.2f %% of requests", 100*r.Cold))
			fmt.Fprintf(c, row, "busiest 18.6 % of functions",
				fmt.Sprintf("%.2f %% of requests (sample: %.2f %%)", 100*r.TopShare, 100*r.SampleTopShare))
			fmt.Fprintf(c, row, "latency, median and 99 %", fmt.Sprintf("%.3g s, %.3g s", r.Median, r.P99))
			if r.PeakMemory > 0 {
				fmt.Fprintf(c, row, "peak memory", fmt.Sprintf("%.0f MB", r.PeakMemory))
			}
			return nil, c.line(r)
		},
	}
}
