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
