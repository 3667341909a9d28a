package policy_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// Every shipped policy of the three deciders leaves as a bundle, opens, and decides as it did.
func TestShippedPoliciesServe(t *testing.T) {
	for _, name := range policytest.Names() {
		t.Run(name, func(t *testing.T) {
			f := policytest.Zoo(t, name, 30)
			b := policytest.Encode(t, f)
			// A worker is made for its first decision: with one, none of those that are counted makes it.
			p := must.Get(policy.OpenBytes(b, policy.Options{Digest: bundle.Digest(b), Workers: 1}))(t)
			seen, out := p.NewObservation(), p.NewAction()
			for i := range f.SelfTest {
				must.Do(t, policy.Show(&f.SelfTest[i], seen))
				d, err := p.Decide(t.Context(), seen, out)
				if err != nil || d.By != policy.ByPolicy {
					t.Errorf("vector %d: %v, %v", i, d, err)
				}
			}
			if p.Stateful() {
				return
			}
			if n := testing.AllocsPerRun(100, func() { _, _ = p.Decide(t.Context(), seen, out) }); n != 0 {
				t.Errorf("a decision allocates %v times", n)
			}
		})
	}
}

// A bundle that was written under one family of kernels opens under the others, which round differently: its self-test
// allows for that.
func TestOtherKernels(t *testing.T) {
	for _, name := range policytest.Names() {
		b := policytest.Encode(t, policytest.Zoo(t, name, 30))
		for _, kernels := range []string{native.AVX512, native.AVX2, native.Go, native.Reference} {
			if _, err := policy.OpenBytes(b, policy.Options{Kernels: kernels}); err != nil &&
				!strings.Contains(err.Error(), "this CPU") {
				t.Errorf("%s by %s: %v", name, kernels, err)
			}
		}
	}
}
