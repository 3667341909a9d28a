package engines

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Names of engines.
const (
	Native   = "native"
	Torch    = "torch"
	Gorgonia = "gorgonia"
)

// Options of an engine.
type Options struct {
	// Device is cpu or cuda:N; empty stands for cpu.
	Device string
	DType  nets.DType
	// Threads is how many one operation, or a recorded update, may use; 0 for the engine's choice. Native's
	// results don't depend on it, and gorgonia leaves it to the process.
	Threads int
	// Deterministic has CUDA repeat results to the bit, and refuses operations that cannot. On the CPU all
	// engines do so whatever this says.
	Deterministic bool
}

// UnavailableError says that an engine exists but is not in this binary.
type UnavailableError struct {
	Engine string
	// Advice is what to do about it.
	Advice string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("engine %s is not in this binary: %s", e.Engine, e.Advice)
}

// engine is a row of the table. Advice is for engines that this binary lacks.
type engine struct {
	name   string
	open   func(o Options) (nets.Engine, error)
	advice string
}

func table() []engine {
	return []engine{
		{name: Native, open: openNative},
		{name: Torch, open: openTorch, advice: "run: make cuda"},
		{name: Gorgonia, open: openGorgonia, advice: "run: go build -tags gorgonia -o bin/stoker ."},
	}
}

// Names lists the engines of this binary.
func Names() []string {
	var names []string
	for _, e := range table() {
		if e.open != nil {
			names = append(names, e.name)
		}
	}
	return names
}

// Open returns a new engine. An engine that this binary lacks is an [*UnavailableError].
func Open(name string, o Options) (nets.Engine, error) {
	if o.DType > nets.Float64 {
		return nil, fmt.Errorf("engine %s: number format %v, want %v or %v", name, o.DType, nets.Float32, nets.Float64)
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("engine %s: threads is %d, want 0 (the engine's choice) or more", name, o.Threads)
	}
	for _, e := range table() {
		switch {
		case e.name != name:
		case e.open == nil:
			return nil, &UnavailableError{Engine: name, Advice: e.advice}
		default:
			return e.open(o)
		}
	}
	return nil, fmt.Errorf("no engine %q, want %s, %s or %s", name, Native, Torch, Gorgonia)
}

func openNative(o Options) (nets.Engine, error) {
	if err := onCPU(Native, o); err != nil {
		return nil, err
	}
	return native.New(native.Options{DType: o.DType, Threads: o.Threads}), nil
}

// onCPU refuses another device for an engine that has none.
func onCPU(name string, o Options) error {
	if o.Device != "" && o.Device != "cpu" {
		return fmt.Errorf("engine %s runs on the cpu, not on %q: want engine %s", name, o.Device, Torch)
	}
	return nil
}

// Size is what an update of N agents' networks works on.
type Size struct {
	Agents, Batch int
}

// crossing is a row of the table for `--device auto`: from this many agents on, a batch of at least so many
// samples goes to the GPU.
type crossing struct{ agents, batch int }

// crossings is to be measured: bench/gpu.sh prints the two engines' updates a second side by side, and the smallest
// sizes at which the GPU is ahead belong here. Until then the rows are a careful guess, half a million samples of an
// agent for each update: an update that runs on the GPU wrongly loses more than one that stays on the CPU.
var crossings = []crossing{
	{agents: 50, batch: 8192},
	{agents: 200, batch: 2048},
	{agents: 1000, batch: 512},
}

// crossingsMeasured says whether the rows come from a machine.
const crossingsMeasured = false

// Auto chooses engine and device for `--device auto`, and says why. Without a GPU, or without a size, it is the
// CPU engine.
func Auto(gpus int, s Size) (name, device, why string) {
	if gpus < 1 {
		return Native, "cpu", "there is no GPU"
	}
	if s.Agents < 1 || s.Batch < 1 {
		return Native, "cpu", "the rule for GPUs doesn't know this learner's updates"
	}
	note := ""
	if !crossingsMeasured {
		note = " (by a rule that has not been measured)"
	}
	for _, c := range crossings {
		if s.Agents >= c.agents && s.Batch >= c.batch {
			return Torch, "cuda:0", fmt.Sprintf("%d agents × %d samples are at least %d × %d%s", s.Agents, s.Batch,
				c.agents, c.batch, note)
		}
	}
	return Native, "cpu", fmt.Sprintf("%d agents × %d samples are few for a GPU%s", s.Agents, s.Batch, note)
}
