package graphs

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Scorer scores the choices of a batch of graphs, component by component: Begin, then for each component Score, and
// Choose for each graph. It keeps its memory.
type Scorer struct {
	p     *Problem
	e     nets.Engine
	net   nets.GraphNet
	work  nets.GraphWork
	batch *nets.GraphBatch

	// By component: the batch's rows of the nodes chosen (−1: none), the lists of those before it, the plain choices
	// before it, one-hot [graphs, extra], and its scores [graphs, N]. The network reads them until Backward.
	chosen [][]int32
	given  [][][]int32
	before [][]float32
	logits [][]float32
	scores []float32 // of a head
}

// NewScorer returns a scorer of a network that [Problem.Policy] described.
func NewScorer(p *Problem, e nets.Engine, net nets.GraphNet) *Scorer {
	n := len(p.Components)
	s := &Scorer{p: p, e: e, net: net, work: net.NewWork(), chosen: make([][]int32, n), given: make([][][]int32, n),
		before: make([][]float32, n), logits: make([][]float32, n)}
	for c, k := range p.Components {
		s.given[c] = make([][]int32, len(k.given))
	}
	return s
}

// Begin runs the network on a sealed batch; drop draws dropout, nil leaves it out.
func (s *Scorer) Begin(b *nets.GraphBatch, drop *rng.Key) error {
	s.batch = b
	s.net.Forward(s.work, b, drop)
	n := b.Graphs()
	for c := range s.chosen {
		s.chosen[c] = reuse.Slice(s.chosen[c], n)
		for i := range s.chosen[c] {
			s.chosen[c][i] = -1
		}
		s.before[c] = reuse.Slice(s.before[c], n*s.p.Components[c].extra)
		clear(s.before[c])
	}
	return s.e.Err()
}

// Score returns the scores of component c's choices, [graphs, N]: −∞ for nodes that a graph doesn't have. They stay
// until the next Begin.
func (s *Scorer) Score(c int) ([]float32, error) {
	k, n := &s.p.Components[c], s.batch.Graphs()
	for i, b := range k.given {
		s.given[c][i] = s.chosen[b]
	}
	s.logits[c] = reuse.Slice(s.logits[c], n*k.N)
	out := s.logits[c]
	if k.head >= 0 {
		at := s.batch.Nodes[k.Points].Starts
		s.run(c, k.head, int(at[n]))
		for i := range n {
			row := out[i*k.N : i*k.N+k.Nodes]
			m := copy(row, s.scores[at[i]:at[i+1]])
			for j := range row[m:] {
				row[m+j] = float32(math.Inf(-1))
			}
		}
	}
	if k.options >= 0 {
		o := k.N - k.Nodes
		s.run(c, k.options, n*o)
		for i := range n {
			copy(out[i*k.N+k.Nodes:(i+1)*k.N], s.scores[i*o:])
		}
	}
	return out, s.e.Err()
}

func (s *Scorer) run(c, head, n int) {
	s.scores = reuse.Slice(s.scores, n)
	s.net.Head(s.work, head, s.given[c], s.before[c]).Get(s.scores)
}

// Choose says what graph i's choice of component c is, for the components after it.
func (s *Scorer) Choose(c, i, choice int) {
	k := &s.p.Components[c]
	if choice < k.Nodes {
		s.chosen[c][i] = s.batch.Nodes[k.Points].Starts[i] + int32(choice)
		return
	}
	for later := c + 1; later < len(s.p.Components); later++ {
		s.before[later][i*s.p.Components[later].extra+k.extra+choice-k.Nodes] = 1
	}
}

// Backward adds the gradients of the network's weights, where grads holds for each component the loss's gradient by its
// scores, [graphs, N].
func (s *Scorer) Backward(grads [][]float32) error {
	n := s.batch.Graphs()
	for c := range s.p.Components {
		k, g := &s.p.Components[c], grads[c]
		if len(g) != n*k.N {
			return fmt.Errorf("gradient of %s has %d numbers, want %d", k.Name, len(g), n*k.N)
		}
		if k.head >= 0 {
			at := s.batch.Nodes[k.Points].Starts
			s.scores = reuse.Slice(s.scores, int(at[n]))
			for i := range n {
				copy(s.scores[at[i]:at[i+1]], g[i*k.N:])
			}
			s.work.GradOut(k.head).Set(s.scores)
		}
		if k.options >= 0 {
			o := k.N - k.Nodes
			s.scores = reuse.Slice(s.scores, n*o)
			for i := range n {
				copy(s.scores[i*o:(i+1)*o], g[i*k.N+k.Nodes:])
			}
			s.work.GradOut(k.options).Set(s.scores)
		}
	}
	s.net.Backward(s.work)
	return s.e.Err()
}

