package explain

import (
	"context"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// work computes the explanation of recorded states.
type work struct {
	r    *Request
	x    agents.Insight
	rec  *recording
	kind *envs.Kind
	outs []agents.Output

	rows          int // states in one forward pass
	agents, width int // of an observation
	components    int
	mean          []float32   // the mean state, from which gradients are integrated
	chosen        []int       // [states, agents, components]: the output to explain
	value         []float64   // [states, agents, components]: the decision
	decisions     []*decision // [agents × components]
	gap, span     float64     // Σ|f(x) − f(x') − Σ IG| and Σ|f(x) − f(x')|
	moved         [][]float64 // [feature][decision]: mean change where the feature is shuffled
	attention     *attention
	in, weights   []float32
	integral      []float64 // of one chunk's states: [states, agents × width]
}

// decision accumulates the attributions of one component of one agent's action: sums over an episode's states.
type decision struct {
	size  [][]float64 // [source agent × feature][episode]: of |IG|
	slope []float64   // [source agent × feature]: of the derivative averaged over the path
	n     []float64   // [episode]: states
	value []float64   // [states]: the decision, for its deviation
}

// matrix is n sums for each episode.
func matrix(n, episodes int) [][]float64 {
	return lists.Make(n, func(int) []float64 { return make([]float64, episodes) })
}

func newWork(r *Request, x agents.Insight, rec *recording) *work {
	k := &r.Env.Spec().Kinds[0]
	w := &work{r: r, x: x, rec: rec, kind: k, outs: x.Outputs(), agents: k.Agents, width: k.Observation.Width(),
		components: k.Action.Width()}
	w.rows = min(r.Steps, maxBatch)
	episodes := len(r.Seeds)
	for range w.agents * w.components {
		w.decisions = append(w.decisions, &decision{size: matrix(rec.width, episodes), slope: make([]float64, rec.width),
			n: make([]float64, episodes)})
	}
	w.mean = make([]float32, rec.width)
	for k := range w.mean {
		sum, n := 0.0, 0
		for i := range rec.states() {
			if rec.active[i*w.agents+k/w.width] {
				sum += float64(rec.state(i)[k])
				n++
			}
		}
		w.mean[k] = float32(sum / float64(max(n, 1)))
	}
	w.chosen = make([]int, rec.states()*len(w.decisions))
	w.value = make([]float64, len(w.chosen))
	w.in, w.weights = make([]float32, w.rows*rec.width), make([]float32, w.rows*w.agents*len(w.outs))
	w.moved = make([][]float64, w.width)
	return w
}

// forward passes n states through the policy in batches: row(i, state) writes state i, and see(i, out) receives its
// outputs [agents × outputs].
func (w *work) forward(n int, row func(i int, state []float32), see func(i int, out []float32)) error {
	per := w.agents * len(w.outs)
	for at := 0; at < n; at += w.rows {
		for b := range w.rows { // the last batch is filled up with the last state
			row(min(at+b, n-1), w.in[b*w.rec.width:][:w.rec.width])
		}
		out, err := w.x.Forward(w.in)
		if err != nil {
			return err
		}
		for b := range min(w.rows, n-at) {
			see(at+b, out[b*per:][:per])
		}
	}
	return nil
}

// decide returns the value of decision d in the outputs, for the given chosen output; −1 chooses the largest that the
// mask allows.
func (w *work) decide(out []float32, d, chosen int, mask []bool) (value float64, which int) {
	agent, component := d/w.components, d%w.components
	out = out[agent*len(w.outs):][:len(w.outs)]
	sum, n := 0.0, 0
	for o, y := range out {
		if w.outs[o].Component != component {
			continue
		}
		if w.outs[o].Choice < 0 {
			return float64(y), o
		}
		sum += float64(y)
		n++
		legal := mask == nil || mask[agent*len(w.outs)+o]
		if mask != nil && legal && (chosen < 0 || y > out[chosen]) {
			chosen = o
		}
	}
	if chosen < 0 { // the agent is not active
		return 0, chosen
	}
	return float64(out[chosen]) - sum/float64(n), chosen
}

// outputGradient writes the derivative of decision d's value with respect to the outputs of one state.
func (w *work) outputGradient(weights []float32, d, chosen int) {
	agent, component := d/w.components, d%w.components
	weights = weights[agent*len(w.outs):][:len(w.outs)]
	n := 0
	for _, o := range w.outs {
		if o.Component == component {
			n++
		}
	}
	for o := range weights {
		if w.outs[o].Component == component && w.outs[o].Choice >= 0 {
			weights[o] = -1 / float32(n)
		}
	}
	weights[chosen]++
}

// attribute computes the integrated gradients of every decision in every state.
func (w *work) attribute(ctx context.Context) error {
	n, d := w.rec.states(), len(w.decisions)
	var base []float32
	err := w.forward(n, func(i int, s []float32) { copy(s, w.rec.state(i)) }, func(i int, out []float32) {
		mask := w.rec.mask[i*w.rec.choices:][:w.rec.choices]
		for k := range w.decisions {
			w.value[i*d+k], w.chosen[i*d+k] = w.decide(out, k, -1, mask)
		}
	})
	if err != nil {
		return err
	}
	err = w.forward(1, func(_ int, s []float32) { copy(s, w.mean) },
		func(_ int, out []float32) { base = append(base, out...) })
	if err != nil {
		return err
	}
	for i := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.integrate(i, base); err != nil {
			return err
		}
	}
	return nil
}

