package maddpg

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// sampler draws an update's minibatches from a memory and uploads them to the device, one block of rows at a time: the
// block stays in the CPU's cache while all tensors take their parts of it.
type sampler struct {
	m        *memory
	u        *update
	std      *standardiser
	batch    *rng.Stream
	noise    *noise
	index    []int64        // row numbers: of one minibatch, or of one minibatch per agent, one after the other
	rows     [][]float32    // for each worker, a block of [blockRows, width]
	part     func(i, w int) // uploads block i, on worker w
	parallel func(parts int, part func(i, w int))

	s, s2, a, r, discount *blocks
	own, next             noiseBlocks // noise of π(s) and of π'(s')
	words                 [][]uint32  // for each worker, the random words of a block
	// 1 for present agents, 0 for absent ones: at s and at s', [agents, batch]; on has the shape of actions.
	here, hereAfter, on []float32
}

// parallelEngine is an engine whose threads the sampler may use between updates. Parallel runs the parts in parallel,
// and never two at a time on one worker.
type parallelEngine interface {
	Parallel(parts int, part func(i, w int))
	Workers() int
}

// blockRows is the number of rows of a block: a multiple of every tile size.
const blockRows = 192

func newSampler(m *memory, u *update, std *standardiser, batch *rng.Stream, noise *noise) *sampler {
	s := &sampler{
		m: m, u: u, std: std, batch: batch, noise: noise, index: make([]int64, m.c.Batch),
		s: newBlocks(u.s), a: newBlocks(u.a), r: newBlocks(u.r), discount: newBlocks(u.discount),
	}
	workers := 1
	s.parallel = serial
	if e, ok := u.e.(parallelEngine); ok {
		workers, s.parallel = e.Workers(), e.Parallel
	}
	s.rows = make([][]float32, workers)
	for w := range s.rows {
		s.rows[w] = make([]float32, min(blockRows, m.c.Batch)*m.buf.Width())
	}
	s.part = s.block
	all := m.p.agents * m.c.Batch
	next := all
	switch {
	case u.separate != nil:
		s.s2, next = newBlocks(u.separate.s2), m.p.agents*all
		fallthrough
	case m.c.Batches == Independent:
		s.index = make([]int64, all)
	}
	if s.s2 == nil {
		s.s2 = newBlocks(u.s2)
	}
	if m.mask > 0 {
		s.own = noiseBlocks{x: make([]float32, all*m.p.act), put: newBlocks(u.noise)}
		s.next = noiseBlocks{x: make([]float32, next*m.p.act), put: newBlocks(u.noise2)}
		s.words = make([][]uint32, workers)
		for w := range s.words {
			s.words[w] = make([]uint32, min(blockRows, m.c.Batch)*m.p.act)
		}
	}
	if m.present > 0 {
		s.here, s.hereAfter, s.on = make([]float32, all), make([]float32, all), make([]float32, all*m.p.act)
	}
	return s
}

// sample draws an update's minibatches and the noise of its choices.
func (s *sampler) sample() error {
	m, u := s.m, s.u
	if err := m.buf.Sample(s.batch, s.index); err != nil {
		return err
	}
	if m.mask > 0 {
		s.own.from = s.noise.begin()
		s.next.from = s.noise.begin()
	}
	s.std.ready()
	s.parallel(len(s.index)/m.c.Batch*s.blocks(), s.part)
	for _, b := range [...]*blocks{s.s, s.s2, s.a, s.r, s.discount} {
		b.done()
	}
	if m.mask > 0 {
		s.own.put.done()
		s.next.put.done()
	}
	if m.present > 0 {
		s.uploadPresence()
	}
	if u.separate != nil {
		u.separate.done()
	}
	return nil
}

// serial is Parallel for an engine without threads to use.
func serial(parts int, part func(i, w int)) {
	for i := range parts {
		part(i, 0)
	}
}

// blocks is the number of blocks in a minibatch.
func (s *sampler) blocks() int { return (s.m.c.Batch + blockRows - 1) / blockRows }

