//go:build farm

package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-rl/stoker/farm"
)

// task is a unit's message.
type task struct {
	farm.Task
	// Vanished are workers that vanished before the unit was handed back.
	Vanished []string `json:"vanished,omitempty"`
}

// leased is a lease's handle.
type leased struct {
	msg      js.Msg
	vanished []string
	worker   string
}

func (c *conn) Lease(ctx context.Context, worker string) (*farm.Lease, error) {
	var away time.Time
	for {
		select {
		case <-c.over:
			return nil, farm.ErrEnded
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		default:
		}
		msg, err := c.units.Next(js.FetchMaxWait(poll))
		switch {
		case err == nil:
			l, err := c.lease(ctx, msg, worker)
			if l != nil || err != nil {
				return l, err
			}
			away = time.Time{}
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, js.ErrNoMessages):
			away = time.Time{}
		default: // the coordinator is away, or has just come again and has no queue yet
			if away.IsZero() {
				away = time.Now()
			}
			if time.Since(away) > c.patience {
				select {
				case <-c.over:
					return nil, farm.ErrEnded
				default:
				}
				return nil, fmt.Errorf("the coordinator is away for %v: %w", c.patience, err)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			case <-c.over:
			}
		}
	}
}

// lease makes a lease of a message; nil where the unit is put aside or damaged.
func (c *conn) lease(ctx context.Context, msg js.Msg, worker string) (*farm.Lease, error) {
	var t task
	if err := json.Unmarshal(msg.Data(), &t); err != nil || t.Unit.Check() != nil || farm.CheckFiles(t.Kept) != nil {
		return nil, msg.Term() // the coordinator checks what it submits: this is somebody else's
	}
	l := farm.NewLease(t.Task, nil)
	at := "lease." + string(l.Key)
	h := &leased{msg: msg, vanished: t.Vanished, worker: worker}
	if m, err := msg.Metadata(); err == nil && m.NumDelivered > 1 {
		err := c.again(ctx, func() error {
			e, err := c.state.Get(ctx, at)
			switch {
			case errors.Is(err, js.ErrKeyNotFound):
				return nil
			case err != nil:
				return err
			}
			return json.Unmarshal(e.Value(), &h.vanished)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(h.vanished) >= farm.MaxVanished {
		l.SetHandle(h)
		return nil, c.Done(ctx, l, farm.PutAside(&t.Unit, h.vanished))
	}
	b, err := json.Marshal(append(slices.Clone(h.vanished), worker))
	if err != nil {
		return nil, err
	}
	if err := c.again(ctx, func() error { _, err := c.state.Put(ctx, at, b); return err }); err != nil {
		return nil, err
	}
	l.SetHandle(h)
	return l, nil
}

func (c *conn) Extend(l *farm.Lease) error { return l.Handle().(*leased).msg.InProgress() }

func (c *conn) Return(ctx context.Context, l *farm.Lease, kept []farm.File) error {
	h := l.Handle().(*leased)
	t := task{l.Task, h.vanished}
	t.Kept = kept
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	// In this order the unit may be there twice, and is never lost.
	if err := c.again(ctx, func() error { _, err := c.stream.Publish(ctx, c.name+unitSubject, b); return err }); err != nil {
		return err
	}
	return h.ack(ctx)
}

func (c *conn) Done(ctx context.Context, l *farm.Lease, r farm.Result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = c.again(ctx, func() error {
		_, err := c.results.Create(ctx, string(r.Key), b)
		if errors.Is(err, js.ErrKeyExists) {
			return c.compare(ctx, r)
		}
		return err
	})
	if err != nil {
		return err
	}
	// The message may be another coordinator's, or another worker's by now: the result counts all the same.
	_ = l.Handle().(*leased).ack(ctx)
	return nil
}

// ack acknowledges the unit's message, and waits a little for the answer: without it the unit is carried out twice.
func (h *leased) ack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	return h.msg.DoubleAck(ctx)
}

// compare compares a second result with the first, and reports a conflict to the coordinator.
func (c *conn) compare(ctx context.Context, r farm.Result) error {
	e, err := c.results.Get(ctx, string(r.Key))
	if err != nil {
		return err
	}
	first, err := farm.ParseResult(e.Value())
	if err != nil {
		return err
	}
	differ := &farm.Conflict{}
	if err := farm.Same(*first, r); !errors.As(err, &differ) {
		return err
	}
	b, err := json.Marshal(differ)
	if err != nil {
		return err
	}
	_, err = c.state.Put(ctx, "fault."+string(r.Key), b)
	return err
}
