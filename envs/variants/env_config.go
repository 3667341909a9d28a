package variants

import (
	"slices"

	"github.com/stoker-rl/stoker/bounds"
)

// FirstUnseen is the number of the first generated application that is kept for tests: nothing is trained or chosen on
// applications from here on.
const FirstUnseen = 5000

// How an episode's ideal is found.
const (
	// Relaxed is the plan of the relaxed problem: near the best, found in a millisecond.
	Relaxed = "relaxed"
	// Best is the best plan of all, certified.
	Best = "exact"
)

// Generated is the [EnvConfig.Workflow] of generated applications.
const Generated = "generated"

// How the agents of [Env] are rewarded.
const (
	Team       = "team"
	Difference = "difference"
)

// EnvConfig configures [Each] and [Env].
type EnvConfig struct {
	// Workflow is what is configured: generated applications, or one application: app1 to app6, or its file, as stoker
	// whatif reads it. A path is relative to the working folder.
	Workflow string `yaml:"workflow" json:"workflow"`
	// Apps is the number of generated applications; the episode with seed s is of application First + s mod Apps. Those
	// with numbers from 5,000 on are kept for tests. Of an application of one's own it numbers the platforms and loads
	// that are drawn where plans are served.
	Apps  int `yaml:"apps" json:"apps" range:"[1,1e6]"`
	First int `yaml:"first" json:"first" range:"[0,1e9]"`
	// Functions is the smallest and the largest number of functions of a generated application. An application of one's
	// own has at most the largest: policies see room for so many.
	Functions []int `yaml:"functions" json:"functions" range:"[3,64]"`
	// Objective is mixed, or the one that all problems have: time, cost or accuracy (OptiServe, eqs. 4.3 to 4.5).
	Objective string `yaml:"objective" json:"objective" oneof:"mixed|time|cost|accuracy"`
	// Options is the most options of a function that an agent sees. Dominated options are left out: those for which
	// another one takes no more time, costs no more and is as accurate.
	Options int `yaml:"options" json:"options" range:"[2,1024]"`
	// World is how plans are judged: means, by the model; or served, by the 95th percentile and the cost of requests that
	// are served with cold starts. Problems are then of the least cost.
	World string `yaml:"world" json:"world" oneof:"means|served"`
	// Requests is about how many requests are served to judge a plan.
	Requests int `yaml:"requests" json:"requests" range:"[100,1e6]"`
	// Penalty is what a missed constraint costs in reward where one can be missed: in [Env] and, the percentile, where
	// plans are served. The larger it is, the more a policy pays for keeping it. 10 is what losing all of the objective
	// costs in [Env], as the measure ideal has it.
	Penalty float64 `yaml:"penalty" json:"penalty" range:"[0,1e6]"`
	// Credit is how the agents of [Env] are rewarded: all by what their plan gives (team), or each by how much better the
	// plan is than with the present plan's option in place of its own (difference).
	Credit string `yaml:"credit" json:"credit" oneof:"team|difference"`
	// Ideal is what plans are measured by: exact, or relaxed, which is quicker and at most a few per cent worse. By relaxed a
	// plan that is better counts as farther from the ideal: compare policies that are near it, and exact, by exact.
	Ideal string `yaml:"ideal" json:"ideal" oneof:"relaxed|exact"`
}

// DefaultEnv returns 1,000 generated applications of 3 to 24 functions.
func DefaultEnv() EnvConfig {
	return EnvConfig{Workflow: Generated, Apps: 1000, Functions: []int{3, 24}, Objective: "mixed", Options: 80, World: ByMeans, Requests: 400,
		Penalty: 10, Credit: Team, Ideal: Relaxed}
}

// Files returns the configuration's file, with what f makes of its path.
func (c EnvConfig) Files(f func(path string) (string, error)) (any, error) {
	if c.Workflow == Generated || slices.Contains(presets, c.Workflow) {
		return &c, nil
	}
	var err error
	c.Workflow, err = f(c.Workflow)
	return &c, err
}

// Validate says what is wrong with the configuration, naming the key.
func (c EnvConfig) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Workflow == "" {
		return bounds.Errorf("workflow", "is empty, want generated, app1 to app6, or an application's file")
	}
	if c.World == Served && c.Objective != string(Cost) && c.Objective != mixed {
		return bounds.Errorf("objective", "is %s with world: served, want cost", c.Objective)
	}
	if len(c.Functions) != 2 || c.Functions[0] > c.Functions[1] {
		return bounds.Errorf("functions", "is %v, want the smallest and the largest number, as [3, 24]", c.Functions)
	}
	return nil
}
