package perfmodel

import "github.com/stoker-rl/stoker/bounds"

// Law is what one request asks of a function, and how an instance of that function serves it.
//
// An instance limited to c cores with n requests inside has c²/(c + Overhead + Crowding·(n-1)) of them for its
// requests. The rest is the container's other work and the stalls of a CPU quota, which weigh the more
// the smaller the quota is. A quota is handed out in slices (5 ms of every 100 ms, Linux'
// Documentation/scheduler/sched-bwc.rst), one to each core that runs something, and OpenFaaS' classic watchdog forks a
// process per request: each further one takes slices of its own, leaves what is left of them unused when the others are
// throttled, and is itself held up in the middle of its work; so what is lost grows with their number. The cores are
// shared equally among the requests, of which none can use more than Parallel.
type Law struct {
	// Work of a request in core-seconds, its mean.
	Work float64 `yaml:"work" json:"work" range:"(0,]"`
	// CV is the coefficient of variation of the work, which is lognormal.
	CV float64 `yaml:"cv" json:"cv" range:"[0,]"`
	// Parallel is the number of cores that one request can use.
	Parallel float64 `yaml:"parallel" json:"parallel" range:"(0,]"`
	// Overhead is the CPU in cores of which an instance of that size would lose half.
	Overhead float64 `yaml:"overhead" json:"overhead" range:"[0,]"`
	// Crowding is the CPU in cores by which each further request in an instance adds to Overhead.
	Crowding float64 `yaml:"crowding" json:"crowding" range:"[0,]"`
	// Spoilt is the share of the work that is done on an input that an earlier failure has spoilt.
	Spoilt float64 `yaml:"spoilt" json:"spoilt" range:"[0,1]"`
	// Memory in MB that each request inside holds; what does not fit is killed. 0 where memory has no visible effect.
	Memory float64 `yaml:"memory" json:"memory" range:"[0,]"`
	// Idle is the memory in MB of an instance that holds no request.
	Idle float64 `yaml:"idle" json:"idle" range:"[0,]"`
	// Payload is what a request makes an instance receive, in bytes.
	Payload float64 `yaml:"payload" json:"payload" range:"[0,]"`
	// Source says where the numbers are from.
	Source string `yaml:"source" json:"source"`
}

// Effective returns the cores that an instance limited to cpu millicores has for its requests.
func (l *Law) Effective(cpu float64) float64 {
	c := cpu / 1000
	if c <= 0 {
		return 0
	}
	return c * c / (c + l.Overhead)
}

// Speed returns the cores that a request has while it is alone in an instance of cpu millicores.
func (l *Law) Speed(cpu float64) float64 { return min(l.Parallel, l.Effective(cpu)) }

// Together returns how many requests an instance of cpu millicores serves side by side at full speed, at least 1.
func (l *Law) Together(cpu float64) float64 { return max(1, l.Effective(cpu)/l.Parallel) }

// Slowing returns the share by which each further request in an instance of cpu millicores slows all of them, beyond
// the sharing of its CPU.
func (l *Law) Slowing(cpu float64) float64 {
	if l.Crowding == 0 {
		return 0
	}
	return l.Crowding / (cpu/1000 + l.Overhead)
}

// Alone returns D(cpu), the mean service time in seconds of a request that is alone in an instance of cpu millicores.
func (l *Law) Alone(cpu float64) float64 { return l.Work / l.Speed(cpu) }

// Fits returns how many of at most most requests an instance of memory MB holds at once, at least 1: what it is short
// of for the first is not modelled.
func (l *Law) Fits(memory float64, most int) int {
	if l.Memory <= 0 {
		return most
	}
	return max(1, min(most, int((memory-l.Idle)/l.Memory)))
}

// Validate reports the first number that makes no sense.
func (l *Law) Validate() error { return bounds.Check(l) }
