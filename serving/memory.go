package serving

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// memory bounds what all requests hold together, in bytes, and how many bodies of one peer arrive at once. Where there
// is no room, a body that has not arrived gives way: the oldest one of the peer whose bodies hold most. So clients that
// withhold their bodies take room from each other, and not from those that send. Bodies that have not arrived hold three
// quarters at most: the rest is for requests that are decided, and for the garbage collector, which would else run with
// every step of a body.
type memory struct {
	most, mostArriving int64
	perPeer            int
	used               atomic.Int64

	mu       sync.Mutex // of what arrives
	count    int
	arriving int64 // bytes of those that arrive
	leaving  int64 // bytes of those that gave way and are not gone
	left     *sync.Cond
	senders  map[netip.Addr]*sender
	spare    []*sender
}

// sender is an address with bodies that arrive, the oldest first.
type sender struct {
	address     netip.Addr
	count       int
	bytes       int64
	first, last *held
}

// held is what one request holds. Once its body has arrived, it is its request's alone.
type held struct {
	bytes          int64
	from           *sender // nil unless its body arrives
	older, younger *held
	stop           func() // ends the wait for its body; nil where it has arrived
	gaveWay        bool
	leaving        int64 // bytes that it holds until it has left after it gave way
}

// overhead is what a request takes beside its body: a goroutine, and a connection's buffers.
const overhead = 12 << 10

func newMemory(most int64, perPeer int) *memory {
	m := &memory{most: most, mostArriving: most / 4 * 3, perPeer: perPeer, senders: map[netip.Addr]*sender{}}
	m.left = sync.NewCond(&m.mu)
	return m
}

// begin counts a body that arrives from an address in a buffer of n bytes; stop ends the wait for it.
func (m *memory) begin(h *held, address string, n int64, stop func()) error {
	who := peerOf(address)
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.senders[who]
	if p != nil && p.count >= m.perPeer {
		m.cut(p.first)
		p = m.senders[who]
	}
	if p == nil {
		p = m.newSender(who)
	}
	*h = held{from: p, older: p.last, stop: stop}
	if p.last != nil {
		p.last.younger = h
	} else {
		p.first = h
	}
	p.last = h
	p.count++
	m.count++
	return m.add(h, overhead+n)
}

func (m *memory) newSender(address netip.Addr) *sender {
	var p *sender
	if n := len(m.spare); n > 0 {
		p, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		p = new(sender)
	}
	p.address = address
	m.senders[address] = p
	return p
}

