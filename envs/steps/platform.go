package steps

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
)

// Platform says what configurations there are, how instances start and move data, and what they cost.
type Platform struct {
	// Memory are the sizes in MB, ascending.
	Memory []int `yaml:"memory" json:"memory" range:"[1,1e6]"`
	// MaxInstances and MaxProcesses bound a step's instances and the processes of an instance.
	MaxInstances int `yaml:"max_instances" json:"max_instances" range:"[1,1000]"`
	MaxProcesses int `yaml:"max_processes" json:"max_processes" range:"[1,64]"`
	// SingleCore is the size in MB with which an instance has one whole core (m_s).
	SingleCore float64 `yaml:"single_core" json:"single_core" range:"(0,1e6]"`
	// Together is how many instances of a step run at a time: further ones wait until one ends, and find it warm. 0 is no
	// limit. An inline Map of AWS Step Functions runs at most 40.
	Together int `yaml:"together" json:"together" range:"[0,1e6]"`
	// Workers machines of Cores and MemoryGB each run the instances; 0 workers is no limit. Instances that find no room
	// wait.
	Workers  int     `yaml:"workers" json:"workers" range:"[0,1e4]"`
	Cores    int     `yaml:"cores" json:"cores" range:"[0,1e4]"`
	MemoryGB float64 `yaml:"memory_gb" json:"memory_gb" range:"[0,1e6]"`
	// ColdStart is the mean time in seconds of a cold start, ColdCV its coefficient of variation. The cold starts of a step
	// are begun one after the other, StartEvery seconds apart.
	ColdStart  float64 `yaml:"cold_start" json:"cold_start" range:"[0,1e4]"`
	ColdCV     float64 `yaml:"cold_cv" json:"cold_cv" range:"[0,10]"`
	StartEvery float64 `yaml:"start_every" json:"start_every" range:"[0,1e3]"`
	// KeepAlive is for how many seconds an idle instance stays warm.
	KeepAlive float64 `yaml:"keep_alive" json:"keep_alive" range:"[0,1e6]"`
	// ComputeCV is the coefficient of variation of an instance's computation.
	ComputeCV float64 `yaml:"compute_cv" json:"compute_cv" range:"[0,10]"`
	// Storage is how data moves.
	Storage Storage `yaml:"storage" json:"storage"`
	// USDPerGBSecond is the price of memory (µ0), USDPerRun and USDPerTransition that of an instance's run and of its
	// state transition (µ1 is their sum).
	USDPerGBSecond   float64 `yaml:"usd_per_gb_second" json:"usd_per_gb_second" range:"[0,1]"`
	USDPerRun        float64 `yaml:"usd_per_run" json:"usd_per_run" range:"[0,1]"`
	USDPerTransition float64 `yaml:"usd_per_transition" json:"usd_per_transition" range:"[0,1]"`
	// BillMapping bills every instance of a step for the step's whole time, mapping included, as StepConf's cost is
	// printed (§3.5). Otherwise each instance is billed for the time that it runs, as clouds do.
	BillMapping bool `yaml:"bill_mapping" json:"bill_mapping"`
	// Formula takes a step's mapping delay from a curve over its cold instances in place of starting them one by one.
	Formula bool `yaml:"formula" json:"formula"`
}

// Storage is how instances move data: an instance's objects take Latency seconds for each Parallel of them, and their
// size divided by Bandwidth. The time is lognormal around that mean. Its coefficient of variation is
// √(CommonCV² + ObjectCV²/n) for n objects: part of it is common to the objects of a transfer, part is each object's own
// (StepConf, Fig. 7: several times between the fastest and the slowest, and the less so the more objects).
type Storage struct {
	Latency   float64 `yaml:"latency" json:"latency" range:"[0,100]"`     // seconds
	Parallel  int     `yaml:"parallel" json:"parallel" range:"[1,1000]"`  // objects that move at a time
	Bandwidth float64 `yaml:"bandwidth" json:"bandwidth" range:"(0,1e5]"` // MB a second
	CommonCV  float64 `yaml:"common_cv" json:"common_cv" range:"[0,10]"`  // of all objects together
	ObjectCV  float64 `yaml:"object_cv" json:"object_cv" range:"[0,10]"`  // of each object
}

