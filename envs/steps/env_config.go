package steps

import (
	"github.com/stoker-rl/stoker/bounds"
)

// EnvConfig configures [Env] and [Flat].
type EnvConfig struct {
	// Workflow is generated, or the workflow of every episode: ml, vp, dag (StepConf, §7.1), chain or diamond (small ones).
	Workflow string `yaml:"workflow" json:"workflow"`
	// Apps is the number of generated workflows; the episode with seed s is of workflow First + s mod Apps. Those with
	// numbers from 5,000 on are kept for tests.
	Apps  int `yaml:"apps" json:"apps" range:"[1,1e6]"`
	First int `yaml:"first" json:"first" range:"[0,1e9]"`
	// Steps is the smallest and the largest number of steps of a generated workflow, Shape what it is made of: chain, dag
	// or mixed.
	Steps []int  `yaml:"steps" json:"steps" range:"[3,32]"`
	Shape string `yaml:"shape" json:"shape" oneof:"mixed|chain|dag"`
	// Platform is where the steps run, if not where the workflow says: aws or knative.
	Platform string `yaml:"platform" json:"platform" oneof:"|aws|knative"`
	// SLO is the least and the greatest limit of a request's time, as a factor on the fastest ([Model.Fastest]); it is
	// drawn for each request, evenly in its logarithm. Miss is the range of the price of a later end (λ), in units of
	// [Model.Unit], drawn likewise.
	SLO  []float64 `yaml:"slo" json:"slo" range:"[1,100]"`
	Miss []float64 `yaml:"miss" json:"miss" range:"(0,1e6]"`
	// Mapping says how instances start, if not as the platform says: simulated (one by one), or formula, a curve.
	Mapping string `yaml:"mapping" json:"mapping" oneof:"|simulated|formula"`
	// Billed is the time that instances are billed for, if not as the platform says: mapping is the whole step, mapping
	// included, as StepConf prints it; run is an instance's own time, as clouds do.
	Billed string `yaml:"billed" json:"billed" oneof:"|mapping|run"`
	// Oracle is what prices are compared with: exact is the cheapest configuration of all that keeps the SLO at P90,
	// relaxed one near it on chains, which is found at once.
	Oracle string `yaml:"oracle" json:"oracle" oneof:"relaxed|exact"`
}

// Values of EnvConfig's keys.
const (
	AllGenerated = "generated"
	Relaxed      = "relaxed"
	Exact        = "exact"
	ByFormula    = "formula"
	Simulated    = "simulated"
	WholeStep    = "mapping"
	OwnRun       = "run"
)

// DefaultEnv returns 1,000 generated workflows of 3 to 16 steps.
func DefaultEnv() EnvConfig {
	return EnvConfig{Workflow: AllGenerated, Apps: 1000, Steps: []int{3, 16}, Shape: AnyShape, SLO: []float64{1.2, 3},
		Miss: []float64{1, 20}, Oracle: Relaxed}
}

// Validate says what is wrong with the configuration, naming the key.
func (c EnvConfig) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if len(c.Steps) != 2 || c.Steps[0] > c.Steps[1] {
		return bounds.Errorf("steps", "is %v, want the smallest and the largest number, as [3, 16]", c.Steps)
	}
	for key, r := range map[string][]float64{"slo": c.SLO, "miss": c.Miss} {
		if len(r) != 2 || r[0] > r[1] {
			return bounds.Errorf(key, "is %v, want the smallest and the largest value, as [1.2, 3]", r)
		}
	}
	return nil
}
