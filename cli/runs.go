package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
	"github.com/stoker-rl/stoker/train/track"
)

// jobsOf is how many of n runs are trained at a time, where --jobs asks for some.
func jobsOf(c *call, x *configs.Experiment, n, jobs int) (int, error) {
	if c.given("jobs") {
		if jobs > 1 && x.Engine.Name != engines.Native {
			return 0, usage("--jobs is %d, but engine %s trains one run at a time in a process; want 1, or engine %s",
				jobs, x.Engine.Name, engines.Native)
		}
		return min(jobs, n), nil
	}
	if x.Engine.Name != engines.Native {
		return 1, nil
	}
	return min(n, runtime.GOMAXPROCS(0)), nil
}

// overSeeds sums up the last evaluations of runs that differ in their seed.
type overSeeds struct {
	Metric string  `json:"metric"`
	Seeds  int     `json:"seeds"`
	Mean   float64 `json:"mean"`
	// Deviation is the standard deviation over seeds; absent with one.
	Deviation *float64 `json:"deviation,omitempty"`
	IQM       float64  `json:"iqm"`
}

// seedRun is one of several runs in the report.
type seedRun struct {
	Seed uint64 `json:"seed"`
	*train.Result
	// Error says why the run is not done; empty where it is.
	Error string `json:"error,omitempty"`
}

// seedsReport is what --seeds with --json prints.
type seedsReport struct {
	Runs []seedRun `json:"runs"`
	// Over is absent where no run made an evaluation.
	Over *overSeeds `json:"over_seeds,omitempty"`
}

// trainSeeds trains runs side by side and reports them together. A run that fails leaves the others alone; the error
// then tells how many did.
func trainSeeds(c *call, list []train.Planned, jobs int, m *track.MLflow) (any, error) {
	b := newBoard(c.errs, isTerminal(c.errs), list)
	for i := range list {
		o := &list[i].Options
		o.Out, o.Terminal, o.LineEvery = b.of(i), false, b.every(jobs)
	}
	out := train.Together(c.ctx, list, jobs)
	b.finish()
	var report seedsReport
	var failed, stop error
	var left []uint64
	failures := 0
	for i, o := range out {
		o.Err = tell(c, m, o.Result, o.Err)
		seed := list[i].Experiment.Seed
		r := seedRun{Seed: seed, Result: o.Result}
		var sig stopped
		switch {
		case !o.Begun:
			left = append(left, seed)
			r.Error = "not begun"
		case errors.As(o.Err, &sig):
			stop, r.Error = goOn(c, o.Result, o.Err), o.Err.Error()
		case o.Err != nil:
			failures++
			err := goOn(c, o.Result, o.Err)
			failed, r.Error = errors.Join(failed, fmt.Errorf("seed %d: %w", seed, err)), err.Error()
		}
		report.Runs = append(report.Runs, r)
	}
	report.Over = over(report.Runs)
	if len(left) > 0 {
		fmt.Fprintf(c.errs, "not begun: seeds %v\n", left)
		if stop == nil { // the signal came between two runs
			stop = context.Cause(c.ctx)
		}
	}
	printSeeds(c, report)
	if failed != nil {
		return report, fmt.Errorf("%d of %d seeds failed:\n%w", failures, len(list), failed)
	}
	return report, stop
}

// over is nil where no finished run has an evaluation.
func over(runs []seedRun) *overSeeds {
	var x []float64
	metric := ""
	for _, r := range runs {
		if r.Error == "" && r.LastValue != nil {
			x, metric = append(x, *r.LastValue), r.BestMetric
		}
	}
	if len(x) == 0 {
		return nil
	}
	o := &overSeeds{Metric: metric, Seeds: len(x), IQM: stats.IQM(x)}
	for _, v := range x {
		o.Mean += v / float64(len(x))
	}
	if n := float64(len(x)); n > 1 {
		sum := 0.0
		for _, v := range x {
			sum += (v - o.Mean) * (v - o.Mean)
		}
		o.Deviation = new(math.Sqrt(sum / (n - 1)))
	}
	return o
}

func printSeeds(w io.Writer, r seedsReport) {
	number := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.5g", *x)
	}
	const row = "%6s %10s %9s %12s %12s %10s  %s\n"
	fmt.Fprintf(w, row, "seed", "steps", "episodes", "last", "best", "at step", "run")
	var done []string
	for _, s := range r.Runs {
		if s.Result == nil {
			fmt.Fprintf(w, row, fmt.Sprint(s.Seed), "-", "-", "-", "-", "-", firstLine(s.Error))
			continue
		}
		note := s.Dir
		if s.Error != "" {
			note += ": " + firstLine(s.Error)
		} else {
			done = append(done, shell.Quote(s.Dir))
		}
		fmt.Fprintf(w, row, fmt.Sprint(s.Seed), fmt.Sprint(s.Steps), fmt.Sprint(s.Episodes), number(s.LastValue),
			number(s.BestValue), fmt.Sprint(s.BestStep), note)
	}
	if o := r.Over; o != nil {
		deviation := ""
		if o.Deviation != nil {
			deviation = fmt.Sprintf(" ± %.3g (standard deviation)", *o.Deviation)
		}
		fmt.Fprintf(w, "%s of the last evaluation over %d seeds: mean %.5g%s, interquartile mean %.5g\n", o.Metric,
			o.Seeds, o.Mean, deviation, o.IQM)
	}
	if len(done) > 0 {
		fmt.Fprintf(w, "compare them: stoker eval %s\n", strings.Join(done, " "))
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// board shows how several runs are getting on: on a terminal a line for each, drawn over and over; else their lines,
// each with the run's name.
type board struct {
	screen
	names []string
	last  []string // what each said last, on a terminal
	drawn time.Time
}

func newBoard(out io.Writer, terminal bool, list []train.Planned) *board {
	b := &board{screen: screen{out: out, terminal: terminal}, last: make([]string, len(list))}
	for _, p := range list {
		name := p.Options.Name
		if name == "" {
			name = train.Name(p.Experiment)
		}
		b.names = append(b.names, name)
	}
	return b
}

// every is how often a run prints a line: all together every two seconds or so where lines stay.
func (b *board) every(jobs int) time.Duration {
	if b.terminal {
		return 500 * time.Millisecond
	}
	return time.Duration(2*jobs) * time.Second
}

// of is where run i writes.
func (b *board) of(i int) io.Writer {
	return &lines{on: &b.screen, say: func(line string) { b.say(i, line) }}
}

// screen is where runs that go on side by side are shown.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	rows     int // drawn
}

