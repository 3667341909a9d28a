//go:build farm

package jetstream

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-rl/stoker/farm"
)

// Names in JetStream, behind that of the study.
const (
	unitStream = "-units"
	consumer   = "workers"
	results    = "-results" // KEY: a unit's first result
	state      = "-state"   // study; lease.KEY: the workers that have it or vanished with it; fault.KEY: two results
	told       = "-told"    // what workers do
	files      = "-files"   // KEY/HASH

	unitSubject  = ".units"
	endSubject   = ".ended"
	claimSubject = ".coordinator" // answered by the study's coordinator
)

const (
	toldTime = 30 * time.Second       // after which a silent worker is not listed
	poll     = time.Second            // how long a request for a unit waits
	pause    = 500 * time.Millisecond // between attempts while the coordinator is away
	// election is how long a coordinator waits for a cluster that has lost servers, or for its own server where the process stood still.
	election = 2 * time.Minute
	// together is the most units on their way to the queue at a time.
	together = 1000
)

// conn is the farm, of the coordinator or of a worker.
type conn struct {
	nc       *nats.Conn
	name     string // of the study
	units    js.Consumer
	stream   js.JetStream
	results  js.KeyValue
	state    js.KeyValue
	told     js.KeyValue
	files    js.ObjectStore
	over     chan struct{} // closed when the study has ended
	once     sync.Once
	patience time.Duration

	// Of the coordinator alone.
	server        *server.Server
	leave         func() error // removes the server's folder
	stopped       func() bool
	given         sync.Map // keys of the results that Result has given
	first, faults js.KeyWatcher
	kept          sync.Map // keys of results that an earlier coordinator has not taken, until they are submitted
}

// bind finds the streams and buckets that make made.
func (c *conn) bind(ctx context.Context) (err error) {
	if c.units, err = c.stream.Consumer(ctx, c.name+unitStream, consumer); err != nil {
		return err
	}
	for name, kv := range map[string]*js.KeyValue{results: &c.results, state: &c.state, told: &c.told} {
		if *kv, err = c.stream.KeyValue(ctx, c.name+name); err != nil {
			return err
		}
	}
	c.files, err = c.stream.ObjectStore(ctx, c.name+files)
	return err
}

// Join connects a worker to a coordinator, and says of which study.
func Join(ctx context.Context, o JoinOptions) (farm.Farm, Study, error) {
	c, s := &conn{name: plain, over: make(chan struct{}), patience: o.Patience}, Study{}
	at, connect := o.Address.Host, func() (*nats.Conn, error) {
		options := []nats.Option{nats.Token(o.Token), nats.MaxReconnects(-1), nats.ReconnectWait(pause), nats.Name("worker")}
		scheme := "nats://"
		if t := o.Address.TLS(); t != nil {
			options, scheme = append(options, nats.Secure(t)), "tls://"
		}
		return nats.Connect(scheme+o.Address.Host, options...)
	}
	if o.Cluster != nil {
		c.name, at, connect = o.Cluster.Name, o.Cluster.String(), func() (*nats.Conn, error) { return o.Cluster.dial("worker") }
	}
	err := c.again(ctx, func() (err error) {
		if c.nc == nil {
			if c.nc, err = connect(); err != nil {
				c.nc = nil
				return fmt.Errorf("join %s: %w", at, err)
			}
		}
		if c.stream, err = js.New(c.nc, js.WithPublishAsyncTimeout(silence)); err != nil {
			return err
		}
		if err := c.bind(ctx); err != nil {
			return fmt.Errorf("join %s: %w", at, err)
		}
		e, err := c.state.Get(ctx, "study")
		if err != nil {
			return fmt.Errorf("join %s: no study: %w", at, err)
		}
		return json.Unmarshal(e.Value(), &s)
	})
	if err == nil {
		_, err = c.nc.Subscribe(c.name+endSubject, func(*nats.Msg) { c.once.Do(func() { close(c.over) }) })
	}
	if err != nil {
		if c.nc != nil {
			c.nc.Close()
		}
		return nil, s, err
	}
	return c, s, nil
}

