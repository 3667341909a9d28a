package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"
)

// A saved state is a header (magic, version, fingerprint of the configuration, length of the body), the body and
// the body's CRC-32C. What follows from the rest (draw keys, rate tables, node index, places in the calendar) is
// not saved, and the calendar is saved in order of time: equal states give equal bytes.
const (
	saveMagic   = "SRVL"
	saveVersion = 1
	saveHeader  = 4 + 4 + 8 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary appends the simulation's state, meters included. The handler is not part of it.
func (s *Sim) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, saveMagic...)
	b = binary.LittleEndian.AppendUint32(b, saveVersion)
	b = binary.LittleEndian.AppendUint64(b, s.plan.print)
	b = binary.LittleEndian.AppendUint64(b, 0)
	c := codec{b: b}
	c.sim(s)
	b = c.b
	body := b[start+saveHeader:]
	binary.LittleEndian.PutUint64(b[start+saveHeader-8:], uint64(len(body)))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli)), nil
}

// MarshalBinary returns the simulation's state.
func (s *Sim) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary restores a state that AppendBinary wrote for a simulation of the same Config. On any error s
// stays as it was.
func (s *Sim) UnmarshalBinary(b []byte) error {
	if err := s.restore(b); err != nil {
		return fmt.Errorf("sim: saved state of %d bytes %w", len(b), err)
	}
	return nil
}

