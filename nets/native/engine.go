package native

import (
	"os"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/internal/graph"
	"github.com/stoker-rl/stoker/nets/native/internal/plain"
	"github.com/stoker-rl/stoker/nets/native/internal/tile"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Options of an engine. The zero value is what learners use.
type Options struct {
	DType nets.DType
	// Kernels is the family of inner loops: [AVX512] or [AVX2] for assembly, [Go] for plain Go, [Reference] for
	// tiles with the Go that defines the assembly, or empty for the best that this CPU has (or STOKER_KERNELS
	// in the environment, which takes the same names). All but Go are float32 only.
	Kernels string
	// Threads is how many a recorded update may use with tiles, 0 for GOMAXPROCS. Results don't depend on it.
	// Plain Go uses one.
	Threads int
	// Debug compares every run of a recorded update with its first. STOKER_DEBUG=1 in the environment turns it on too.
	Debug bool
}

// Families of kernels.
const (
	AVX512    = "avx512"
	AVX2      = "avx2"
	Go        = "go"
	Reference = "reference" // for tests: it is slow
)

// New returns an engine. An unknown DType or family is reported by Err.
func New(o Options) nets.Engine {
	s := core.NewState(o.Debug || os.Getenv("STOKER_DEBUG") == "1")
	if o.DType == nets.Float64 {
		if o.Kernels != "" && o.Kernels != Go {
			s.Fail("New", "kernels are %q in %v, want %q or none", o.Kernels, o.DType, Go)
		}
		b := plain.Float64(s)
		return core.New[*plain.Tensor[float64]](s, nets.Float64, b, b)
	}
	if o.DType != nets.Float32 {
		s.Fail("New", "number format is %v, want %v or %v", o.DType, nets.Float32, nets.Float64)
	}
	set, err := kernels(o.Kernels)
	if err != nil {
		s.Fail("New", "%w", err)
	}
	if set == nil {
		b := plain.Float32(s)
		return core.New[*plain.Tensor[float32]](s, nets.Float32, b, b)
	}
	b := tile.New(s, set, tile.Options{Threads: o.Threads})
	return core.New[*tile.Tensor](s, nets.Float32, b, graph.New(b))
}

// kernels returns the family of that name, nil for plain Go.
func kernels(name string) (*kernel.Set, error) {
	if name == "" {
		name = os.Getenv("STOKER_KERNELS")
	}
	switch name {
	case "":
		return kernel.Best(), nil
	case Go:
		return nil, nil
	case Reference:
		return kernel.Reference(), nil
	}
	return kernel.Named(name)
}
