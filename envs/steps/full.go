package steps

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// full is the action of [Env] that says memory, instances and processes one after the other. Which numbers of instances a
// step can have depends on the memory, and which numbers of processes on both: the legality table has, per size, the most
// instances and the most processes that its cores let an instance have, and per number of instances the most processes
// that its tasks let it have.
type full struct {
	memory               []int
	instances, processes int
}

// newFull returns the action for a platform.
func newFull(p *Platform) (*full, error) {
	if p.MaxInstances > math.MaxInt8 {
		return nil, bounds.Errorf("form", "is full, which has room for %d instances of a step; the platform allows %d: want "+
			"form: front", math.MaxInt8, p.MaxInstances)
	}
	return &full{p.Memory, p.MaxInstances, p.MaxProcesses}, nil
}

// space is the space of the action.
func (a *full) space() envs.MultiDiscrete {
	return envs.MultiDiscrete{N: []int{len(a.memory), a.instances, a.processes}}
}

// legal is the length of the legality table.
func (a *full) legal() int { return 2*len(a.memory) + a.instances }

// table writes the legality table of a step, and the masks of what is legal after some choice of what comes before.
func (a *full) table(m *Model, step int, legal []int8, mask []bool) {
	n := len(a.memory)
	mostInstances, mostCores := 0, 0
	for k, mb := range a.memory {
		most, cores := m.MostInstances(step, mb), 0
		if most > 0 {
			cores = m.MostProcesses(step, mb, 1)
		}
		legal[k], legal[n+k], mask[k] = int8(most), int8(cores), most > 0
		mostInstances, mostCores = max(mostInstances, most), max(mostCores, cores)
	}
	largest := a.memory[n-1]
	for p := 1; p <= a.instances; p++ {
		legal[2*n+p-1] = 0
		if mask[n+p-1] = p <= mostInstances; mask[n+p-1] {
			legal[2*n+p-1] = int8(m.MostProcesses(step, largest, p))
		}
	}
	for q := 1; q <= a.processes; q++ {
		mask[n+a.instances+q-1] = q <= mostCores
	}
}

// after is the [envs.Kind.MaskAfter]. It reads the legality table.
func (a *full) after(obs *envs.KindObservation, agent int, partial []float32, mask []bool) error {
	n := len(a.memory)
	legal := obs.Legal[agent*a.legal() : (agent+1)*a.legal()]
	for i, v := range partial {
		if most := [2]int{n, a.instances}[i]; !(v >= 0 && int(v) < most) {
			return fmt.Errorf("%s: component %d is %g, want 0 to %d", ID, i, v, most-1)
		}
	}
	switch len(partial) {
	case 0:
		for k := range mask {
			mask[k] = legal[k] > 0
		}
	case 1:
		for k := range mask {
			mask[k] = k < int(legal[int(partial[0])])
		}
	default:
		most := min(legal[n+int(partial[0])], legal[2*n+int(partial[1])])
		if partial[1] >= float32(legal[int(partial[0])]) {
			most = 0
		}
		for k := range mask {
			mask[k] = k < int(most)
		}
	}
	if !slices.Contains(mask, true) {
		return fmt.Errorf("%s: no choice is legal after %v", ID, partial)
	}
	return nil
}

// option is the option that an action says.
func (a *full) option(m *Model, step int, act []float32) (int, error) {
	return m.Pack(step, a.memory[int(act[0])], int(act[1])+1, int(act[2])+1)
}

// write writes the action of a configuration.
func (a *full) write(c configuration, act []float32) {
	act[0], act[1], act[2] = float32(slices.Index(a.memory, c.mb)), float32(c.instances-1), float32(c.processes-1)
}
