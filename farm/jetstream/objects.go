//go:build farm

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-rl/stoker/farm"
)

const (
	// slowest is the least rate at which a file is moved, in bytes a second, after a time in which nothing may come. A request
	// that a server took with it is not answered: the next attempt is made when that time is over.
	slowest = 1 << 20
	silence = 5 * time.Second
	// attempts is how often a file is asked for whose reading fails.
	attempts = 5
)

// moving bounds the time that moving a file takes: without bounds of the caller NATS has one of five seconds.
func moving(ctx context.Context, size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, silence+time.Duration(size/slowest)*time.Second)
}

// object names a file by its unit too: units that leave equal files drop their own.
func object(k farm.Key, f farm.File) string { return string(k) + "/" + string(f.Hash) }

func (c *conn) Put(ctx context.Context, k farm.Key, f farm.File, r io.Reader) error {
	name := object(k, f)
	again, seeks := r.(io.Seeker)
	return c.again(ctx, func() error {
		if info, err := c.files.GetInfo(ctx, name); err == nil && info.Size == uint64(f.Size) {
			return nil
		}
		if seeks {
			if _, err := again.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		ctx, cancel := moving(ctx, f.Size)
		defer cancel()
		_, err := c.files.Put(ctx, js.ObjectMeta{Name: name}, r)
		return err
	})
}

func (c *conn) Get(ctx context.Context, k farm.Key, f farm.File) (io.ReadCloser, error) {
	r := &reader{conn: c, ctx: ctx, name: object(k, f), size: f.Size}
	err := r.open()
	if errors.Is(err, js.ErrObjectNotFound) {
		err = farm.ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("file %s of unit %.12s: %w", f.Name, k, err)
	}
	return r, nil
}

// reader reads a file, and goes on after a server is lost.
type reader struct {
	conn     *conn
	ctx      context.Context
	name     string
	size, at int64
	opened   int
	from     io.ReadCloser
	cancel   context.CancelFunc
}

// open asks for the file, and skips what was read.
func (r *reader) open() error {
	r.opened++
	return r.conn.again(r.ctx, func() error {
		ctx, cancel := moving(r.ctx, r.size)
		from, err := r.conn.files.Get(ctx, r.name)
		if err == nil {
			_, err = io.CopyN(io.Discard, from, r.at)
		}
		if err != nil {
			cancel()
			return err
		}
		r.from, r.cancel = from, cancel
		return nil
	})
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.at += int64(n)
	if err == nil || errors.Is(err, io.EOF) || r.conn.patience == 0 || r.opened == attempts {
		return n, err
	}
	_ = r.Close() // it has failed
	return n, r.open()
}

func (r *reader) Close() error {
	err := r.from.Close()
	r.cancel()
	return err
}

func (c *conn) Drop(ctx context.Context, k farm.Key, list []farm.File) error {
	for _, f := range farm.Stored(list) {
		err := c.again(ctx, func() error { return c.files.Delete(ctx, object(k, f)) })
		if err != nil && !errors.Is(err, js.ErrObjectNotFound) {
			return err
		}
	}
	return nil
}
