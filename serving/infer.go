package serving

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/internal/tensors"
	"github.com/stoker-rl/stoker/serving/internal/wire"
	"github.com/stoker-rl/stoker/serving/models"
)

// failure is an error with the status that a client gets.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(status int, format string, args ...any) error {
	return &failure{status, fmt.Errorf(format, args...)}
}

// about is an error's text, cut: what clients send may be in it.
func about(err error) string { return cut(err.Error(), 1000) }

// cut is at most the first most bytes of a text.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	var f *failure
	var unknown *models.Unknown
	var large *tensors.TooLarge
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &unknown):
		return http.StatusNotFound
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, context.Canceled):
		return statusGone
	case errors.Is(err, policy.ErrBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, policy.ErrGuarded):
		return http.StatusServiceUnavailable
	case errors.Is(err, policy.ErrInput):
		return http.StatusBadRequest
	case errors.Is(err, policy.ErrNoFace):
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// statusGone is the status in logs and metrics of a request whose client has left.
const statusGone = 499

// codeOf is the gRPC code of an HTTP status.
func codeOf(status int) codes.Code {
	switch status {
	case http.StatusOK:
		return codes.OK
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusNotImplemented, http.StatusUnsupportedMediaType:
		return codes.Unimplemented
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusRequestTimeout:
		return codes.DeadlineExceeded
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case statusGone:
		return codes.Canceled
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	}
	return codes.Internal
}

// work is what a request needs while it is under way. It is used again.
type work struct {
	held     held
	stop     func()              // ends the wait for its body, by one of:
	answer   http.ResponseWriter // of HTTP
	cancel   func()              // of gRPC
	from     string              // the address of who asks
	slot     bool                // it is one of the requests in flight
	buffer   *[]byte             // of body
	body     []byte
	message  mem.BufferSlice // of gRPC
	end      [1]byte         // where the end of a body is read
	out      []byte
	request  wire.Request
	response wire.Response

	version *models.Version
	batch   *tensors.Batch
}

func newWork() any {
	k := new(work)
	k.stop = func() {
		if k.answer != nil {
			_ = http.NewResponseController(k.answer).SetReadDeadline(time.Unix(1, 0)) // its connection may be gone
		} else {
			k.cancel()
		}
	}
	return k
}

// asker is who asks, where sequences need it.
func (w *work) asker(c *call) string {
	if c.sequence == "" {
		return ""
	}
	return peerOf(w.from).String()
}

// done gives back what infer took.
func (w *work) done() {
	if w.batch != nil {
		w.version.Pool.Put(w.batch)
		w.batch = nil
	}
	if w.version != nil {
		w.version.Release()
		w.version = nil
	}
}

// call is what a request's parameters say.
type call struct {
	sequence   string
	start, end bool
	observed   time.Time
	timeout    time.Duration
}

// readCall reads parameters. Those that are not known are errors: a misspelt one would silently do nothing.
func readCall(p wire.Params) (c call, err error) {
	for name, v := range p {
		ok := true
		switch name {
		case "sequence_id":
			switch v := v.(type) {
			case string:
				c.sequence = v
			case int64:
				if v != 0 { // 0 is no sequence
					c.sequence = strconv.FormatInt(v, 10)
				}
			default:
				ok = false
			}
			ok = ok && len(c.sequence) <= 256
		case "sequence_start":
			c.start, ok = v.(bool)
		case "sequence_end":
			c.end, ok = v.(bool)
		case "observed_at":
			c.observed, ok = readTime(v)
		case "timeout":
			var us int64
			us, ok = v.(int64)
			ok = ok && us >= 0 && us < math.MaxInt64/1000
			c.timeout = time.Duration(us) * time.Microsecond
		case "binary_data_output", "priority":
		default:
			return c, failed(http.StatusBadRequest, "parameters: unknown parameter %q, want sequence_id, sequence_start, "+
				"sequence_end, observed_at, timeout or binary_data_output", name)
		}
		if !ok {
			return c, failed(http.StatusBadRequest, "parameters.%s: is %v, want %s", name, v, wants[name])
		}
	}
	return c, nil
}

var wants = map[string]string{
	"sequence_id": "a number or a text of at most 256 bytes", "sequence_start": "true or false",
	"sequence_end": "true or false", "timeout": "microseconds",
	"observed_at": "seconds since 1970 or a time as in 2026-01-31T12:00:00Z",
}

func readTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case int64:
		return time.Unix(v, 0), v > 0 && v < 1<<40
	case float64:
		if !(v > 0 && v < 1<<40) {
			return time.Time{}, false
		}
		return time.UnixMicro(int64(v * 1e6)), true
	case string:
		t, err := time.Parse(time.RFC3339, v)
		return t, err == nil && t.Unix() > 0 // year 1 is Go's word for no time
	}
	return time.Time{}, false
}

