// Package bench is what `stoker bench` runs: speed measurements that need only the binary, without test harness or data
// files. Each measurement is one line of JSON that names machine, engine, kernels and threads, so that results of
// different machines stay distinguishable. [Peers] runs other programs in turn with ours and compares.
//
// Whether results meet the project's bounds is decided by this package's tests and tools/proof.
package bench

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Options choose sizes. Zero means the benchmark's default.
type Options struct {
	Agents, Batch, Instances []int
	// Forms are learners of the benchmark scale: attmf, mf, maddpg; all where there are none.
	Forms []string
	// Dense lets every agent see all agents instead of about four.
	Dense bool
	EnvID string
	// Edges are numbers of edges of graphs, Hidden is the width of the network over them.
	Edges  []int
	Hidden int
	// Episodes is how many episodes spread trains for, and how many problems of an application plan draws.
	Episodes       int
	Device, Engine string
	// Each combination of Threads and Kernels is measured.
	Threads []int
	Kernels []string
	Time    time.Duration // of each measurement
	// Repeat is how often each measurement is taken, for its median and quartiles.
	Repeat int
	// Revision of the program, for the results.
	Revision string
}

// Result is one measurement: one JSON line.
type Result struct {
	Bench      string `json:"bench"`
	Env        string `json:"env,omitempty"`
	Agents     int    `json:"agents,omitempty"`
	Batch      int    `json:"batch,omitempty"`
	Neighbours string `json:"neighbours,omitempty"` // sparse or dense
	Size       int    `json:"instances,omitempty"`
	Episodes   int    `json:"episodes,omitempty"`
	Edges      int    `json:"edges,omitempty"`
	Hidden     int    `json:"hidden,omitempty"`
	What       string `json:"what,omitempty"`
	Engine     string `json:"engine,omitempty"`
	Device     string `json:"device,omitempty"`
	Kernels    string `json:"kernels,omitempty"`
	Threads    int    `json:"threads,omitempty"`

	UpdatesPerSecond   float64 `json:"updates_per_second,omitempty"`
	StepsPerSecond     float64 `json:"steps_per_second,omitempty"`
	RequestsPerSecond  float64 `json:"requests_per_second,omitempty"`
	EpisodesPerSecond  float64 `json:"episodes_per_second,omitempty"`
	GFLOPS             float64 `json:"gflops,omitempty"`
	ProblemsPerSecond  float64 `json:"problems_per_second,omitempty"`
	DecisionsPerSecond float64 `json:"decisions_per_second,omitempty"`
	// PlanSeconds is the time of the whole measurement of planning.
	PlanSeconds float64 `json:"plan_seconds,omitempty"`
	// InferenceSeconds and StepSeconds are times for a whole graph; the sample below is the training step's.
	InferenceSeconds float64 `json:"inference_seconds,omitempty"`
	StepSeconds      float64 `json:"step_seconds,omitempty"`
	// Peak is the core's peak of multiply-adds in registers, measured at the same time.
	Peak       float64 `json:"peak_gflops,omitempty"`
	PartOfPeak float64 `json:"part_of_peak,omitempty"`
	sample

	*Scaled

	// PeakMemory is that of the process during this measurement; absent where the system doesn't report it.
	PeakMemory float64 `json:"peak_mb,omitempty"`
	Machine
	Revision string `json:"revision,omitempty"`
}

