package explain

import (
	"context"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// Link is the mean attention weight that an agent gives to another.
type Link struct {
	Agent  int      `json:"agent"`
	To     int      `json:"to"`
	Weight Interval `json:"weight"`
	// Equal is the weight if the agent's neighbours had equal ones.
	Equal float64 `json:"equal"`
	// LowLoad and HighLoad are the mean weights in the third of the states with the lowest load and in that with the
	// highest; nil where agents see no feature named load.
	LowLoad  *Interval `json:"low_load,omitempty"`
	HighLoad *Interval `json:"high_load,omitempty"`
}

// Attending says how far attention is from equal weights, and what difference that makes. Means are over the agents with
// at least two neighbours: a single neighbour has all the weight in any case.
type Attending struct {
	// Agents have at least two neighbours, Alone have one.
	Agents int `json:"agents"`
	Alone  int `json:"one_neighbour"`
	// Entropy of the weights over that of equal weights: 1 for equal weights, 0 for all on one neighbour.
	Entropy Interval `json:"entropy"`
	// Elsewhere is the share of the weight that equal weights would give to other neighbours, ½ Σ|w − 1/n|.
	Elsewhere Interval `json:"elsewhere"`
	// Varies is the standard deviation of a weight over states, the mean over links.
	Varies float64 `json:"varies"`
	// ByLoad is the mean change of a weight's size from low to high load; nil as in Link.
	ByLoad *float64 `json:"by_load,omitempty"`
	// Moved is how far a decision of these agents moves with equal weights in place of attention, in standard deviations of
	// the decision: the median over decisions, since one that hardly ever changes would decide a mean.
	Moved float64 `json:"decision_moved"`
	// Lost is the return lost with equal weights in played episodes; nil without Request.Replay.
	Lost *Interval `json:"return_lost,omitempty"`
}

// loadFeature is the name of the feature by which states are divided.
const loadFeature = "load"

// attention sums attention weights.
type attention struct {
	agents             int
	all, low, high     sums
	entropy, elsewhere []float64 // [episode], over states and agents with at least two neighbours
	counted            []float64 // [episode]
	squares, first     []float64 // [agent × agent]: of weights, over all states
	byLoad             bool
	moved              float64
}

// sums are weights by link and states by agent, by episode.
type sums struct{ weight, states [][]float64 }

func newSums(agents, episodes int) sums {
	return sums{matrix(agents*agents, episodes), matrix(agents, episodes)}
}

func (s *sums) add(i, episode int, weights []float32) {
	s.states[i][episode]++
	for j, v := range weights {
		s.weight[i*len(weights)+j][episode] += float64(v)
	}
}

func (s *sums) mean(i, j int) Interval {
	return ratio(s.weight[i*len(s.states)+j], s.states[i], envs.Share())
}

// attend sums the attention weights over the states, and measures how far decisions move where equal is the policy with
// equal weights.
func (w *work) attend(equal agents.Policy) error {
	if equal == nil {
		return nil
	}
	n, episodes := w.rec.states(), len(w.r.Seeds)
	a := &attention{agents: w.agents, all: newSums(w.agents, episodes), low: newSums(w.agents, episodes),
		high: newSums(w.agents, episodes), entropy: make([]float64, episodes), elsewhere: make([]float64, episodes),
		counted: make([]float64, episodes), squares: make([]float64, w.agents*w.agents),
		first: make([]float64, w.agents*w.agents)}
	third := w.thirds()
	a.byLoad = third != nil
	for at := 0; at < n; at += w.rows {
		for b := range w.rows {
			copy(w.in[b*w.rec.width:], w.rec.state(min(at+b, n-1)))
		}
		weights, err := w.x.Attention(w.in)
		if err != nil {
			return err
		}
		for b := range min(w.rows, n-at) {
			for i := range w.agents {
				if w.rec.active[(at+b)*w.agents+i] {
					side := 0
					if third != nil {
						side = third[at+b]
					}
					a.add(i, w.rec.episode[at+b], side, weights[(b*w.agents+i)*w.agents:][:w.agents])
				}
			}
		}
	}
	w.attention = a
	return w.moveEqual(equal)
}

// add takes in the weights that agent i gives in a state.
func (a *attention) add(i, episode, side int, weights []float32) {
	a.all.add(i, episode, weights)
	if side < 0 {
		a.low.add(i, episode, weights)
	} else if side > 0 {
		a.high.add(i, episode, weights)
	}
	count, entropy := 0.0, 0.0
	for j, v := range weights {
		if v > 0 {
			count++
			entropy -= float64(v) * math.Log(float64(v))
			a.first[i*a.agents+j] += float64(v)
			a.squares[i*a.agents+j] += float64(v) * float64(v)
		}
	}
	if count < 2 {
		return
	}
	apart := 0.0
	for _, v := range weights {
		if v > 0 {
			apart += math.Abs(float64(v) - 1/count)
		}
	}
	a.counted[episode]++
	a.entropy[episode] += entropy / math.Log(count)
	a.elsewhere[episode] += apart / 2
}

// thirds says of each state whether its load, the mean over agents, is in the lowest third (−1) or in the highest (1);
// nil where agents see no load, or it never changes.
func (w *work) thirds() []int {
	f := slices.Index(w.kind.Features, loadFeature)
	if f < 0 {
		return nil
	}
	n := w.rec.states()
	loads := make([]float64, n)
	for i := range loads {
		for j := range w.agents {
			loads[i] += float64(w.rec.state(i)[j*w.width+f]) / float64(w.agents)
		}
	}
	sorted := slices.Sorted(slices.Values(loads))
	low, high := sorted[n/3], sorted[n-1-n/3]
	if !(low < high) {
		return nil
	}
	out := make([]int, n)
	for i, x := range loads {
		switch {
		case x <= low:
			out[i] = -1
		case x >= high:
			out[i] = 1
		}
	}
	return out
}

// neighbours is the number of those to whom an agent gives weight.
func (a *attention) neighbours(i int) (n int) {
	for _, v := range a.first[i*a.agents:][:a.agents] {
		if v > 0 {
			n++
		}
	}
	return n
}

func (a *attention) links() (out []Link) {
	for i := range a.agents {
		n := a.neighbours(i)
		for j := range a.agents {
			if a.first[i*a.agents+j] == 0 {
				continue
			}
			l := Link{Agent: i, To: j, Weight: a.all.mean(i, j), Equal: 1 / float64(n)}
			if a.byLoad {
				low, high := a.low.mean(i, j), a.high.mean(i, j)
				l.LowLoad, l.HighLoad = &low, &high
			}
			out = append(out, l)
		}
	}
	return out
}

func (a *attention) summary() *Attending {
	s := &Attending{Entropy: ratio(a.entropy, a.counted, envs.Share()),
		Elsewhere: ratio(a.elsewhere, a.counted, envs.Share()), Moved: a.moved}
	links, change := 0.0, 0.0
	for i := range a.agents {
		switch n := a.neighbours(i); {
		case n == 1:
			s.Alone++
			continue
		case n == 0:
			continue
		}
		s.Agents++
		states := 0.0
		for _, n := range a.all.states[i] {
			states += n
		}
		for j := range a.agents {
			if k := i*a.agents + j; a.first[k] > 0 {
				m := a.first[k] / states
				s.Varies += math.Sqrt(max(0, a.squares[k]/states-m*m))
				change += math.Abs(a.high.mean(i, j).Value - a.low.mean(i, j).Value)
				links++
			}
		}
	}
	if links > 0 {
		s.Varies /= links
		if change /= links; a.byLoad {
			s.ByLoad = &change
		}
	}
	return s
}

// equalWeights is the policy with equal weights in place of attention; nil where it has none.
func equalWeights(r *Request) (agents.Policy, error) {
	p, ok := r.Policy.(agents.Attentive)
	if !ok {
		return nil, nil
	}
	return p.Uniform(r.Env.Spec(), r.Act)
}

// moveEqual measures how far decisions move with equal weights, the median over those that vary and are of agents with
// at least two neighbours.
func (w *work) moveEqual(equal agents.Policy) error {
	p, ok := equal.(agents.Transparent)
	if !ok {
		return nil
	}
	x, err := p.Insight(w.r.Act, w.rows)
	if err != nil {
		return err
	}
	own := w.x
	w.x = x
	defer func() { w.x = own }()
	moved, count, err := w.moves(func(i int, s []float32) { copy(s, w.rec.state(i)) })
	var far []float64
	for k, dec := range w.decisions {
		choice := w.attention.neighbours(k/w.components) > 1
		if sd := deviation(dec.value); choice && sd > 0 && count[k] > 0 {
			far = append(far, moved[k]/count[k]/sd)
		}
	}
	if slices.Sort(far); len(far) > 0 {
		w.attention.moved = (far[(len(far)-1)/2] + far[len(far)/2]) / 2
	}
	return err
}

// replayEqual plays every episode again with equal weights, and fills in the return that is lost.
func replayEqual(ctx context.Context, r *Request, equal agents.Policy, rec *recording, e *Explanation, tell func()) error {
	if equal == nil || e.Attending == nil {
		return nil
	}
	var err error
	e.Attending.Lost, err = lostWith(ctx, r, rollout.NewRunner(r.Env), equal, rec, tell)
	return err
}