// Steps is what was done in the graphs of a batch: what was legal, [graphs, N], and what was chosen, [graphs,
// components].
type Steps struct {
	Mask   []bool
	Choice []float32
	// Advantage of each step, for [Gradient.Policy].
	Advantage []float32
}

// Gradient differentiates a policy of several components, whose probability is the product of theirs, each given those
// before.
type Gradient struct {
	// Entropy is Σ H over the batch of the last Policy.
	Entropy float64

	s     *Scorer
	grads [][]float32
	p     []float64
}

// NewGradient returns memory for a scorer's problem.
func NewGradient(s *Scorer) *Gradient {
	return &Gradient{s: s, grads: make([][]float32, len(s.p.Components))}
}

// Policy adds the gradient of L = −scale·Σ A·ln π(a) − entropy·scale·Σ H to the weights', over the batch with which the
// scorer has begun, and returns L (Williams, 1992). H is the sum of the components' entropies, each given the choices
// before it that were made.
func (g *Gradient) Policy(x Steps, scale, entropy float64) (loss float64, err error) {
	n := g.s.batch.Graphs()
	g.Entropy = 0
	for c := range g.s.p.Components {
		k := &g.s.p.Components[c]
		g.grads[c] = reuse.Slice(g.grads[c], n*k.N)
		clear(g.grads[c])
		if err := g.component(c, x, func(i, choice int) {
			h := 0.0
			for _, p := range g.p {
				if p > 0 {
					h -= p * portable.Log(p)
				}
			}
			g.Entropy += h
			a := float64(x.Advantage[i])
			loss -= scale * (a*portable.Log(max(g.p[choice], least)) + entropy*h)
			row := g.grads[c][i*k.N : (i+1)*k.N]
			for j, p := range g.p {
				if p <= 0 {
					continue
				}
				d := a * p
				if j == choice {
					d -= a
				}
				row[j] = float32(scale * (d + entropy*p*(portable.Log(p)+h)))
			}
		}); err != nil {
			return 0, err
		}
	}
	return loss, g.s.Backward(g.grads)
}

// least keeps logarithms finite.
const least = 1e-300

// LogProb writes ln π(a) of each step of the batch with which the scorer has begun.
func (g *Gradient) LogProb(x Steps, dst []float32) error {
	clear(dst)
	for c := range g.s.p.Components {
		if err := g.component(c, x, func(i,
			choice int) {
			dst[i] += float32(portable.Log(max(g.p[choice], least)))
		}); err != nil {
			return err
		}
	}
	return nil
}

// component scores a component and calls f with each graph's choice, once p holds its probabilities.
func (g *Gradient) component(c int, x Steps, f func(i, choice int)) error {
	scores, err := g.s.Score(c)
	if err != nil {
		return err
	}
	k, p := &g.s.p.Components[c], g.s.p
	g.p = reuse.Slice(g.p, k.N)
	for i := range g.s.batch.Graphs() {
		legal := x.Mask[i*p.N+k.From:][:k.N]
		n := int(x.Choice[i*len(p.Components)+c])
		if !legal[n] {
			return fmt.Errorf("graph %d: choice %d of %s was not legal", i, n, k.Name)
		}
		choice.Softmax(g.p, scores[i*k.N:(i+1)*k.N], legal)
		f(i, n)
		g.s.Choose(c, i, n)
	}
	return nil
}

// Actor chooses for all agents of several environments at once. It doesn't allocate once its memory has grown.
type Actor struct {
	// Mask is what was legal for each agent of the last Run, after what it chose before: [rows, N].
	Mask []bool

	// Net is the network that acts.
	Net nets.GraphNet

	p      *Problem
	e      nets.Engine
	batch  *nets.GraphBatch
	scorer *Scorer
	params []float32 // buffer of Sync
}

