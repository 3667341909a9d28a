package pricing

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
)

// Config configures both environments. The potential load may come from a workload.Config beside it.
type Config struct {
	// Profile is paper (eq. 1 as printed: every user buys something, so that profit has no bound in price) or
	// outside-option (users may stay away, worth Demand.Outside to them).
	Profile string `yaml:"profile" json:"profile" oneof:"paper|outside-option"`
	// VGPUs is N, up to 65,536.
	VGPUs int `yaml:"vgpus" json:"vgpus" range:"[1,2^16]"`
	// Windows is the length of an episode, Slots that of a window.
	Windows int `yaml:"windows" json:"windows" range:"[1,2^20]"`
	Slots   int `yaml:"slots" json:"slots" range:"[1,2^16]"`
	// SlotSeconds is the length of a slot in seconds.
	SlotSeconds float64 `yaml:"slot_seconds" json:"slot_seconds" range:"[1e-3,86400]"`
	// Tiers are the service tiers.
	Tiers []Tier `yaml:"tiers" json:"tiers"`
	// Zipf is the exponent of the functions' shares of their tier's jobs: function i of a tier gets 1/i^zipf of the
	// first one's.
	Zipf float64 `yaml:"zipf" json:"zipf" range:"[0,10]"`
	// Work is what measurements say of jobs.
	Work Work `yaml:"work" json:"work"`
	// Demand is what users want.
	Demand Demand `yaml:"demand" json:"demand"`
	// Burst is how single functions' arrivals burst.
	Burst Burst `yaml:"burst" json:"burst"`
	// Market is what moves in an episode beside the load; by default nothing does.
	Market Market `yaml:"market" json:"market"`
	// Pool is reserved (keep-alive and transient vGPUs, as in the paper), elastic (transient ones only) or fixed (every
	// vGPU is on in every slot).
	Pool string `yaml:"pool" json:"pool" oneof:"reserved|elastic|fixed"`
	// Layout is how vGPUs lie on GPUs.
	Layout Layout `yaml:"layout" json:"layout"`
	// Load is the number of slots without service that a cold load takes; a fraction is the probability of one more.
	Load float64 `yaml:"load" json:"load" range:"[0,100]"`
	// Preload has the keep-alive vGPUs of a new window stand ready at once; otherwise they load as others do.
	Preload bool `yaml:"preload" json:"preload"`
	// Late is how long a job that has missed its SLA may wait since its arrival, in multiples of the SLA; then it is
	// dropped.
	Late float64 `yaml:"late" json:"late" range:"[1,100]"`
	// Forecast is the weight of a slot's arrivals in the estimate of a function's rate.
	Forecast float64 `yaml:"forecast" json:"forecast" range:"[0,1]"`
	// Patience is the number of idle slots after which observations count a vGPU as patient.
	Patience int `yaml:"patience" json:"patience" range:"[1,2^16]"`
	// Costs are prices of the provider's own, and how they are counted.
	Costs Costs `yaml:"costs" json:"costs"`
	// PriceMin and PriceMax bound the prices that may be asked, BaselineMax the keep-alive vGPUs of a tier (0: all
	// vGPUs). What learners explore is what the bounds leave.
	PriceMin    float64 `yaml:"price_min" json:"price_min" range:"[0,1e6]"`
	PriceMax    float64 `yaml:"price_max" json:"price_max" range:"[0,1e6]"`
	BaselineMax int     `yaml:"baseline_max" json:"baseline_max" range:"[0,2^16]"`
	// Prices and Baselines, one for each tier, hold in the scheduling environment, and before a provider's first window.
	Prices    []float64 `yaml:"prices" json:"prices" range:"[0,1e6]"`
	Baselines []int     `yaml:"baselines" json:"baselines" range:"[0,2^16]"`
	// Acts is what a scheduler decides for a function in a slot of the scheduling environment: counts (five numbers of
	// vGPUs) or moves (one choice).
	Acts string `yaml:"acts" json:"acts" oneof:"counts|moves"`
	// Rewards is whose cost an agent of the scheduling environment is rewarded with: shared (the whole slot's) or own (its
	// function's).
	Rewards string `yaml:"rewards" json:"rewards" oneof:"shared|own"`
	// Scheduler names the policy that schedules inside the pricing environment: arms, the paper's, or another one of the
	// scheduling environment, which package catalog makes.
	Scheduler string `yaml:"scheduler" json:"scheduler"`
	// ARMS configures the paper's scheduler inside the pricing environment.
	ARMS ARMSConfig `yaml:"arms" json:"arms"`
}

