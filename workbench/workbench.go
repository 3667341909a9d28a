// Package workbench is the door for a program of one's own: [Main] is the whole stoker command, with environments,
// learners, baselines and suites beside those that come with Stoker.
//
//	package main
//
//	import "github.com/stoker-rl/stoker/workbench"
//
//	func main() {
//		workbench.Main(
//			workbench.Envs(room),
//			workbench.Learners(climb),
//			workbench.Baselines(thermostat),
//		)
//	}
//
// Each row is a value that a function of package catalog makes ([catalog.DefineEnv], [catalog.DefineLearner],
// [catalog.DefinePolicy]). Nothing registers itself: what main names is what there is. A whole program, in a module of
// its own, is in examples/extend; docs/extending.md explains it.
package workbench

import (
	"os"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/cli"
	"github.com/stoker-rl/stoker/eval/suite"
)

// Option adds to the command.
type Option func(*cli.Program)

// Envs adds environments.
func Envs(rows ...catalog.Env) Option {
	return func(p *cli.Program) { p.Catalog.Envs = append(p.Catalog.Envs, rows...) }
}

// Learners adds learners.
func Learners(rows ...catalog.Learner) Option {
	return func(p *cli.Program) { p.Catalog.Learners = append(p.Catalog.Learners, rows...) }
}

// Baselines adds policies to compare with.
func Baselines(rows ...catalog.Baseline) Option {
	return func(p *cli.Program) { p.Catalog.Baselines = append(p.Catalog.Baselines, rows...) }
}

// Suites adds suites.
func Suites(list ...suite.Suite) Option {
	return func(p *cli.Program) { p.Suites = append(p.Suites, list...) }
}

// Main runs the command that the process was called with, and ends the process with its exit code. It does not return.
func Main(options ...Option) { os.Exit(Run(os.Args[1:], options...)) }

// Run runs a command, such as ["train", "room.yaml"], and returns its exit code: 0 done, 1 failed, 2 wrong usage or
// configuration, 130 and 143 stopped by a signal after saving. Rows that cannot be used, such as two of one name, are
// wrong usage.
func Run(args []string, options ...Option) int {
	p := cli.Default()
	for _, o := range options {
		o(p)
	}
	return cli.Main(args, p)
}
