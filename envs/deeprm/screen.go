package deeprm

import (
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// screen is an observation that is updated as the cluster changes, so that writing it is one copy.
type screen interface {
	// seen is the observation.
	seen() []float32
	// clear empties the observation; shuffle then draws the order of grey levels for an episode.
	clear()
	shuffle(seed uint64, s *source)
	// place shows the job in a visible place, or none.
	place(place int, j *job)
	// backlog shows how many jobs wait in the backlog.
	backlog(n int)
	// placed shows a job that starts `start` time steps from now. It is called before the job is added to e.active.
	placed(e *Env, j *job, start int)
	// arrived notes an arrival, even of a job that is dropped.
	arrived()
	state.Stater
	// moved shows that a time step has passed. It is called after the cluster and the active jobs were updated.
	moved(e *Env)
}

func newScreen(c *Config) screen {
	l := NewLayout(c)
	if l.Image {
		return newPicture(c, l)
	}
	return &numbers{Layout: l, values: make([]float32, l.Width()), late: c.Defects.LateRemoval}
}

// picture is the image observation.
type picture struct {
	Layout
	values  []float32
	width   int       // of a row
	levels  []float32 // grey levels in the episode's order
	used    []bool    // by level
	blocks  []block   // by place, as drawn
	waiting int       // jobs of the backlog, as drawn
	since   int       // time steps without an arrival, up to most
	most    int
}

// block is the size of a visible job as it is drawn.
type block struct {
	length int
	demand uint64
}

func newPicture(c *Config, l Layout) *picture {
	return &picture{
		Layout: l, values: make([]float32, l.Width()), width: l.columns(), levels: make([]float32, c.Greys-1),
		used: make([]bool, c.Greys-1), blocks: make([]block, c.Visible), most: c.Since,
	}
}

func (p *picture) seen() []float32 { return p.values }

func (p *picture) clear() {
	clear(p.values)
	clear(p.blocks)
	p.waiting, p.since = 0, 0
}

// shuffle puts the grey levels k/greys in a random order (Fisher and Yates), so that they carry no information.
func (p *picture) shuffle(seed uint64, s *source) {
	for i := range p.levels {
		p.levels[i] = float32(i+1) / float32(len(p.levels)+1)
	}
	key := rng.New(seed, "grey level")
	for i := len(p.levels) - 1; i > 0; i-- {
		k := key.With(uint64(i)).IntN(i + 1)
		s.report("grey level", uint64(i), 0, float64(k))
		p.levels[i], p.levels[k] = p.levels[k], p.levels[i]
	}
}

func (p *picture) place(place int, j *job) {
	b := &p.blocks[place]
	p.paint(place, *b, 0)
	*b = block{}
	if j != nil {
		*b = block{int(j.length), j.demand}
		p.paint(place, *b, 1)
	}
}

func (p *picture) paint(place int, b block, x float32) {
	for r := range p.Resources {
		at, n := p.block(r, place), lane(b.demand, r)
		for range b.length {
			fill(p.values[at:at+n], x)
			at += p.width
		}
	}
}

// backlog fills the cells of its columns row by row.
func (p *picture) backlog(waiting int) {
	w := p.backlogColumns()
	for i := min(waiting, p.waiting); i < max(waiting, p.waiting); i++ {
		x := float32(0)
		if i < waiting {
			x = 1
		}
		p.values[i/w*p.width+p.width-1-w+i%w] = x
	}
	p.waiting = waiting
}

// placed draws a job that starts: in each row the first free cells, in the first grey level that no running job has.
// Where there are more jobs than levels, levels are shared.
func (p *picture) placed(e *Env, j *job, start int) {
	clear(p.used)
	for _, i := range e.active {
		if o := &e.jobs[i]; o.finish > e.now {
			p.used[o.grey] = true
		}
	}
	j.grey = int32(e.started % len(p.used))
	for i, used := range p.used {
		if !used {
			j.grey = int32(i)
			break
		}
	}
	x := p.levels[j.grey]
	for r := range p.Resources {
		at := start*p.width + r*p.perResource()
		for range j.length {
			left := lane(j.demand, r)
			for i, v := range p.values[at : at+p.Slots] {
				if left == 0 {
					break
				}
				if v == 0 {
					p.values[at+i] = x
					left--
				}
			}
			at += p.width
		}
	}
}

func (p *picture) arrived() { p.age(0) }

func (p *picture) moved(*Env) {
	for r := range p.Resources {
		at := r * p.perResource()
		for range p.Horizon - 1 {
			copy(p.values[at:at+p.Slots], p.values[at+p.width:at+p.width+p.Slots])
			at += p.width
		}
		clear(p.values[at : at+p.Slots])
	}
	p.age(min(p.since+1, p.most))
}

// age shows the time since the last arrival in the last column.
func (p *picture) age(since int) {
	if since == p.since {
		return
	}
	p.since = since
	x := float32(float64(since) / float64(p.most))
	for at := p.width - 1; at < len(p.values); at += p.width {
		p.values[at] = x
	}
}

// State implements [state.Stater].
func (p *picture) State(c *state.Codec) {
	state.Fixed(c, p.values)
	state.Fixed(c, p.levels)
	state.Value(c, &p.waiting)
	state.Value(c, &p.since)
	c.Check(p.waiting >= 0 && p.waiting <= p.Layout.backlog, "%d jobs are drawn in the backlog, want at most %d",
		p.waiting, p.Layout.backlog)
	c.Check(p.since >= 0 && p.since <= p.most, "%d time steps are drawn since the last arrival, want at most %d",
		p.since, p.most)
	if !c.Stored() {
		state.Fixed(c, p.blocks)
	}
	if !c.Loaded() {
		return
	}
	for i := range p.blocks {
		b := block{length: p.Length(p.values, i)}
		for r := range p.Resources {
			b.demand |= uint64(p.Demand(p.values, i, r)) << (16 * r)
		}
		p.blocks[i] = b
	}
}

// numbers is the compact observation, kept up to date.
type numbers struct {
	Layout
	values []float32
	late   bool // LateRemoval: jobs may stay after their end
}

func (n *numbers) seen() []float32 { return n.values }

func (n *numbers) clear() {
	clear(n.values)
	fill(n.values[n.Horizon:(n.Resources+1)*n.Horizon], float32(n.Slots))
}

func (n *numbers) shuffle(uint64, *source) {}

func (n *numbers) place(place int, j *job) {
	row := n.values[n.row(place):n.row(place+1)]
	if j == nil {
		clear(row)
		return
	}
	row[0] = float32(j.length)
	for r := range n.Resources {
		row[1+r] = float32(lane(j.demand, r))
	}
}

func (n *numbers) backlog(waiting int) { n.values[len(n.values)-1] = float32(waiting) }

func (n *numbers) placed(_ *Env, j *job, start int) {
	for t := range start + int(j.length) {
		n.values[t]++
	}
	for r := range n.Resources {
		free := n.values[(1+r)*n.Horizon:]
		d := float32(lane(j.demand, r))
		for t := start; t < start+int(j.length); t++ {
			free[t] -= d
		}
	}
}

func (n *numbers) arrived() {}

func (n *numbers) moved(e *Env) {
	all := n.values[:(n.Resources+1)*n.Horizon]
	copy(all, all[1:]) // all rows in one copy; the last number of each is wrong until the loop below
	for last := 2*n.Horizon - 1; last < len(all); last += n.Horizon {
		all[last] = float32(n.Slots)
	}
	jobs := all[:n.Horizon]
	jobs[n.Horizon-1] = 0
	if !n.late {
		return
	}
	// The published code removes a job from its end on with a slice expression that begins there. For a job that should
	// have left before now the index is negative, so it counts from the end of the horizon.
	clear(jobs)
	for _, i := range e.active {
		end := int(e.jobs[i].finish - e.now)
		if end < 0 {
			end = max(0, end+n.Horizon)
		}
		for t := range min(end, n.Horizon) {
			jobs[t]++
		}
	}
}

// State implements [state.Stater].
func (n *numbers) State(c *state.Codec) { state.Fixed(c, n.values) }
