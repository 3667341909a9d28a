package envtest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// Problem is one violation of the contract.
type Problem struct {
	// Check is the name of the check that failed, one of [Checks].
	Check string `json:"check"`
	// Detail says what was observed and what is expected.
	Detail string `json:"detail"`
}

func (p Problem) String() string { return p.Check + ": " + p.Detail }

// Options configure the checks of an environment.
type Options struct {
	// Seeds of the episodes; empty means 1, 2, 3.
	Seeds []uint64
	// Steps is the most steps of an episode that are checked; 0 means 200. Truncation is checked only if Steps is at least
	// Spec.MaxSteps.
	Steps int
	// Reset are the options of every Reset.
	Reset envs.Options
	// Fixed says that the world does not depend on the seed.
	Fixed bool
	// Skip names checks to leave out.
	Skip []string
}

// Build returns a new environment. All calls use the same configuration.
type Build func() (envs.Env, error)

// TB is the part of testing.TB that [Run] needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run checks an environment and reports every problem as a test's error.
func Run(t TB, build Build, o Options) {
	t.Helper()
	for _, p := range Check(build, o) {
		t.Errorf("%v", p)
	}
}

type check struct {
	name string
	run  func(c *checker) error
}

// checks are in the order in which they run: a check comes after those that it relies on.
var checks = []check{
	{"spec", checkSpec},
	{"observation", checkObservations},
	{"outcome", checkOutcomes},
	{"buffers", checkBuffers},
	{"seeding", checkSeeding},
	{"determinism", checkDeterminism},
	{"independence", checkIndependence},
	{"end", checkEnd},
	{"truncation", checkTruncation},
	{"action", checkActions},
	{"mask", checkMasks},
	{"inactive", checkInactive},
	{"option", checkOption},
	{"samples", checkSamples},
	{"copy", checkCopies},
	{"save", checkSaves},
	{"draws", checkDraws},
	{"allocation", checkAllocation},
}

// Checks lists the names of all checks.
func Checks() []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = c.name
	}
	return out
}

// Check returns the violations of the contract, at most [MostPerCheck] per check. A panic is a problem too.
func Check(build Build, o Options) []Problem {
	if len(o.Seeds) == 0 {
		o.Seeds = []uint64{1, 2, 3}
	}
	if o.Steps == 0 {
		o.Steps = 200
	}
	c := &checker{build: build, Options: o}
	for _, k := range checks {
		if slices.Contains(o.Skip, k.name) {
			continue
		}
		c.check, c.found = k.name, 0
		c.protect(k.run)
		if k.name == "spec" && c.found > 0 {
			break // the other checks rely on the spec
		}
		if k.name == "spec" {
			c.protect((*checker).probeMasks)
		}
	}
	return c.problems
}

// MostPerCheck is the number of problems after which a check stops.
const MostPerCheck = 3

// checker is the state of one call of Check.
type checker struct {
	build Build
	Options
	check    string
	found    int
	problems []Problem
	// maskless marks the kinds whose masks the environment never writes: all choices are legal. unwritten tells of those
	// that it writes in part.
	maskless  []bool
	unwritten []string
}

// report records a problem of the current check.
func (c *checker) report(format string, args ...any) {
	if c.found++; c.found <= MostPerCheck {
		c.problems = append(c.problems, Problem{c.check, fmt.Sprintf(format, args...)})
	}
}

// enough reports whether the current check has found MostPerCheck problems.
func (c *checker) enough() bool { return c.found >= MostPerCheck }

// protect runs a check and reports its error or panic as a problem.
func (c *checker) protect(run func(*checker) error) {
	defer func() {
		if r := recover(); r != nil {
			c.report("panic: %v", r)
		}
	}()
	if err := run(c); err != nil {
		c.report("%v", err)
	}
}
