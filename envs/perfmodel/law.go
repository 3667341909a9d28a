// Package perfmodel models the work of a request in a function, the speed of an instance, and the price of resources.
//
// A [Law] is the performance model of one function: the work of a request and the speed of an instance with a given CPU
// limit. They give D(cpu), the service time of a request that is alone in an instance. Waiting, rejection and
// contention are not here: they result from the simulation (package sim), whose inputs are D and the noise around it.
// [FaaSConf] returns the laws of FaaSConf's functions. They are fitted so that the simulated latencies agree with the
// published measurements; the tests in envs/sizing/calibrate read these and repeat the fit. [Rates] are the prices.
//
// Platforms that give CPU with memory have laws of their own, in package memory, bills in package bill, and quantiles of
// delays in package quantile, all below this one.
package perfmodel

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

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

// Setting is what was measured of a function under one CPU limit and one load.
type Setting struct {
	// CPU is an instance's limit in millicores.
	CPU float64
	// Inside is the number of requests in an instance, the measured ones included. Where Held it was the same all the
	// while, at least 1. Otherwise requests came by themselves, Inside is the mean over time (by Little's law the rate of
	// the requests served times their mean time), and an instance takes Limit at once.
	Inside float64
	Held   bool
	Limit  int
	// Seconds is the mean time of a request in the instance, SD the standard deviation (0 where it is not known), and Rows
	// the number of rows or requests that they were taken from.
	Seconds, SD float64
	Rows        int
}

// others is about how many further requests a request meets.
func (s *Setting) others() float64 {
	if s.Held {
		return s.Inside - 1
	}
	return s.Inside
}

// Predict returns the mean time in seconds that the law gives a request under a setting. Requests that come by
// themselves are a Poisson process, and an instance refuses those beyond its limit. Then the number inside is a birth and
// death process whatever the law of the work (Cohen, The multiple phase service network with generalized processor
// sharing, 1979). Its rate is the one with the setting's mean number inside, and the time follows by Little's law.
func (l *Law) Predict(s *Setting) float64 {
	if s.Held {
		return l.Seconds(s.CPU, s.Inside)
	}
	limit := max(1, s.Limit)
	if s.Inside > 0.999*float64(limit) {
		return l.Seconds(s.CPU, float64(limit))
	}
	c := chain{alone: l.Alone(s.CPU), together: l.Together(s.CPU), slowing: l.Slowing(s.CPU), limit: limit}
	// x is the logarithm of the rate; the derivative of the mean by it is the variance.
	x, low, high := math.Log(s.Inside/l.Seconds(s.CPU, 1+s.Inside)), math.Inf(-1), math.Inf(1)
	for range 60 {
		mean, variance, taken := c.at(math.Exp(x))
		if math.Abs(mean-s.Inside) <= 1e-10*s.Inside {
			return mean / (math.Exp(x) * taken)
		}
		if mean < s.Inside {
			low = x
		} else {
			high = x
		}
		next := x + min(max((s.Inside-mean)/variance, -2), 2)
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		x = next
	}
	_, _, taken := c.at(math.Exp(x))
	return s.Inside / (math.Exp(x) * taken)
}

// chain is the number of requests in an instance that takes limit at once.
type chain struct {
	alone, together, slowing float64
	limit                    int
}

// at returns mean and variance of the number inside, and the share of requests that are not refused, where rate requests
// a second come.
func (c *chain) at(rate float64) (mean, variance, taken float64) {
	p, sum, first, second := 1.0, 1.0, 0.0, 0.0
	for n := 1; n <= c.limit; n++ {
		k := float64(n)
		p = float64(p * rate * c.alone * max(1, k/c.together) * (1 + float64(c.slowing*(k-1))) / k)
		sum += p
		first += float64(k * p)
		second += float64(k * k * p)
		if sum > 1e200 {
			p, sum, first, second = p/sum, 1, first/sum, second/sum
		}
	}
	mean = first / sum
	return mean, second/sum - float64(mean*mean), 1 - p/sum
}

