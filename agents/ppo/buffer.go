package ppo

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// buffer is the rollout of one kind of agents: a sample for each step of each agent that was there, in order of time.
type buffer struct {
	width, choices int   // numbers of an action, and of a mask
	components     []int // choices of each component, nil for continuous actions
	rows, agents   int   // rows of a step: agent j of copy i is row i·agents + j
	most           int   // samples of a whole rollout

	row      []int32
	action   []float32 // [samples, width]: the choices, or what was drawn before bounds
	mask     []bool    // [samples, choices]: what was legal, after the components before
	logp     []float32 // ln π(a|s) when it was done
	reward   []float32 // scaled
	discount []float32 // of what follows; 0 where nothing does
	end      []int32   // the number in ends of what was seen last, where the sample's trajectory is cut; else −1
	obs      observations
	ends     observations
}

// observations are what agents saw, one after another.
type observations interface {
	// begin comes before the first add of an observation.
	begin(o *envs.KindObservation)
	add(o *envs.KindObservation, agent int)
	size() int
	clear()
	state.Stater
}

// decision is what the agents of one kind did last, by row.
type decision struct {
	action []float32 // as buffer.action
	mask   []bool
	logp   []float32
}

func (b *buffer) len() int { return len(b.row) }

func (b *buffer) clear() {
	b.row, b.end = b.row[:0], b.end[:0]
	b.mask = b.mask[:0]
	for _, s := range b.columns() {
		*s = (*s)[:0]
	}
	b.obs.clear()
	b.ends.clear()
}

func (b *buffer) columns() [4]*[]float32 {
	return [4]*[]float32{&b.action, &b.logp, &b.reward, &b.discount}
}

// step is how a step of one copy of the environment went.
type step struct {
	copy          int
	before, after *envs.KindObservation
	rewards       []float32
	discount      float64 // 0 where the episode terminated
	cut           bool    // truncated, or the rollout's last step
}

// add adds a step of the agents of one copy, who decided d. An agent that leaves has terminated.
func (b *buffer) add(s step, d decision, scale float64) {
	b.obs.begin(s.before)
	b.ends.begin(s.after)
	for j, here := range s.before.Active {
		if !here {
			continue
		}
		row := s.copy*b.agents + j
		discount, end := float32(s.discount), int32(-1)
		if !s.after.Active[j] {
			discount = 0
		}
		if discount != 0 && s.cut {
			end = int32(b.ends.size())
			b.ends.add(s.after, j)
		}
		b.row, b.end = append(b.row, int32(row)), append(b.end, end)
		b.action = append(b.action, d.action[j*b.width:(j+1)*b.width]...)
		b.mask = append(b.mask, d.mask[j*b.choices:(j+1)*b.choices]...)
		b.logp = append(b.logp, d.logp[j])
		b.reward = append(b.reward, float32(float64(s.rewards[j])*scale))
		b.discount = append(b.discount, discount)
		b.obs.add(s.before, j)
	}
}

// State implements [state.Stater].
func (b *buffer) State(c *state.Codec) {
	state.Slice(c, &b.row)
	state.Slice(c, &b.end)
	state.Slice(c, &b.mask)
	for _, s := range b.columns() {
		state.Slice(c, s)
	}
	c.Part(b.obs)
	c.Part(b.ends)
	if c.Loaded() {
		c.Fail(b.check())
	}
}

// check says what is wrong with a loaded rollout.
func (b *buffer) check() error {
	n := b.len()
	if n > b.most || b.ends.size() > n {
		return fmt.Errorf("rollout of %d samples with %d ends, want at most %d", n, b.ends.size(), b.most)
	}
	for _, f := range []struct {
		name      string
		got, want int
	}{
		{"ends", len(b.end), n}, {"masks", len(b.mask), n * b.choices}, {"actions", len(b.action), n * b.width},
		{"ln π", len(b.logp), n}, {"rewards", len(b.reward), n}, {"discounts", len(b.discount), n},
		{"observations", b.obs.size(), n},
	} {
		if f.got != f.want {
			return fmt.Errorf("rollout of %d samples has %d %s, want %d", n, f.got, f.name, f.want)
		}
	}
	for i := range n {
		if r, e := int(b.row[i]), int(b.end[i]); r < 0 || r >= b.rows || e < -1 || e >= b.ends.size() {
			return fmt.Errorf("sample %d is of agent %d and ends in observation %d, of which there are %d and %d", i, r, e,
				b.rows, b.ends.size())
		}
	}
	for _, s := range b.columns() {
		if i := envs.NotFinite(*s); i >= 0 {
			return fmt.Errorf("a number of the rollout is %g, want a finite one", (*s)[i])
		}
	}
	return b.checkChoices()
}

func (b *buffer) checkChoices() error {
	for i := range len(b.row) * len(b.components) {
		k := i % len(b.components)
		from := 0
		for _, n := range b.components[:k] {
			from += n
		}
		a := b.action[i]
		if !(a >= 0 && a < float32(b.components[k])) || !b.mask[i/len(b.components)*b.choices+from+int(a)] {
			return fmt.Errorf("sample %d has the choice %g of component %d, want a legal one below %d",
				i/len(b.components), a, k, b.components[k])
		}
	}
	return nil
}

// vectorRows are observations of one width.
type vectorRows struct {
	width int
	all   []float32
	field *actor.Field // with mix mean, else nil
}

func newVectorRows(c *Config, k *envs.Kind) *vectorRows {
	v := &vectorRows{width: c.seen(k)}
	if c.Mix == Mean {
		v.field = actor.NewField(k)
	}
	return v
}

func (v *vectorRows) begin(o *envs.KindObservation) {
	if v.field != nil {
		v.field.Begin(o)
	}
}

func (v *vectorRows) add(o *envs.KindObservation, agent int) {
	if v.field == nil {
		v.all = append(v.all, o.Values[agent*v.width:(agent+1)*v.width]...)
		return
	}
	n := len(v.all)
	v.all = slices.Grow(v.all, v.width)[:n+v.width]
	v.field.See(o, agent, v.all[n:])
}
func (v *vectorRows) size() int             { return len(v.all) / v.width }
func (v *vectorRows) clear()                { v.all = v.all[:0] }
func (v *vectorRows) row(i int32) []float32 { return v.all[int(i)*v.width : (int(i)+1)*v.width] }

// State implements [state.Stater].
func (v *vectorRows) State(c *state.Codec) {
	state.Slice(c, &v.all)
	if c.Loaded() {
		i := envs.NotFinite(v.all)
		c.Check(len(v.all)%v.width == 0 && i < 0, "observations of %d numbers, want rows of %d finite ones", len(v.all),
			v.width)
	}
}

// seen is the width of what an agent's networks see: its observation and, with mix mean, that of the virtual agent that
// stands for all others.
func (c *Config) seen(k *envs.Kind) int {
	if c.Mix == Mean {
		return 2 * k.Observation.Width()
	}
	return k.Observation.Width()
}
