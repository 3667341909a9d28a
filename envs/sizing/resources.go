package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// Resources is the configuration of one function.
type Resources struct {
	// CPU in millicores and Memory in MB of each instance.
	CPU, Memory int
	// Replicas is the number of instances, Concurrency the number of requests that each takes at once.
	Replicas, Concurrency int
}

// Range is the range of a function's resources. It converts between resources and actions in [0, 1].
type Range struct {
	Low, High Resources
	// Concurrency says whether the concurrency limit is part of the action. If not, Low.Concurrency is the limit.
	Concurrency bool
	// Padded says that an action has a fourth component even where the concurrency limit is not decided. It is ignored.
	Padded bool
}

// Components returns the number of components of an action: cpu, memory, replicas and, where it is decided or the
// action is padded, concurrency.
func (r *Range) Components() int {
	if r.Concurrency || r.Padded {
		return 4
	}
	return 3
}

// describe says what the components of an action stand for.
func (r *Range) describe() []envs.Component {
	of := func(name, unit, round string, low, high int) envs.Component {
		return envs.Component{Name: name, Unit: "of its range",
			Doc: fmt.Sprintf("0 stands for %d, 1 for %d %s; rounded%s", low, high, unit, round)}
	}
	out := []envs.Component{
		of("cpu", "millicores an instance", "", r.Low.CPU, r.High.CPU),
		of("memory", "MB an instance", "", r.Low.Memory, r.High.Memory),
		of("replicas", "instances", " down", r.Low.Replicas, r.High.Replicas),
		of("concurrency", "requests at once in an instance", " down", r.Low.Concurrency, r.High.Concurrency),
	}
	if !r.Concurrency {
		out[3].Doc = "ignored: the concurrency limit is not decided"
	}
	return out[:r.Components()]
}

// Decode returns the resources of an action of [Range.Components] numbers in [0, 1], as in FaaSConf's code and data:
// CPU and memory are rounded, replicas and concurrency are rounded down, so that only an action of exactly 1 gives
// their highest values.
func (r *Range) Decode(a []float32) Resources {
	var x [4]float64
	for i, v := range a[:r.Components()] {
		x[i] = float64(v)
	}
	return r.decode(x)
}

func (r *Range) decode(a [4]float64) Resources {
	at := func(a float64, low, high int) float64 { return float64(low) + float64(a*float64(high-low)) }
	out := Resources{
		CPU:         int(math.RoundToEven(at(a[0], r.Low.CPU, r.High.CPU))),
		Memory:      int(math.RoundToEven(at(a[1], r.Low.Memory, r.High.Memory))),
		Replicas:    int(at(a[2], r.Low.Replicas, r.High.Replicas)),
		Concurrency: r.Low.Concurrency,
	}
	if r.Concurrency {
		out.Concurrency = int(at(a[3], r.Low.Concurrency, r.High.Concurrency))
	}
	return out
}

// Encode writes an action that decodes to the wanted resources, clipped to the range.
func (r *Range) Encode(want Resources, a []float32) {
	share := func(x, low, high int, whole bool) float32 {
		x = min(max(x, low), high)
		if whole && x < high {
			return float32((float64(x-low) + 0.5) / float64(high-low)) // the middle of the interval that is rounded down to x
		}
		return float32(float64(x-low) / float64(high-low))
	}
	a[0] = share(want.CPU, r.Low.CPU, r.High.CPU, false)
	a[1] = share(want.Memory, r.Low.Memory, r.High.Memory, false)
	a[2] = share(want.Replicas, r.Low.Replicas, r.High.Replicas, true)
	switch {
	case r.Concurrency:
		a[3] = share(want.Concurrency, r.Low.Concurrency, r.High.Concurrency, true)
	case r.Padded:
		a[3] = 0
	}
}
