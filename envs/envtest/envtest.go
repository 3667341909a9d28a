package envtest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// Problem is one thing that an environment does not keep.
type Problem struct {
	// Check is the name of the check that failed, one of [Checks].
	Check string `json:"check"`
	// Detail says what was seen and what would be right.
	Detail string `json:"detail"`
}

func (p Problem) String() string { return p.Check + ": " + p.Detail }

// Options say how an environment is checked.
type Options struct {
	// Seeds of the episodes; empty means 1, 2, 3.
	Seeds []uint64
	// Steps is the most steps of an episode that are looked at; 0 means 200. With more than Spec.MaxSteps truncation is
	// seen.
	Steps int
	// Reset is given to every Reset.
	Reset envs.Options
	// Fixed says that the world does not depend on the seed.
	Fixed bool
	// Skip names checks to leave out.
	Skip []string
}

// Build makes an environment; each call gives another one of the same configuration.
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

// checks in the order in which they are made: what later ones build on comes first.
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

// Check returns what an environment does not keep, at most [MostPerCheck] problems per check. A panic is a problem too.
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
			break // nothing further can be relied on
		}
	}
	return c.problems
}

// MostPerCheck is the number of problems after which a check gives up: the next ones seldom say more.
const MostPerCheck = 3

// checker is one call of Check.
type checker struct {
	build Build
	Options
	check    string
	found    int
	problems []Problem
}

// report notes a problem of the present check.
func (c *checker) report(format string, args ...any) {
	if c.found++; c.found <= MostPerCheck {
		c.problems = append(c.problems, Problem{c.check, fmt.Sprintf(format, args...)})
	}
}

// enough reports whether the present check has found all that it will report.
func (c *checker) enough() bool { return c.found >= MostPerCheck }

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
