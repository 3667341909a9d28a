package perfmodel

import "github.com/stoker-rl/stoker/bounds"

// Law is the performance model of a function: the work of one request, and how fast an instance does it.
//
// An instance limited to c cores with n requests inside has c²/(c + Overhead + Crowding·(n-1)) cores for its requests.
// The rest is lost to the container's other work and to CPU throttling, which costs more the smaller the quota is. The
// kernel gives the quota out in slices of 5 ms per 100 ms to each core that runs a process (Linux'
// Documentation/scheduler/sched-bwc.rst), and OpenFaaS' classic watchdog forks a process per request. Each further
// process takes slices of its own, leaves the rest of them unused when the others are throttled, and is itself
// throttled in the middle of its work. So the loss grows with the number of requests. The requests share the cores
// equally; none can use more than Parallel.
type Law struct {
	// Work is the mean work of a request in core-seconds.
	Work float64 `yaml:"work" json:"work" range:"(0,]"`
	// CV is the coefficient of variation of the work, whose distribution is lognormal.
	CV float64 `yaml:"cv" json:"cv" range:"[0,]"`
	// Parallel is the number of cores that one request can use.
	Parallel float64 `yaml:"parallel" json:"parallel" range:"(0,]"`
	// Overhead is the CPU limit in cores at which an instance with one request loses half of its CPU.
	Overhead float64 `yaml:"overhead" json:"overhead" range:"[0,]"`
	// Crowding is the number of cores that each further request in an instance adds to Overhead.
	Crowding float64 `yaml:"crowding" json:"crowding" range:"[0,]"`
	// Spoilt is the fraction of the work that is done if an earlier failure has made the input invalid.
	Spoilt float64 `yaml:"spoilt" json:"spoilt" range:"[0,1]"`
	// Memory is what each request inside holds, in MB; requests that do not fit are killed. 0 means no limit by memory.
	Memory float64 `yaml:"memory" json:"memory" range:"[0,]"`
	// Idle is the memory in MB of an instance that holds no request.
	Idle float64 `yaml:"idle" json:"idle" range:"[0,]"`
	// Payload is the number of bytes that an instance receives for a request.
	Payload float64 `yaml:"payload" json:"payload" range:"[0,]"`
	// Source says where the numbers come from.
	Source string `yaml:"source" json:"source"`
}

// Effective returns the cores that an instance limited to cpu millicores has for one request.
func (l *Law) Effective(cpu float64) float64 {
	c := cpu / 1000
	if c <= 0 {
		return 0
	}
	return c * c / (c + l.Overhead)
}

// Speed returns the cores that a request has while it is alone in an instance of cpu millicores.
func (l *Law) Speed(cpu float64) float64 { return min(l.Parallel, l.Effective(cpu)) }

// Together returns how many requests an instance of cpu millicores serves concurrently at full speed, at least 1.
func (l *Law) Together(cpu float64) float64 { return max(1, l.Effective(cpu)/l.Parallel) }

// Slowing returns the fraction by which each further request in an instance of cpu millicores slows down all of them,
// in addition to the sharing of the CPU.
func (l *Law) Slowing(cpu float64) float64 {
	if l.Crowding == 0 {
		return 0
	}
	return l.Crowding / (cpu/1000 + l.Overhead)
}

// Alone returns D(cpu), the mean service time in seconds of a request that is alone in an instance of cpu millicores.
func (l *Law) Alone(cpu float64) float64 { return l.Work / l.Speed(cpu) }

// Seconds returns the mean service time in seconds of a request in an instance of cpu millicores that holds inside
// requests all the while, itself included; inside may be a fraction. The simulator's instances (sim.Contention) take
// the same.
func (l *Law) Seconds(cpu, inside float64) float64 {
	return l.Alone(cpu) * max(1, inside/l.Together(cpu)) * (1 + float64(l.Slowing(cpu)*(inside-1)))
}

// Fits returns how many requests an instance of memory MB holds at once, from 1 to most. An instance with too little
// memory for one request is not modelled.
func (l *Law) Fits(memory float64, most int) int {
	if l.Memory <= 0 {
		return most
	}
	return max(1, min(most, int((memory-l.Idle)/l.Memory)))
}

// Validate reports the first number out of range.
func (l *Law) Validate() error { return bounds.Check(l) }
