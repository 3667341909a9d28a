package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stoker-rl/stoker/serving/tensors"
)

// headerLength says how many bytes of a body are JSON; the rest are binary tensors.
const headerLength = "Inference-Header-Content-Length"

// handler answers HTTP.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, f http.HandlerFunc) { mux.HandleFunc(pattern, f) }
	closed := func(pattern string, f http.HandlerFunc) { mux.HandleFunc(pattern, s.allow(f)) }
	open("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, map[string]bool{"live": true})
	})
	open("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, readyStatus(s.Ready()), map[string]bool{"ready": s.Ready()})
	})
	closed("GET /v2", s.serverMetadata)
	closed("GET /v2/{$}", s.serverMetadata)
	for _, version := range []string{"", "/versions/{version}"} {
		model := " /v2/models/{model}" + version
		closed("GET"+model, s.modelMetadata)
		closed("GET"+model+"/ready", s.modelReady)
		closed("GET"+model+"/decide", s.example)
		closed("GET"+model+"/decide/units", s.units)
		closed("POST"+model+"/infer", func(w http.ResponseWriter, r *http.Request) { s.decideREST(w, r, s.inferBody) })
		closed("POST"+model+"/decide", func(w http.ResponseWriter, r *http.Request) { s.decideREST(w, r, s.decideBody) })
	}
	mux.Handle("GET /metrics", s.allow(s.metrics.handler().ServeHTTP))
	closed("/", func(w http.ResponseWriter, r *http.Request) {
		sendError(w, failed(http.StatusNotFound, "there is no %s %s: see /v2, /v2/models/MODEL, /v2/models/MODEL/infer "+
			"(POST), /v2/models/MODEL/decide (POST; GET answers an example body), /v2/models/MODEL/decide/units, "+
			"/v2/health/ready, /metrics", r.Method, r.URL.Path))
	})
	return mux
}

func readyStatus(ready bool) int {
	if ready {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have left
}

func sendError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="stoker"`)
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	case statusGone:
		status = http.StatusRequestTimeout
	}
	sendJSON(w, status, map[string]string{"error": about(err)})
}

func (s *Server) extensions() []string {
	return []string{"binary_tensor_data", "sequence"}
}

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, map[string]any{"name": serverName, "version": s.options.Version,
		"extensions": s.extensions()})
}

const (
	serverName = "stoker"
	platform   = "stoker_bundle"
)

// tensorJSON is a tensor in a model's metadata.
type tensorJSON struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

func tensorsJSON(all []tensors.Info) []tensorJSON {
	out := []tensorJSON{}
	for _, t := range all {
		out = append(out, tensorJSON{t.Name, t.Type, t.Shape})
	}
	return out
}

func (s *Server) modelMetadata(w http.ResponseWriter, r *http.Request) {
	v, err := s.set.Acquire(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		sendError(w, err)
		return
	}
	defer v.Release()
	sendJSON(w, http.StatusOK, map[string]any{"name": v.Name, "versions": []string{v.Digest}, "platform": platform,
		"inputs": tensorsJSON(v.Layout.Inputs()), "outputs": tensorsJSON(v.Layout.Outputs())})
}

func (s *Server) modelReady(w http.ResponseWriter, r *http.Request) {
	v, err := s.set.Acquire(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		sendError(w, err)
		return
	}
	v.Release()
	sendJSON(w, readyStatus(s.Ready()), map[string]any{"name": v.Name, "ready": s.Ready()})
}

// decideREST reads a request, takes a place among those in flight, lets body decide and answer, and counts it.
func (s *Server) decideREST(w http.ResponseWriter, r *http.Request,
	body func(context.Context, *work, http.ResponseWriter, *http.Request) error) {
	model := r.PathValue("model")
	t := s.begin()
	k := s.free.Get().(*work)
	defer s.leave(k)
	k.from = r.RemoteAddr
	err := s.readBody(k, w, r)
	if err != nil { // what is left of the body is not waited for, and the answer may take its time
		s.drop(k)
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	} else if err = s.enter(k); err == nil {
		err = body(r.Context(), k, w, r)
	}
	if err != nil {
		sendError(w, err)
	}
	s.end(t, "http", model, k, err)
}

// inferBody parses, decides and answers.
func (s *Server) inferBody(ctx context.Context, k *work, w http.ResponseWriter, r *http.Request) error {
	header := len(k.body)
	if h := r.Header.Get(headerLength); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n < 0 || n > len(k.body) {
			return failed(http.StatusBadRequest, "%s: %q is no length within a body of %d bytes", headerLength, h, len(k.body))
		}
		header = n
	}
	if err := k.request.Parse(k.body, header); err != nil {
		return &failure{http.StatusBadRequest, err}
	}
	model, version := r.PathValue("model"), r.PathValue("version")
	if m := k.request.Model; m != "" && m != model {
		return failed(http.StatusBadRequest, "model_name: is %q, the path names %q", m, model)
	}
	if version == "" {
		version = k.request.Version
	}
	if err := s.infer(ctx, k, model, version); err != nil {
		return err
	}
	k.out, header = k.response.Append(k.out[:0])
	h := w.Header()
	if header > 0 {
		h.Set(headerLength, strconv.Itoa(header))
		h.Set("Content-Type", "application/octet-stream")
	} else {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Content-Length", strconv.Itoa(len(k.out)))
	_, err := w.Write(k.out)
	if err != nil {
		return &failure{statusGone, fmt.Errorf("writing the response: %w", err)}
	}
	return nil
}
