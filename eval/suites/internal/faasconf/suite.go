// Package faasconf redoes the figures of FaaSConf (Wang et al., ASE 2024): the motivation (Figs. 1 to 3), the search
// under static users (Fig. 8), 85 minutes of a trace (Figs. 9 and 10) and the ablations (Figs. 11 to 14).
//
// For Figs. 9 and 10 it trains policies in the simulator (suite.Options.Train); for the others learners learn from
// libraries, in memory. Costs are USD per hour, since the paper's "scaled cost" comes without its factor.
package faasconf

import (
	"context"
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

const paper = "Wang et al., FaaSConf: QoS-aware Hybrid Resources Configuration for Serverless Workflows (ASE 2024)"

// Suite returns the suite.
func Suite() suite.Suite {
	return suite.Suite{
		Name:  "faasconf",
		Doc:   "searches for a workflow's configuration, 85 minutes of a trace, and what they stand on (Figs. 1 to 3 and 8 to 14)",
		Paper: paper, Seeds: 20, QuickSeeds: 2, Run: run,
	}
}

// The methods that learn. Firm is as published, hardware alone; with the limit it has the suffix of [withLimit].
const (
	oursName   = "attmf"
	boldName   = "attmf without safe exploration"
	firmName   = "firm"
	mfName     = "mf"
	maddpgName = "maddpg"
	ddpgName   = "ddpg"
	simppoName = "simppo"
)

func run(ctx context.Context, o suite.Options, r *suite.Report) error {
	s := sizeOf(o.Quick)
	var m *motivation
	var two *tuning
	var f *field
	var t *trace
	err := suite.InTurn(ctx, &o, r,
		suite.Stage(&m, measureMotivation, (*motivation).report),
		suite.Stage(&two, measureTuning, (*tuning).report),
		func(ctx context.Context, o *suite.Options, r *suite.Report) (err error) {
			f, err = static(ctx, o, r, s)
			return err
		},
		func(ctx context.Context, o *suite.Options, r *suite.Report) (err error) {
			t, err = dynamic(ctx, o, r, s)
			return err
		},
	)
	if err != nil {
		return err
	}
	t.report()
	s.note(r)
	suite.Judge(r, m, motivationClaims)
	suite.Judge(r, two, tuningClaims)
	suite.Judge(r, f, searchClaims)
	suite.Judge(r, t, traceClaims)
	return nil
}

// static plays and reports the searches under static users: Figs. 8 and 11 to 14.
func static(ctx context.Context, o *suite.Options, r *suite.Report, s size) (*field, error) {
	apps := make([]*app, len(s.applications))
	err := o.Each(ctx, "libraries", len(apps), func(i int) (err error) {
		apps[i], err = newApp(ctx, o, s.applications[i], []string{sizing.Hybrid, sizing.Hardware}, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	methods, err := contenders(ctx, o, apps, s)
	if err != nil {
		return nil, err
	}
	f, err := play(ctx, o, "searches", methods, apps, s)
	if err != nil {
		return nil, err
	}
	figure8(r, f)
	if err := figure11(r, f); err != nil {
		return nil, err
	}
	figure12(r, f)
	figure13(r, f)
	figure14(r, f)
	return f, nil
}

// contenders are all methods, ours first. Those that learn are trained.
func contenders(ctx context.Context, o *suite.Options, apps []*app, s size) ([]method, error) {
	var learned []method
	for _, c := range tunedLearners {
		l, err := newLearner(c.config, c.decide, c.tuned...)
		if err != nil {
			return nil, err
		}
		l.only = c.only
		if err := l.train(ctx, o, apps, s); err != nil {
			return nil, err
		}
		learned = append(learned, l.method(c.name, c.safely, c.saving, s))
		if c.bold {
			learned = append(learned, l.method(boldName, false, 0, s))
		}
	}
	return append(learned, searches()...), nil
}

// note says what was spent, and what the paper leaves open.
func (s *size) note(r *suite.Report) {
	r.Note("each method begins with the same library of %d random configurations of an application (%g to %g of each range): "+
		"those that learn have "+
		"%d updates from all of it and %d trainings, the others begin with 40 of its rows; then all have 15 windows, %d times",
		s.rows, libraryLow, libraryHigh, s.updates, s.trainings, s.repetitions)
	r.Note("prices are in USD/h: the paper scales its costs by a factor that it does not say")
	r.Note("every refused request fails (stoker/Sizing-v3), and the thresholds of workflows other than Parallel under 10 " +
		"users are ours")
	r.Note("Fig. 2: the paper does not say which QoS each function had; here it is the workflow's latency, shared out by the " +
		"functions' latencies at the largest configuration")
	r.Note("Figs. 9 and 10: %s (configs/sizing/faasconf.yaml), %s, %s and %s are trained for %d steps each, of which firm sees "+
		"no dial; %s is the first one with more steps and one training seed. Searches begin anew in the first window and have "+
		"no library", ppoName, oursName, firmName, simppoName, s.traceSteps, shippedName)
}

// The four applications of Fig. 6, and those of them whose concurrency matters.
var (
	applications = []string{sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp}
	machineLearn = applications[:3]
)

// size says how much is searched and trained.
type size struct {
	applications []string
	users        []int
	// Rows is the number of rows in each application's library; a method is shown at most as many as the protocol says.
	rows int
	// Repetitions of each search, trainings of each learner, and updates of each training.
	repetitions, trainings int
	updates                int64
	// TraceSteps is the length of the trainings for the 85 minutes; windows, where it is not 0, cuts the 85 minutes short.
	traceSteps, windows int
	// Settings of the trainings for the 85 minutes, after all others.
	settings []string
}

func sizeOf(quick bool) size {
	if quick {
		return size{
			applications: []string{sizing.Parallel}, users: []int{10, 20}, rows: 1_000, repetitions: 3, trainings: 1,
			updates: 2_000, traceSteps: 6_000,
		}
	}
	return size{
		applications: applications, users: users, rows: 3_000, repetitions: 3, trainings: 5, updates: 6_000,
		traceSteps: 200_000,
	}
}

// app is an application with a library of random configurations for each thing that methods decide, from which they
// begin.
type app struct {
	name      string
	libraries map[string]*library.Library // by what is decided: hybrid or hardware
}

// newEnv makes an application's environment under closed-loop users, that of the shipped experiments; decide is hybrid
// or hardware.
func newEnv(name, decide string, users []int) (*sizing.Env, error) {
	x, err := load("attmf", decide, "env.workflow="+name)
	if err != nil {
		return nil, err
	}
	c := *x.Env.Config.(*sizing.Config)
	c.Users, c.Windows = users, search.Default().Windows
	return sizing.NewCounted(c, x.Workload)
}

// newApp makes an application's libraries: random configurations, each component uniform between two bounds. Over the
// whole range hardly any keeps the thresholds from 20 users on, and FaaSConf's own library is of good configurations.
func newApp(ctx context.Context, o *suite.Options, name string, decides []string, s size) (*app, error) {
	a := &app{name: name, libraries: map[string]*library.Library{}}
	for _, d := range decides {
		lib, err := library.Make(ctx, library.Plan{
			NewEnv: func() (envs.Env, error) { return newEnv(name, d, s.users) },
			Rows:   s.rows, Seed: librarySeed, Low: libraryLow, High: libraryHigh, Workers: max(1, o.Workers),
		})
		if err != nil {
			return nil, fmt.Errorf("library of %s, %s: %w", name, d, err)
		}
		a.libraries[d] = lib
	}
	return a, nil
}

// The bounds of a library's components.
const libraryLow, libraryHigh = 0.3, 0.9

// librarySeed names the draws of the libraries. It is below 5,000, where trials are.
const librarySeed = 4_001

// Sizes of panels, in points.
const (
	half   = vg.Length(280)
	height = vg.Length(185)
)

// plot is a figure of lines over x: one line for each of a few series, with bands over seeds.
type plot struct{ report.Figure }

// newPlot begins a figure; series, x and y head the columns of its data.
func newPlot(name, caption, series, x, y string) *plot {
	return &plot{*report.NewFigure(name, caption+" Bands are 95 % intervals.", chart.Figure{Columns: 2, Width: half, Height: height},
		"panel", series, x, y)}
}

// panel adds a panel; values returns a series' scores at the k-th x. Series of one name have one style in all panels.
func (p *plot) panel(r *suite.Report, title, x, y string, names []string, xs []float64,
	values func(series, k int) []float64) {
	c := p.Panel(title, x, y)
	for s, name := range names {
		var es []report.Estimate
		for k := range xs {
			e := report.None()
			if v := values(s, k); len(v) > 0 {
				e = r.Estimate(stats.Scores{v})
			}
			es = append(es, e)
			p.Rows = append(p.Rows, []any{title, name, xs[k], e})
		}
		report.Line(c, chart.Styles(p.style(name)), xs, es)
	}
	c.RangeY(0, 0)
}

// style is the place of a name in the key, where it is added if it is new.
func (p *plot) style(name string) int {
	for i := range p.Chart.Key {
		if p.Chart.Key[i].Text == name {
			return i
		}
	}
	i := len(p.Chart.Key)
	p.Chart.Key = append(p.Chart.Key, chart.Entry{Text: name, Style: chart.Styles(i), Line: true, Band: true})
	return i
}

func (p *plot) add(r *suite.Report) {
	p.Chart.Columns = min(2, len(p.Chart.Panels))
	r.Figure(p.Figure)
}

// estimate is the report's estimate of scores, for claims.
func estimate(s stats.Scores) report.Estimate {
	return report.Of(stats.IQMInterval(s, envs.Bounds{}, suite.Resamples, rng.New(1, "suite/estimate").Stream()))
}
