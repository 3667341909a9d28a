package steps

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// shelf holds the workflows that an environment's episodes are of. It makes each when it is first needed, and keeps it.
type shelf struct {
	config EnvConfig
	apps   map[int]*entry
}

// entry is a workflow on the shelf.
type entry struct {
	known, truth *Model
	ahead        *ahead
	front        frontier.Front // with the exact oracle, when it is first needed
}

func newShelf(c EnvConfig) (*shelf, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &shelf{config: c, apps: map[int]*entry{}}
	if c.Workflow != AllGenerated { // errors of the workflow are to show at once
		if _, err := s.entry(0); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fingerprint tells configurations apart.
func (s *shelf) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", s.config)
	return h.Sum64()
}

// most is the largest number of steps that there can be.
func (s *shelf) most() int {
	if s.config.Workflow == AllGenerated {
		return s.config.Steps[1]
	}
	return s.apps[0].known.NumSteps()
}

// entry returns the workflow of an episode.
func (s *shelf) entry(seed uint64) (*entry, error) {
	i := 0
	if s.config.Workflow == AllGenerated {
		i = int(seed % uint64(s.config.Apps))
	}
	if n := s.apps[i]; n != nil {
		return n, nil
	}
	app, err := s.app(uint64(s.config.First + i))
	if err != nil {
		return nil, err
	}
	m, err := app.compile(s.config.apply)
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", app.Name, err)
	}
	n := &entry{known: m, truth: m, ahead: m.lookAhead()}
	s.apps[i] = n
	return n, nil
}

// app returns the description of a workflow.
func (s *shelf) app(number uint64) (App, error) {
	c := &s.config
	a, err := App{}, error(nil)
	if c.Workflow == AllGenerated {
		a, err = Generate(number, Generated{Steps: c.Steps, Shape: c.Shape, Platform: AWS})
	} else {
		a, err = Preset(c.Workflow)
	}
	if c.Platform != "" {
		a.Platform = c.Platform
	}
	return a, err
}

// apply changes a platform as the configuration says.
func (c *EnvConfig) apply(p *Platform) {
	if c.Mapping != "" {
		p.Formula = c.Mapping == ByFormula
	}
	if c.Billed != "" {
		p.BillMapping = c.Billed == WholeStep
	}
}

// oracle returns the price that a request's is compared with.
func (s *shelf) oracle(n *entry, slo float64) (float64, error) {
	if s.config.Oracle == Relaxed {
		return n.ahead.relaxed(slo), nil
	}
	if n.front == nil {
		p := frontier.Problem{Flow: n.known.Flow}
		for _, options := range n.known.Options {
			var list []frontier.Option
			for _, o := range options {
				list = append(list, frontier.Option{Seconds: o.P90, USD: o.USD})
			}
			p.Options = append(p.Options, list)
		}
		var err error
		if n.front, err = frontier.Exact(context.Background(), p); err != nil {
			return 0, err
		}
	}
	if p, ok := n.front.Cheapest(slo); ok {
		return p.USD, nil
	}
	return n.front[0].USD, nil
}

// drawn returns a value of a range, evenly in its logarithm.
func drawn(r []float64, k rng.Key) float64 {
	if r[0] == r[1] {
		return r[0]
	}
	return min(max(float64(r[0]*portable.Pow(r[1]/r[0], k.Float64())), r[0]), r[1])
}

// unitOf is the price of a workflow that rewards are in, positive also where nothing is to decide.
func unitOf(m *Model) float64 { return math.Max(m.Unit, 1e-12) }