// ARMSName is the paper's scheduler in [Config.Scheduler].
const ARMSName = "arms"

// Profiles, as [Config.Profile] names them.
const (
	PaperProfile   = "paper"
	OutsideProfile = "outside-option"
)

// Pools, as [Config.Pool] names them.
const (
	Reserved = "reserved"
	Elastic  = "elastic"
	Fixed    = "fixed"
)

// Tier is one service tier.
type Tier struct {
	// SLA is s_m, the slots within which a job must be done.
	SLA int `yaml:"sla" json:"sla" range:"[1,1000]"`
	// Functions is how many functions belong to it.
	Functions int `yaml:"functions" json:"functions" range:"[1,4096]"`
	// Service is the mean service length in slots, 1/mu, at least 1. Lengths are geometric, or as Lengths says.
	Service float64 `yaml:"service" json:"service" range:"[1,100]"`
	// Lengths replaces the geometric law: entry i is the probability of i+1 slots. Service is then ignored.
	Lengths []float64 `yaml:"lengths,omitempty" json:"lengths,omitempty" range:"[0,1]"`
	// Demand is g_m, the billing units of a job.
	Demand float64 `yaml:"demand" json:"demand" range:"[0,1e6]"`
	// Penalty is b_m, what a violated job costs.
	Penalty float64 `yaml:"penalty" json:"penalty" range:"[0,1e9]"`
	// Rate is r_m, what a keep-alive vGPU costs for a window.
	Rate float64 `yaml:"rate" json:"rate" range:"[0,1e9]"`
}

// Demand is what users want.
type Demand struct {
	// Source is workload (the arrivals of the experiment's workload, summed per window and scaled to Mean) or generated
	// (a day's wave with noise).
	Source string `yaml:"source" json:"source" oneof:"workload|generated"`
	// Mean is the mean potential load in jobs per slot; 0 takes the profile's 45, or 104 with the outside option, per
	// 64 vGPUs.
	Mean float64 `yaml:"mean" json:"mean" range:"[0,2^20]"`
	// Start is the window of the load at which episodes start; -1 draws one for each. Loads that end begin anew.
	Start int `yaml:"start" json:"start" range:"[-1,2^20]"`
	// Alpha is the utility of a slot of SLA, Beta that of a unit of price taken away (eq. 1). A negative Alpha is what
	// the published shares need; the paper's text reads as a positive one.
	Alpha float64 `yaml:"alpha" json:"alpha" range:"[-100,100]"`
	Beta  float64 `yaml:"beta" json:"beta" range:"[0,100]"`
	// Outside is the utility of staying away, with the outside option.
	Outside float64 `yaml:"outside" json:"outside" range:"[-100,100]"`
	// Period, Amplitude, Phase, Noise and Floor shape generated loads: window t has
	// mean·max(floor, 1 + amplitude·sin(2π·(t mod period)/period - phase) + noise·N(0, 1)).
	Period    int     `yaml:"period" json:"period" range:"[1,2^20]"`
	Amplitude float64 `yaml:"amplitude" json:"amplitude" range:"[0,1]"`
	Phase     float64 `yaml:"phase" json:"phase" range:"[-100,100]"`
	Noise     float64 `yaml:"noise" json:"noise" range:"[0,10]"`
	Floor     float64 `yaml:"floor" json:"floor" range:"[0,1]"`
}

// Sources of demand, as [Demand.Source] names them.
const (
	FromWorkload = "workload"
	Generated    = "generated"
)

// Burst is how single functions' arrivals burst. Rates are scaled so that the mean stays.
type Burst struct {
	// Start is the probability that a burst begins, or begins anew, in a slot of a function.
	Start float64 `yaml:"start" json:"start" range:"[0,1]"`
	// Slots is how long it lasts.
	Slots int `yaml:"slots" json:"slots" range:"[1,2^16]"`
	// Factor multiplies the rate in it.
	Factor float64 `yaml:"factor" json:"factor" range:"[1,100]"`
}

