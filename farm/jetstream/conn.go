//go:build farm

package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-rl/stoker/farm"
)

// Names in JetStream.
const (
	unitStream  = "stoker-units"
	unitSubject = "stoker.units"
	endSubject  = "stoker.ended"
	consumer    = "workers"
	results     = "stoker-results" // KEY: a unit's first result
	state       = "stoker-state"   // study; lease.KEY: the workers that have it or vanished with it; fault.KEY: two results
	told        = "stoker-told"    // what workers do
	files       = "stoker-files"   // KEY/HASH
)

const (
	toldTime = 30 * time.Second       // after which a silent worker is not listed
	poll     = time.Second            // how long a request for a unit waits
	pause    = 500 * time.Millisecond // between attempts while the coordinator is away
)

// conn is the farm, of the coordinator or of a worker.
type conn struct {
	nc       *nats.Conn
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
	store         string
	stopped       func() bool
	given         sync.Map // keys of the results that Result has given
	first, faults js.KeyWatcher
}

// make makes streams and buckets, and watches for results.
func (c *conn) make(ctx context.Context, o ListenOptions) (err error) {
	if c.stream, err = js.New(c.nc); err != nil {
		return err
	}
	lease := o.Lease
	if lease == 0 {
		lease = farm.LeaseTime
	}
	if _, err = c.stream.CreateOrUpdateStream(ctx, js.StreamConfig{Name: unitStream, Subjects: []string{unitSubject},
		Retention: js.WorkQueuePolicy, Storage: js.MemoryStorage}); err != nil {
		return err
	}
	if _, err = c.stream.CreateOrUpdateConsumer(ctx, unitStream, js.ConsumerConfig{Durable: consumer, AckPolicy: js.AckExplicitPolicy,
		AckWait: lease, MaxAckPending: -1}); err != nil {
		return err
	}
	for _, kv := range []js.KeyValueConfig{{Bucket: results}, {Bucket: state}, {Bucket: told, TTL: toldTime}} {
		kv.Storage = js.MemoryStorage
		if _, err = c.stream.CreateOrUpdateKeyValue(ctx, kv); err != nil {
			return err
		}
	}
	if _, err = c.stream.CreateOrUpdateObjectStore(ctx, js.ObjectStoreConfig{Bucket: files, Storage: js.FileStorage}); err != nil {
		return err
	}
	if err := c.bind(ctx); err != nil {
		return err
	}
	if c.first, err = c.results.WatchAll(context.WithoutCancel(ctx), js.IgnoreDeletes()); err != nil {
		return err
	}
	if c.faults, err = c.state.Watch(context.WithoutCancel(ctx), "fault.*", js.IgnoreDeletes()); err != nil {
		return err
	}
	study, err := json.Marshal(o.Study)
	if err != nil {
		return err
	}
	_, err = c.state.Put(ctx, "study", study)
	return err
}

// bind finds the streams and buckets that make made.
func (c *conn) bind(ctx context.Context) (err error) {
	if c.units, err = c.stream.Consumer(ctx, unitStream, consumer); err != nil {
		return err
	}
	for name, kv := range map[string]*js.KeyValue{results: &c.results, state: &c.state, told: &c.told} {
		if *kv, err = c.stream.KeyValue(ctx, name); err != nil {
			return err
		}
	}
	c.files, err = c.stream.ObjectStore(ctx, files)
	return err
}

// Join connects a worker to a coordinator, and says of which study.
func Join(ctx context.Context, o JoinOptions) (farm.Farm, Study, error) {
	c, s := &conn{over: make(chan struct{}), patience: o.Patience}, Study{}
	options := []nats.Option{nats.Token(o.Token), nats.MaxReconnects(-1), nats.ReconnectWait(pause), nats.Name("worker")}
	scheme := "nats://"
	if t := o.Address.TLS(); t != nil {
		options, scheme = append(options, nats.Secure(t)), "tls://"
	}
	err := c.again(ctx, func() (err error) {
		if c.nc == nil {
			if c.nc, err = nats.Connect(scheme+o.Address.Host, options...); err != nil {
				c.nc = nil
				return fmt.Errorf("join %s: %w", o.Address.Host, err)
			}
		}
		if c.stream, err = js.New(c.nc); err != nil {
			return err
		}
		if err := c.bind(ctx); err != nil {
			return fmt.Errorf("join %s: %w", o.Address.Host, err)
		}
		e, err := c.state.Get(ctx, "study")
		if err != nil {
			return fmt.Errorf("join %s: no study: %w", o.Address.Host, err)
		}
		return json.Unmarshal(e.Value(), &s)
	})
	if err == nil {
		_, err = c.nc.Subscribe(endSubject, func(*nats.Msg) { c.once.Do(func() { close(c.over) }) })
	}
	if err != nil {
		if c.nc != nil {
			c.nc.Close()
		}
		return nil, s, err
	}
	return c, s, nil
}

// again tries until it succeeds, ctx ends, or patience does. The coordinator may be away and come again. What is wrong with
// the token or the certificate will not change.
func (c *conn) again(ctx context.Context, try func() error) error {
	began := time.Now()
	for {
		err := try()
		if err == nil || ctx.Err() != nil || errors.Is(err, nats.ErrAuthorization) || time.Since(began) > c.patience {
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

func (c *conn) Submit(ctx context.Context, t farm.Task) error {
	b, err := json.Marshal(task{Task: t})
	if err != nil {
		return err
	}
	if _, ok := c.given.LoadAndDelete(t.Unit.Key()); ok {
		if err := c.results.Purge(ctx, string(t.Unit.Key())); err != nil {
			return err
		}
	}
	_, err = c.stream.Publish(ctx, unitSubject, b)
	return err
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

func (c *conn) Put(ctx context.Context, k farm.Key, f farm.File, r io.Reader) error {
	name := object(k, f)
	if info, err := c.files.GetInfo(ctx, name); err == nil && info.Size == uint64(f.Size) {
		return nil
	}
	_, err := c.files.Put(ctx, js.ObjectMeta{Name: name}, r)
	return err
}

func (c *conn) Get(ctx context.Context, k farm.Key, f farm.File) (io.ReadCloser, error) {
	r, err := c.files.Get(ctx, object(k, f))
	if errors.Is(err, js.ErrObjectNotFound) {
		err = farm.ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("file %s of unit %.12s: %w", f.Name, k, err)
	}
	return r, nil
}

func (c *conn) Drop(ctx context.Context, k farm.Key, list []farm.File) error {
	for _, f := range list {
		if err := c.files.Delete(ctx, object(k, f)); err != nil && !errors.Is(err, js.ErrObjectNotFound) {
			return err
		}
	}
	return nil
}

// object names a file by its unit too: units that leave equal files drop their own.
func object(k farm.Key, f farm.File) string { return string(k) + "/" + string(f.Hash) }

func (c *conn) Tell(ctx context.Context, s farm.Standing) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = c.told.Put(ctx, string(farm.HashOf([]byte(s.Worker))), b)
	return err
}

func (c *conn) Told(ctx context.Context) (out []farm.Standing, err error) {
	w, err := c.told.WatchAll(ctx, js.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	for e := range w.Updates() {
		if e == nil { // all that was there is told
			break
		}
		var s farm.Standing
		if err := json.Unmarshal(e.Value(), &s); err != nil {
			return nil, errors.Join(err, w.Stop())
		}
		out = append(out, s)
	}
	return out, w.Stop()
}

func (c *conn) Close() error {
	if c.server != nil {
		return c.stop()
	}
	return c.nc.Drain()
}