// Draw returns the law of a function of a generated workflow, by the workflow's seed and the function's number. Each
// number is drawn within the range that FaaSConf's functions have: Work between 0.05 and 2 core-seconds, evenly in its
// logarithm; CV, Parallel, Overhead, Crowding, Spoilt and Payload evenly; one function in seven holds 250 MB a request,
// as resnet does.
func Draw(seed uint64, function int) Law {
	s := rng.New(seed, "perfmodel/draw").With(uint64(function))
	purpose := uint64(0)
	between := func(low, high float64) float64 {
		purpose++
		return low + float64(s.With(purpose).Float64()*(high-low))
	}
	l := Law{
		Work: portable.Exp(between(portable.Log(0.05), portable.Log(2))), CV: between(0.04, 0.3),
		Parallel: between(0.94, 1.72), Overhead: between(0.14, 0.25), Crowding: between(0.08, 0.15),
		Spoilt: between(0.35, 1), Idle: 8, Payload: between(2_000, 160_000), Source: "drawn for a generated workflow",
	}
	if between(0, 7) < 1 {
		l.Memory = 250
	}
	return l
}

// DrawService is [Draw] for a workflow of services: laws as TcktApp's, whose work at [ticketCPU] is 0.008 to 0.63 seconds,
// evenly in its logarithm.
func DrawService(seed uint64, function int) Law {
	s := rng.New(seed, "perfmodel/service").With(uint64(function))
	low, high := portable.Log(0.008), portable.Log(0.63)
	l := ticket(portable.Exp(low + float64(s.Float64()*(high-low))))
	l.Source = "drawn for a generated workflow of services"
	return l
}

// FaaSConf returns the law of one of FaaSConf's functions by its name in the published code. The seven machine-learning
// functions' laws are fitted to the published measurements (see fitted.go); those of TcktApp's twelve are our
// estimates.
func FaaSConf(function string) (Law, error) {
	if l, ok := fitted[function]; ok {
		return l, nil
	}
	// There are no measurements of load. It has rgb's law, since both fetch an image and encode it as JPEG.
	if function == "load" {
		l := fitted["rgb"]
		l.Source = "ours: rgb's law"
		return l, nil
	}
	if own, ok := tcktapp[function]; ok {
		return ticket(own), nil
	}
	return Law{}, fmt.Errorf("perfmodel: there is no law for function %q", function)
}

// tcktapp holds the seconds of work at ticketCPU, without calls, of TcktApp's functions. They are our estimates:
// FaaSConf's code has a reference p75 of each function; from that of a caller we subtract its callees' and 5 ms for
// each call. The entry's 3.51 s (which the code lists second, unlike its own measured row) cannot be the time of one
// request, since each instance takes one request at a time: 20 users had 110 responses in 30 s and a p75 of 6.78 s,
// which four instances give if a request takes 1.09 s. Of these, 0.46 s are calls.
var tcktapp = map[string]float64{
	"get-left-trip-tickets":                0.6300,
	"get-left-ticket-of-interval":          0.0815,
	"get-price-by-routeid-and-traintype":   0.0118,
	"get-route-by-routeid":                 0.0083,
	"get-route-by-tripid":                  0.0250,
	"get-sold-tickets":                     0.0082,
	"get-traintype-by-traintypeid":         0.0100,
	"get-traintype-by-tripid":              0.0222,
	"query-already-sold-orders":            0.0110,
	"query-config-entity-by-config-name":   0.0088,
	"query-for-station-id-by-station-name": 0.0109,
	"query-for-travel":                     0.1635,
}

// ticketCPU is the CPU limit in millicores at which we assume that TcktApp's reference latencies were measured: the
// middle of its range.
const ticketCPU = 625

func ticket(own float64) Law {
	l := Law{
		CV: 0.3, Parallel: 1, Overhead: fitted["starter"].Overhead, Spoilt: 1, Idle: 80, Payload: 2_000,
		Source: "ours: from the reference latencies in FaaSConf's code",
	}
	l.Work = 1
	l.Work = own / l.Alone(ticketCPU)
	return l
}

// Rates are the prices of allocated resources, used or unused.
type Rates struct {
	// CPU is in USD per millicore-hour, Memory in USD per MB-hour.
	CPU, Memory float64
}

// Hourly returns the price in USD per hour of a number of replicas with cpu millicores and memory MB each: FaaSConf's
// Eq. 2 without the execution time, as in its code and data.
func (r Rates) Hourly(cpu, memory, replicas int) float64 {
	return float64((float64(float64(cpu)*r.CPU) + float64(float64(memory)*r.Memory)) * float64(replicas))
}
