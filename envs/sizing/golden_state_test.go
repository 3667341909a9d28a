package sizing

import (
	"hash/fnv"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// goldenStates are hashes of environments saved in the middle of an episode. Another one is another form of the saved
// state: older checkpoints could then not be resumed.
var goldenStates = map[string]uint64{
	"trace":         0x199d7a9a65634cfa,
	"users":         0x46b767a6d257a42,
	"tcktapp":       0x90758aa904c0e8f3,
	"tcktapp users": 0x4682388ea4411bd2,
	"described":     0x692ed9572a1bd075,
}

func TestGoldenState(t *testing.T) {
	for name, c := range map[string]struct {
		w      workload.Config
		change func(*Config)
	}{
		"trace":   {DefaultWorkload(), func(c *Config) { c.Windows = 20 }},
		"users":   {closed(20), func(c *Config) { *c = DefaultCounted(); c.Workflow = Branch }},
		"tcktapp": {poisson(2), func(c *Config) { c.Workflow = TcktApp }},
		"tcktapp users": {closed(5), func(c *Config) {
			c.Workflow, c.Protocol, c.Platform.OnFailure = TcktApp, Continuous, AbortOnFailure
		}},
		"described": {poisson(2), func(c *Config) {
			c.Features, c.Reward.Dial = Described, []float64{0.5, 8}
		}},
	} {
		r := newRig(t, c.w, c.change)
		r.reset(1)
		s := rng.NewStream(1, "golden actions")
		for range 5 {
			for i := range r.act.Kinds[0] {
				r.act.Kinds[0][i] = float32(s.Float64())
			}
			r.step()
		}
		b := must.Get(r.AppendBinary(nil))(t)
		h := fnv.New64a()
		h.Write(b)
		if got, want := h.Sum64(), goldenStates[name]; got != want {
			t.Errorf("%s: %#x of %d bytes, was %#x", name, got, len(b), want)
		}
	}
}
