package deeprm

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
)

var update = flag.Bool("update", false, "record golden traces anew")

// forms are the configurations in which the rules differ.
var forms = []struct {
	name   string
	config func() Config
}{
	{"deeprm", Default},
	{"deeprm-published", Published},
	{"deeprm-compact", func() Config { c := Default(); c.Observation = Compact; return c }},
	{"deeprm-compact-late", func() Config { c := Published(); c.Observation = Compact; return c }},
	{"deeprm-booking", func() Config {
		c := Default()
		c.Start, c.Rate, c.Backlog, c.Sets, c.SetSeed = StartEarliest, 1, 7, 3, 11
		return c
	}},
	{"deeprm-cut", func() Config {
		c := Default()
		c.Resources, c.Slots, c.Visible, c.End, c.Observation = 3, 16, 4, NoNewJob, Compact
		return c
	}},
}

func TestContract(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			o := envtest.Options{Steps: 300}
			if f.config().Observation == Image {
				o.Seeds, o.Steps = []uint64{1}, 60 // pictures are large
			}
			envtest.Run(t, func() (envs.Env, error) { return New(f.config()) }, o)
		})
	}
}

func TestGoldenTraces(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			envtest.Golden(t, filepath.Join("testdata", f.name+".golden"), *update,
				func() (envs.Env, error) { return New(f.config()) })
		})
	}
}
