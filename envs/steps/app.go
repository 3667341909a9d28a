package steps

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// App describes a workflow of steps. Its zero value is not valid: it has no steps.
type App struct {
	// Name is the workflow's name in reports; About says in a sentence what it is and where its numbers are from.
	Name  string `yaml:"name" json:"name"`
	About string `yaml:"about,omitempty" json:"about,omitempty"`
	// Workflow says in which order the steps run: each node is a step. It has neither loops nor calls.
	Workflow workflow.Graph `yaml:"workflow" json:"workflow"`
	// Platform names where the steps run: aws, knative, or own (Own). Empty is aws.
	Platform string   `yaml:"platform,omitempty" json:"platform,omitempty" oneof:"|aws|knative|own"`
	Own      Platform `yaml:"own,omitempty" json:"own,omitzero"`
	// SLO is the limit in seconds of a request's time, in place of the environment's range of factors on the fastest.
	SLO float64 `yaml:"slo,omitempty" json:"slo,omitempty" range:"[0,1e6]"`
	// Steps are the workflow's nodes, in any order.
	Steps []StepConfig `yaml:"steps" json:"steps"`
}

// StepConfig describes a step.
type StepConfig struct {
	// Name is the name of the step's node in the workflow.
	Name string `yaml:"name" json:"name"`
	// Tasks is the number of tasks, which the step's instances share evenly (γ). 0 is a state that does nothing, such as
	// the fork at which parallel pipelines begin: nothing is to choose, it takes Wait seconds and costs nothing.
	Tasks int     `yaml:"tasks" json:"tasks" range:"[0,1e6]"`
	Wait  float64 `yaml:"wait,omitempty" json:"wait,omitempty" range:"[0,1e6]"`
	// Law is the time that an instance computes for its tasks.
	Law Law `yaml:"law,omitempty" json:"law,omitzero"`
	// Multicore says that the code itself uses several cores: processes change nothing, and Law is case 1 of eq. 1.
	Multicore bool `yaml:"multicore,omitempty" json:"multicore,omitempty"`
	// Download is what the instances fetch before they compute, Upload what they store after it.
	Download Transfer `yaml:"download" json:"download"`
	Upload   Transfer `yaml:"upload" json:"upload"`
	// MinMemory is the least memory in MB that the code runs with. MaxInstances and MaxProcesses bound the step below what
	// the platform allows: 1 for tasks that cannot be shared. 0 is the platform's limit.
	MinMemory    int `yaml:"min_memory,omitempty" json:"min_memory,omitempty" range:"[0,1e6]"`
	MaxInstances int `yaml:"max_instances,omitempty" json:"max_instances,omitempty" range:"[0,1000]"`
	MaxProcesses int `yaml:"max_processes,omitempty" json:"max_processes,omitempty" range:"[0,64]"`
}

// Transfer is data that a step moves between its instances and the storage. The objects are spread evenly over the
// instances; where there are fewer objects than instances, each instance moves one.
type Transfer struct {
	// Objects is their number, 0 for none; MB is the size of each.
	Objects int     `yaml:"objects" json:"objects" range:"[0,1e6]"`
	MB      float64 `yaml:"mb" json:"mb" range:"[0,1e6]"`
}

// Law is the mean time in seconds that an instance computes for γ tasks (StepConf, eq. 1). With m MB and q processes it
// has the speed x = min(m/m_s, q), where m_s is the platform's [Platform.SingleCore].
//
// Code of one core (case 2, δ_s = 1) takes A·γ/(x + B) + Fixed. Code of several cores (case 1) takes
// (A·γ + B)·e^(−C·x) + Fixed with x = min(m/m_s, Cores) of at least 1, and x times less below one core:
// (A·γ + B)·e^(−C)/x + Fixed.
//
// In place of A and B it can be measured: Seconds that a process with a whole core takes for Tasks tasks.
type Law struct {
	// A is in seconds a task. B is in cores for code of one core, in seconds for code of several ones.
	A float64 `yaml:"a,omitempty" json:"a,omitempty" range:"[0,1e6]"`
	B float64 `yaml:"b,omitempty" json:"b,omitempty" range:"[0,1e6]"`
	// C is per core: how fast more cores shorten the time of code of several cores.
	C float64 `yaml:"c,omitempty" json:"c,omitempty" range:"[0,100]"`
	// Cores is the most cores that code of several cores uses; 0 is all of the platform's largest size.
	Cores float64 `yaml:"cores,omitempty" json:"cores,omitempty" range:"[0,1024]"`
	// Fixed is in seconds (φ).
	Fixed float64 `yaml:"fixed,omitempty" json:"fixed,omitempty" range:"[0,1e6]"`
	// Tasks and Seconds are measured times, both ascending, with straight lines between them. More tasks than the last
	// take longer in proportion.
	Tasks   []int     `yaml:"tasks,omitempty" json:"tasks,omitempty" range:"[1,1e6]"`
	Seconds []float64 `yaml:"seconds,omitempty" json:"seconds,omitempty" range:"(0,1e6]"`
}

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
	return p.Workers * min(p.Cores/p.CoresOf(mb), int(p.MemoryGB*1024)/mb)
}

// CoresOf is how many whole cores an instance of a size takes on a worker.
func (p *Platform) CoresOf(mb int) int { return int(math.Ceil(float64(mb) / p.SingleCore)) }

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

// Empty reports whether there is no law.
func (l *Law) Empty() bool {
	return l.A == 0 && l.B == 0 && l.Fixed == 0 && len(l.Tasks)+len(l.Seconds) == 0
}

