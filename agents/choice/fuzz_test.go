package choice

import (
	"testing"

	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
)

// Whatever a policy file says, it is refused or the policy does what is legal; an error is fine, a panic or gigabytes
// are not.
func FuzzPolicyFile(f *testing.F) {
	p, s, e := policy(f, true)
	whole, err := p.Export()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Description, len(whole.Arrays[array].Data), []byte{})
	f.Add(whole.Description, 1, []byte{0, 0, 0xc0, 0x7f})
	obs, act := envs.NewObservation(s), envs.NewAction(s)
	o := &obs.Kinds[0]
	for i := range o.Mask {
		o.Mask[i] = i%3 > 0
	}
	o.Active[0], o.Active[1] = true, true
	f.Fuzz(func(t *testing.T, description []byte, length int, values []byte) {
		file := choicetest.Forge(whole, description, array, length, 1<<12, values)
		p, err := OpenPolicy("test", true, file, s, e)
		if err != nil || p.Act(obs, act, length%2 == 0) != nil {
			return
		}
		for j, c := range act.Kinds[0] {
			if !o.Mask[j*4+int(c)] {
				t.Fatalf("an accepted policy does %g under %v", c, o.Mask)
			}
		}
		choicetest.Restores(t, p)
	})
}
