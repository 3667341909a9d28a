package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/internal/tensors"
	"github.com/stoker-rl/stoker/serving/internal/wire"
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
	if v := k.request.Version; version == "" {
		version = v
	} else if v != "" && v != version {
		return failed(http.StatusBadRequest, "model_version: is %q, the path names %q", v, version)
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

// decided is the answer to measurements.
type decided struct {
	Model    string    `json:"model_name"`
	Version  string    `json:"model_version"`
	By       policy.By `json:"decided_by"`
	Reason   string    `json:"reason,omitempty"`
	Decision any       `json:"decision"`
}

// decideBody reads what a platform measured, and answers what to do there, in its units. Parameters are in the query.
func (s *Server) decideBody(ctx context.Context, k *work, w http.ResponseWriter, r *http.Request) (err error) {
	model := r.PathValue("model")
	defer s.recovered(k, model, &err)
	if err := s.memory.hold(&k.held, measuredBytes(k.body)); err != nil {
		return err
	}
	v, err := s.set.Acquire(model, r.PathValue("version"))
	if err != nil {
		return err
	}
	k.version = v
	params, err := queryParams(r.URL.RawQuery)
	if err != nil {
		return err
	}
	c, err := readCall(params)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(ctx, &c)
	defer cancel()
	d, done, err := v.DecideMeasured(ctx, k.body, policy.Request{At: c.observed, Sequence: c.sequence, Begin: c.start,
		End: c.end, From: k.asker(&c)})
	if err == nil {
		err = s.late(ctx)
	}
	s.metrics.decided(v.Name, d, err)
	if err != nil {
		return err
	}
	s.metrics.batch(v.Name, 1)
	out := decided{Model: model, Version: v.Digest, By: d.By, Decision: done}
	if d.Reason != "" {
		out.Reason = fmt.Sprint(d)
	}
	sendJSON(w, http.StatusOK, out)
	return nil
}

// example answers a body that decideBody takes as it is.
func (s *Server) example(w http.ResponseWriter, r *http.Request) {
	e, _, err := s.exampleOf(r)
	if err != nil {
		sendError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(e.Body, '\n')) // the client may have left
}

// units answers the units of all keys of such bodies, and the ranges that the guard takes.
func (s *Server) units(w http.ResponseWriter, r *http.Request) {
	e, digest, err := s.exampleOf(r)
	if err != nil {
		sendError(w, err)
		return
	}
	sendJSON(w, http.StatusOK, map[string]any{"model_name": r.PathValue("model"), "model_version": digest,
		"units": e.Units, "readings": e.Readings})
}

func (s *Server) exampleOf(r *http.Request) (*policy.Example, string, error) {
	v, err := s.set.Acquire(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return nil, "", err
	}
	defer v.Release()
	e, err := v.Example()
	if errors.Is(err, policy.ErrNoFace) {
		err = &failure{http.StatusNotFound, fmt.Errorf("model %q takes no measurements, send it tensors "+
			"(/v2/models/%[1]s/infer): %[2]w", v.Name, err)}
	}
	return e, v.Digest, err
}

// measuredBytes is about the most that measurements take when they are read: JSON can describe much in few bytes.
func measuredBytes(body []byte) int64 {
	const value = 256 // an empty object becomes all readings of a function, in a list that grows
	n := 0
	for _, mark := range []byte{'{', '[', ','} {
		n += bytes.Count(body, []byte{mark})
	}
	return int64(2*len(body) + value*n)
}

// queryParams are the parameters of a query, as a request's JSON has them.
func queryParams(query string) (wire.Params, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, failed(http.StatusBadRequest, "query: %w", err)
	}
	out := wire.Params{}
	for name, all := range q {
		if len(all) != 1 {
			return nil, failed(http.StatusBadRequest, "query: %s is given %d times, want once", name, len(all))
		}
		text := all[0]
		out[name] = text
		switch name {
		case "sequence_start", "sequence_end":
			if b, err := strconv.ParseBool(text); err == nil {
				out[name] = b
			}
		case "timeout":
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				out[name] = n
			}
		case "observed_at":
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				out[name] = x
			}
		}
	}
	return out, nil
}

// adminHandler answers the repository extension of the protocol: it changes what is served, and so has an address of
// its own.
func (s *Server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/repository/index", s.allow(func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, s.set.Index())
	}))
	change := func(path string, f func(string) error) {
		mux.HandleFunc("POST /v2/repository/models/{model}/"+path, s.allow(func(w http.ResponseWriter, r *http.Request) {
			err := f(r.PathValue("model"))
			if err != nil && statusOf(err) == http.StatusInternalServerError {
				err = &failure{http.StatusBadRequest, err} // the file is wrong, not the server
			}
			if err != nil {
				sendError(w, err)
				return
			}
			sendJSON(w, http.StatusOK, map[string]string{})
		}))
	}
	change("load", s.set.Load)
	change("unload", s.set.Unload)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sendError(w, failed(http.StatusNotFound, "there is no %s %s: see POST /v2/repository/index, "+
			"/v2/repository/models/MODEL/load and /unload", r.Method, r.URL.Path))
	})
	return mux
}
