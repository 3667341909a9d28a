package sizing

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// Golden traces: hashes of everything that an episode of random actions emits. They came from this code as
// stoker/Sizing-v2, when its latencies and their exponents agreed with the published measurements (docs/results/laws);
// a change of dynamics, laws or draws changes them and needs a new version of the environment. They hold on every
// architecture. stoker/Sizing-v3 has its own: the same laws and draws, with every refusal counted.
var golden = map[string][3]uint64{
	"trace":     {0xee2d357a596db21b, 0x7613500c2b092824, 0xed45c6c50635793d},
	"users":     {0xb193608ddcabd3c7, 0xc9ce831ef5666aa7, 0x9b91bf138e24ffda},
	"counted":   {0xc7cd72077de6366a, 0x2f6e651e3fe79559, 0xa2a990725a73055a},
	"rising":    {0x1364d2adcc6b7cca, 0xfb1cad45888715f4, 0xdd69c2d6f4699754},
	"generated": {0x4f1fd89c1a019a5d, 0x40752b64be480c1c, 0x12dce027d2c626f0},
	"tcktapp":   {0xfe35f5d68b859b2f, 0xd61a9793ab13342, 0xb83ffba94e00bb7a},
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		w      workload.Config
		change func(*Config)
	}{
		"trace":   {DefaultWorkload(), func(c *Config) { c.Windows = 120 }},
		"users":   {closed(20), func(c *Config) { c.Workflow, c.Windows = Branch, 40 }},
		"counted": {DefaultWorkload(), func(c *Config) { *c = DefaultCounted(); c.Windows = 120 }},
		"rising":  {closed(20), func(c *Config) { *c = DefaultCounted(); c.Windows = 40 }},
		"generated": {poisson(2), func(c *Config) {
			*c = DefaultCounted()
			c.Workflow, c.Windows, c.Generated.Functions = Generated, 10, 90
		}},
		"tcktapp": {poisson(2), func(c *Config) { c.Workflow, c.Windows = TcktApp, 40 }},
	} {
		r := newRig(t, c.w, c.change)
		for seed, want := range golden[name] {
			h := fnv.New64a()
			var b []byte
			r.reset(uint64(seed))
			s := rng.NewStream(uint64(seed), "golden actions")
			for range r.cfg.Windows {
				for i := range r.act.Kinds[0] {
					r.act.Kinds[0][i] = float32(s.Float64())
				}
				r.step()
				b = b[:0]
				for _, x := range r.obs.Kinds[0].Values {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
				}
				for _, x := range r.out.Rewards[0] {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
				}
				for _, x := range r.out.Info {
					b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
				}
				h.Write(b)
			}
			if got := h.Sum64(); got != want {
				t.Errorf("%s, seed %d: %#x, was %#x", name, seed, got, want)
			}
		}
	}
}
