package reinforce

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// vectors is the model of environments whose agents observe a vector and make one choice.
type vectors struct {
	u     *update
	ctx   *agents.Context
	p     choice.Problem
	n     []int
	actor *actor.Net
	probs []float64
	masks []bool // of the last act
}

func newVectors(c *Config, ctx *agents.Context) (*vectors, error) {
	p, err := choice.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	m := &vectors{ctx: ctx, p: p, n: []int{p.N}, probs: make([]float64, p.N), masks: make([]bool, ctx.NumEnvs*p.Agents*p.N)}
	policy, value := p.Arch(c.Hidden, c.Activation, c.FinalBound, p.N), p.Arch(c.Hidden, c.Activation, 0, 1)
	if m.u, err = newUpdate(c, policy, value, ctx.Train, rng.New(ctx.Seed, "reinforce: initial weights")); err != nil {
		return nil, err
	}
	m.actor, err = actor.NewNet(ctx.Act, policy, actor.NetOptions{Kind: p.Kind, NumEnvs: ctx.NumEnvs})
	return m, err
}

func (m *vectors) kind() *envs.Kind              { return m.p.Kind }
func (m *vectors) components() []int             { return m.n }
func (m *vectors) newObservations() observations { return &vectorObservations{width: m.p.Obs} }

func (m *vectors) record(s observations, o *envs.KindObservation, agent int) {
	s.(*vectorObservations).add(o.Values[agent*m.p.Obs : (agent+1)*m.p.Obs])
}

// Sync implements [model].
func (m *vectors) Sync() error { return m.actor.Sync(m.ctx.Train, m.u.policy.Net) }

// Legal implements [model].
func (m *vectors) Legal() []bool { return m.masks }

// Act implements [model].
func (m *vectors) Act(v *envs.Vector, s []*rng.Stream, logp []float32, taught func(row int) []float32) error {
	o := &v.Obs.Kinds[0]
	if err := m.actor.Run(o.Values, o.Active); err != nil {
		return fmt.Errorf("acting: %w", err)
	}
	copy(m.masks, o.Mask)
	for i, here := range o.Active {
		v.Act.Kinds[0][i] = 0
		if !here {
			continue
		}
		logits := m.actor.Row(i/m.p.Agents, i%m.p.Agents)
		if err := check.Finite("choice", logits); err != nil {
			return fmt.Errorf("environment %d: %s %d: %w", i/m.p.Agents, m.p.Kind.Name, i%m.p.Agents, err)
		}
		legal := m.masks[i*m.p.N : (i+1)*m.p.N]
		choice.Softmax(m.probs, logits, legal)
		c := choice.None
		if t := taught(i); t == nil {
			c = choice.Draw(m.probs, s[i/m.p.Agents].Float64())
		} else if legal[int(t[0])] {
			c = int(t[0])
		}
		if c == choice.None {
			return fmt.Errorf("environment %d: %s %d has no legal choice", i/m.p.Agents, m.p.Kind.Name, i%m.p.Agents)
		}
		v.Act.Kinds[0][i] = float32(c)
		logp[i] = float32(portable.Log(max(m.probs[c], 1e-300)))
	}
	return nil
}

func (m *vectors) policyGradient(b *batch) (float64, error) { return m.u.policyGradient(b) }
func (m *vectors) valueGradient(b *batch) (float64, error)  { return m.u.valueGradient(b) }

func (m *vectors) logProbs(b *batch, dst []float32) error {
	n := m.p.N
	return m.u.forward(&m.u.policy, b.refs, func(from int, out []float32) {
		for i := range len(out) / n {
			p := b.refs[from+i]
			choice.Softmax(m.probs, out[i*n:(i+1)*n], p.t.mask[p.step*n:(p.step+1)*n])
			dst[from+i] = float32(portable.Log(max(m.probs[int(p.t.choice[p.step])], 1e-300)))
		}
	})
}

func (m *vectors) values(target bool, at []stepRef, dst []float32) error {
	p := &m.u.value
	if target && m.u.target != nil {
		p = m.u.target
	}
	return m.u.forward(p, at, func(from int, out []float32) { copy(dst[from:], out) })
}

// Optimisers implements [model].
func (m *vectors) Optimisers() []nets.Optimizer { return m.u.adams }

// UpdateTarget implements [model].
func (m *vectors) UpdateTarget(tau float64) {
	if m.u.target != nil {
		m.u.e.Lerp(m.u.target.Net.Params(), m.u.value.Net.Params(), tau)
	}
}

// Err implements [model].
func (m *vectors) Err() error { return m.u.e.Err() }

// Save implements [model].
func (m *vectors) Save(p *saved.Parts, prefix string) {
	for i, n := range []nets.Net{m.u.policy.Net, m.u.value.Net}[:len(m.u.adams)] {
		p.Net(prefix+[]string{"policy", "value"}[i], n, m.u.adams[i])
	}
	if m.u.target != nil {
		p.Weights[prefix+"value_target"] = m.u.target.Net.Params()
	}
}

