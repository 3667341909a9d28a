package engines

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Every engine of this binary has the gradients of finite differences, of every layer and every loss. Without a proof a
// part of the numbers stands for all of them but native's: in TestAgreement all are native's.
func TestGradients(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			e := open(t, name, nets.Float64)
			every := 1
			if name != Native && os.Getenv(proof.Folder) == "" {
				every = 4
			}
			all := must.Get(netstest.Gradients(e, every))(t)
			n := 0
			for _, g := range all {
				n += g.N
			}
			worst := netstest.Worst(all)
			proof.Claim(t, proof.Row{
				Topic: "numerics",
				Claim: fmt.Sprintf("%s: gradients of %d networks and %d losses against finite differences in float64, %d numbers",
					name, len(netstest.Archs()), len(netstest.Losses()), n),
				Bound: "1e-8 of the largest", Measured: worst.String(), Holds: worst.Error <= 1e-8,
				Command: command("TestGradients", name),
			})
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// command shows a claim again: libtorch's engine needs its build tag.
func command(test string, engines ...string) string {
	tags := ""
	if slices.Contains(engines, Torch) {
		tags = "-tags libtorch "
	}
	return "go test " + tags + "./nets/engines -run '^" + test + "$' -v"
}
