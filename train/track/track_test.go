package track

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// server is the part of MLflow that runs are told to. It refuses what MLflow refuses: a parameter that changes, and too
// much at once.
type server struct {
	mu        sync.Mutex
	made      int // runs
	params    map[string]string
	metrics   map[Metric]bool
	artifacts map[string]string
	status    string
	steps     string // a tag
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // what is missing is found below
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error_code": code, "message": "no"})
	}
	var m struct {
		Params  []pair
		Metrics []Metric
		Status  string
		Value   string
	}
	_ = json.Unmarshal(body, &m)
	if name, ok := strings.CutPrefix(r.URL.Path, "/api/2.0/mlflow-artifacts/artifacts/7/r1/artifacts/"); ok && r.Method == http.MethodPut {
		s.artifacts[name] = string(body)
		return
	}
	switch strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/") {
	case "experiments/search":
		_, _ = io.WriteString(w, "{}")
	case "experiments/get-by-name":
		fail("RESOURCE_DOES_NOT_EXIST")
	case "experiments/create":
		_, _ = io.WriteString(w, `{"experiment_id": "7"}`)
	case "runs/create":
		s.made++
		_, _ = io.WriteString(w, `{"run": {"info": {"run_id": "r1", "artifact_uri": "mlflow-artifacts:/7/r1/artifacts"}}}`)
	case "runs/log-batch":
		if len(m.Params) > mostParams || len(m.Metrics) > mostMetrics {
			fail("INVALID_PARAMETER_VALUE")
			return
		}
		for _, p := range m.Params {
			if was, ok := s.params[p.Key]; ok && was != p.Value {
				fail("INVALID_PARAMETER_VALUE")
				return
			}
			s.params[p.Key] = p.Value
		}
		for _, x := range m.Metrics {
			s.metrics[x] = true
		}
	case "runs/set-tag":
		s.steps = m.Value
	case "runs/update":
		s.status = m.Status
	default:
		http.NotFound(w, r)
	}
}

// A run is told with its parameters, metrics and files; told again, it is the same run with what is new.
func TestLog(t *testing.T) {
	s := &server{params: map[string]string{}, metrics: map[Metric]bool{}, artifacts: map[string]string{}}
	web := httptest.NewServer(s)
	defer web.Close()
	const text = `
name: small
env: {id: stoker/LQR-v1, steps: 5}
agent: {name: maddpg, mix: single, hidden: [4], batch: 4, random_steps: 4, learning_starts: 4}
train: {steps: 40, envs: 2, log_every: 10, evaluate: {every: 20, episodes: 1, metric: cost}, checkpoint: {every: 20}}
`
	x := must.Get(configs.Parse("small.yaml", []byte(text), nil, catalog.Default()))(t)
	res := must.Get(train.Start(t.Context(), x, train.Options{RunsDir: t.TempDir(), Until: 20}))(t)
	m := must.Get(Open(t.Context(), Prefix+web.URL))(t)
	r := Run{Dir: res.Dir, Experiment: "small", Metrics: []Metric{{Key: "score/cost", Value: 2, Step: 20}}}
	must.Do(t, m.Log(t.Context(), r))
	first := len(s.metrics)
	must.Get(train.Resume(t.Context(), res.Dir, train.Options{}))(t)
	must.Do(t, m.Log(t.Context(), r))
	again := len(s.metrics)
	must.Do(t, m.Log(t.Context(), r))
	if s.made != 1 || first == 0 || again <= first || len(s.metrics) != again || s.status != "FINISHED" {
		t.Errorf("%d runs, %d, %d and %d metrics, %s", s.made, first, again, len(s.metrics), s.status)
	}
	must.Get(train.Resume(t.Context(), res.Dir, train.Options{Steps: 60}))(t)
	must.Do(t, m.Log(t.Context(), r))
	if s.params["train.steps"] != "40" || s.steps != "60" || len(s.metrics) <= again {
		t.Errorf("a larger total: %s, then %s, %d metrics", s.params["train.steps"], s.steps, len(s.metrics))
	}
	found := map[string]bool{}
	for v := range s.metrics {
		if v.Step == 40 {
			found[v.Key] = true
		}
	}
	if !found["eval/cost"] || s.params["agent.hidden"] != "[4]" || s.params["agent.name"] != "maddpg" || s.params["train.steps"] != "40" {
		t.Errorf("metrics %v, parameters %v", found, s.params)
	}
	want := string(must.Get(os.ReadFile(filepath.Join(res.Dir, "metrics.jsonl")))(t))
	if s.artifacts["metrics.jsonl"] != want || len(s.artifacts) != 3 {
		t.Errorf("artifacts %v", s.artifacts)
	}
}

// What is no MLflow is said before anything is trained.
func TestOpenRefuses(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, target := range []string{"mlflow:", "http://x", "mlflow:ftp://x", "mlflow:http://", Prefix + web.URL, "mlflow:http://127.0.0.1:1"} {
		if _, err := Open(context.Background(), target); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "--track ") {
			t.Errorf("%s: %v", target, err)
		}
	}
}
