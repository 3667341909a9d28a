package faasconf

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/eval/suite"
)

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