// validate says what is wrong with the law of a step, naming the key below key.
func (l *Law) validate(key string, multicore bool) error {
	switch {
	case len(l.Tasks) != len(l.Seconds):
		return bounds.Errorf(key+".seconds", "has %d times for %d numbers of tasks, want one for each", len(l.Seconds),
			len(l.Tasks))
	case len(l.Tasks) > 0 && (l.A != 0 || l.B != 0 || l.C != 0):
		return bounds.Errorf(key+".tasks", "are there beside a, b or c: want measured times or a formula")
	case len(l.Tasks) > 0 && multicore:
		return bounds.Errorf(key+".tasks", "are times of one core, but the step is multicore: want a, b and c")
	case len(l.Tasks) == 0 && l.A == 0 && l.B == 0 && l.Fixed == 0:
		return bounds.Errorf(key, "gives 0 s: want a, the seconds of a task")
	case len(l.Tasks) == 0 && l.A == 0:
		return bounds.Errorf(key+".a", "is missing, want the seconds of a task with one core")
	case !multicore && (l.C != 0 || l.Cores != 0):
		return bounds.Errorf(key+".c", "and cores are of code of several cores: want multicore: true beside them")
	}
	for i := 1; i < len(l.Tasks); i++ {
		if l.Tasks[i] <= l.Tasks[i-1] {
			return bounds.Errorf(key+".tasks", "is %v, want ascending numbers", l.Tasks)
		}
		if l.Seconds[i] < l.Seconds[i-1] {
			return bounds.Errorf(key+".seconds", "is %v, want no time below that of fewer tasks", l.Seconds)
		}
	}
	return nil
}

// measured returns the measured time for some tasks.
func (l *Law) measured(tasks int) float64 {
	i, found := slices.BinarySearch(l.Tasks, tasks)
	last := len(l.Tasks) - 1
	switch {
	case found:
		return l.Seconds[i]
	case i == 0:
		return l.Seconds[0]
	case i > last:
		return l.Seconds[last] * (float64(tasks) / float64(l.Tasks[last]))
	}
	a, b := l.Seconds[i-1], l.Seconds[i]
	return a + float64((b-a)*(float64(tasks-l.Tasks[i-1])/float64(l.Tasks[i]-l.Tasks[i-1])))
}

// check says which key of the workflow is out of its range.
func (a *App) check() error {
	c := *a
	c.Own = a.Where() // what is not read is not checked
	return bounds.Check(&c)
}

// validate says what is wrong with a step, naming the key below key.
func (c *StepConfig) validate(key string, p *Platform) error {
	if c.Tasks == 0 {
		if !c.Law.Empty() || c.Download != (Transfer{}) || c.Upload != (Transfer{}) {
			return bounds.Errorf(key+".tasks", "is 0 or missing, but %q has a law or transfers: want the number of its tasks", c.Name)
		}
		return nil
	}
	if c.Wait != 0 {
		return bounds.Errorf(key+".wait", "is %g, but %q has tasks: only a state without tasks waits", c.Wait, c.Name)
	}
	if c.Law.Empty() {
		return bounds.Errorf(key+".law", "is missing: step %q has %d tasks, want the law of their time, such as {a: 1.2} "+
			"seconds a task with one core, or measured runs in profiles", c.Name, c.Tasks)
	}
	if err := c.Law.validate(key+".law", c.Multicore); err != nil {
		return err
	}
	if err := c.Download.validate(key + ".download"); err != nil {
		return err
	}
	if err := c.Upload.validate(key + ".upload"); err != nil {
		return err
	}
	if most := p.Memory[len(p.Memory)-1]; c.MinMemory > most {
		return bounds.Errorf(key+".min_memory", "is %d, want at most %d MB, the platform's largest size", c.MinMemory, most)
	}
	if c.MaxInstances > p.MaxInstances {
		return bounds.Errorf(key+".max_instances", "is %d, want at most %d, the platform's limit", c.MaxInstances, p.MaxInstances)
	}
	if c.MaxProcesses > p.MaxProcesses {
		return bounds.Errorf(key+".max_processes", "is %d, want at most %d, the platform's limit", c.MaxProcesses, p.MaxProcesses)
	}
	return nil
}

// validate says what is wrong with a transfer.
func (t *Transfer) validate(key string) error {
	switch {
	case t.Objects > 0 && t.MB == 0:
		return bounds.Errorf(key+".mb", "is missing, want the size of each of the %d objects in MB", t.Objects)
	case t.Objects == 0 && t.MB > 0:
		return bounds.Errorf(key+".objects", "is missing, want how many objects of %g MB are moved", t.MB)
	}
	return nil
}

// limit is a bound of which 0 is none.
func limit(n int) int {
	if n == 0 {
		return math.MaxInt
	}
	return n
}

// checkSLO says by how much the workflow's own limit cannot be kept.
func (m *Model) checkSLO() error {
	slo := m.App.SLO
	if slo == 0 || slo >= m.Fastest {
		return nil
	}
	return bounds.Errorf("slo", "is %.4g s, which is %.3g s below the fastest configurations: they take %.4g s at P90", slo,
		m.Fastest-slo, m.Fastest)
}

// objects is how many objects each of some instances moves.
func (t *Transfer) objects(instances int) int { return (t.Objects + instances - 1) / instances }

// transfer is the time that an instance takes to move its share.
func (s *Storage) transfer(t *Transfer, instances int) spread {
	n := t.objects(instances)
	if n == 0 {
		return spread{}
	}
	mean := float64(s.Latency*float64((n+s.Parallel-1)/s.Parallel)) + float64(float64(n)*t.MB)/s.Bandwidth
	return spread{mean, math.Sqrt(float64(s.CommonCV*s.CommonCV) + float64(s.ObjectCV*s.ObjectCV)/float64(n))}
}
