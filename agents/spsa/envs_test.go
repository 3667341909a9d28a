package spsa

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
)

// The environments of these tests pass the conformance checker.
func TestWorlds(t *testing.T) {
	t.Run("quadratic", func(t *testing.T) {
		o := plain(2, 2, 1, 3)
		o.length, o.common, o.own, o.cubic, o.bound = 12, 1, 0.3, 0.1, 5
		envtest.Run(t, func() (envs.Env, error) { return newQuadratic(o), nil }, envtest.Options{Steps: 20})
	})
	for _, users := range []bool{false, true} {
		t.Run("market", func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) {
				return newMarket(marketOptions{demand: recommended, users: users, jobs: 40, length: 12}), nil
			}, envtest.Options{Steps: 20})
		})
	}
}