// Layout is how vGPUs lie on GPUs.
type Layout struct {
	// GPU is the number of vGPUs on a GPU; the last GPU may have fewer.
	GPU int `yaml:"gpu" json:"gpu" range:"[1,64]"`
	// Warm says which vGPUs that are off can serve a function without a load: last (those that hosted it last) or
	// shared (those on a GPU where another vGPU hosts it).
	Warm string `yaml:"warm" json:"warm" oneof:"last|shared"`
}

// Which vGPUs are warm, as [Layout.Warm] names them.
const (
	WarmLast   = "last"
	WarmShared = "shared"
)

// Costs are prices of the provider's own, and how they are counted.
type Costs struct {
	// GPU is c_gpu, of a transient vGPU in a slot; Switch is c_switch, of a change of function.
	GPU    float64 `yaml:"gpu" json:"gpu" range:"[0,1e9]"`
	Switch float64 `yaml:"switch" json:"switch" range:"[0,1e9]"`
	// Fixed is what a vGPU of a fixed pool costs for a window.
	Fixed float64 `yaml:"fixed" json:"fixed" range:"[0,1e9]"`
	// Revenue counts expected jobs (as the paper's formula), those that arrived, or those that were served.
	Revenue string `yaml:"revenue" json:"revenue" oneof:"expected|arrived|served"`
	// Deployed is transient (GPU is charged on those only, as the paper's text has it) or all (on every deployed vGPU,
	// as its formula).
	Deployed string `yaml:"deployed" json:"deployed" oneof:"transient|all"`
	// Switches is keep-alive (charged on those only, as the paper's text has it; in pools without them on all) or all.
	Switches string `yaml:"switches" json:"switches" oneof:"keep-alive|all"`
}

// Ways of counting, as [Costs] names them.
const (
	ExpectedRevenue = "expected"
	ArrivedRevenue  = "arrived"
	ServedRevenue   = "served"
	CountTransient  = "transient"
	CountKeepAlive  = "keep-alive"
	CountAll        = "all"
)

// Default returns the paper's setting on the workload's trace, with the constants that docs/pricing.md explains.
func Default() Config {
	return Config{
		Profile: PaperProfile, VGPUs: 64, Windows: 40, Slots: 60, SlotSeconds: 60,
		Tiers: []Tier{
			{SLA: 7, Functions: 6, Service: 1, Demand: 5.70, Penalty: 4, Rate: 30},
			{SLA: 4, Functions: 8, Service: 1.125, Demand: 6.41, Penalty: 6, Rate: 30},
			{SLA: 2, Functions: 10, Service: 1.19, Demand: 6.78, Penalty: 8, Rate: 30},
		},
		Zipf: 0.6, Work: defaultWork(),
		Demand: Demand{
			Source: FromWorkload, Start: -1, Alpha: -0.2820, Beta: 1.676, Outside: -1.983,
			Period: 24, Amplitude: 0.55, Phase: 1.5, Noise: 0.3, Floor: 0.3,
		},
		Burst: Burst{Start: 0.05 / 6, Slots: 6, Factor: 3}, Market: defaultMarket(),
		Pool: Reserved, Layout: Layout{GPU: 4, Warm: WarmLast}, Load: 1, Preload: true, Late: 3, Forecast: 0.3, Patience: 3,
		Costs: Costs{
			GPU: 1, Switch: 2, Fixed: 30, Revenue: ExpectedRevenue, Deployed: CountTransient, Switches: CountKeepAlive,
		},
		PriceMax: 5, Prices: []float64{1, 1, 1}, Baselines: []int{5, 8, 10},
		Acts: ActsCounts, Rewards: SharedRewards, Scheduler: ARMSName, ARMS: DefaultARMS(),
	}
}

// outside reports whether users may stay away.
func (c *Config) outside() bool { return c.Profile == OutsideProfile }

// mean is the mean potential load in jobs per slot.
func (c *Config) mean() float64 {
	if c.Demand.Mean > 0 {
		return c.Demand.Mean
	}
	per := 45.0
	if c.outside() {
		per = 104
	}
	return per * float64(c.VGPUs) / 64
}

