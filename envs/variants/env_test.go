package variants

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
)

func fewApps() EnvConfig {
	c := DefaultEnv()
	c.Apps = 12
	return c
}

func TestEachContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewEach(fewApps()) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 60})
}
