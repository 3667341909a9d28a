package steps

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// shelf holds the workflows that environments of one configuration have episodes of. It makes each when it is first
// needed, and keeps it. Several goroutines may use it.
type shelf struct {
	config EnvConfig
	own    *App  // that of a file
	tpch   []App // where the workflow is one or all of these
	print  uint64
	mu     sync.Mutex
	apps   map[int]*entry
}

// entry is a workflow on the shelf.
type entry struct {
	making       sync.Once
	made         atomic.Bool
	err          error
	known, truth *Model
	ahead        *ahead // by what is known
	cheapest     *ahead // as it is

	solving sync.Mutex
	solved  map[float64]float64 // answers of the exact oracle, by SLO
}

// shelves are those in use, by configuration: the copies of an environment share one, for making a workflow takes a
// thousand times as long as a decision. A shelf that no environment uses any longer goes.
var shelves struct {
	sync.Mutex
	by map[string]weak.Pointer[shelf]
}

func newShelf(c EnvConfig, own *App) (*shelf, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if (own != nil) != c.File() {
		return nil, fmt.Errorf("workflow is %s, want a workflow with a file's name, and none with another", c.Workflow)
	}
	var tpch []App
	if strings.HasPrefix(c.Workflow, AllTPCH) && own == nil {
		var err error
		if tpch, err = ReadTPCH(c.Data); err != nil {
			return nil, err
		}
	}
	s := sharedShelf(c, own, tpch)
	if c.Workflow == AllGenerated {
		return s, nil
	}
	if c.Workflow == AllTPCH {
		for i := range tpch {
			if err := s.fits(&tpch[i]); err != nil {
				return nil, fmt.Errorf("workflow %s: %w", tpch[i].Name, err)
			}
		}
	}
	_, err := s.entry(0) // errors of the workflow are to show at once
	return s, err
}

// fits says that a workflow has more steps than policies see.
func (s *shelf) fits(a *App) error {
	if n, most := len(a.Workflow.Nodes), s.config.Steps[1]; n > most {
		return fmt.Errorf("it has %d steps, and env.steps has room for %d: a policy sees no more than it was trained "+
			"with; want env.steps=[%d, %d] in its training", n, most, s.config.Steps[0], n)
	}
	return nil
}

func sharedShelf(c EnvConfig, own *App, tpch []App) *shelf {
	shelves.Lock()
	defer shelves.Unlock()
	key := fmt.Sprintf("%+v", c)
	if own != nil { // where a file lies does not matter, what it says does
		c.Workflow = "own"
		key = fmt.Sprintf("%+v %+v", c, *own)
	}
	if s := shelves.by[key].Value(); s != nil {
		return s
	}
	if shelves.by == nil {
		shelves.by = map[string]weak.Pointer[shelf]{}
	}
	s := &shelf{config: c, own: own, tpch: tpch, apps: map[int]*entry{}}
	h := fnv.New64a()
	h.Write([]byte(key))
	s.print = h.Sum64()
	shelves.by[key] = weak.Make(s)
	runtime.AddCleanup(s, forget, key)
	return s
}

// forget drops a shelf that is gone.
func forget(key string) {
	shelves.Lock()
	defer shelves.Unlock()
	if shelves.by[key].Value() == nil {
		delete(shelves.by, key)
	}
}

// fingerprint tells configurations apart.
func (s *shelf) fingerprint() uint64 { return s.print }

// most is the largest number of steps that there can be.
func (s *shelf) most() int { return s.config.Steps[1] }

// entry returns the workflow of an episode.
func (s *shelf) entry(seed uint64) (*entry, error) {
	i := 0
	if s.config.Workflow == AllGenerated || s.config.Workflow == AllTPCH {
		i = int(seed % uint64(s.config.Apps))
	}
	s.mu.Lock()
	n := s.apps[i]
	if n == nil {
		n = &entry{}
		s.apps[i] = n
	}
	s.mu.Unlock()
	if !n.made.Load() {
		n.making.Do(func() { n.err = s.make(n, i) })
		n.made.Store(true)
	}
	return n, n.err
}

// make works a workflow out.
func (s *shelf) make(n *entry, i int) error {
	app, err := s.app(uint64(s.config.First + i))
	if err != nil {
		return err
	}
	m, err := app.compile(s.config.apply)
	if err == nil {
		err = s.fits(&app)
	}
	if err != nil {
		return fmt.Errorf("workflow %s: %w", app.Name, err)
	}
	n.known, n.truth, n.cheapest = m, m, m.lookAhead()
	if n.ahead = n.cheapest; s.config.Estimates == FittedLaws {
		if n.known, err = m.Fitted(uint64(s.config.First + i)); err != nil {
			return err
		}
		n.ahead = n.known.lookAhead()
	}
	return nil
}

// app returns the description of a workflow.
func (s *shelf) app(number uint64) (App, error) {
	c := &s.config
	a, err := App{}, error(nil)
	switch {
	case c.Workflow == AllGenerated:
		a, err = Generate(number, Generated{Steps: c.Steps, Shape: c.Shape, Platform: AWS})
	case c.Workflow == AllTPCH:
		a = s.tpch[number%uint64(len(s.tpch))]
	case s.tpch != nil:
		a, err = TPCH(s.tpch, c.Workflow)
	case s.own != nil:
		a = *s.own
	default:
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
		return n.cheapest.relaxed(slo), nil
	}
	n.solving.Lock()
	defer n.solving.Unlock()
	if usd, ok := n.solved[slo]; ok {
		return usd, nil
	}
	usd, err := n.least(slo)
	if err != nil {
		return 0, err
	}
	if n.solved == nil || len(n.solved) >= mostSolved {
		n.solved = map[float64]float64{}
	}
	n.solved[slo] = usd
	return usd, nil
}

// mostSolved is how many answers of the exact oracle a workflow keeps.
const mostSolved = 4096

// least returns the least price at which a request keeps an SLO at P90; that of the fastest options where none does.
func (n *entry) least(slo float64) (float64, error) {
	p := frontier.Problem{Flow: n.truth.Flow}
	var quickest float64
	for s, options := range n.truth.Options {
		var list []frontier.Option
		for _, o := range options {
			list = append(list, frontier.Option{Seconds: o.P90, USD: o.USD})
		}
		p.Options = append(p.Options, list)
		quickest += float64(n.truth.Runs[s] * options[0].USD)
	}
	answer, err := frontier.Cheapest(context.Background(), p, slo)
	if errors.Is(err, frontier.ErrNone) {
		return quickest, nil
	}
	return answer.USD, err
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
