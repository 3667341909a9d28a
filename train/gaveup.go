package train

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
)

// GaveUp says that a policy serves next to nothing, and that this pays: see [catalog.Service].
type GaveUp struct {
	// Quantity is what shows it, Served the last evaluation's mean of it, less than Least.
	Quantity string  `json:"quantity"`
	Served   float64 `json:"served"`
	Least    float64 `json:"least"`
	// Return is the last evaluation's mean, Nothing that of doing as little as can be done, in the same episodes.
	Return  float64 `json:"return"`
	Nothing float64 `json:"return_of_doing_nothing"`
	// Advice says what to change.
	Advice string `json:"advice"`
}

func (g *GaveUp) String() string {
	return fmt.Sprintf("The policy has given up: it serves %.0f %% (%s; less than %.0f %%). Its return is %.4g, that of doing "+
		"nothing %.4g. %s.", 100*g.Served, g.Quantity, 100*g.Least, g.Return, g.Nothing, g.Advice)
}

// gaveUp judges the last evaluation of this process, nil where the policy serves or nobody can say. What fails here fails
// no training.
func (r *run) gaveUp() *GaveUp {
	c := r.world.checker
	if c == nil || c.means == nil {
		return nil
	}
	all := catalog.Of(r.world.x)
	row, err := all.Env(r.world.x.Env.Name)
	if err != nil || row.Service.Quantity == "" {
		return nil
	}
	s := row.Service
	i, err := c.spec.InfoIndex(s.Quantity)
	if err != nil || c.means[i] >= s.Least {
		return nil
	}
	g := &GaveUp{Quantity: s.Quantity, Served: c.means[i], Least: s.Least, Return: c.ret, Advice: s.Advice}
	env, err := NewEnv(r.world.x, trainSplit(r.world.x.Workload))
	if err != nil {
		return nil
	}
	rival, err := all.Rival(s.Nothing.Name)
	if err != nil {
		return nil
	}
	actor, err := rival.New(s.Nothing.Config, env)
	if err != nil {
		return nil
	}
	runner := rollout.NewRunner(env)
	for _, seed := range c.seeds {
		e, err := runner.Episode(actor, seed)
		if err != nil {
			return nil
		}
		g.Nothing += e.Return / float64(len(c.seeds))
	}
	return g
}