// Rate is the result's main figure with its unit.
func (r Result) Rate() string {
	for _, f := range []struct {
		x    float64
		unit string
	}{
		{r.UpdatesPerSecond, "updates/s"}, {r.StepsPerSecond, "steps/s"}, {r.RequestsPerSecond, "requests/s"},
		{r.EpisodesPerSecond, "episodes/s"}, {r.ProblemsPerSecond, "problems/s"}, {r.DecisionsPerSecond, "decisions/s"}, {r.GFLOPS, "GFLOP/s"},
	} {
		if f.x > 0 {
			return Digits(f.x) + " " + f.unit
		}
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
		{"product", "the matrix product of 64 × 64 × 64, and its fraction of the core's peak", runProduct},
		{"step", "a training step of a network 24-H-H-4 by width H and batch, and its fraction of the peak", runStep},
		{"forward", "acting: a 64-128-128-8 policy on a batch of one", runForward},
		{"attmf", "one attention mean-field MADDPG update: critic, actor, targets", runUpdate},
		{"graph", "a policy over a graph by number of edges: inference (scores and value) and a training step", runGraph},
		{"env", "environment steps with observations, one core", runEnv},
		{"sim", "simulated requests, one core, by number of instances", runSim},
		{"plan", "configuring whole applications: heuristics, exact fronts, the worst graph", runPlan},
		{"decide", "configuring the next step of a workflow of 16: StepConf's Algorithm 1, replan and others", runDecide},
		{"scale", "training on generated workflows by number of functions: updates, decisions, environment steps, memory", runScale},
		{"spread", "MADDPG training on simple_spread: acting, stepping, replay, updates", runSpread},
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
			known := lists.From(all, func(b Benchmark) string { return b.Name })
			near := configs.Nearest(n, known)
			if near != "" {
				near = " did you mean " + near + "?"
			}
			return nil, fmt.Errorf("no benchmark %q;%s there are: %s", n, near, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Validate returns an error that names the flag of the first wrong option.
func (o Options) Validate() error {
	for _, list := range []struct {
		flag        string
		sizes       []int
		least, most int
	}{
		{"--agents", o.Agents, 1, 100_000}, {"--batch", o.Batch, 1, 1 << 24}, {"--instances", o.Instances, 1, 10_000_000},
		{"--threads", o.Threads, 0, 4096}, {"--repeat", []int{o.Repeat}, 0, 1_000_000},
		{"--episodes", []int{o.Episodes}, 0, 100_000_000},
		{"--edges", o.Edges, 4, 100_000_000}, {"--hidden", []int{o.Hidden}, 0, 4096},
	} {
		for _, n := range list.sizes {
			if n < list.least || n > list.most {
				return fmt.Errorf("%s has %d, want %d to %d", list.flag, n, list.least, list.most)
			}
		}
	}
	for _, name := range o.Forms {
		if !slices.ContainsFunc(forms, func(f form) bool { return f.name == name }) {
			return fmt.Errorf("--form is %q, want attmf, mf or maddpg", name)
		}
	}
	if o.Device != "" && (o.Device == "auto" || !configs.IsDevice(o.Device)) {
		return fmt.Errorf("--device is %q, want cpu or cuda:N", o.Device)
	}
	if known := []string{"", engines.Native, engines.Torch, engines.Gorgonia}; !slices.Contains(known, o.Engine) {
		return fmt.Errorf("--engine is %q, want %s", o.Engine, strings.Join(known[1:], ", "))
	}
	if len(o.Kernels) > 0 && o.engine() != engines.Native {
		return fmt.Errorf("--kernels needs the engine %s", engines.Native)
	}
	for _, k := range o.Kernels {
		e := native.New(native.Options{Kernels: k})
		if err := errors.Join(e.Err(), e.Close()); err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
	}
	if o.EnvID == "" {
		return nil
	}
	_, err := catalog.Default().Env(o.EnvID)
	return err
}

func (o Options) time() time.Duration {
	if o.Time > 0 {
		return o.Time
	}
	return time.Second
}

func (o Options) fill(r Result, s sample) Result {
	r.sample, r.PeakMemory, r.Revision = s, peakMemory(), o.Revision
	r.Machine = ThisMachine()
	return r
}

// engine is the requested engine: by default torch on CUDA devices, else native.
func (o Options) engine() string {
	switch {
	case o.Engine != "":
		return o.Engine
	case strings.HasPrefix(o.Device, "cuda"):
		return engines.Torch
	}
	return engines.Native
}

// each runs f with an engine for each combination of the requested kernels and numbers of threads.
func (o Options) each(f func(e nets.Engine, i nets.Info) error) error {
	for _, k := range orDefault(o.Kernels, "") {
		for _, t := range orDefault(o.Threads, 0) {
			startMemory()
			e, err := o.open(k, t)
			if err != nil {
				return err
			}
			i := e.Info()
			if i.Name == engines.Native {
				i.Kernels = kernelsNamed(k)
			}
			if err := errors.Join(f(e, i), e.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// kernelsNamed are the kernels that the native engine uses when name is requested. Its Info names the family of kernels
// with equal bits instead.
func kernelsNamed(name string) string {
	if name == "" {
		name = os.Getenv("STOKER_KERNELS")
	}
	if best := kernel.Best(); name == "" && best != nil {
		return best.Name
	}
	return cmp.Or(name, "go")
}

func (o Options) open(kernels string, threads int) (nets.Engine, error) {
	if kernels != "" {
		e := native.New(native.Options{Kernels: kernels, Threads: threads})
		return e, e.Err()
	}
	device := o.Device
	if device == "" {
		device = "cpu"
	}
	return engines.Open(o.engine(), engines.Options{Device: device, Threads: threads})
}

func (r Result) of(i nets.Info) Result {
	r.Engine, r.Device, r.Kernels, r.Threads = i.Name, i.Device, i.Kernels, i.Threads
	return r
}

func orDefault[T any](given []T, def ...T) []T {
	if len(given) > 0 {
		return given
	}
	return def
}
