// Package serving serves policies over the Open Inference Protocol, version 2: its HTTP form in JSON and with binary
// tensors, and its gRPC form. [Server] holds what both share: which model, how many at once, how long, who may ask,
// what is counted and logged. How a request's tensors become an observation is package tensors', which files are served
// is package models', and how a decision is made is package policy's.
//
// Other ways to ask, such as an external scaler or an extender of a scheduler, are packages beside inference: they make
// an observation and call [Server.Decide].
package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/serving/models"
)

// ErrGrace is the error of a server whose requests did not end within Options.Grace.
var ErrGrace = errors.New("requests were still under way when the grace time ran out")

// Server serves a set of models over HTTP and gRPC.
type Server struct {
	set      *models.Set
	options  Options
	security *Security // nil where there is none
	metrics  *metrics
	health   *health.Server
	free     sync.Pool // of *work
	memory   *memory
	inFlight atomic.Int64
	stopping atomic.Bool
	peers    peers
}

// New returns a server of models. security may be nil: then it may be bound to loopback alone, see [Listen].
func New(set *models.Set, security *Security, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{set: set, options: o, security: security, health: health.NewServer(),
		memory: newMemory(o.MaxMemory, o.MaxArriving)}
	s.metrics = newMetrics(set, s)
	s.free.New = newWork
	for _, name := range set.Names() {
		s.metrics.of(name)
	}
	s.setHealth(grpc_health_v1.HealthCheckResponse_SERVING)
	return s, nil
}

func (s *Server) setHealth(to grpc_health_v1.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", to)
	s.health.SetServingStatus(inference.GRPCInferenceService_ServiceDesc.ServiceName, to)
}

// Ready reports whether the server takes requests: it is not stopping.
func (s *Server) Ready() bool { return !s.stopping.Load() }

// Told is what the set's loads are to tell, see [models.Options].
func (s *Server) Told(e models.Event) {
	s.metrics.reload(e)
	switch {
	case e.Err != nil && e.Model == "":
		s.options.Log.Error("looking for bundles", "error", e.Err)
	case e.Err != nil:
		s.options.Log.Error("a bundle was refused, what served before serves on", "model", e.Model, "error", e.Err)
	case e.Now == nil:
		s.options.Log.Info("unloaded", "model", e.Model, "version", e.Before.Digest)
	case e.Before == nil:
		s.options.Log.Info("serving", "model", e.Model, "version", e.Now.Digest)
	default:
		s.options.Log.Info("serving another version", "model", e.Model, "version", e.Now.Digest, "before", e.Before.Digest)
	}
	if e.Before != nil {
		go s.drained(e.Before)
	}
}

// drained waits until no request uses a version.
func (s *Server) drained(v *models.Version) {
	for v.Using() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	s.options.Log.Info("drained", "model", v.Name, "version", v.Digest)
}

// Listeners are where a server listens. A nil one is none.
type Listeners struct{ HTTP, GRPC, Admin net.Listener }

// Close closes them.
func (l Listeners) Close() {
	for _, l := range []net.Listener{l.HTTP, l.GRPC, l.Admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// Run serves until ctx ends, then ends the requests under way. reload asks to load all files again.
func (s *Server) Run(ctx context.Context, l Listeners, reload <-chan struct{}) error {
	failing := make(chan error, 3)
	var servers []*http.Server
	serve := func(l net.Listener, handler http.Handler) {
		if l == nil {
			return
		}
		w := s.httpServer(s.guarded(l, handler))
		servers = append(servers, w)
		go func() {
			if err := w.Serve(s.security.listener(s.bounded(l))); !errors.Is(err, http.ErrServerClosed) {
				failing <- err
			}
		}()
	}
	streams, end := context.WithCancel(context.Background())
	defer end()
	serve(l.HTTP, s.handler())
	serve(l.Admin, s.adminHandler())
	rpc := s.grpcServer(streams)
	if l.GRPC != nil {
		go func() {
			if err := rpc.Serve(s.bounded(l.GRPC)); err != nil {
				failing <- err
			}
		}()
	}
	watch, stopWatching := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(watch, reload) })
	defer watching.Wait()
	defer stopWatching()
	select {
	case err := <-failing:
		return err
	case <-ctx.Done():
	}
	return s.stop(servers, rpc, end)
}

