package serving

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/models"
	"github.com/stoker-rl/stoker/serving/tensors"
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
