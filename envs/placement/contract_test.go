package placement

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

var update = flag.Bool("update", false, "record golden traces anew")

// forms are the configurations in which the rules differ.
var forms = []struct {
	name   string
	change func(*Config)
}{
	{"placement", func(*Config) {}},
	{"placement-bursty", func(c *Config) { c.Workload, c.Load, c.Window, c.Running = Bursty, 1.9, 8, 4 }},
	{"placement-tick", func(c *Config) { c.Workload, c.Wait, c.Tick, c.LoadTo = Periodic, WaitTick, 0.5, 1.5 }},
	{"placement-mixed", func(c *Config) { c.Workload, c.Most, c.Load, c.MaxTime, c.KeepAlive = Mixed, 20, 1.5, 30, 1 }},
	{"placement-azure", func(c *Config) { c.Workload = Azure }},
	{"placement-conserving", func(c *Config) { c.Hold, c.Load = false, 1.5 }},
}

func form(change func(*Config)) envtest.Build {
	return func() (envs.Env, error) {
		c := Default()
		change(&c)
		return New(c, workload.Default())
	}
}

func TestContract(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			o := envtest.Options{Seeds: []uint64{1, 2}, Steps: 60}
			if f.name != "placement" {
				o.Seeds, o.Steps = []uint64{1}, 40
			}
			envtest.Run(t, form(f.change), o)
		})
	}
}

func TestGoldenTraces(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			envtest.Golden(t, filepath.Join("testdata", f.name+".golden"), *update, form(f.change))
		})
	}
}