// watch looks at files, and loads them again when it is asked to.
func (s *Server) watch(ctx context.Context, reload <-chan struct{}) {
	var tick <-chan time.Time
	if s.options.Poll > 0 {
		t := time.NewTicker(s.options.Poll)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			s.set.Poll()
			s.security.poll(s.options.Log, false)
		case <-reload:
			s.options.Log.Info("loading all bundles again")
			_ = s.set.Reload() // told
			s.security.poll(s.options.Log, true)
		}
	}
}

// stop ends a server: not ready, Linger, then the requests under way within Grace.
func (s *Server) stop(servers []*http.Server, rpc *grpc.Server, endStreams func()) error {
	s.stopping.Store(true)
	s.setHealth(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	s.options.Log.Info("stopping", "in_flight", s.inFlight.Load(), "linger", s.options.Linger, "grace", s.options.Grace)
	time.Sleep(s.options.Linger)
	endStreams()
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Grace)
	defer cancel()
	errs := make(chan error, len(servers)+1)
	for _, w := range servers {
		go func() { errs <- w.Shutdown(ctx) }()
	}
	go func() {
		done := make(chan struct{})
		go func() { rpc.GracefulStop(); close(done) }()
		select {
		case <-done:
			errs <- nil
		case <-ctx.Done():
			var err error // connections without a call do not count
			if _, arriving := s.memory.state(); arriving > 0 || s.inFlight.Load() > 0 {
				err = ctx.Err()
			}
			rpc.Stop()
			errs <- err
		}
	}()
	var late bool
	for range cap(errs) {
		late = <-errs != nil || late
	}
	if late {
		for _, w := range servers {
			_ = w.Close()
		}
		s.options.Log.Error("the grace time ran out", "in_flight", s.inFlight.Load())
		return ErrGrace
	}
	s.options.Log.Info("stopped")
	return nil
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	o := &s.options
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, ReadTimeout: o.ReadTimeout, ReadHeaderTimeout: o.ReadTimeout, IdleTimeout: o.Idle,
		WriteTimeout: o.ReadTimeout + o.Deadline + o.ReadTimeout, MaxHeaderBytes: 64 << 10, Protocols: &protocols,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: o.MaxArriving, MaxReceiveBufferPerStream: 64 << 10,
			MaxReceiveBufferPerConnection: 256 << 10, SendPingTimeout: o.Idle, PingTimeout: o.ReadTimeout},
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
}

// enter takes a place among the requests in flight: those that have arrived.
func (s *Server) enter(k *work) error {
	if n := s.inFlight.Add(1); n > int64(s.options.MaxInFlight) {
		s.inFlight.Add(-1)
		return failed(http.StatusTooManyRequests, "%d requests are under way, the most there can be: ask again later",
			s.options.MaxInFlight)
	}
	k.slot = true
	return nil
}

// mostOut bounds the buffers of responses that are used again.
const mostOut = 256 << 10

// leave gives back all that a request holds.
func (s *Server) leave(k *work) {
	k.done()
	if k.slot {
		s.inFlight.Add(-1)
	}
	k.slot = false
	if cap(k.out) > mostOut {
		k.out = nil
	}
	s.drop(k)
	k.answer, k.cancel = nil, nil
	s.free.Put(k)
}

// drop gives back what was read of a request.
func (s *Server) drop(k *work) {
	freeBuffer(k.buffer)
	k.buffer, k.body = nil, nil
	k.message.Free()
	clear(k.message)
	k.message = k.message[:0]
	s.memory.releaseAll(&k.held)
}

func (s *Server) begin() time.Time { return time.Now() }

// end counts a request and writes its line of the access log.
func (s *Server) end(began time.Time, protocol, model string, k *work, err error) {
	took, status, known := time.Since(began), statusOf(err), ""
	version, rows := "", 0
	if k.version != nil {
		known, version = k.version.Name, k.version.Digest
		if k.batch != nil {
			rows = k.batch.N
		}
	}
	s.metrics.request(known, protocol, status, took)
	if s.options.Access == nil {
		return
	}
	level, why := slog.LevelInfo, ""
	if err != nil {
		level, why = slog.LevelWarn, about(err)
	}
	attrs := []slog.Attr{slog.String("protocol", protocol), slog.String("model", cut(model, 128)), slog.Int("status", status),
		slog.Int("rows", rows), slog.Duration("took", took), slog.String("peer", k.from)}
	if version != "" {
		attrs = append(attrs, slog.String("version", version[:12]))
	}
	if why != "" {
		attrs = append(attrs, slog.String("error", why))
	}
	s.options.Access.LogAttrs(context.Background(), level, "infer", attrs...)
}