// Pick chooses among scores under a mask; row counts agents over all environments, c is the component.
type Pick func(row, c int, scores []float32, mask []bool) int

// NewActor returns an actor by a network that [Problem.Policy] described, of zero weights; [Actor.Sync] fills them.
func NewActor(p *Problem, e nets.Engine, arch nets.Graph) (*Actor, error) {
	net, err := e.NewGraphNet(arch)
	if err != nil {
		return nil, err
	}
	return &Actor{Net: net, p: p, e: e, batch: nets.NewGraphBatch(arch), scorer: NewScorer(p, e, net),
		params: make([]float32, nets.Size(net.Params()))}, e.Err()
}

// Sync takes over the parameters of a net on engine train.
func (a *Actor) Sync(train nets.Engine, from nets.GraphNet) error {
	return learning.CopyParams(train, from, a.e, a.Net, a.params)
}

// Run writes the actions of each environment's agents, [agents, components], as pick chooses; those of absent agents
// are 0.
func (a *Actor) Run(obs []*envs.KindObservation, act [][]float32, pick Pick) error {
	a.batch.Reset()
	for i, o := range obs {
		for j := range a.p.Agents {
			if err := a.p.Add(a.batch, o.Graphs[j]); err != nil {
				return fmt.Errorf("environment %d: %s %d: %w", i, a.p.Kind.Name, j, err)
			}
		}
	}
	a.batch.Seal()
	if err := a.scorer.Begin(a.batch, nil); err != nil {
		return err
	}
	a.Mask = reuse.Slice(a.Mask, len(obs)*a.p.Agents*a.p.N)
	clear(a.Mask)
	for c := range a.p.Components {
		scores, err := a.scorer.Score(c)
		if err != nil {
			return err
		}
		for i, o := range obs {
			for j := range a.p.Agents {
				if err := a.one(c, i*a.p.Agents+j, o, j, act[i], scores, pick); err != nil {
					return fmt.Errorf("environment %d: %s %d: %w", i, a.p.Kind.Name, j, err)
				}
			}
		}
	}
	return nil
}

// see writes the legal choices of component c. Without a mask every choice that exists is legal.
func (a *Actor) see(o *envs.KindObservation, agent, c int, mask []bool) {
	if whole := o.MaskOf(agent, a.p.N); whole != nil {
		copy(mask, whole[a.p.Components[c].From:])
		return
	}
	for i := range mask {
		mask[i] = true
	}
	if p := a.p.Kind.Points; len(p) > 0 && p[c] >= 0 {
		n := o.Graphs[agent].Nodes[p[c]]
		clear(mask[n.Len:a.p.Space.Nodes[p[c]].Capacity])
	}
}

// one makes one agent's choice of component c.
func (a *Actor) one(c, row int, o *envs.KindObservation, agent int, act, scores []float32, pick Pick) error {
	k, width := &a.p.Components[c], len(a.p.Components)
	mine := act[agent*width : (agent+1)*width]
	mine[c] = 0
	if !o.Active[agent] {
		return nil
	}
	mask := a.Mask[row*a.p.N+k.From:][:k.N]
	if a.p.Kind.MaskAfter == nil {
		a.see(o, agent, c, mask)
	} else if err := a.p.Kind.MaskAfter(o, agent, mine[:c], mask); err != nil {
		return err
	}
	s := scores[row*k.N : (row+1)*k.N]
	for i, legal := range mask {
		if legal && s[i]-s[i] != 0 {
			return fmt.Errorf("the network gives %g for choice %d of %s: training has diverged, or a legal choice is no "+
				"node that is seen", s[i], i, k.Name)
		}
	}
	n := pick(row, c, s, mask)
	if n == choice.None {
		return fmt.Errorf("no choice of %s after %v is legal, or none that is was picked", k.Name, mine[:c])
	}
	mine[c] = float32(n)
	a.scorer.Choose(c, row, n)
	return nil
}

// Stream names the random stream of policies over graphs.
const Stream = "graphs: policy"