// integrate explains one state: each batch of points on the path takes one forward pass for all decisions.
func (w *work) integrate(i int, base []float32) error {
	x, d, per := w.rec.state(i), len(w.decisions), w.agents*len(w.outs)
	w.integral = append(w.integral[:0], make([]float64, d*w.rec.width)...)
	for at := 0; at < w.r.Steps; at += w.rows {
		for b := range w.rows {
			alpha := (float32(at+b) + 0.5) / float32(w.r.Steps)
			for k, m := range w.mean {
				w.in[b*w.rec.width+k] = m + float32(alpha*(x[k]-m))
			}
		}
		if _, err := w.x.Forward(w.in); err != nil {
			return err
		}
		for k := range w.decisions {
			if !w.rec.active[i*w.agents+k/w.components] {
				continue
			}
			clear(w.weights)
			for b := range min(w.rows, w.r.Steps-at) {
				w.outputGradient(w.weights[b*per:][:per], k, w.chosen[i*d+k])
			}
			g, err := w.x.Gradient(w.weights)
			if err != nil {
				return err
			}
			sum := w.integral[k*w.rec.width:][:w.rec.width]
			for b := range min(w.rows, w.r.Steps-at) {
				for s, v := range g[b*w.rec.width:][:w.rec.width] {
					sum[s] += float64(v)
				}
			}
		}
	}
	for k, dec := range w.decisions {
		if w.rec.active[i*w.agents+k/w.components] {
			w.accumulate(i, k, dec, base)
		}
	}
	return nil
}

// accumulate adds the attributions of one state's decision.
func (w *work) accumulate(i, k int, dec *decision, base []float32) {
	ep, total := w.rec.episode[i], 0.0
	x := w.rec.state(i)
	for s, sum := range w.integral[k*w.rec.width:][:w.rec.width] {
		slope := sum / float64(w.r.Steps)
		ig := slope * (float64(x[s]) - float64(w.mean[s]))
		dec.size[s][ep] += math.Abs(ig)
		dec.slope[s] += slope
		total += ig
	}
	value := w.value[i*len(w.decisions)+k]
	dec.n[ep]++
	dec.value = append(dec.value, value)
	from, _ := w.decide(base, k, w.chosen[i*len(w.decisions)+k], nil)
	w.gap += math.Abs(total - (value - from))
	w.span += math.Abs(value - from)
}

// shuffle replaces each feature, for all agents at once, by its value in another state, and measures how far decisions
// move.
func (w *work) shuffle() error {
	n := w.rec.states()
	for f := range w.width {
		key := rng.New(1, "explain: shuffled states").With(uint64(f))
		var err error
		w.moved[f], _, err = w.moves(func(i int, s []float32) {
			copy(s, w.rec.state(i))
			from := w.rec.state(key.With(uint64(i)).IntN(n))
			for k := f; k < len(s); k += w.width {
				s[k] = from[k]
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moves sums up how far each decision moves in all states, as row writes them, and counts in how many it is made.
func (w *work) moves(row func(i int, state []float32)) (moved, count []float64, err error) {
	d := len(w.decisions)
	moved, count = make([]float64, d), make([]float64, d)
	return moved, count, w.forward(w.rec.states(), row, func(i int, out []float32) {
		for k := range w.decisions {
			if w.rec.active[i*w.agents+k/w.components] {
				y, _ := w.decide(out, k, w.chosen[i*d+k], nil)
				moved[k] += math.Abs(y - w.value[i*d+k])
				count[k]++
			}
		}
	})
}
