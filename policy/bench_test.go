package policy_test

import (
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// BenchmarkDecide is a whole decision on one worker: checks, guard, forward pass, and the check of the action. The
// policies are shipped ones: faasconf decides for six functions at once.
//
//	go test -run '^$' -bench BenchmarkDecide -cpu 1 ./policy
func BenchmarkDecide(b *testing.B) {
	for _, name := range policytest.Names() {
		f := policytest.Zoo(b, name, 20)
		p := served(b, f, policy.Options{Workers: 1})
		o, out := shown(b, p, 1), p.NewAction()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(p.Decide(b.Context(), o, out))(b)
			}
		})
	}
}
