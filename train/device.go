package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Choice is the engine and device on which a run trains. Why says what engine.device: auto chose them by; it is empty
// where the configuration names the device itself.
type Choice struct{ Engine, Device, Why string }

// Choose resolves engine.device for a machine with a number of GPUs and a program that has the named engines linked
// in. What the configuration names stands. With auto, torch takes the first GPU or else the CPU, and native, the
// default, leaves the choice of the engine to [engines.Auto] and the size of the learner's updates; it stays native
// where libtorch would be wanted and is not there.
func Choose(x *configs.Experiment, gpus int, have []string) (Choice, error) {
	e := x.Engine
	switch {
	case e.Device != "auto":
		return Choice{Engine: e.Name, Device: e.Device}, nil
	case e.Name == engines.Torch && gpus > 0:
		return Choice{e.Name, "cuda:0", "there is a GPU"}, nil
	case e.Name == engines.Torch:
		return Choice{e.Name, "cpu", "there is no GPU"}, nil
	case e.Name != engines.Native:
		return Choice{e.Name, "cpu", e.Name + " runs there only"}, nil
	case e.DType != nets.Float32.String():
		return Choice{e.Name, "cpu", "the rule for GPUs is for float32"}, nil
	}
	var size engines.Size
	if l, ok := x.Agent.Config.(sized); ok && gpus > 0 { // making an environment takes time
		env, err := NewEnv(x, trainSplit(x.Workload))
		if err != nil {
			return Choice{}, err
		}
		size.Agents, size.Batch = l.UpdateSize(env.Spec())
	}
	name, device, why := engines.Auto(gpus, size)
	if !slices.Contains(have, name) {
		return Choice{engines.Native, "cpu",
			fmt.Sprintf("%s would be on a GPU, since %s, but is not in this program: make cuda", name, why)}, nil
	}
	return Choice{name, device, why}, nil
}

// sized is a learner's configuration that knows how many agents' networks an update works on, and how many
// transitions of each.
type sized interface {
	UpdateSize(s *envs.Spec) (agents, batch int)
}

// GPUs is how many this machine lets the process see.
func GPUs() int {
	if only, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok && (only == "" || strings.HasPrefix(only, "-")) {
		return 0
	}
	found, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		return 0
	}
	return len(found)
}
