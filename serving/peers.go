package serving

import (
	"net"
	"net/netip"
	"sync"
)

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
