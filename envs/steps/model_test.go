package steps_test

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
)

func compile(t testing.TB, name string) *steps.Model {
	t.Helper()
	a := must.Get(steps.Preset(name))(t)
	m := must.Get(a.Compile())(t)
	return m
}

// A front's times rise and its prices fall, its options are found by what they are, and quantiles ascend.
func TestFronts(t *testing.T) {
	for _, name := range []string{"chain", "diamond"} {
		m := compile(t, name)
		for s, options := range m.Options {
			for i, o := range options {
				if i > 0 && (o.P90 <= options[i-1].P90 || o.USD >= options[i-1].USD) {
					t.Errorf("%s: step %d: option %d is %+v after %+v", name, s, i, o, options[i-1])
				}
				if k, err := m.Pack(s, o.MB, o.Instances, o.Processes); err != nil || k != i {
					t.Errorf("%s: step %d: option %d is packed as %d: %v", name, s, i, k, err)
				}
				if !(o.P50 < o.P90 && o.Mean < o.P90 && m.Seconds(s, i, 0.99, 0) > o.P90 && m.Seconds(s, i, 0.9, 1) < o.P90) {
					t.Errorf("%s: step %d: quantiles of option %+v", name, s, o)
				}
			}
		}
	}
}
