package serving_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
)

// Tests in this file run by a clock of their own (testing/synctest): connections are pipes in memory.

// pipes is a listener whose connections are pipes.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// from is an end of a pipe that has an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr {
	a, err := net.ResolveTCPAddr("tcp", f.address)
	if err != nil {
		panic(err) // the test's own
	}
	return a
}

// dial connects as a client of an address.
func (p *pipes) dial(address string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accept <- from{server, address}:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// timed is a server in a bubble of testing/synctest.
type timed struct {
	*serving.Server
	pipes  *pipes
	client *http.Client
	body   string // of an inference request
	stop   func()
	done   chan error
}

// startTimed starts a server of one policy; data is its bundle, made outside of the bubble.
func startTimed(t *testing.T, data []byte, change func(*serving.Options)) *timed {
	t.Helper()
	o := serving.Defaults()
	o.Poll = 0
	change(&o)
	path := t.TempDir() + "/faasconf.stoker"
	write(t, path, data)
	set := must.Get(models.NewSet([]models.Spec{{Name: "faasconf", Path: path}}, models.Options{MaxBytes: 1 << 30,
		Open: func(data []byte) (models.Policy, error) { return policy.OpenBytes(data, policy.Options{}) }}))(t)
	s := must.Get(serving.New(set, nil, o))(t)
	p, all := seen(t, "faasconf")
	out := &timed{Server: s, pipes: newPipes(), body: `{"inputs":[` + vectors(p, all[0]) + `]}`, done: make(chan error, 1)}
	out.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return out.pipes.dial("192.0.2.1:1") }}}
	ctx, cancel := context.WithCancel(t.Context())
	out.stop = cancel
	go func() { out.done <- s.Run(ctx, serving.Listeners{HTTP: out.pipes}, nil) }()
	return out
}

// begin sends the head of a request and a part of its body.
func (s *timed) begin(t *testing.T, address string, length int, part string) net.Conn {
	t.Helper()
	c := must.Get(s.pipes.dial(address))(t)
	fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", faasconf, length, part)
	synctest.Wait()
	return c
}

// firstLine is the first line of what a connection answers.
func firstLine(t *testing.T, c net.Conn) string {
	t.Helper()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(line)
}

// A body that does not arrive gets 408, one that is too long 413 before it has arrived.
func TestSlowBody(t *testing.T) {
	data := bundleOf(t, "faasconf")
	synctest.Test(t, func(t *testing.T) {
		s := startTimed(t, data, func(*serving.Options) {})
		for length, want := range map[int]string{1000: "408 Request Timeout", 1 << 30: "413 Request Entity Too Large"} {
			begun := time.Now()
			c := s.begin(t, "192.0.2.1:1", length, "{")
			if got := firstLine(t, c); got != "HTTP/1.1 "+want {
				t.Errorf("%d bytes announced: %s, want %s", length, got, want)
			}
			if took := time.Since(begun); (took == 0) != (length == 1<<30) || took > 11*time.Second {
				t.Errorf("%d bytes announced: answered after %v", length, took)
			}
			c.Close()
		}
		s.stop()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
}

// A server that stops is not ready, ends what is under way, and says where that took too long.
func TestStop(t *testing.T) {
	data := bundleOf(t, "faasconf")
	for name, finish := range map[string]bool{"drained": true, "grace": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startTimed(t, data, func(o *serving.Options) {
					o.Linger, o.Grace, o.ReadTimeout = 10*time.Second, time.Minute, time.Hour
				})
				c := s.begin(t, "192.0.2.1:1", len(s.body), s.body[:1])
				s.stop()
				synctest.Wait()
				res, err := s.client.Get("http://localhost/v2/health/ready")
				if err != nil || res.StatusCode != http.StatusServiceUnavailable {
					t.Fatalf("ready while it stops: %v, %v", res, err)
				}
				res.Body.Close()
				time.Sleep(11 * time.Second)
				if res, err := s.client.Get("http://localhost/v2/health/ready"); err == nil {
					res.Body.Close()
					t.Error("it listens after its linger time")
				}
				if finish {
					fmt.Fprint(c, s.body[1:])
					if got := firstLine(t, c); got != "HTTP/1.1 200 OK" {
						t.Errorf("the request under way got %q", got)
					}
				}
				if err := <-s.done; finish && err != nil || !finish && !errors.Is(err, serving.ErrGrace) {
					t.Errorf("it ended with %v", err)
				}
				c.Close()
			})
		})
	}
}

