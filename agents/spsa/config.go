package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/check"
)

// Config configures the pricer. A window is one step of the environment.
type Config struct {
	// Objective is what is made large (or small, where lower is better): a quantity of the environment's info by name, or empty for
	// the step's reward, as a mean over agents. Quantities are float64, rewards float32.
	Objective string `yaml:"objective" json:"objective"`
	// Prices are the continuous components of the action, Baselines the whole-number ones, each in the order of the action.
	Prices    Block `yaml:"prices" json:"prices"`
	Baselines Block `yaml:"baselines" json:"baselines"`
	// Capacity is the most that the baselines may add up to (N_t, eq. 4); 0 takes the largest upper bound that a baseline has in the
	// environment, and stands for none where that is infinite.
	Capacity int `yaml:"capacity" json:"capacity"`
	// Realised says which windows the world runs: unperturbed ones, while what is perturbed is tried on copies, or the perturbed ones
	// themselves, one after the other and without copies. The paper does not say.
	Realised string `yaml:"realised" json:"realised"`
	// Joint perturbs both blocks at once, as eq. 12 is printed: half the trials, but the prices' effect drowns the baselines'.
	Joint bool `yaml:"joint" json:"joint"`
	// Pairs is the number of pairs of trials over which an estimate is averaged, for each block.
	Pairs int `yaml:"pairs" json:"pairs"`
	// Offset is A and Decay the exponent of the steps' fall, e_t = ((A+1)/(A+t+1))^decay in window t = 0, 1, …. Theorem 1 needs
	// 0.5 < decay ≤ 1; 0 keeps steps as they are.
	Offset float64 `yaml:"offset" json:"offset"`
	Decay  float64 `yaml:"decay" json:"decay"`
	// PerturbationDecay is the exponent of the fall of the prices' perturbation, c_t = c/(t+1)^γ; 0 keeps it (the paper), 0.101 is
	// Spall's. Baselines keep theirs: less than a whole vGPU can't be tried.
	PerturbationDecay float64 `yaml:"perturbation_decay" json:"perturbation_decay"`
	// Adam scales each component's steps by its estimates' running size.
	Adam Adam `yaml:"adam" json:"adam"`
}

// Windows that the world runs, as [Config.Realised] names them.
const (
	Unperturbed = "unperturbed"
	Perturbed   = "perturbed"
)

// Block is one block of components. Start, Caps and Floors have a number for each of the action's components in the block.
type Block struct {
	// Start is where the search begins.
	Start []float64 `yaml:"start,flow" json:"start"`
	// Perturbation is c, in the components' own units.
	Perturbation float64 `yaml:"perturbation" json:"perturbation"`
	// Step is a: components move by a·e_t times the estimate over Unit, with Adam by at most about a·e_t. 0 leaves the block at its
	// start, and untried.
	Step float64 `yaml:"step" json:"step"`
	// Unit is the slope that counts as one: Λ·H·U for HOPS's prices (potential jobs in a slot, slots, billing units of a job), H·c_gpu
	// for its baselines.
	Unit float64 `yaml:"unit" json:"unit"`
	// Most bounds how far a component moves in a window; 0 leaves it.
	Most float64 `yaml:"most" json:"most"`
	// Caps and Floors, where given, are bounds within those of the environment.
	Caps   []float64 `yaml:"caps,flow" json:"caps"`
	Floors []float64 `yaml:"floors,flow" json:"floors"`
}

// Adam is the scaling of Kingma and Ba (2015) in place of Unit.
type Adam struct {
	// On turns the scaling on.
	On bool `yaml:"on" json:"on"`
	// Beta1 and Beta2 are the shares of the running means of estimates and of their squares that each window keeps.
	Beta1 float64 `yaml:"beta1" json:"beta1"`
	Beta2 float64 `yaml:"beta2" json:"beta2"`
	// Epsilon is added to the root of the latter, in units of Unit.
	Epsilon float64 `yaml:"epsilon" json:"epsilon"`
}

// Default returns what docs/agents/spsa.md recommends for HOPS as published: three tiers, 64 vGPUs, 60 slots, 45 potential jobs a slot.
func Default() Config {
	return Config{
		Prices:    Block{Start: []float64{1, 1, 1}, Perturbation: 0.05, Step: 0.05, Unit: 45 * 60 * 5.7},
		Baselines: Block{Start: []float64{5, 8, 10}, Perturbation: 1, Step: 1, Unit: 60, Most: 2},
		Realised:  Unperturbed, Pairs: 1, Offset: 10, Decay: 1,
		Adam: Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error {
	if c.Realised != Unperturbed && c.Realised != Perturbed {
		return fmt.Errorf("realised is %q, want %q or %q", c.Realised, Unperturbed, Perturbed)
	}
	var k check.Keys
	k.Within("capacity", float64(c.Capacity), 0, 1<<24)
	k.Within("pairs", float64(c.Pairs), 1, 1<<20)
	k.Within("offset", c.Offset, 0, 1e12)
	k.Within("decay", c.Decay, 0, 1)
	k.Within("perturbation_decay", c.PerturbationDecay, 0, 1)
	k.Within("adam.beta1", c.Adam.Beta1, 0, 1-1e-9)
	k.Within("adam.beta2", c.Adam.Beta2, 0, 1-1e-9)
	if c.Adam.On {
		k.Above("adam.epsilon", c.Adam.Epsilon, 0, 1e6)
	} else {
		k.Within("adam.epsilon", c.Adam.Epsilon, 0, 1e6)
	}
	k.Above("prices.perturbation", c.Prices.Perturbation, 0, 1e6)
	// Smaller ones round to no change.
	k.Within("baselines.perturbation", c.Baselines.Perturbation, 0.5, 1e6)
	k.Within("prices.step", c.Prices.Step, 0, 1e12)
	k.Within("baselines.step", c.Baselines.Step, 0, 1e12)
	k.Above("prices.unit", c.Prices.Unit, 0, 1e300)
	k.Above("baselines.unit", c.Baselines.Unit, 0, 1e300)
	k.Within("prices.most", c.Prices.Most, 0, 1e12)
	k.Within("baselines.most", c.Baselines.Most, 0, 1e12)
	if err := k.Err(); err != nil {
		return err
	}
	for _, l := range []struct {
		key    string
		values []float64
	}{
		{"prices.start", c.Prices.Start}, {"prices.caps", c.Prices.Caps}, {"prices.floors", c.Prices.Floors},
		{"baselines.start", c.Baselines.Start}, {"baselines.caps", c.Baselines.Caps}, {"baselines.floors", c.Baselines.Floors},
	} {
		for i, x := range l.values {
			if math.IsNaN(x) || math.Abs(x) > 1e12 {
				return fmt.Errorf("%s[%d] is %g, want a number of at most 1e12 in size", l.key, i, x)
			}
		}
	}
	return nil
}