// Learned implements [model].
func (m *vectors) Learned() (nets.Arch, nets.Tensor) {
	return m.u.policy.Net.Arch(), m.u.policy.Net.Params()
}

func (m *vectors) stream() string { return choice.Stream }

// vectorObservations are rows of one width.
type vectorObservations struct {
	packed
	width int
}

// State implements [state.Stater].
func (s *vectorObservations) State(c *state.Codec) {
	c.Part(&s.packed)
	if c.Loaded() {
		c.Fail(s.check(s.width))
	}
}

// packed holds rows of observed numbers, one after another, without loss. Wide rows that are mostly zeros or runs of
// equal numbers, such as images, are run-length coded: an image of 4,480 numbers takes a twentieth of its memory.
//
// A row is a head and words. The head is the number of runs. Each run takes two words: first·2¹⁶ + length, and the bits
// of the number that it repeats; zeros between runs are left out. The head [plain] stands before the index of a row
// that is stored as it is.
type packed struct {
	words []uint32
	ends  []int     // of rows, in words
	plain []float32 // rows as they are
}

const (
	plain = math.MaxUint32
	// packs is the width from which on rows are tried to be packed, fits the widths whose numbers' refs fit into half a
	// word.
	packs, fits = 256, 1 << 16
)

// rows is the number of rows.
func (p *packed) rows() int { return len(p.ends) }

func (p *packed) clear() { p.words, p.ends, p.plain = p.words[:0], p.ends[:0], p.plain[:0] }

// add appends a row; all have one width.
func (p *packed) add(row []float32) {
	if len(row) < packs || len(row) >= fits || !p.runs(row) {
		p.words = append(p.words, plain, uint32(len(p.plain)/len(row)))
		p.plain = append(p.plain, row...)
	}
	p.ends = append(p.ends, len(p.words))
}

// runs appends a row as runs, or nothing where that is not shorter.
func (p *packed) runs(row []float32) bool {
	head := len(p.words)
	w := append(p.words, 0)
	for i := 0; i < len(row); {
		if len(row)-i >= 8 && zeros((*[8]float32)(row[i:])) {
			i += 8
			continue
		}
		x := math.Float32bits(row[i])
		from := i
		for i++; i < len(row) && math.Float32bits(row[i]) == x; i++ {
		}
		if x != 0 {
			w = append(w, uint32(from)<<16|uint32(i-from), x)
		}
	}
	p.words = w
	if len(w)-head > len(row) {
		p.words = w[:head]
		return false
	}
	w[head] = uint32(len(w)-head-1) / 2
	return true
}

// zeros reports whether all eight numbers are 0.
func zeros(x *[8]float32) bool {
	b := math.Float32bits
	return b(x[0])|b(x[1])|b(x[2])|b(x[3])|b(x[4])|b(x[5])|b(x[6])|b(x[7]) == 0
}

// get writes row i.
func (p *packed) get(i int, row []float32) {
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	w := p.words[from:p.ends[i]]
	if w[0] == plain {
		copy(row, p.plain[int(w[1])*len(row):])
		return
	}
	clear(row)
	for w = w[1:]; len(w) > 1; w = w[2:] {
		x := math.Float32frombits(w[1])
		at := w[0] >> 16
		run := row[at : at+w[0]&0xffff]
		for j := range run {
			run[j] = x
		}
	}
}

// State implements [state.Stater]. The caller knows the width and calls check.
func (p *packed) State(c *state.Codec) {
	state.Slice(c, &p.words)
	state.Slice(c, &p.plain)
	state.Slice(c, &p.ends)
}

// check says what is wrong with loaded rows of width numbers.
func (p *packed) check(width int) error {
	at := 0
	for i, want := range p.ends {
		end, err := p.rowEnd(at, width)
		if err == nil && end != want {
			err = fmt.Errorf("ends at word %d, want %d", want, end)
		}
		if err != nil {
			return fmt.Errorf("observation %d: %w", i, err)
		}
		at = end
	}
	if rows := len(p.ends); at < len(p.words) || len(p.plain) > rows*width {
		return fmt.Errorf("%d words and %d numbers for %d observations of %d numbers each",
			len(p.words), len(p.plain), rows, width)
	}
	return nil
}

// rowEnd returns where the row that begins at a word ends.
func (p *packed) rowEnd(at, width int) (end int, err error) {
	if at == len(p.words) {
		return 0, errors.New("is missing")
	}
	head := p.words[at]
	n := uint64(head) * 2
	if head == plain {
		n = 1
	}
	at++
	if n > uint64(len(p.words)-at) {
		return 0, fmt.Errorf("takes %d words, of which there are %d", n, len(p.words)-at)
	}
	end = at + int(n)
	if head == plain {
		if (uint64(p.words[at])+1)*uint64(width) > uint64(len(p.plain)) {
			return 0, fmt.Errorf("is plain row %d of %d numbers", p.words[at], len(p.plain))
		}
		return end, nil
	}
	for ; at < end; at += 2 {
		if last := p.words[at]>>16 + p.words[at]&0xffff; last > uint32(width) {
			return 0, fmt.Errorf("a run ends at number %d of %d", last, width)
		}
	}
	return end, nil
}
