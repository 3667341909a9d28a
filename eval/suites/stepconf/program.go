package stepconf

import (
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Memory sizes of a platform in MB, and those that StepConf profiles.
var (
	sizes    = []float64{512, 1024, 1769, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 9216, 10240}
	profiled = []float64{512, 1024, 2048, 4096, 10240}
)

// program is the benchmark that is measured in Figs. 5, 6, 16 and 17: it tests large numbers for being prime, as the
// paper's does. It is no instance of eq. 1: an instance has MB/1769 cores, a process of one thread runs at most on one,
// and jobs are whole. So the error of a fitted law is that of its form.
type program struct {
	name string
	// work is the core-seconds of a job, start what an instance needs before its first job, in seconds.
	work, start float64
	// share of the jobs that use all cores, the paper's multi-core ratio.
	share float64
	// cv is the coefficient of variation of an instance's time.
	cv float64
}

// seconds is the mean time of an instance with some jobs and mb megabytes, in q processes.
func (p program) seconds(jobs, mb, q float64) float64 {
	cores := mb / memory.SingleCore
	// Jobs of one thread are shared out over the processes, which share the cores.
	processes := min(q, jobs)
	round := math.Ceil(float64((1-p.share)*jobs)/processes) * max(1, processes/cores)
	return p.start + float64(p.work*(round+float64(p.share*jobs)/cores))
}

// measured is the mean of some runs, drawn from a key.
func (p program) measured(jobs, mb, q float64, runs int, key rng.Key) float64 {
	s := key.With(uint64(jobs)).With(uint64(mb)).With(uint64(q)).Stream()
	sigma := math.Sqrt(math.Log1p(float64(p.cv * p.cv)))
	var sum float64
	for range runs {
		sum += portable.Exp(float64(sigma*s.Norm()) - float64(sigma*sigma)/2)
	}
	return float64(p.seconds(jobs, mb, q)*sum) / float64(runs)
}

// The paper's three cases (Figs. 16a to 16c, 17).
var (
	single    = program{name: "one core", work: 0.5, start: 0.2, cv: 0.02}
	multicore = program{name: "several cores", work: 0.5, start: 0.2, share: 1, cv: 0.02}
)

// fit fits eq. 1 to profiling runs of a program at the five sizes and some numbers of jobs.
func (p program) fit(jobs []float64, q float64, runs int, key rng.Key) (memory.Pieces, error) {
	return memory.FitPieces(p.profile(jobs, q, runs, key), p.share > 0, memory.Options{})
}

// profile are the runs that a fit is made from.
func (p program) profile(jobs []float64, q float64, runs int, key rng.Key) []memory.Job {
	var all []memory.Job
	for _, n := range jobs {
		for _, mb := range profiled {
			all = append(all, memory.Job{Jobs: n, MB: mb, Q: q, Seconds: p.measured(n, mb, q, runs, key)})
		}
	}
	return all
}
