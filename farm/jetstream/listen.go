//go:build farm

package jetstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/farm"
)

// Limits of the server: a worker that goes mad fills its own share, not the coordinator's memory.
const (
	maxMemory = 2 << 30  // bytes of units and results
	maxStore  = 64 << 30 // bytes of files
	maxConns  = 10_000
)

// ownMemory is the memory limit of a process that has the server, where GOMEMLIMIT is not set: without it a queue of 10⁶ units, of
// which 280 MB are alive, takes 750 MB. The limit is soft: a process that needs more gets it, and collects garbage more often.
const ownMemory = 470 << 20

// startTime is how long the server may take to start.
const startTime = 30 * time.Second

// Listen starts a NATS server and returns the farm as its coordinator has it, with the address for workers. With a cluster
// there is no such address.
func Listen(ctx context.Context, o ListenOptions) (farm.Farm, farm.Address, error) {
	if o.Cluster != nil {
		c, err := o.Cluster.listen(ctx, o)
		if err != nil {
			return nil, farm.Address{}, fmt.Errorf("listen on %s: %w", o.Cluster, err)
		}
		return c, farm.Address{}, nil
	}
	if o.Certificate == nil && !farm.Loopback(o.Address) {
		return nil, farm.Address{}, fmt.Errorf("listen on %s: it is not this machine's own address, and needs a certificate", o.Address)
	}
	host, text, err := net.SplitHostPort(o.Address)
	port, bad := strconv.Atoi(text)
	if err := errors.Join(err, bad); err != nil || len(o.Token) < 32 {
		return nil, farm.Address{}, fmt.Errorf("listen on %q: want HOST:PORT and a token (%w)", o.Address, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(ownMemory)
	}
	store, leave, err := durable.Scratch("", "stoker-farm-")
	if err != nil {
		return nil, farm.Address{}, err
	}
	so := &server.Options{
		ServerName: "stoker", Host: host, Port: port, Authorization: o.Token, NoSigs: true, NoLog: true, MaxConn: maxConns,
		JetStream: true, JetStreamMaxMemory: maxMemory, JetStreamMaxStore: maxStore, StoreDir: store, DisableJetStreamBanner: true,
	}
	a := farm.Address{}
	if o.Certificate != nil {
		so.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*o.Certificate}}
		so.TLSTimeout = 10
		a.Fingerprint = farm.Fingerprint(*o.Certificate)
	}
	c, err := start(ctx, so, o)
	if err != nil {
		return nil, a, errors.Join(fmt.Errorf("listen on %s: %w", o.Address, err), leave())
	}
	c.leave = leave
	a.Host = c.server.Addr().String()
	return c, a, nil
}

// start starts the server, and makes what a farm needs there.
func start(ctx context.Context, so *server.Options, o ListenOptions) (*conn, error) {
	// The server would end the process where it can't have its port.
	l, err := net.Listen("tcp", net.JoinHostPort(so.Host, strconv.Itoa(max(so.Port, 0))))
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	s, err := server.NewServer(so)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, errors.New("the NATS server did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Token(o.Token), nats.Name("coordinator"), nats.MaxReconnects(-1))
	if err != nil {
		s.Shutdown()
		return nil, err
	}
	c := &conn{nc: nc, name: plain, server: s, over: make(chan struct{}), patience: election,
		stopped: func() bool { return ctx.Err() != nil }}
	if err := c.make(ctx, o); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// stop ends the server. Workers are told, and get a moment to leave; where the coordinator was stopped, they wait for the next.
// On a cluster the study then stays as it is.
func (c *conn) stop() (err error) {
	end := time.Now()
	if !c.stopped() {
		err = errors.Join(c.nc.Publish(c.name+endSubject, nil), c.nc.Flush())
		end = end.Add(goodbye)
	}
	if c.server == nil {
		if !c.stopped() {
			err = errors.Join(err, c.clear(context.Background()))
		}
		c.nc.Close()
		return err
	}
	for c.server.NumClients() > 1 && time.Now().Before(end) {
		time.Sleep(goodbye / 100)
	}
	c.nc.Close()
	c.server.Shutdown()
	c.server.WaitForShutdown()
	if c.leave == nil { // it is just being made
		return err
	}
	return errors.Join(err, c.leave())
}

// goodbye is how long the coordinator waits for workers to leave.
const goodbye = time.Second
