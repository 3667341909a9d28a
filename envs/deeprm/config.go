package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
)

// What a policy sees, as [Config.Observation] names it.
const (
	// Image is the published picture: cluster, visible jobs, backlog and time since the last arrival, a row per time
	// step.
	Image = "image"
	// Compact is the published list of numbers, which says nearly the same.
	Compact = "compact"
)

// When a job may start, as [Config.Start] names it.
const (
	// StartNow places a job only where it fits from this time step on.
	StartNow = "now"
	// StartEarliest books the earliest start within the horizon, as the published code does.
	StartEarliest = "earliest"
)

// When an episode ends, as [Config.End] names it.
const (
	// AllDone ends an episode when the last job has left.
	AllDone = "all_done"
	// NoNewJob cuts it when the last job may have arrived.
	NoNewJob = "no_new_job"
)

// Between is a range of whole numbers, both ends included.
type Between struct {
	// Low is the smallest.
	Low int `yaml:"low" json:"low"`
	// High is the largest.
	High int `yaml:"high" json:"high"`
}

// Job is a given job.
type Job struct {
	// At is the time step in which it arrives.
	At int `yaml:"at" json:"at"`
	// Length is the number of time steps for which it runs.
	Length int `yaml:"length" json:"length"`
	// Demand is the number of slots of each resource that it holds while it runs.
	Demand []int `yaml:"demand" json:"demand"`
}

// Defects switches on the faults of the published code, all false by default.
type Defects struct {
	// SkipFirst never gives the job of time step 0: the code advances its clock before it looks.
	SkipFirst bool `yaml:"skip_first" json:"skip_first"`
	// SkipLastStart never tries the last start at which a job would still end within the horizon.
	SkipLastStart bool `yaml:"skip_last_start" json:"skip_last_start"`
	// LateRemoval skips the job after each that leaves, because the code deletes from a list that it iterates over. Of
	// jobs that end together some stay some steps longer and are charged for.
	LateRemoval bool `yaml:"late_removal" json:"late_removal"`
	// FloorSlowdown reports slowdowns rounded down, as division in Python 2 does. Rewards do not depend on it.
	FloorSlowdown bool `yaml:"floor_slowdown" json:"floor_slowdown"`
}

// Config configures [Env]. The defaults are those of the published code with the ten visible jobs of its experiments,
// without its defects.
type Config struct {
	// Rate is the probability that a job arrives in a time step. The load is Rate × mean length × mean demand / slots:
	// 1.845 × Rate by default.
	Rate float64 `yaml:"rate" json:"rate" range:"[0,1]"`
	// Steps is the number of time steps in which a job may arrive.
	Steps int `yaml:"steps" json:"steps" range:"[1,2^16]"`
	// Sets is the number of job sets that recur. 0 draws a new one for every seed; otherwise a seed chooses among them,
	// or the option set names one.
	Sets int `yaml:"sets" json:"sets" range:"[0,2147483647]"`
	// SetSeed is the seed of job sets that recur.
	SetSeed uint64 `yaml:"set_seed" json:"set_seed"`
	// Jobs are given job sets. Then none are drawn, and Sets is their number.
	Jobs [][]Job `yaml:"jobs" json:"jobs"`

	// Short and Long are the lengths of short and long jobs in time steps, uniform.
	Short Between `yaml:"short" json:"short" range:"[1,4096]"`
	Long  Between `yaml:"long" json:"long" range:"[1,4096]"`
	// ShortShare is the probability that a job is short.
	ShortShare float64 `yaml:"short_share" json:"short_share" range:"[0,1]"`
	// Dominant is the demand of one resource, chosen uniformly; Other is the demand of each other resource.
	Dominant Between `yaml:"dominant" json:"dominant" range:"[1,4096]"`
	Other    Between `yaml:"other" json:"other" range:"[1,4096]"`

	// Resources is the number of resources, Slots how much there is of each.
	Resources int `yaml:"resources" json:"resources" range:"[1,4]"`
	Slots     int `yaml:"slots" json:"slots" range:"[1,4096]"`
	// Horizon is the number of time steps that are seen and can be booked.
	Horizon int `yaml:"horizon" json:"horizon" range:"[1,4096]"`
	// Visible is the number of waiting jobs that are seen in full and can be chosen.
	Visible int `yaml:"visible" json:"visible" range:"[1,1024]"`
	// Backlog is the number of jobs that can wait behind them. Jobs that arrive while it is full are dropped.
	Backlog int `yaml:"backlog" json:"backlog" range:"[0,2^16]"`

	// Observation is image or compact.
	Observation string `yaml:"observation" json:"observation" oneof:"image|compact"`
	// Greys is one more than the number of grey levels that tell running jobs apart in the image, drawn in another
	// order for each episode.
	Greys int `yaml:"greys" json:"greys" range:"[2,2^15]"`
	// Since is the number of time steps without an arrival at which the image's last column reaches 1.
	Since int `yaml:"since" json:"since" range:"[1,2147483647]"`

	// Start is now or earliest.
	Start string `yaml:"start" json:"start" oneof:"now|earliest"`
	// Mask forbids jobs that cannot be placed. Without it choosing one, or an empty place, lets a time step pass, as
	// published.
	Mask bool `yaml:"mask" json:"mask"`
	// End is all_done or no_new_job.
	End string `yaml:"end" json:"end" oneof:"all_done|no_new_job"`
	// MaxTime is the time step after which an episode is cut.
	MaxTime int `yaml:"max_time" json:"max_time" range:"[1,2^24]"`
	// Defects are the faults of the published code to reproduce.
	Defects Defects `yaml:"defects" json:"defects"`
}