func (s *Sim) restore(b []byte) error {
	if len(b) < saveHeader+4 || string(b[:4]) != saveMagic {
		return errors.New("is not a simulation's")
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != saveVersion {
		return fmt.Errorf("has version %d, want %d", v, saveVersion)
	}
	if p := binary.LittleEndian.Uint64(b[8:]); p != s.plan.print {
		return fmt.Errorf("belongs to another configuration (fingerprint %016x, want %016x)", p, s.plan.print)
	}
	body := b[saveHeader : len(b)-4]
	if n := binary.LittleEndian.Uint64(b[16:]); n != uint64(len(body)) {
		return fmt.Errorf("has a body of %d bytes, its header says %d", len(body), n)
	}
	if sum := binary.LittleEndian.Uint32(b[len(b)-4:]); sum != crc32.Checksum(body, castagnoli) {
		return errors.New("is damaged: its checksum does not match")
	}
	t := &Sim{plan: s.plan, handler: silent{}}
	t.resetSketches()
	c := codec{b: body, read: true}
	c.sim(t)
	if c.err == nil && len(c.b) > 0 {
		c.err = fmt.Errorf("has %d bytes too many", len(c.b))
	}
	if c.err != nil {
		return c.err
	}
	if err := t.rebuild(); err != nil {
		return fmt.Errorf("is inconsistent: %w", err)
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("is inconsistent: %w", err)
	}
	s.CopyFrom(t)
	return nil
}

func (c *codec) sim(s *Sim) {
	c.u64(&s.seed)
	c.u64(&s.arrivals)
	c.time(&s.from)
	c.time(&s.cal.now)
	c.u64(&s.cal.seq)
	heap, due := s.cal.sorted()
	slice(c, &heap, 20, (*codec).entry)
	slice(c, &due, 4, (*codec).i32)
	if c.read {
		s.cal.heap, s.cal.due = heap, due
	}
	slice(c, &s.fns, 300, (*codec).function)
	slice(c, &s.revs, 52, (*codec).revision)
	slice(c, &s.insts, 90, (*codec).instance)
	slice(c, &s.reqs, 110, (*codec).request)
	slice(c, &s.timers, 29, (*codec).timer)
	for _, p := range []*int32{&s.freeRev, &s.freeInst, &s.freeReq, &s.freeTim, &s.finder.cursor} {
		c.i32(p)
	}
	slice(c, &s.nodes, 84, (*codec).machine)
	slice(c, &s.waiting, 4, (*codec).i32)
	slice(c, &s.shelf, 8, (*codec).list)
	slice(c, &s.masks, 8, (*codec).u64)
	slice(c, &s.seats, 4, (*codec).i32)
	for i := range s.sketches {
		c.sketch(&s.sketches[i])
	}
}

// sorted is the calendar's content in order: what lies ahead and what is due.
func (c *calendar) sorted() (heap []entry, due []int32) {
	heap = slices.Clone(c.heap)
	if c.hole {
		heap = heap[1:]
	}
	slices.SortFunc(heap, func(a, b entry) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for _, h := range c.due[c.head:] {
		if h >= 0 {
			due = append(due, h)
		}
	}
	return heap, due
}

func (c *codec) entry(p *entry) {
	c.time(&p.at)
	c.u64(&p.seq)
	c.i32(&p.h)
}

func (c *codec) function(p *function) {
	c.time(&p.gauge.since)
	for i := range p.gauge.now {
		c.i64(&p.gauge.now[i])
		c.wide(&p.gauge.area[i])
	}
	c.tally(&p.tally)
	c.moments(&p.latency)
	c.moments(&p.wait)
	c.u64(&p.launches)
	c.time(&p.keepAlive)
	for _, l := range []*list{&p.queue, &p.ages, &p.all, &p.idle, &p.pending} {
		c.list(l)
	}
	for _, n := range []*int32{
		&p.revision, &p.min, &p.max, &p.queued, &p.live, &p.old, &p.nPending, &p.nStarting, &p.nIdle, &p.nBusy, &p.nDraining,
		&p.shelf, &p.shelves, &p.mask, &p.seat, &p.seats, &p.seated,
		&p.expire, &p.queueTimer, &p.ageTimer,
	} {
		c.i32(n)
	}
}

func (c *codec) revision(p *revision) {
	c.sizing(&p.Sizing)
	c.i32(&p.refs)
	c.i32(&p.next)
}

func (c *codec) instance(p *instance) {
	c.u64(&p.v)
	c.u64(&p.rate)
	for _, t := range []*Time{&p.vAt, &p.born, &p.since, &p.cold} {
		c.time(t)
	}
	c.u32(&p.gen)
	for _, n := range []*int32{&p.fn, &p.node, &p.rev, &p.h, &p.n, &p.root, &p.level} {
		c.i32(n)
	}
	c.link(&p.all)
	c.link(&p.avail)
	c.link(&p.idle)
	c.u8((*uint8)(&p.state))
	c.bool(&p.onDemand)
}

func (c *codec) request(p *request) {
	for _, n := range []*uint64{&p.id, &p.tag, &p.seq, &p.finish, (*uint64)(&p.servedBy)} {
		c.u64(n)
	}
	for _, t := range []*Time{&p.arrived, &p.started, &p.demand, &p.slo} {
		c.time(t)
	}
	for _, n := range []*int32{&p.h, &p.fn, &p.inst, &p.attempt, &p.child, &p.node} {
		c.i32(n)
	}
	c.link(&p.link)
	c.link(&p.age)
	c.u8((*uint8)(&p.state))
	c.u8((*uint8)(&p.outcome))
	c.bool(&p.cold)
	c.bool(&p.given)
}

func (c *codec) timer(p *timer) {
	c.time(&p.At)
	c.i32(&p.Kind)
	c.u64(&p.Payload)
	c.i32(&p.h)
	c.i32(&p.next)
	c.u32(&p.gen)
	c.bool(&p.live)
}

func (c *codec) machine(p *node) {
	c.node(&p.free)
	c.i32(&p.instances)
	c.time(&p.since)
	for i := range p.area {
		c.wide(&p.area[i])
	}
}

// fingerprint is a hash of all in a configuration that shapes results or the state's layout.
func fingerprint(cfg *Config) uint64 {
	c := codec{}
	c.u8((*uint8)(&cfg.Placement))
	bits := int64(cfg.SketchBits)
	c.i64(&bits)
	slice(&c, &cfg.Nodes, 12, (*codec).node)
	slice(&c, &cfg.Functions, 1, (*codec).config)
	h := fnv.New64a()
	h.Write(c.b)
	return h.Sum64()
}

func (c *codec) config(f *Function) {
	for _, l := range []*Law{&f.Demand, &f.ColdStart} {
		c.u8((*uint8)(&l.Kind))
		c.f64(&l.Mean)
		c.f64(&l.CV)
		slice(c, &l.Table, 8, (*codec).f64)
	}
	c.sizing(&f.Sizing)
	c.bool(&f.Warm)
	c.u8((*uint8)(&f.Dispatch))
	c.bool(&f.BindCold)
	for _, n := range []*int32{&f.Queue, &f.MaxInflight, &f.RequestCPU, &f.IdleMemory, &f.RequestMemory} {
		c.i32(n)
	}
	for _, t := range []*Time{&f.QueueTimeout, &f.Timeout, &f.KeepAlive, &f.SLO} {
		c.time(t)
	}
}