// block uploads block i of all minibatches, on worker w. No two blocks write the same place.
func (s *sampler) block(i, w int) {
	m, size := s.m, s.m.c.Batch
	k, row := i/s.blocks(), i%s.blocks()*blockRows
	n := min(blockRows, size-row)
	b := block{s, s.rows[w][:n*m.buf.Width()], row, n}
	m.buf.Rows(s.index[k*size+row:][:n], b.rows)
	b.prepare()
	if len(s.index) > size {
		b.upload(k, k+1)
	} else {
		b.upload(0, m.p.agents)
	}
	if m.mask > 0 {
		b.choices(k, s.words[w])
	}
	if s.u.separate != nil {
		s.u.separate.upload(b, k)
	}
	if m.present > 0 {
		b.presence()
	}
}

// block is n rows of the replay buffer, which become the samples row to row + n.
type block struct {
	*sampler
	rows   []float32
	row, n int
}

// columns are a column's numbers in a block, from agent i on; each agent's are width wide.
func (s block) columns(c, i, width int) []float32 { return s.rows[s.m.buf.Offset(c)+i*width:] }

// prepare standardises observations and scales rewards.
func (s block) prepare() {
	p, w := s.m.p, s.m.buf.Width()
	scale := float32(s.m.c.RewardScale)
	for r := range s.n {
		row := s.rows[r*w : (r+1)*w]
		if s.std != nil {
			s.std.applyRow(row[s.m.buf.Offset(colObservation):])
			s.std.applyRow(row[s.m.buf.Offset(colNext):])
		}
		if scale != 1 {
			rewards := row[s.m.buf.Offset(colReward):][:p.agents]
			for j := range rewards {
				rewards[j] *= scale
			}
		}
		if s.m.present > 0 {
			scaleRows(row[s.m.buf.Offset(colObservation):][:p.agents*p.obs], row[s.m.buf.Offset(s.m.present):][:p.agents])
			scaleRows(row[s.m.buf.Offset(colNext):][:p.agents*p.obs], row[s.m.buf.Offset(s.m.present2):][:p.agents])
		}
	}
}

// upload writes the rows to the inputs of the agents from to to.
func (s block) upload(from, to int) {
	p, w := s.m.p, s.m.buf.Width()
	for i := from; i < to; i++ {
		s.s.put(i, s.row, s.n, 0, p.obs, s.columns(colObservation, i, p.obs), w)
		s.a.put(i, s.row, s.n, 0, p.act, s.columns(colAction, i, p.act), w)
		s.r.put(i, s.row, s.n, 0, 1, s.columns(colReward, i, 1), w)
		s.discount.put(i, s.row, s.n, 0, 1, s.columns(colDiscount, i, 1), w)
		if s.u.separate == nil {
			s.s2.put(i, s.row, s.n, 0, p.obs, s.columns(colNext, i, p.obs), w)
		}
	}
}

// noiseBlocks is an update's Gumbel noise before it is uploaded: [agents, batch, act]; for the target's actions one
// such array per minibatch.
type noiseBlocks struct {
	x    []float32
	from uint64 // the key of its stream: see noise.begin
	put  *blocks
}

// choices draws a block's noise, makes illegal choices unreachable and uploads it. The block is of minibatch k.
func (s block) choices(k int, words []uint32) {
	size, act, agents := s.m.c.Batch, s.m.p.act, s.m.p.agents
	from, to := 0, agents
	if len(s.index) > size {
		from, to = k, k+1
	}
	next, end, row := from, to, s.row // of the target's actions
	if s.u.separate != nil {
		next, end, row = 0, agents, k*size+s.row
	}
	draw := func(d *noiseBlocks, i, row int) {
		at := (i*d.put.batch + row) * act
		s.noise.part(d.from, at, d.x[at:][:s.n*act], words)
	}
	upload := func(d *noiseBlocks, i, row int) { d.put.put(i, row, s.n, 0, act, d.x[(i*d.put.batch+row)*act:], act) }
	for i := from; i < to; i++ {
		draw(&s.own, i, s.row)
	}
	for i := next; i < end; i++ {
		draw(&s.next, i, row)
	}
	s.forbid(k)
	for i := from; i < to; i++ {
		upload(&s.own, i, s.row)
	}
	for i := next; i < end; i++ {
		upload(&s.next, i, row)
	}
}