// again tries until it succeeds, ctx ends, or patience does. The coordinator may be away and come again, and a cluster may
// choose new leaders.
func (c *conn) again(ctx context.Context, try func() error) error {
	began := time.Now()
	for {
		err := try()
		if err == nil || ctx.Err() != nil || lasting(err) || time.Since(began) > c.patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-c.over:
			return farm.ErrEnded
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// lasting reports whether an error will be the same at the next attempt: what is wrong with the token or the certificate,
// files that are gone, a NATS without JetStream.
func lasting(err error) bool {
	var stranger *tls.CertificateVerificationError
	return errors.Is(err, nats.ErrAuthorization) || errors.As(err, &stranger) || errors.Is(err, js.ErrObjectNotFound) ||
		errors.Is(err, js.ErrJetStreamNotEnabled) || errors.Is(err, js.ErrJetStreamNotEnabledForAccount)
}

func (c *conn) Submit(ctx context.Context, tasks ...farm.Task) error {
	for part := range slices.Chunk(tasks, together) {
		var messages [][]byte
		for _, t := range part {
			k := t.Unit.Key()
			if _, ok := c.kept.LoadAndDelete(k); ok {
				continue
			}
			if _, ok := c.given.LoadAndDelete(k); ok { // it is to be carried out anew
				if err := c.again(ctx, func() error { return c.results.Purge(ctx, string(k)) }); err != nil {
					return err
				}
			}
			b, err := json.Marshal(task{Task: t})
			if err != nil {
				return err
			}
			messages = append(messages, b)
		}
		if err := c.queue(ctx, messages); err != nil {
			return err
		}
	}
	return nil
}

// queue publishes units, of which many are on their way at a time, and those again that the server did not confirm.
func (c *conn) queue(ctx context.Context, messages [][]byte) error {
	return c.again(ctx, func() (err error) {
		asked := make([]js.PubAckFuture, len(messages))
		for i, b := range messages {
			if asked[i], err = c.stream.PublishAsync(c.name+unitSubject, b); err != nil {
				return err
			}
		}
		left := messages[:0]
		for i, a := range asked {
			select {
			case <-a.Ok():
			case failed := <-a.Err():
				left, err = append(left, messages[i]), failed
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		messages = left
		return err
	})
}

func (c *conn) Result(ctx context.Context) (r farm.Result, err error) {
	for {
		select {
		case e := <-c.faults.Updates():
			if e == nil { // what was there before is told
				continue
			}
			var differ farm.Conflict
			if err := json.Unmarshal(e.Value(), &differ); err != nil {
				return r, err
			}
			return r, &differ
		case e := <-c.first.Updates():
			if e == nil {
				continue
			}
			got, err := farm.ParseResult(e.Value())
			if err != nil {
				return r, fmt.Errorf("unit %.12s: %w", e.Key(), err)
			}
			c.given.Store(got.Key, true)
			return *got, nil
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
}

func (c *conn) Tell(ctx context.Context, s farm.Standing) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = c.told.Put(ctx, string(farm.HashOf([]byte(s.Worker))), b)
	return err
}

func (c *conn) Told(ctx context.Context) (out []farm.Standing, err error) {
	ctx, cancel := context.WithTimeout(ctx, toldTime/6) // a cluster may be choosing a leader
	defer cancel()
	w, err := c.told.WatchAll(ctx, js.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer w.Stop() //nolint:errcheck // what was there is told
	for {
		select {
		case e := <-w.Updates():
			if e == nil { // all that was there is told
				return out, ctx.Err()
			}
			var s farm.Standing
			if err := json.Unmarshal(e.Value(), &s); err != nil {
				return nil, err
			}
			out = append(out, s)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *conn) Close() error {
	if c.first != nil {
		return c.stop()
	}
	return c.nc.Drain()
}
