package check

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// A learner is not made for no copies, nor for an engine of another precision.
func TestContext(t *testing.T) {
	e, double := native.New(native.Options{Threads: 1}), native.New(native.Options{DType: nets.Float64})
	for want, ctx := range map[string]agents.Context{
		"NumEnvs is 0, want at least 1":                  {Train: e},
		"the engine computes in float64, want float32: ": {Train: double, NumEnvs: 1},
	} {
		if err := Context(&ctx); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := Context(&agents.Context{Train: e, NumEnvs: 1}); err != nil {
		t.Error(err)
	}
}