// Default returns the setting of DeepRM's experiments at its default rate of 0.7.
func Default() Config {
	return Config{
		Rate: 0.7, Steps: 50,
		Short: Between{1, 3}, Long: Between{10, 15}, ShortShare: 0.8, Dominant: Between{5, 10}, Other: Between{1, 2},
		Resources: 2, Slots: 10, Horizon: 20, Visible: 10, Backlog: 60,
		Observation: Image, Greys: 40, Since: 10,
		Start: StartNow, Mask: true, End: AllDone, MaxTime: 2000,
	}
}

// Load is the share of the cluster that arrives in a time step, averaged over resources: Rate × mean length × mean
// demand / Slots.
func (c *Config) Load() float64 {
	length := float64(c.ShortShare*c.Short.mean()) + float64((1-c.ShortShare)*c.Long.mean())
	demand := (c.Dominant.mean() + float64(float64(c.Resources-1)*c.Other.mean())) / float64(c.Resources)
	return c.Rate * length * demand / float64(c.Slots)
}

// mean is rounded at once, so that the compiler does not fuse the division with a sum.
func (b Between) mean() float64 { return float64(float64(b.Low+b.High) / 2) }

// Validate names the first field that is wrong.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.MaxTime < c.Steps {
		return bounds.Errorf("max_time", "is %d, want at least steps, %d", c.MaxTime, c.Steps)
	}
	last := c.Horizon
	if c.Start == StartEarliest && c.Defects.SkipLastStart {
		last--
	}
	for _, f := range []struct {
		key  string
		got  Between
		hi   int
		what string
	}{
		{"short", c.Short, last, "time steps that can be booked"}, {"long", c.Long, last, "time steps that can be booked"},
		{"dominant", c.Dominant, c.Slots, "slots of each resource"}, {"other", c.Other, c.Slots, "slots of each resource"},
	} {
		if f.got.High < f.got.Low {
			return bounds.Errorf(f.key, "is %d to %d, want low ≤ high", f.got.Low, f.got.High)
		}
		if f.got.High > f.hi {
			return bounds.Errorf(f.key+".high", "is %d: such a job never fits, the cluster has %d %s", f.got.High, f.hi, f.what)
		}
	}
	if err := c.validateJobs(last); err != nil {
		return err
	}
	if l := NewLayout(c); l.Width() > mostNumbers {
		return bounds.Errorf("observation", "is %s of %d numbers, want at most %d, or %s", c.Observation, l.Width(), mostNumbers,
			Compact)
	}
	return nil
}

// mostNumbers is the most that an observation has: a wrong number must give an error, not use up the memory.
const mostNumbers = 1 << 26

// validateJobs checks the job sets that are given; jobs may be as long as last.
func (c *Config) validateJobs(last int) error {
	if len(c.Jobs) > 0 && c.Sets != 0 && c.Sets != len(c.Jobs) {
		return bounds.Errorf("sets", "is %d, but jobs has %d sets; want 0 or as many", c.Sets, len(c.Jobs))
	}
	for s, set := range c.Jobs {
		taken := make(map[int]int, len(set))
		for i, j := range set {
			at := fmt.Sprintf("jobs[%d][%d]", s, i)
			if j.At < 0 || j.At >= c.Steps {
				return bounds.Errorf(at, "arrives in time step %d, want 0 to %d", j.At, c.Steps-1)
			}
			if other, ok := taken[j.At]; ok {
				return bounds.Errorf(at, "arrives in time step %d as jobs[%d][%d] does, want at most one in a step", j.At, s, other)
			}
			taken[j.At] = i
			if j.Length < 1 || j.Length > last {
				return bounds.Errorf(at, "runs for %d time steps, want 1 to the %d that can be booked", j.Length, last)
			}
			if len(j.Demand) != c.Resources {
				return bounds.Errorf(at, "demands %d resources, want %d", len(j.Demand), c.Resources)
			}
			for r, d := range j.Demand {
				if d < 1 || d > c.Slots {
					return bounds.Errorf(at, "demands %d slots of resource %d, want 1 to the %d that the cluster has", d, r, c.Slots)
				}
			}
		}
	}
	return nil
}

// longest and largest bound what a job can be: lengths in time steps, demands in slots.
func (c *Config) longest() int {
	return c.extreme(max(c.Short.High, c.Long.High), func(j Job) int { return j.Length })
}

func (c *Config) largest() int {
	return c.extreme(max(c.Dominant.High, c.Other.High), func(j Job) int {
		m := 1
		for _, d := range j.Demand {
			m = max(m, d)
		}
		return m
	})
}

// extreme is drawn where jobs are drawn, else the largest of those given.
func (c *Config) extreme(drawn int, of func(Job) int) int {
	if len(c.Jobs) == 0 {
		return drawn
	}
	m := 1
	for _, set := range c.Jobs {
		for _, j := range set {
			m = max(m, of(j))
		}
	}
	return m
}
