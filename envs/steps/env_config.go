package steps

import (
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workload"
)

// EnvConfig configures [Env] and [Flat].
type EnvConfig struct {
	// Workflow is generated, tpch (TPC-H's queries), or one workflow: ml, vp, dag (StepConf, §7.1), tpch-QUERY-SIZE, chain
	// or diamond (small ones), or a file: YAML, or a state machine of AWS Step Functions with its steps beside it
	// (docs/steps.md). A path is relative to the working folder.
	Workflow string `yaml:"workflow" json:"workflow"`
	// Data is the folder with the TPC-H jobs, or their file; empty is the folder in STOKER_DATA.
	Data string `yaml:"data" json:"data"`
	// Apps is the number of generated workflows; the episode with seed s is of workflow First + s mod Apps. Those with
	// numbers from 5,000 on are kept for tests. Of TPC-H's queries it is query First + s mod Apps, counted round.
	Apps  int `yaml:"apps" json:"apps" range:"[1,1e6]"`
	First int `yaml:"first" json:"first" range:"[0,1e9]"`
	// Steps is the smallest and the largest number of steps of a generated workflow, Shape what it is made of: chain, dag
	// or mixed. Other workflows have at most the largest: policies see room for so many.
	Steps []int  `yaml:"steps" json:"steps" range:"[3,32]"`
	Shape string `yaml:"shape" json:"shape" oneof:"mixed|chain|dag"`
	// Platform is where the steps run, if not where the workflow says: aws or knative.
	Platform string `yaml:"platform" json:"platform" oneof:"|aws|knative"`
	// SLO is the least and the greatest limit of a request's time, as a factor on the fastest time at P90; it is
	// drawn for each request, evenly in its logarithm. Miss is the range of the price of a later end (λ), in units of
	// the workflow's price with each step at its least price times time, drawn likewise.
	SLO  []float64 `yaml:"slo" json:"slo" range:"(0,100]"`
	Miss []float64 `yaml:"miss" json:"miss" range:"(0,1e6]"`
	// Mapping says how instances start, if not as the platform says: simulated (one by one), or formula, a curve.
	Mapping string `yaml:"mapping" json:"mapping" oneof:"|simulated|formula"`
	// Billed is the time that instances are billed for, if not as the platform says: mapping is the whole step, mapping
	// included, as StepConf prints it; run is an instance's own time, as clouds do.
	Billed string `yaml:"billed" json:"billed" oneof:"|mapping|run"`
	// Estimates is what is known of the steps' times, by who decides: own is the world's own laws, fitted is StepConf's way,
	// eq. 1 and quantile regressions fitted to profiling runs.
	Estimates string `yaml:"estimates" json:"estimates" oneof:"own|fitted"`
	// Form is what an action says in [Env]: front is one of at most 64 configurations of the step that no other one beats in
	// P90 and price; full is memory, instances and processes.
	Form string `yaml:"form" json:"form" oneof:"front|full"`
	// Requests is the number of requests of an episode. More than one are a stream: they share warm instances, and arrive as
	// workload says, with Rate requests a minute on average; that is drawn from its range for each episode, and the
	// workload's time is stretched to it.
	Requests int       `yaml:"requests" json:"requests" range:"[1,10000]"`
	Rate     []float64 `yaml:"rate" json:"rate" range:"(0,1e6]"`
	// Prewarm is none, or stepconf: dummy calls warm the instances of the next step (StepConf, §5), in the configuration
	// that Algorithm 1 would give it if what runs took as long as it takes with probability PrewarmQuantile.
	Prewarm         string  `yaml:"prewarm" json:"prewarm" oneof:"none|stepconf"`
	PrewarmQuantile float64 `yaml:"prewarm_quantile" json:"prewarm_quantile" range:"(0,1)"`
	// Idle is the price in USD of a GB of an idle prewarmed instance for a second. The default is AWS Lambda's price of
	// provisioned concurrency in us-east-1; what it keeps warm by itself it does not bill, which is 0.
	Idle float64 `yaml:"idle" json:"idle" range:"[0,1]"`
	// Oracle is what prices are compared with: exact is the cheapest configuration of all that keeps the SLO at P90, which
	// takes up to seconds a request; relaxed is within about 1 % of it on chains and at most some 20 % dearer where paths
	// cross, and is found at once.
	Oracle string `yaml:"oracle" json:"oracle" oneof:"relaxed|exact"`
}

// Given is what an environment is given beside its configuration.
type Given struct {
	// Own is the workflow where the configuration names a file, else nil.
	Own *App
	// Load says when the requests of a stream arrive.
	Load workload.Config
	// Prewarm makes a decider that predicts the next step's configuration; nil where nothing is prewarmed.
	Prewarm func() (Decider, error)
}

// Values of EnvConfig's keys.
const (
	AllGenerated = "generated"
	AllTPCH      = "tpch"
	FrontForm    = "front"
	FullForm     = "full"
	OwnLaws      = "own"
	FittedLaws   = "fitted"
	Relaxed      = "relaxed"
	Exact        = "exact"
	ByFormula    = "formula"
	Simulated    = "simulated"
	WholeStep    = "mapping"
	OwnRun       = "run"
	NoPrewarm    = "none"
	ByStepConf   = "stepconf"
)

// DefaultEnv returns 1,000 generated workflows of 3 to 16 steps.
func DefaultEnv() EnvConfig {
	return EnvConfig{Workflow: AllGenerated, Apps: 1000, Steps: []int{3, 16}, Shape: AnyShape, SLO: []float64{1.2, 3},
		Miss: []float64{1, 20}, Estimates: OwnLaws, Form: FrontForm, Requests: 1, Rate: []float64{0.5, 6}, Prewarm: NoPrewarm, PrewarmQuantile: 0.5,
		Idle: 4.1667e-6, Oracle: Relaxed}
}

// Validate says what is wrong with the configuration, naming the key.
func (c EnvConfig) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if len(c.Steps) != 2 || c.Steps[0] > c.Steps[1] {
		return bounds.Errorf("steps", "is %v, want the smallest and the largest number, as [3, 16]", c.Steps)
	}
	for key, r := range map[string][]float64{"slo": c.SLO, "miss": c.Miss, "rate": c.Rate} {
		if len(r) != 2 || r[0] > r[1] {
			return bounds.Errorf(key, "is %v, want the smallest and the largest value, as [1.2, 3]", r)
		}
	}
	if f := c.SLO[0]; f < 1 {
		return bounds.Errorf("slo", "is %v: %.3g times the time of the fastest configurations, which take %.3g %% longer; want "+
			"factors from 1", c.SLO, f, 100*(1/f-1))
	}
	return nil
}

// Files returns the configuration with what f makes of the paths of its files.
func (c EnvConfig) Files(f func(path string) (string, error)) (any, error) {
	var err error
	if c.File() {
		if c.Workflow, err = f(c.Workflow); err != nil {
			return nil, err
		}
	}
	if c.Data != "" {
		c.Data, err = f(c.Data)
	}
	return &c, err
}

// File reports whether the workflow is a file's.
func (c *EnvConfig) File() bool {
	return c.Workflow != AllGenerated && c.Workflow != AllTPCH && !strings.HasPrefix(c.Workflow, AllTPCH+"-") &&
		!slices.Contains(presets, c.Workflow)
}
