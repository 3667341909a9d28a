package spsa

import "github.com/stoker-rl/stoker/bounds"

// Config configures the pricer. A window is one step of the environment.
type Config struct {
	// Objective is what is made large (or small, where lower is better): a quantity of the environment's info by name,
	// or empty for the step's reward, as a mean over agents. Quantities are float64, rewards float32.
	Objective string `yaml:"objective" json:"objective"`
	// Prices are the continuous components of the action, Baselines the whole-number ones, each in the order of the
	// action. The ranges are those of Perturbation: a baseline's that is smaller rounds to no change.
	Prices    Block `yaml:"prices" json:"prices" range:"(0,1e6]"`
	Baselines Block `yaml:"baselines" json:"baselines" range:"[0.5,1e6]"`
	// Capacity is the most that the baselines may add up to (N_t, eq. 4); 0 takes the largest upper bound that a
	// baseline has in the environment, and stands for none where that is infinite.
	Capacity int `yaml:"capacity" json:"capacity" range:"[0,2^24]"`
	// Realised says which windows the world runs: unperturbed ones, while what is perturbed is tried on copies, or the
	// perturbed ones themselves, one after the other and without copies. The paper does not say.
	Realised string `yaml:"realised" json:"realised" oneof:"unperturbed|perturbed"`
	// Joint perturbs both blocks at once, as eq. 12 is printed: half the trials, but the prices' effect drowns the
	// baselines'.
	Joint bool `yaml:"joint" json:"joint"`
	// Pairs is the number of pairs of trials over which an estimate is averaged, for each block.
	Pairs int `yaml:"pairs" json:"pairs" range:"[1,2^20]"`
	// Offset is A and Decay the exponent of the steps' fall, e_t = ((A+1)/(A+t+1))^decay in window t = 0, 1, …. Theorem
	// 1 needs 0.5 < decay ≤ 1; 0 keeps steps as they are.
	Offset float64 `yaml:"offset" json:"offset" range:"[0,1e12]"`
	Decay  float64 `yaml:"decay" json:"decay" range:"[0,1]"`
	// PerturbationDecay is the exponent of the fall of the prices' perturbation, c_t = c/(t+1)^γ; 0 keeps it (the
	// paper), 0.101 is Spall's. Baselines keep theirs: less than a whole vGPU can't be tried.
	PerturbationDecay float64 `yaml:"perturbation_decay" json:"perturbation_decay" range:"[0,1]"`
	// Adam scales each component's steps by its estimates' running size.
	Adam Adam `yaml:"adam" json:"adam"`
}

// Windows that the world runs, as [Config.Realised] names them.
const (
	Unperturbed = "unperturbed"
	Perturbed   = "perturbed"
)

// Block is one block of components. Start, Caps and Floors have a number for each of the action's components in the
// block.
type Block struct {
	// Start is where the search begins.
	Start []float64 `yaml:"start,flow" json:"start" range:"[-1e12,1e12]"`
	// Perturbation is c, in the components' own units.
	Perturbation float64 `yaml:"perturbation" json:"perturbation"`
	// Step is a: components move by a·e_t times the estimate over Unit, with Adam by at most about a·e_t. 0 leaves the
	// block at its start, and untried.
	Step float64 `yaml:"step" json:"step" range:"[0,1e12]"`
	// Unit is the slope that counts as one: Λ·H·U for HOPS's prices (potential jobs in a slot, slots, billing units of
	// a job), H·c_gpu for its baselines.
	Unit float64 `yaml:"unit" json:"unit" range:"(0,1e300]"`
	// Most bounds how far a component moves in a window; 0 leaves it.
	Most float64 `yaml:"most" json:"most" range:"[0,1e12]"`
	// Caps and Floors, where given, are bounds within those of the environment.
	Caps   []float64 `yaml:"caps,flow" json:"caps" range:"[-1e12,1e12]"`
	Floors []float64 `yaml:"floors,flow" json:"floors" range:"[-1e12,1e12]"`
}

// Adam is the scaling of Kingma and Ba (2015) in place of Unit.
type Adam struct {
	// On turns the scaling on.
	On bool `yaml:"on" json:"on"`
	// Beta1 and Beta2 are the shares of the running means of estimates and of their squares that each window keeps.
	Beta1 float64 `yaml:"beta1" json:"beta1" range:"[0,0.999999999]"`
	Beta2 float64 `yaml:"beta2" json:"beta2" range:"[0,0.999999999]"`
	// Epsilon is added to the root of the latter, in units of Unit.
	Epsilon float64 `yaml:"epsilon" json:"epsilon" range:"[0,1e6]"`
}

// Default returns what docs/agents/spsa.md recommends for HOPS as published: three tiers, 64 vGPUs, 60 slots, 45
// potential jobs a slot.
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
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Adam.On && c.Adam.Epsilon == 0 {
		return bounds.Errorf("adam.epsilon", "is 0, want more than 0 with adam.on")
	}
	return nil
}
