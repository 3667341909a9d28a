package bench

import (
	"bytes"
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/internal/machine"
)

// sample is a measurement, per operation. Where it was repeated, Nanoseconds is the median, and Low and High are the
// quartiles.
type sample struct {
	Operations  int64   `json:"operations"`
	Nanoseconds float64 `json:"ns_per_op"`
	Repeats     int     `json:"repeats,omitempty"`
	Low         float64 `json:"ns_low,omitempty"`
	High        float64 `json:"ns_high,omitempty"`
	Allocations float64 `json:"allocs_per_op"`
	Bytes       float64 `json:"bytes_per_op"`
}

// perSecond is the number of operations a second.
func (s sample) perSecond() float64 { return 1e9 / s.Nanoseconds }

// scaled counts each operation as n smaller ones.
func (s sample) scaled(n float64) sample {
	s.Operations = int64(float64(s.Operations) * n)
	for _, x := range []*float64{&s.Nanoseconds, &s.Low, &s.High, &s.Allocations, &s.Bytes} {
		*x /= n
	}
	return s
}

// measure calls f repeatedly for about Options.Time after a warm-up, measures time and allocations, and does so Repeat
// times.
func (o Options) measure(f func() error) (sample, error) {
	first, err := measure(o.time(), f)
	if err != nil || o.Repeat <= 1 {
		return first, err
	}
	all := []sample{first}
	for range o.Repeat - 1 {
		s, _, err := count(first.Operations, f)
		if err != nil {
			return sample{}, err
		}
		all = append(all, s)
	}
	return medianSample(all), nil
}

// medianSample is the sample of median time, with the quartiles.
func medianSample(all []sample) sample {
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.Nanoseconds, b.Nanoseconds) })
	ns := lists.From(all, func(s sample) float64 { return s.Nanoseconds })
	out := all[len(all)/2]
	out.Nanoseconds, out.Repeats = quantile(ns, 0.5), len(all)
	out.Low, out.High = quantile(ns, 0.25), quantile(ns, 0.75)
	return out
}

// quantile of sorted numbers, linear between them.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// measure calls f repeatedly, for at least the wanted time after a warm-up.
func measure(wanted time.Duration, f func() error) (sample, error) {
	if err := f(); err != nil {
		return sample{}, err
	}
	for n := int64(1); ; {
		s, took, err := count(n, f)
		if err != nil || took >= wanted {
			return s, err
		}
		// Aim for 1.2 times the wanted time; grow n by at most a factor of 100.
		n = min(100*n, max(n+1, int64(1.2*float64(n)*float64(wanted)/float64(max(took, 1)))))
	}
}

// count calls f n times and measures it.
func count(n int64, f func() error) (sample, time.Duration, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	for range n {
		if err := f(); err != nil {
			return sample{}, 0, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return sample{
		Operations: 1, Nanoseconds: float64(took),
		Allocations: float64(after.Mallocs - before.Mallocs), Bytes: float64(after.TotalAlloc - before.TotalAlloc),
	}.scaled(float64(n)), took, nil
}

// Machine describes where a figure was measured.
type Machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	Memory float64 `json:"memory_mb,omitempty"` // absent where the system doesn't report it
	OS     string  `json:"os"`
	Arch   string  `json:"arch"`
	Go     string  `json:"go"`
}

// ThisMachine describes the machine that runs this program.
func ThisMachine() Machine {
	return Machine{
		CPU: machine.CPU(), Cores: runtime.NumCPU(), Memory: procMB("/proc/meminfo", "MemTotal"),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
	}
}

// startMemory resets the peak that peakMemory returns. Where the system can't do that, the peak is that of the process
// so far.
func startMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // 5 resets the peak of the resident set (proc(5))
}

// peakMemory is the peak of the resident memory in MB; 0 where the system doesn't report it.
func peakMemory() float64 { return procMB("/proc/self/status", "VmHWM") }

// procMB reads a line such as "VmHWM:  1234 kB".
func procMB(path, key string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := strings.Fields(string(line)); len(f) == 3 && f[0] == key+":" && f[2] == "kB" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return 0
			}
			return kib * 1024 / 1e6
		}
	}
	return 0
}

// cpuSeconds is the processor time of this process; 0 where the system doesn't report it.
func cpuSeconds() float64 {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name in brackets may hold anything; after it come the state and, 11 fields on, user and system time in ticks
	// of 10 ms.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err := strconv.ParseFloat(string(f[11]), 64)
	if err != nil {
		return 0
	}
	system, err := strconv.ParseFloat(string(f[12]), 64)
	if err != nil {
		return 0
	}
	return (user + system) / 100
}
