package engines

import "fmt"

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
