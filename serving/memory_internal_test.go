package serving

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// However requests come, grow, arrive and leave, what is held is their sum, never more than the budget, and nothing in
// the end; no peer has more bodies than its bound.
func TestMemory(t *testing.T) {
	const most, perPeer = 1 << 20, 5
	m := newMemory(most, perPeer)
	draw := rand.New(rand.NewPCG(1, 2))
	var all []*held
	cut, busy := 0, 0
	for range 20_000 {
		switch n := draw.IntN(10); {
		case n < 4 || len(all) == 0:
			h := &held{}
			_ = m.begin(h, fmt.Sprintf("192.0.2.%d:%d", draw.IntN(9), n), 4096, func() {})
			all = append(all, h)
		case n < 7:
			if h := all[draw.IntN(len(all))]; m.hold(h, draw.Int64N(2*mostBegun)) != nil && !h.gaveWay {
				busy++
			}
		case n < 8:
			_ = m.arrived(all[draw.IntN(len(all))])
		default:
			i := draw.IntN(len(all))
			if all[i].gaveWay {
				cut++
			}
			m.releaseAll(all[i])
			all = append(all[:i], all[i+1:]...)
		}
		sum, arriving, bodies := int64(0), int64(0), 0
		for _, h := range all {
			if sum += h.bytes; h.from != nil {
				arriving += h.bytes
				bodies++
			}
		}
		for _, s := range m.senders {
			bytes, count := int64(0), 0
			for h := s.first; h != nil; h = h.younger {
				bytes, count = bytes+h.bytes, count+1
			}
			if count != s.count || bytes != s.bytes || count > perPeer || count == 0 {
				t.Fatalf("a peer has %d bodies with %d bytes, counted are %d with %d", count, bytes, s.count, s.bytes)
			}
		}
		if arriving != m.arriving || arriving > most/4*3 {
			t.Fatalf("%d bytes of bodies that arrive are counted, %d are held, of %d", m.arriving, arriving, most)
		}
		if used, count := m.state(); used != sum || used > most || count != bodies {
			t.Fatalf("%d bytes and %d bodies are counted, %d and %d are held", used, count, sum, bodies)
		}
	}
	for _, h := range all {
		m.releaseAll(h)
	}
	if used, count := m.state(); used != 0 || count != 0 || len(m.senders) != 0 || cut == 0 || busy == 0 {
		t.Errorf("%d bytes of %d bodies are left; %d gave way, %d were refused", used, count, cut, busy)
	}
}

// One client may have a network of IPv6 as a whole.
func TestPeerOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::", "[2001:db8:1:2::9]:80": "2001:db8:1:2::",
		"[::ffff:192.0.2.1]:80": "192.0.2.1", "@": "invalid IP", "": "invalid IP",
	} {
		if got := peerOf(address).String(); got != want {
			t.Errorf("%s is of %s, want %s", address, got, want)
		}
	}
}

// Few bytes can describe much: they count as what they may become.
func TestMeasuredBytes(t *testing.T) {
	if n := measuredBytes([]byte(strings.Repeat("{},", 1000))); n < 400*1000 {
		t.Errorf("1,000 empty objects count %d bytes", n)
	}
}

func BenchmarkMemory(b *testing.B) {
	m := newMemory(1<<20, 100)
	w := func() {}
	var h held
	b.ReportAllocs()
	for b.Loop() {
		_ = m.begin(&h, "192.0.2.1:80", 4096, w)
		_ = m.arrived(&h)
		_ = m.hold(&h, 4096)
		m.releaseAll(&h)
	}
}
