package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	envcatalog "github.com/stoker-rl/stoker/envs/catalog"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Options choose sizes. Zero means the benchmark's own.
type Options struct {
	Agents, Batch, Instances []int
	EnvID                    string
	Device, Engine           string
	Threads                  int
	Time                     time.Duration // of each measurement
}

// Result is one measurement: one JSON line.
type Result struct {
	Bench   string `json:"bench"`
	Env     string `json:"env,omitempty"`
	Agents  int    `json:"agents,omitempty"`
	Batch   int    `json:"batch,omitempty"`
	Size    int    `json:"instances,omitempty"`
	What    string `json:"what,omitempty"`
	Engine  string `json:"engine,omitempty"`
	Device  string `json:"device,omitempty"`
	Kernels string `json:"kernels,omitempty"`
	Threads int    `json:"threads,omitempty"`

	UpdatesPerSecond  float64 `json:"updates_per_second,omitempty"`
	StepsPerSecond    float64 `json:"steps_per_second,omitempty"`
	RequestsPerSecond float64 `json:"requests_per_second,omitempty"`
	sample

	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Cores int    `json:"cores"`
}

// Rate is the result's main figure with its unit.
func (r Result) Rate() string {
	switch {
	case r.UpdatesPerSecond > 0:
		return Digits(r.UpdatesPerSecond) + " updates/s"
	case r.StepsPerSecond > 0:
		return Digits(r.StepsPerSecond) + " steps/s"
	case r.RequestsPerSecond > 0:
		return Digits(r.RequestsPerSecond) + " requests/s"
	}
	return Digits(r.perSecond()) + " /s"
}

// Digits writes x with at least three digits, and no exponent.
func Digits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Benchmark is a measurement by name.
type Benchmark struct {
	Name, Doc string
	Run       func(o Options, emit func(Result)) error
}

// All lists the benchmarks.
func All() []Benchmark {
	return []Benchmark{
		{"op", "one small operation of libtorch from Go (needs the torch engine)", runOp},
		{"forward", "acting: a 64-128-128-8 policy on a batch of one", runForward},
		{"attmf", "one attention mean-field MADDPG update: critic, actor, targets", runUpdate},
		{"env", "environment steps with observations, one core", runEnv},
		{"sim", "simulated requests, one core, by number of instances", runSim},
	}
}

// Find returns the benchmarks of the given names, all where none is given.
func Find(names []string) ([]Benchmark, error) {
	all := All()
	if len(names) == 0 {
		return all, nil
	}
	var out []Benchmark
	for _, n := range names {
		i := slices.IndexFunc(all, func(b Benchmark) bool { return b.Name == n })
		if i < 0 {
			var known []string
			for _, b := range all {
				known = append(known, b.Name)
			}
			return nil, fmt.Errorf("no benchmark %q; there are: %s", n, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Validate says which option is wrong, by its flag.
func (o Options) Validate() error {
	for _, list := range []struct {
		flag  string
		sizes []int
		most  int
	}{{"--agents", o.Agents, 100_000}, {"--batch", o.Batch, 1 << 24}, {"--instances", o.Instances, 10_000_000}} {
		for _, n := range list.sizes {
			if n < 1 || n > list.most {
				return fmt.Errorf("%s has %d, want 1 to %d", list.flag, n, list.most)
			}
		}
	}
	if known := []string{"", engines.Native, engines.Torch, engines.Gorgonia}; !slices.Contains(known, o.Engine) {
		return fmt.Errorf("--engine is %q, want %s", o.Engine, strings.Join(known[1:], ", "))
	}
	if o.Threads < 0 {
		return fmt.Errorf("--threads is %d, want 0 or more", o.Threads)
	}
	if o.EnvID == "" {
		return nil
	}
	_, err := envcatalog.Find(o.EnvID)
	return err
}

func (o Options) time() time.Duration {
	if o.Time > 0 {
		return o.Time
	}
	return time.Second
}

func (o Options) fill(r Result, s sample) Result {
	r.sample = s
	r.OS, r.Arch, r.Cores = runtime.GOOS, runtime.GOARCH, runtime.NumCPU()
	return r
}

// open opens the engine asked for, native by default.
func (o Options) open() (nets.Engine, error) {
	name := o.Engine
	if name == "" {
		name = engines.Native
		if strings.HasPrefix(o.Device, "cuda") {
			name = engines.Torch
		}
	}
	device := o.Device
	if device == "" {
		device = "cpu"
	}
	return engines.Open(name, engines.Options{Device: device, Threads: o.Threads})
}

func (r Result) of(i nets.Info) Result {
	r.Engine, r.Device, r.Kernels, r.Threads = i.Name, i.Device, i.Kernels, i.Threads
	return r
}

func orDefault(sizes []int, def ...int) []int {
	if len(sizes) > 0 {
		return sizes
	}
	return def
}
