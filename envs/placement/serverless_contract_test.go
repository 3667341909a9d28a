package placement

import (
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
)

// serverlessForms are the configurations in which the rules differ.
var serverlessForms = []struct {
	name   string
	change func(*ServerlessConfig)
}{
	{"serverless", func(*ServerlessConfig) {}},
	{"serverless-bursty", func(c *ServerlessConfig) { c.Workload, c.Load, c.Window, c.Running = Bursty, 1.9, 8, 4 }},
	{"serverless-tick", func(c *ServerlessConfig) { c.Workload, c.Wait, c.Tick, c.LoadTo = Periodic, WaitTick, 0.5, 1.5 }},
	{"serverless-mixed", func(c *ServerlessConfig) { c.Workload, c.Most, c.Load, c.MaxTime, c.KeepAlive = Mixed, 20, 1.5, 30, 1 }},
	{"serverless-azure", func(c *ServerlessConfig) { c.Workload = Azure }},
	{"serverless-conserving", func(c *ServerlessConfig) { c.Hold, c.Load = false, 1.5 }},
}

func serverlessForm(change func(*ServerlessConfig)) envtest.Build {
	return func() (envs.Env, error) {
		c := DefaultServerless()
		change(&c)
		return NewServerless(c, workload.Default())
	}
}

func TestServerlessContract(t *testing.T) {
	for _, f := range serverlessForms {
		t.Run(f.name, func(t *testing.T) {
			o := envtest.Options{Seeds: []uint64{1, 2}, Steps: 200}
			if f.name != "serverless" {
				o.Steps = 80
			}
			envtest.Run(t, serverlessForm(f.change), o)
		})
	}
}

func TestServerlessGoldenTraces(t *testing.T) {
	for _, f := range serverlessForms {
		t.Run(f.name, func(t *testing.T) {
			envtest.Golden(t, filepath.Join("testdata", f.name+".golden"), *update, serverlessForm(f.change))
		})
	}
}
