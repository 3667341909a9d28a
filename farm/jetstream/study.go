//go:build farm

package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-rl/stoker/farm"
)

// dial connects to the cluster.
func (l *Cluster) dial(name string) (*nats.Conn, error) {
	options := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(pause), nats.Name(name)}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	if l.Cert != "" {
		options = append(options, nats.ClientCert(l.Cert, l.Key))
	}
	if l.Creds != "" {
		options = append(options, nats.UserCredentials(l.Creds))
	}
	if l.NKey != "" {
		o, err := nats.NkeyOptionFromSeed(l.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey %s: %w", l.NKey, err)
		}
		options = append(options, o)
	}
	nc, err := nats.Connect(strings.Join(l.Servers, ","), options...)
	if errors.Is(err, nats.ErrAuthorization) {
		for _, f := range l.Files() {
			if f.Flag != "nats-ca" {
				err = fmt.Errorf("%w: the cluster does not know --%s %s", err, f.Flag, f.Path)
				break
			}
		}
	}
	return nc, err
}

// listen makes a study on the cluster.
func (l *Cluster) listen(ctx context.Context, o ListenOptions) (*conn, error) {
	nc, err := l.dial("coordinator")
	if err != nil {
		return nil, err
	}
	c := &conn{nc: nc, name: l.Name, over: make(chan struct{}), patience: election, stopped: func() bool { return ctx.Err() != nil }}
	if err := c.claim("want another name, as in HOST:PORT/rates"); err != nil {
		nc.Close()
		return nil, err
	}
	if err := c.make(ctx, o); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// claim refuses a study that another coordinator has, with what to do then, and answers for this one from now on.
func (c *conn) claim(instead string) error {
	other, err := c.nc.Request(c.name+claimSubject, nil, poll)
	if errors.Is(err, nats.ErrTimeout) { // the server may not yet know that a coordinator is gone
		other, err = c.nc.Request(c.name+claimSubject, nil, poll)
	}
	switch {
	case err == nil:
		return fmt.Errorf("the coordinator %.200q has a study of the name %s there: %s", other.Data, c.name, instead)
	case !errors.Is(err, nats.ErrNoResponders):
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	me := fmt.Sprintf("%s, process %d", host, os.Getpid())
	_, err = c.nc.Subscribe(c.name+claimSubject, func(m *nats.Msg) { _ = m.Respond([]byte(me)) }) // who asks asks again
	return err
}

// alone is NATS's number of the error that a server by itself has no replicas.
const alone = 10074

// make makes streams and buckets, and watches for results. What an earlier coordinator left of its queue goes.
func (c *conn) make(ctx context.Context, o ListenOptions) (err error) {
	if c.stream, err = js.New(c.nc, js.WithPublishAsyncTimeout(silence)); err != nil {
		return err
	}
	storage, replicas, lease := js.MemoryStorage, 1, o.Lease
	if o.Cluster != nil {
		storage, replicas = js.FileStorage, 3
	}
	if lease == 0 {
		lease = farm.LeaseTime
	}
	err = c.again(ctx, func() error {
		_, err := c.stream.AccountInfo(ctx)
		return err
	})
	if err == nil {
		err = c.forget(ctx, c.name+unitStream, "KV_"+c.name+state)
	}
	if err != nil {
		return err
	}
	units := js.StreamConfig{Name: c.name + unitStream, Subjects: []string{c.name + unitSubject}, Retention: js.WorkQueuePolicy,
		Storage: storage, Replicas: replicas}
	_, err = c.stream.CreateOrUpdateStream(ctx, units)
	if failed := (*js.APIError)(nil); errors.As(err, &failed) && failed.ErrorCode == alone {
		units.Replicas, replicas = 1, 1
		_, err = c.stream.CreateOrUpdateStream(ctx, units)
	}
	if err != nil {
		return fmt.Errorf("making the queue of units, %d times: %w", replicas, err)
	}
	if _, err = c.stream.CreateOrUpdateConsumer(ctx, units.Name, js.ConsumerConfig{Durable: consumer, AckPolicy: js.AckExplicitPolicy,
		AckWait: lease, MaxAckPending: -1}); err != nil {
		return err
	}
	for _, kv := range []js.KeyValueConfig{{Bucket: results}, {Bucket: state}, {Bucket: told, TTL: toldTime}} {
		kv.Bucket, kv.Storage, kv.Replicas = c.name+kv.Bucket, storage, replicas
		if _, err = c.stream.CreateOrUpdateKeyValue(ctx, kv); err != nil {
			return err
		}
	}
	if _, err = c.stream.CreateOrUpdateObjectStore(ctx, js.ObjectStoreConfig{Bucket: c.name + files, Storage: js.FileStorage,
		Replicas: replicas}); err != nil {
		return err
	}
	if err := errors.Join(c.bind(ctx), c.keep(ctx)); err != nil {
		return err
	}
	if c.faults, err = c.state.Watch(context.WithoutCancel(ctx), "fault.*", js.IgnoreDeletes()); err != nil {
		return err
	}
	study, err := json.Marshal(o.Study)
	if err != nil {
		return err
	}
	if _, err = c.state.Put(ctx, "study", study); err != nil {
		return err
	}
	c.first, err = c.results.WatchAll(context.WithoutCancel(ctx), js.IgnoreDeletes())
	return err
}

// keep finds results that came while there was no coordinator. Those that were taken have lost their files; they go, and so
// do failures, which are tried again.
func (c *conn) keep(ctx context.Context) error {
	there := map[string]bool{}
	list, err := c.files.List(ctx)
	if err != nil && !errors.Is(err, js.ErrNoObjectsFound) {
		return err
	}
	for _, f := range list {
		there[f.Name] = true
	}
	keys, err := c.results.ListKeys(ctx)
	if err != nil {
		return err
	}
	for key := range keys.Keys() {
		e, err := c.results.Get(ctx, key)
		if err != nil {
			return err
		}
		r, err := farm.ParseResult(e.Value())
		if err != nil || r.Error != "" || slices.ContainsFunc(farm.Stored(append(r.Files, r.Beside...)), func(f farm.File) bool {
			return !there[object(r.Key, f)]
		}) {
			if err := c.results.Purge(ctx, key); err != nil {
				return err
			}
			continue
		}
		c.kept.Store(r.Key, true)
	}
	return nil
}

// Forget removes from a cluster what the coordinator of a study left there. It is refused while that coordinator answers.
func Forget(ctx context.Context, l *Cluster) error {
	nc, err := l.dial("forget")
	if err != nil {
		return err
	}
	defer nc.Close()
	c := &conn{nc: nc, name: l.Name}
	if err := c.claim("stop it first"); err != nil {
		return err
	}
	if c.stream, err = js.New(nc, js.WithPublishAsyncTimeout(silence)); err != nil {
		return err
	}
	return c.clear(ctx)
}

// clear removes the study from the cluster.
func (c *conn) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, election/4)
	defer cancel()
	return c.forget(ctx, c.name+unitStream, "KV_"+c.name+results, "KV_"+c.name+state, "KV_"+c.name+told, "OBJ_"+c.name+files)
}

// forget removes streams that are there.
func (c *conn) forget(ctx context.Context, streams ...string) error {
	for _, s := range streams {
		if err := c.stream.DeleteStream(ctx, s); err != nil && !errors.Is(err, js.ErrStreamNotFound) {
			return err
		}
	}
	return nil
}
