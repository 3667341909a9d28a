package ppo

import "github.com/stoker-rl/stoker/envs"

// seen is the width of what an agent's networks see: its observation and, with mix mean, that of the virtual agent that
// stands for all others.
func (c *Config) seen(k *envs.Kind) int {
	if c.Mix == Mean {
		return 2 * k.Observation.Width()
	}
	return k.Observation.Width()
}

// field is the mean field: what the virtual agent of each agent sees, the mean over the others that are present.
type field struct {
	width int
	sum   []float64 // of what all that are present see
	n     float64   // how many these are
}

func newField(k *envs.Kind) *field {
	return &field{width: k.Observation.Width(), sum: make([]float64, k.Observation.Width())}
}

// begin takes in what the agents of one environment see.
func (f *field) begin(o *envs.KindObservation) {
	clear(f.sum)
	f.n = 0
	for j, here := range o.Active {
		if !here {
			continue
		}
		f.n++
		for i, x := range o.Values[j*f.width : (j+1)*f.width] {
			f.sum[i] += float64(x)
		}
	}
}

// see writes to dst an agent's observation, then the mean observation of the other agents; zeros where the agent is
// alone or absent.
func (f *field) see(o *envs.KindObservation, agent int, dst []float32) {
	own, others := o.Values[agent*f.width:(agent+1)*f.width], dst[f.width:]
	copy(dst, own)
	if clear(others); f.n < 2 || !o.Active[agent] {
		return
	}
	for i, x := range own {
		others[i] = float32((f.sum[i] - float64(x)) / (f.n - 1))
	}
}
