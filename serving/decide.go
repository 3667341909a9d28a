package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/wire"
)

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
	params, err := queryParams(r.URL.Query())
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
func queryParams(q url.Values) (wire.Params, error) {
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