// infer decides what w.request asks of a model, and fills w.response. What it takes stays w's until done.
func (s *Server) infer(ctx context.Context, w *work, model, version string) (err error) {
	defer s.recovered(w, model, &err)
	v, err := s.set.Acquire(model, version)
	if err != nil {
		return err
	}
	w.version = v
	c, err := readCall(w.request.Params)
	if err != nil {
		return err
	}
	rows, err := v.Pool.Rows(&w.request, int64(s.options.MaxBatch))
	if err != nil {
		return badRequest(err)
	}
	if err := s.memory.hold(&w.held, v.Pool.Bytes(rows)); err != nil {
		return err
	}
	if w.batch, err = v.Pool.Read(&w.request, rows); err != nil {
		return badRequest(err)
	}
	if c.sequence != "" && w.batch.N != 1 {
		return failed(http.StatusBadRequest, "parameters.sequence_id: the batch has %d rows, want one: decisions of a "+
			"sequence "+
			"follow each other", w.batch.N)
	}
	ctx, cancel := s.within(ctx, &c)
	defer cancel()
	var sum tally
	for i := range w.batch.N {
		r := policy.Request{Seen: w.batch.Seen(i), Out: w.batch.Action(i), At: c.observed, Sequence: c.sequence,
			Begin: c.start, End: c.end, From: w.asker(&c)}
		d, err := s.Decide(ctx, v, r)
		if err != nil {
			return err
		}
		sum.add(d)
	}
	s.metrics.batch(v.Name, w.batch.N)
	w.response = wire.Response{Model: model, Version: v.Digest, ID: w.request.ID,
		Params:  sum.params(w.response.Params[:0]),
		Outputs: w.response.Outputs[:0]}
	w.response.Outputs, err = v.Pool.Results(&w.request, w.batch, w.response.Outputs)
	return badRequest(err)
}

// recovered is deferred around decisions: a policy of a program's own may panic, and others are served on.
func (s *Server) recovered(w *work, model string, err *error) {
	if p := recover(); p != nil {
		w.batch = nil
		s.options.Log.Error("a decision panicked", "model", model, "panic", p, "stack", string(debug.Stack()))
		*err = failed(http.StatusInternalServerError, "the decision panicked, the server's log says where")
	}
}

// within is a context with the time that a decision has.
func (s *Server) within(ctx context.Context, c *call) (context.Context, context.CancelFunc) {
	limit := s.options.Deadline
	if c.timeout > 0 {
		limit = min(limit, c.timeout)
	}
	return context.WithDeadline(ctx, s.options.Now().Add(limit))
}

// badRequest gives an error the status 400 unless it has another one.
func badRequest(err error) error {
	if err == nil || statusOf(err) != http.StatusInternalServerError {
		return err
	}
	return &failure{http.StatusBadRequest, err}
}

// Decide makes one decision with a version of [models.Set.Acquire], and counts it.
func (s *Server) Decide(ctx context.Context, v *models.Version, r policy.Request) (policy.Decision, error) {
	if err := s.late(ctx); err != nil {
		return policy.Decision{}, err
	}
	d, err := v.DecideFor(ctx, r)
	if err == nil {
		err = s.late(ctx)
	}
	s.metrics.decided(v.Name, d, err)
	return d, err
}

// late is an error where a decision's time is over by the clock: a context says so only when its timer has run.
func (s *Server) late(ctx context.Context) error {
	err := ctx.Err()
	if at, ok := ctx.Deadline(); ok && !s.options.Now().Before(at) {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return fmt.Errorf("the decision took longer than its deadline: %w", err)
	}
	return nil
}

// Acquire returns the version of a model that serves; see [models.Set.Acquire].
func (s *Server) Acquire(model, version string) (*models.Version, error) {
	return s.set.Acquire(model, version)
}

// tally sums up who decided the rows of a batch.
type tally struct {
	rows, fallbacks int
	by              policy.By
	reason          string
}

func (t *tally) add(d policy.Decision) {
	if t.rows == 0 {
		t.by = d.By
	} else if t.by != d.By {
		t.by = "mixed"
	}
	if d.Reason != "" && t.reason == "" {
		t.reason = fmt.Sprint(d)
	}
	if d.By == policy.ByFallback {
		t.fallbacks++
	}
	t.rows++
}

// params are the parameters of the response.
func (t *tally) params(dst []wire.Param) []wire.Param {
	dst = append(dst, wire.Param{Key: "decided_by", Value: string(t.by)})
	if t.reason != "" {
		dst = append(dst, wire.Param{Key: "reason", Value: t.reason})
	}
	if t.rows > 1 && t.fallbacks > 0 {
		dst = append(dst, wire.Param{Key: "fallbacks", Value: int64(t.fallbacks)})
	}
	return dst
}