// lines takes what one run writes and says its whole lines, those without text aside.
type lines struct {
	on   *screen
	say  func(line string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			l.on.mu.Lock()
			l.say(text)
			l.on.mu.Unlock()
		}
		l.rest = append(l.rest[:0], rest...)
	}
}

func (b *board) say(i int, line string) {
	if !b.terminal {
		fmt.Fprintf(b.out, "%s: %s\n", b.names[i], line)
		return
	}
	b.last[i] = strings.TrimPrefix(line, filepath.Base(b.names[i])+": ")
	if time.Since(b.drawn) > 100*time.Millisecond {
		b.draw()
	}
}

// draw goes up over the lines drawn before and writes them anew.
func (b *board) draw() {
	b.drawn = time.Now()
	var s strings.Builder
	if b.rows > 0 {
		fmt.Fprintf(&s, "\x1b[%dA", b.rows)
	}
	for i, line := range b.last {
		if line == "" {
			line = "waiting"
		}
		fmt.Fprintf(&s, "\r\x1b[K%s\n", short(b.names[i]+"  "+line, terminalWidth(b.out)-1))
	}
	b.rows = len(b.last)
	fmt.Fprint(b.out, s.String())
}

// finish leaves the last state.
func (b *board) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.terminal {
		b.draw()
	}
}

// sweepBoard shows how a sweep is getting on: on a terminal a line for the whole and one for each run under way, drawn
// over and over; else a line for the whole now and then, and one for each run that is over.
type sweepBoard struct {
	screen
	whole string
	runs  []string          // under way, in the order in which they began
	said  map[string]string // what each said last
	told  time.Time         // when the whole was last written
}

func newSweepBoard(out io.Writer, terminal bool) *sweepBoard {
	return &sweepBoard{screen: screen{out: out, terminal: terminal}, said: map[string]string{}}
}

// of is where a run writes its progress.
func (b *sweepBoard) of(r sweep.Run) io.Writer {
	return &lines{on: &b.screen, say: func(line string) {
		if !slices.Contains(b.runs, r.Folder) {
			b.runs = append(b.runs, r.Folder)
		}
		b.said[r.Folder] = line
	}}
}

// sweepLineEvery is how often a line for the whole is written where lines stay.
const sweepLineEvery = 5 * time.Second

// report tells how far the whole is.
func (b *sweepBoard) report(p sweep.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = fmt.Sprintf("%3.0f%%  %d/%d runs", 100*float64(p.Steps)/float64(max(p.Planned, 1)), p.Finished, p.Runs)
	if p.Failed > 0 {
		b.whole += fmt.Sprintf(", %d failed", p.Failed)
	}
	b.whole += fmt.Sprintf("  %d/%d steps", p.Steps, p.Planned)
	if p.Rate > 0 {
		b.whole += fmt.Sprintf("  %.0f steps/s  ETA %s", p.Rate, p.Left.Round(time.Second))
	}
	if b.terminal {
		b.draw()
	} else if time.Since(b.told) >= sweepLineEvery {
		b.told = time.Now()
		fmt.Fprintln(b.out, b.whole)
	}
}

// ended tells that a run is over.
func (b *sweepBoard) ended(_ sweep.Arm, r sweep.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = slices.DeleteFunc(b.runs, func(o string) bool { return o == r.Folder })
	line := fmt.Sprintf("%s: %s", r.Folder, r.Status)
	if r.Error != "" {
		line += ": " + firstLine(r.Error)
	}
	switch {
	case !b.terminal:
		fmt.Fprintln(b.out, line)
	case r.Status == sweep.Failed: // it stays above what is drawn
		b.clear()
		fmt.Fprintln(b.out, short(line, terminalWidth(b.out)-1))
		b.draw()
	}
}

// clear goes up to the first of the lines drawn and removes them.
func (b *sweepBoard) clear() {
	if b.rows > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\r\x1b[J", b.rows)
	}
	b.rows = 0
}

// draw writes the whole and the runs under way over what was drawn before.
func (b *sweepBoard) draw() {
	b.clear()
	var s strings.Builder
	width := terminalWidth(b.out) - 1
	fmt.Fprintln(&s, short(b.whole, width))
	for _, r := range b.runs {
		fmt.Fprintln(&s, short("  "+r+"  "+b.said[r], width))
	}
	b.rows = 1 + len(b.runs)
	fmt.Fprint(b.out, s.String())
}

// finish leaves the last state of the whole.
func (b *sweepBoard) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.whole == "":
	case b.terminal:
		b.runs = nil
		b.draw()
	default:
		fmt.Fprintln(b.out, b.whole)
	}
}