// forbid makes the choices that the masks forbid unreachable. The block is of minibatch k.
func (s block) forbid(k int) {
	agents, size, row := s.m.p.kind.Agents, s.m.c.Batch, s.row
	switch {
	case s.m.p.agents < agents: // single: a sample is [agents, width]
		s.forbidIn(s.own.x, s.m.mask, 0, agents, row*agents, 1, agents)
		s.forbidIn(s.next.x, s.m.mask2, 0, agents, row*agents, 1, agents)
	case s.u.separate != nil:
		s.forbidIn(s.own.x, s.m.mask, k, k+1, row, size, 1)
		s.forbidIn(s.next.x, s.m.mask2, 0, agents, k*size+row, agents*size, 1)
	case len(s.index) > size:
		s.forbidIn(s.own.x, s.m.mask, k, k+1, row, size, 1)
		s.forbidIn(s.next.x, s.m.mask2, k, k+1, row, size, 1)
	default:
		s.forbidIn(s.own.x, s.m.mask, 0, agents, row, size, 1)
		s.forbidIn(s.next.x, s.m.mask2, 0, agents, row, size, 1)
	}
}

// forbidIn does this in noise for the environment's agents from to to. Agent j in the block's row r has item at +
// j·agent + r·row of noise.
func (s block) forbidIn(noise []float32, column, from, to, at, agent, row int) {
	w, words := s.m.p.actionCodec.width(), s.m.p.words
	all := float32(uint32(1)<<min(w, maskBits) - 1) // a word in which all choices are legal
	for r := range s.n {
		masks := s.rows[r*s.m.buf.Width()+s.m.buf.Offset(column):]
		for j := from; j < to; j++ {
			if words == 1 && masks[j] == all {
				continue
			}
			item := at + j*agent + r*row
			forbidPacked(noise[item*w:(item+1)*w], masks[j*words:(j+1)*words])
		}
	}
}

// presence records which agents were present.
func (s block) presence() {
	for r := range s.n {
		at := r * s.m.buf.Width()
		for j := range s.m.p.agents {
			s.here[j*s.m.c.Batch+s.row+r] = s.rows[at+s.m.buf.Offset(s.m.present)+j]
			s.hereAfter[j*s.m.c.Batch+s.row+r] = s.rows[at+s.m.buf.Offset(s.m.present2)+j]
		}
	}
}

func (s *sampler) uploadPresence() {
	p := &s.u.present
	p.error.on.Set(s.here)
	for _, u := range []struct {
		m    *mask
		here []float32
	}{{p.action, s.here}, {p.next, s.hereAfter}} {
		for i := range s.on {
			s.on[i] = 1
		}
		scaleRows(s.on, u.here)
		u.m.on.Set(s.on)
	}
}

// scaleRows multiplies row i of x by by[i].
func scaleRows(x, by []float32) {
	w := len(x) / len(by)
	for i, f := range by {
		for j := range x[i*w : (i+1)*w] {
			x[i*w+j] *= f
		}
	}
}

// blocks writes a tensor [agents, batch, width] block by block. A block is some samples of one agent and some of their
// features, taken from wider rows. A tensor that can't be written in blocks is filled on the host and set at once.
type blocks struct {
	t            nets.Tensor
	direct       blockSetter
	host         []float32
	batch, width int
}

// blockSetter is a tensor that can be written in blocks: samples row to row+rows of one agent, features from to
// from+width. Sample row + r is at src[r·stride:].
type blockSetter interface {
	SetBlock(agent, row, rows, from, width int, src []float32, stride int)
}

func newBlocks(t nets.Tensor) *blocks {
	shape := t.Shape()
	b := &blocks{t: t, batch: shape[1], width: shape[2]}
	var ok bool
	if b.direct, ok = t.(blockSetter); !ok {
		b.host = make([]float32, nets.Size(t))
	}
	return b
}

func (b *blocks) put(agent, row, rows, from, width int, src []float32, stride int) {
	switch {
	case width == 0: // src may be empty then
		return
	case b.direct != nil:
		b.direct.SetBlock(agent, row, rows, from, width, src, stride)
		return
	}
	for r := range rows {
		copy(b.host[(agent*b.batch+row+r)*b.width+from:][:width], src[r*stride:])
	}
}

// done ends a minibatch: it sets the tensors that were filled on the host.
func (b *blocks) done() {
	if b.direct == nil {
		b.t.Set(b.host)
	}
}