// Clients on connections that are kept are answered also within the default linger time of a server that stops, and this
// answer says that their connection ends.
func TestStopKeepsClients(t *testing.T) {
	data := bundleOf(t, "faasconf")
	synctest.Test(t, func(t *testing.T) {
		s := startTimed(t, data, func(*serving.Options) {})
		stopped := make(chan struct{})
		var clients sync.WaitGroup
		for range 64 {
			c := must.Get(s.pipes.dial("192.0.2.1:1"))(t)
			clients.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				ask := func(ends bool) {
					fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", faasconf, len(s.body), s.body)
					if status, last, err := answered(in); err != nil || status != http.StatusOK || last != ends {
						t.Errorf("a client got %d, %v; its connection ends: %t, want %t", status, err, last, ends)
					}
				}
				ask(false)
				<-stopped
				ask(true)
			})
		}
		synctest.Wait()
		s.stop()
		synctest.Wait() // it lingers
		close(stopped)
		clients.Wait()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
}

// Bodies that stop half-way take no slots and no room from others: those of one peer beyond its bound, and those that
// hold room that others need, give way, the oldest first.
func TestWithheldBodies(t *testing.T) {
	data := bundleOf(t, "faasconf")
	const stranger, budget = "192.0.2.7:7", 2 << 20
	synctest.Test(t, func(t *testing.T) {
		s := startTimed(t, data, func(o *serving.Options) {
			o.MaxInFlight, o.MaxMemory, o.ReadTimeout = 8, budget, time.Hour
		})
		begun := time.Now()
		ask := func(want int) {
			t.Helper()
			res, err := s.client.Post("http://localhost"+faasconf+"/infer", "application/json", strings.NewReader(s.body))
			if err != nil || res.StatusCode != want {
				t.Fatalf("an honest request got %v, %v", res, err)
			}
			res.Body.Close()
		}
		var all []net.Conn
		withhold := func(address string, n, length int) {
			t.Helper()
			for range n {
				all = append(all, s.begin(t, address, length, ""))
				fmt.Fprint(all[len(all)-1], strings.Repeat(" ", length-1))
				synctest.Wait()
			}
		}
		withhold(stranger, 300, 1000) // more than one peer may
		ask(200)
		if got := firstLine(t, all[0]); got != "HTTP/1.1 408 Request Timeout" {
			t.Errorf("the oldest body got %s", got)
		}
		withhold("198.51.100.1:1", 20, 200_000) // more than the budget, in buffers of 256 KiB
		ask(200)
		withhold("192.0.2.1:1", 20, 200_000) // of the honest client's address
		ask(200)
		res, err := s.client.Get("http://localhost/metrics")
		must.Do(t, err)
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		held, bad := strconv.ParseFloat(between(string(text), "\nstoker_request_bytes ", "\n"), 64)
		if err != nil || bad != nil || held > budget || held < budget/2 {
			t.Errorf("requests hold %g bytes of %d: %v, %v", held, budget, err, bad)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("honest requests waited %v", took)
		}
		c := s.begin(t, stranger, 4<<20, strings.Repeat(" ", 1<<20))
		if got := firstLine(t, c); got != "HTTP/1.1 413 Request Entity Too Large" {
			t.Errorf("a body beyond the budget got %s", got)
		}
		for _, c := range append(all, c) {
			c.Close()
		}
		synctest.Wait()
		ask(200)
		s.stop()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
}
