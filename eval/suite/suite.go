package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/train"
)

// Suite redoes one paper's figures.
type Suite struct {
	// Name is what `stoker suite NAME` calls it: lower-case letters, digits and dashes.
	Name string
	// Doc says in a line what it redoes, Paper whose figures they are.
	Doc, Paper string
	// Seeds is how many workload seeds it plays, 1 to Seeds, where the caller names none; QuickSeeds with --quick.
	Seeds, QuickSeeds int
	// Run plays and reports. It returns ctx's cause where ctx ends.
	Run func(ctx context.Context, o Options, r *Report) error
}

// Options are what the caller asks of any suite.
type Options struct {
	// Quick asks for a result in under two minutes on two cores. Fewer seeds come by themselves; what else is left out
	// is the suite's to choose.
	Quick bool
	// Seeds are the workload seeds. [Run] fills them in where there are none.
	Seeds []uint64
	// Workers is the number of goroutines; 0 is one per core. Results do not depend on it.
	Workers int
	// Data is a folder with real traces; empty means what the program carries.
	Data string
	// Runs is the folder of the runs that the suite trains, which a later call takes up; empty is a folder that goes when
	// the suite is done.
	Runs string
	// Progress, where set, is told how many of how many parts of a stage are done, never twice at a time.
	Progress func(stage string, done, all int)
	// Elsewhere, where set, is a farm whose workers train the suite's runs, and play the policies that they can make.
	Elsewhere *train.Elsewhere

	made Made
}

