package deeprm

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/train"
)

// The shipped configurations hold DeepRM's policy: 20 hidden units, the mean over a sequence's episodes as baseline,
// undiscounted returns but in one, 100 job sets; from images it has the published network's 20 × 224 inputs and 89,851
// parameters.
func TestConfigurations(t *testing.T) {
	for _, f := range forms {
		x := must.Get(configs.Load("../../configs/placement/"+f.learned[0]+".yaml", nil, catalog.Default()))(t)
		if x.Name != f.learned[0] {
			t.Errorf("%s.yaml is named %s: its runs would not be found", f.learned[0], x.Name)
		}
		c, ok := x.Agent.Config.(*reinforce.Config)
		if !ok {
			t.Fatalf("%s: the agent is %s, want reinforce", x.Name, x.Agent.Name)
		}
		gamma := 1.0
		if x.Name == "deeprm-discount" {
			gamma = 0.95
		}
		if !slices.Equal(c.Hidden, []int{20}) || c.Activation != nets.ReLU || c.Baseline != reinforce.Sequence ||
			c.Gamma != gamma || c.Lambda != 1 {
			t.Errorf("%s: hidden %v, %s, baseline %s, gamma %g, lambda %g", x.Name, c.Hidden, c.Activation, c.Baseline,
				c.Gamma,
				c.Lambda)
		}
		e := must.Get(train.NewEnv(x, ""))(t)
		p := must.Get(choice.NewProblem(e.Spec()))(t)
		_, size := nets.Layout(p.Arch(c.Hidden, c.Activation, c.FinalBound, p.N))
		if want := map[string]int{"now": 2071, "book": 2071, "image": 89_851}[f.name]; size != want {
			t.Errorf("%s: %d parameters, want %d", x.Name, size, want)
		}
	}
}