// Platforms by name.
const (
	AWS     = "aws"
	Knative = "knative"
	Own     = "own"
)

// Lambda is AWS Lambda under Step Functions: prices of us-east-1, a core with 1,769 MB, and at most 40 instances of a
// step at a time. Cold starts are chosen such that the mapping delay of fewer than 40 instances is that of the curve of
// [Platform.Formula].
func Lambda() Platform {
	return Platform{
		Memory:       []int{512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 9216, 10240},
		MaxInstances: 60, MaxProcesses: 6, SingleCore: 1769, Together: 40,
		ColdStart: 0.25, ColdCV: 0.2, StartEvery: 0.015, KeepAlive: 600, ComputeCV: 0.03,
		Storage:        Storage{Latency: 0.05, Parallel: 8, Bandwidth: 60, CommonCV: 0.3, ObjectCV: 0.8},
		USDPerGBSecond: 1.66667e-5, USDPerRun: 2e-7, USDPerTransition: 2.5e-5, BillMapping: true,
	}
}

// OnKnative is StepConf's cluster (§7.1): six workers of 16 cores and 32 GB, a core with 2,048 MB, no limit on the
// instances of a step at a time, and the prices of [Lambda].
func OnKnative() Platform {
	p := Lambda()
	p.SingleCore, p.Together, p.Workers, p.Cores, p.MemoryGB = 2048, 0, 6, 16, 32
	return p
}

// Where returns the platform that the App names.
func (a *App) Where() Platform {
	switch a.Platform {
	case Knative:
		return OnKnative()
	case Own:
		return a.Own
	}
	return Lambda()
}

// Validate says what is wrong with the platform, naming the key.
func (p *Platform) Validate() error {
	if err := bounds.Check(p); err != nil {
		return err
	}
	if len(p.Memory) == 0 {
		return bounds.Errorf("memory", "is empty, want sizes in MB, as [512, 1024, 2048]")
	}
	for i, mb := range p.Memory {
		if i > 0 && mb <= p.Memory[i-1] {
			return bounds.Errorf("memory", "is %v, want ascending sizes", p.Memory)
		}
	}
	if p.Workers > 0 && p.fit(p.Memory[len(p.Memory)-1]) == 0 {
		return bounds.Errorf("memory", "has %d MB, which no worker of %d cores and %g GB holds", p.Memory[len(p.Memory)-1],
			p.Cores, p.MemoryGB)
	}
	return nil
}

// fit is how many instances of a size the workers hold together; a very large number without limit.
func (p *Platform) fit(mb int) int {
	if p.Workers == 0 {
		return math.MaxInt32
	}
	return p.Workers * min(p.Cores/p.coresOf(mb), int(p.MemoryGB*1024)/mb)
}

// coresOf is how many whole cores an instance of a size takes on a worker.
func (p *Platform) coresOf(mb int) int { return int(math.Ceil(float64(mb) / p.SingleCore)) }

// perRun is the price of an instance beside its time (µ1).
func (p *Platform) perRun() float64 { return p.USDPerRun + p.USDPerTransition }

// perSecond is the price of an instance of a size a second.
func (p *Platform) perSecond(mb int) float64 { return float64(mb) / 1024 * p.USDPerGBSecond }

// Mapping is the curve of [Platform.Formula]: the mean mapping delay in seconds of a step with n instances of which some
// are warm. Below 30 instances it is small, and from about 40 on it rises fast (StepConf, Fig. 3). A warm instance takes
// 0.2 s off it. The delay is lognormal with a deviation of 0.2 in its logarithm.
func Mapping(n, warm int) float64 {
	over := float64(max(0, n-35))
	curve := 0.25 + float64(0.015*float64(n)) + float64(0.004*float64(over*over))
	return max(0, curve-float64(0.2*float64(min(warm, n))))
}

// mappingSigma is the deviation of the logarithm of the curve's delay.
const mappingSigma = 0.2