func (o *Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// check says what of a suite cannot be right.
func (s *Suite) check() error {
	switch {
	case s.Name == "" || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return fmt.Errorf("suite: the name is %q, want lower-case letters, digits and dashes", s.Name)
	case s.Doc == "" || s.Paper == "" || s.Run == nil:
		return fmt.Errorf("suite %s: Doc, Paper or Run is missing", s.Name)
	case s.Seeds < 1 || s.QuickSeeds < 1:
		return fmt.Errorf("suite %s: %d workload seeds and %d quick ones, want at least 1 of each", s.Name, s.Seeds,
			s.QuickSeeds)
	}
	return nil
}

// fill gives options what the suite plays by default.
func (s *Suite) fill(o *Options) {
	if len(o.Seeds) > 0 {
		return
	}
	n := s.Seeds
	if o.Quick {
		n = s.QuickSeeds
	}
	for i := range n {
		o.Seeds = append(o.Seeds, uint64(i+1))
	}
}

// command is the command line that makes the result again. The folders are not named: they differ from machine to
// machine.
func (s *Suite) command(o *Options) string {
	out := "stoker suite " + s.Name
	if o.Quick {
		out += " --quick"
	}
	seeds := ranges(o.Seeds)
	if seeds == "0" {
		seeds = "0-0" // the command refuses 0, which elsewhere means the default
	}
	out += " --seeds " + seeds
	if o.Data != "" {
		out += " --data FOLDER"
	}
	return out
}

// ranges writes seeds as they are typed: 1-20, or 1,2,10-12.
func ranges(seeds []uint64) string {
	var out []string
	for i := 0; i < len(seeds); {
		j := i + 1
		for j < len(seeds) && seeds[j] == seeds[j-1]+1 {
			j++
		}
		part := fmt.Sprint(seeds[i])
		if j > i+1 {
			part += fmt.Sprintf("-%d", seeds[j-1])
		}
		out, i = append(out, part), j
	}
	return strings.Join(out, ",")
}

// Made is how a result came to be, for its file.
type Made struct{ Version, Revision string }

// Run runs a suite and leaves its result in dir, which is made where it is missing. A folder that holds something
// else than this suite's result is refused before anything is played. Nothing is written unless all went well.
func Run(ctx context.Context, s Suite, o Options, dir string, m Made) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := Free(dir, s.Name); err != nil {
		return nil, err
	}
	s.fill(&o)
	o.made = m
	r := newReport(o.Seeds)
	if err := s.play(ctx, o, r); err != nil {
		return nil, fmt.Errorf("suite %s: %w", s.Name, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.err != nil {
		return nil, fmt.Errorf("suite %s: report: %w", s.Name, r.err)
	}
	res := r.result
	res.Suite, res.Doc, res.Paper, res.Quick, res.Seeds = s.Name, s.Doc, s.Paper, o.Quick, o.Seeds
	res.Command, res.Version, res.Revision = s.command(&o), m.Version, m.Revision
	if err := write(dir, r, &res); err != nil {
		return nil, fmt.Errorf("writing %s: %w", dir, err)
	}
	return &res, nil
}

// play runs the suite with a folder for its trainings.
func (s *Suite) play(ctx context.Context, o Options, r *Report) error {
	if o.Runs != "" {
		return s.Run(ctx, o, r)
	}
	dir, err := os.MkdirTemp("", "stoker-suite-")
	if err != nil {
		return err
	}
	o.Runs = dir
	return errors.Join(s.Run(ctx, o, r), os.RemoveAll(dir))
}

// Usage marks an error as the caller's: exit code 2.
func Usage(format string, args ...any) error { return train.Usage(format, args...) }

// Find returns the suite of a name. An unknown one is an error that names the nearest and all that there are.
func Find(list []Suite, name string) (Suite, error) {
	var known []string
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	slices.Sort(known)
	near := configs.Nearest(name, known)
	if near != "" {
		near = fmt.Sprintf(" did you mean %q?", near)
	}
	return Suite{}, fmt.Errorf("no suite %q;%s there are: %s", name, near, strings.Join(known, ", "))
}

// Play plays a request as a stage of the suite: with the options' workers, farm and progress. Contestants that have
// an environment of their own need not differ by name.
func (o *Options) Play(ctx context.Context, stage string, r eval.Request) (*eval.Played, error) {
	r.Workers, r.Away = o.workers(), o.Elsewhere
	if show := o.progress(stage); show != nil {
		r.Progress = func(p eval.Progress) { show(p.Done, p.All) }
	}
	p, err := eval.Run(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage, err)
	}
	return p, nil
}

// Step is a part of what a suite does.
type Step func(ctx context.Context, o *Options, r *Report) error

// InTurn does steps one after the other, up to the first that fails.
func InTurn(ctx context.Context, o *Options, r *Report, steps ...Step) error {
	for _, do := range steps {
		if err := do(ctx, o, r); err != nil {
			return err
		}
	}
	return nil
}

// Stage is a step that measures something, keeps it for the claims and reports it.
func Stage[T any](keep *T, measure func(context.Context, *Options) (T, error), report ...func(T, *Report)) Step {
	return func(ctx context.Context, o *Options, r *Report) (err error) {
		if *keep, err = measure(ctx, o); err != nil {
			return err
		}
		for _, tell := range report {
			tell(*keep, r)
		}
		return nil
	}
}

// Each does n independent parts of a stage with the options' workers, as [eval.Each] does.
func (o *Options) Each(ctx context.Context, stage string, n int, do func(i int) error) error {
	return eval.Each(ctx, o.workers(), n, o.progress(stage), func(_, i int) error { return do(i) })
}

func (o *Options) progress(stage string) func(done, all int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, all int) { o.Progress(stage, done, all) }
}

// Cumulative replaces each series by its running sum.
func Cumulative(series [][]float64) [][]float64 {
	out := make([][]float64, len(series))
	for i, s := range series {
		sum := 0.0
		for _, x := range s {
			sum += x
			out[i] = append(out[i], sum)
		}
	}
	return out
}

// bandResamples is the number of bootstrap resamples at a step: fewer than for a number in a table, since nobody
// reads a band off to two figures.
const bandResamples = 1000

// Band is the interquartile mean over seeds at each step with its 95 % bootstrap interval, as far as all series reach.
func Band(series [][]float64) []report.Estimate {
	if len(series) == 0 {
		return nil
	}
	n := len(series[0])
	for _, s := range series {
		n = min(n, len(s))
	}
	out := make([]report.Estimate, n)
	column := make([]float64, len(series))
	for t := range out {
		for i, s := range series {
			column[i] = s[t]
		}
		out[t] = report.Of(stats.IQMInterval(stats.Scores{column}, envs.Bounds{}, bandResamples, rng.New(1, "suite/band").Stream()))
	}
	return out
}