// baselineMax is the most keep-alive vGPUs that a tier may have.
func (c *Config) baselineMax() int {
	if c.BaselineMax > 0 {
		return c.BaselineMax
	}
	return c.VGPUs
}

// functions is the number of functions.
func (c *Config) functions() int {
	n := 0
	for i := range c.Tiers {
		n += c.Tiers[i].Functions
	}
	return n
}

// Limits of a configuration beside those of its fields.
const (
	maxTiers     = 64
	maxFunctions = 4096 // of all tiers
	maxLength    = 1000 // of a job, in slots
)

// fieldError says what is wrong with a field, by its key in a file.
func fieldError(key string, got any, want string) error {
	return bounds.Errorf(key, "is %v, want %s", got, want)
}

// Validate reports the first field that is wrong, by its key, and what would be right.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.PriceMin > c.PriceMax {
		return fieldError("price_max", c.PriceMax, fmt.Sprintf("at least price_min, %g", c.PriceMin))
	}
	if c.BaselineMax > c.VGPUs {
		return fieldError("baseline_max", c.BaselineMax, fmt.Sprintf("at most vgpus, %d", c.VGPUs))
	}
	if n := c.Windows * c.Slots; n > 1<<30 {
		return fieldError("windows", c.Windows, fmt.Sprintf("at most %d of %d slots", (1<<30)/c.Slots, c.Slots))
	}
	if len(c.Tiers) == 0 || len(c.Tiers) > maxTiers {
		return fieldError("tiers", fmt.Sprintf("a list of %d", len(c.Tiers)), fmt.Sprintf("1 to %d tiers", maxTiers))
	}
	for i := range c.Tiers {
		if err := c.Tiers[i].validate(fmt.Sprintf("tiers[%d]", i)); err != nil {
			return err
		}
	}
	if n := c.functions(); n > maxFunctions {
		return fieldError("tiers", fmt.Sprintf("%d functions", n), fmt.Sprintf("at most %d in all", maxFunctions))
	}
	if err := c.validateStart(); err != nil {
		return err
	}
	if err := c.validateMarket(); err != nil {
		return err
	}
	if err := c.Work.validate(); err != nil {
		return err
	}
	if c.Scheduler == "" {
		return fieldError("scheduler", `""`, "the name of a scheduling policy, such as "+ARMSName)
	}
	return nil
}

func (t *Tier) validate(key string) error {
	if len(t.Lengths) > maxLength {
		return fieldError(key+".lengths", fmt.Sprintf("a list of %d", len(t.Lengths)),
			fmt.Sprintf("at most %d probabilities", maxLength))
	}
	var sum float64
	for _, p := range t.Lengths {
		sum += p
	}
	if len(t.Lengths) > 0 && !(sum > 1-1e-6 && sum < 1+1e-6) {
		return fieldError(key+".lengths", fmt.Sprintf("a list with the sum %g", sum), "probabilities with the sum 1")
	}
	return nil
}

// validateStart checks what holds before the first decision.
func (c *Config) validateStart() error {
	if len(c.Prices) != len(c.Tiers) {
		return fieldError("prices", c.Prices, fmt.Sprintf("%d numbers, one for each tier", len(c.Tiers)))
	}
	if len(c.Baselines) != len(c.Tiers) {
		return fieldError("baselines", c.Baselines, fmt.Sprintf("%d numbers, one for each tier", len(c.Tiers)))
	}
	sum := 0
	for i, p := range c.Prices {
		if p < c.PriceMin || p > c.PriceMax {
			return fieldError(fmt.Sprintf("prices[%d]", i), p, fmt.Sprintf("%g to %g", c.PriceMin, c.PriceMax))
		}
	}
	for i, n := range c.Baselines {
		if n > c.baselineMax() {
			return fieldError(fmt.Sprintf("baselines[%d]", i), n, fmt.Sprintf("0 to %d", c.baselineMax()))
		}
		sum += n
	}
	if sum > c.VGPUs {
		return fieldError("baselines", fmt.Sprintf("%v, %d keep-alive vGPUs in all", c.Baselines, sum),
			fmt.Sprintf("at most vgpus, %d", c.VGPUs))
	}
	return nil
}