// hold takes n more bytes for a request.
func (m *memory) hold(h *held, n int64) error {
	if h.stop == nil && h.bytes+n <= m.most { // it has arrived
		if m.used.Add(n) <= m.most {
			h.bytes += n
			return nil
		}
		m.used.Add(-n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(h, n)
}

func (m *memory) add(h *held, n int64) error {
	if h.gaveWay {
		return errGaveWay
	}
	most := m.most
	if h.from != nil {
		most = m.mostArriving
	}
	if h.bytes+n > most {
		return failed(http.StatusRequestEntityTooLarge, "the request needs more than %d bytes to be read and decided: all "+
			"requests may hold %d (--max-memory), bodies that arrive three quarters", most, m.most)
	}
	for m.used.Add(n) > m.most || h.from != nil && m.arriving+n > m.mostArriving {
		used := m.used.Add(-n)
		victim := m.victim(h)
		if victim == nil {
			return failed(http.StatusTooManyRequests, "the requests under way hold %d of %d bytes (--max-memory), and this "+
				"one needs %d more: ask again later", used, m.most, n)
		}
		m.cut(victim)
	}
	h.bytes += n
	if h.from == nil {
		return nil
	}
	h.from.bytes += n
	m.arriving += n
	for n > 2*mostBegun && m.arriving+m.leaving > m.mostArriving { // small ones need not wait until others are gone
		if m.left.Wait(); h.gaveWay {
			m.leaving -= n // it was not allocated
			h.leaving -= n
			m.left.Broadcast()
			return errGaveWay
		}
	}
	return nil
}

// victim is the oldest body of the peer whose bodies hold most, but for h; nil where there is none.
func (m *memory) victim(h *held) *held {
	var most *sender
	for _, p := range m.senders {
		if (p.first != h || p.count > 1) && (most == nil || p.bytes > most.bytes) {
			most = p
		}
	}
	switch {
	case most == nil:
		return nil
	case most.first == h:
		return h.younger
	}
	return most.first
}

var errGaveWay = failed(http.StatusRequestTimeout, "the body had not arrived when others needed its room: send it at "+
	"once, or fewer at a time")

// cut makes a body that arrives give way.
func (m *memory) cut(h *held) {
	m.remove(h)
	m.used.Add(-h.bytes)
	h.stop()
	m.leaving += h.bytes
	h.bytes, h.leaving, h.gaveWay = 0, h.bytes, true
	m.left.Broadcast()
}

// remove takes a body from those that arrive.
func (m *memory) remove(h *held) {
	p := h.from
	if h.older != nil {
		h.older.younger = h.younger
	} else {
		p.first = h.younger
	}
	if h.younger != nil {
		h.younger.older = h.older
	} else {
		p.last = h.older
	}
	h.from, h.older, h.younger = nil, nil, nil
	p.count--
	p.bytes -= h.bytes
	m.arriving -= h.bytes
	m.count--
	if p.count == 0 {
		delete(m.senders, p.address)
		*p = sender{}
		if len(m.spare) < 64 {
			m.spare = append(m.spare, p)
		}
	}
}

// arrived says that a body has arrived: it no longer gives way.
func (m *memory) arrived(h *held) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.gaveWay {
		return errGaveWay
	}
	if h.from != nil {
		m.remove(h)
	}
	h.stop = nil
	return nil
}

// late is the error of a body that took too long: another one where it gave way.
func (m *memory) late(h *held, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.gaveWay {
		return errGaveWay
	}
	return err
}

// release gives back n bytes, releaseAll everything.
func (m *memory) release(h *held, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h.gaveWay {
		return
	}
	h.bytes -= n
	m.used.Add(-n)
	if h.from != nil {
		h.from.bytes -= n
		m.arriving -= n
	}
}

func (m *memory) releaseAll(h *held) {
	if h.stop != nil { // its body may still arrive
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.from != nil {
			m.remove(h)
		}
		m.leaving -= h.leaving
		m.left.Broadcast()
	}
	m.used.Add(-h.bytes)
	*h = held{}
}

// state is the bytes that are held, and the number of bodies that arrive.
func (m *memory) state() (bytes int64, bodies int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used.Load(), m.count
}

// peerOf is who has an address: the address without its port, of IPv6 the network of 64 bits, which one client may have
// as a whole.
func peerOf(address string) netip.Addr {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{} // all that have none are one
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		a = netip.PrefixFrom(a, 64).Masked().Addr()
	}
	return a
}

// peers counts connections by who made them.
type peers struct {
	mu    sync.Mutex
	count map[netip.Addr]int
	all   int
}

// enter takes a place for a connection, where there is one.
func (p *peers) enter(who netip.Addr, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count[who] >= most || p.all >= 4*most {
		return false
	}
	if p.count == nil {
		p.count = map[netip.Addr]int{}
	}
	p.count[who]++
	p.all++
	return true
}

func (p *peers) leave(who netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.count[who]--; p.count[who] == 0 {
		delete(p.count, who)
	}
}

// bounded is a listener that closes connections beyond what a peer and all peers may have.
func (s *Server) bounded(l net.Listener) net.Listener { return &boundedListener{l, s} }

type boundedListener struct {
	net.Listener
	s *Server
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		who := peerOf(c.RemoteAddr().String())
		if l.s.peers.enter(who, l.s.options.MaxConnections) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { l.s.peers.leave(who) })}, nil
		}
		_ = c.Close()
	}
}

// boundedConn gives its place back when it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, as net/http does before it closes a connection of which not all was read.
func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
