// Package track shows runs to MLflow by its REST API: the resolved configuration as parameters, metrics.jsonl as metrics,
// and the run's small files as artifacts. It reads run folders and writes one file there, which names the run in MLflow.
//
// Not here: training, which knows nothing of it. What MLflow can't be told changes no run.
package track

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/train"
)

// File is the file of a run's folder that names its run in MLflow.
const File = "mlflow.json"

// Prefix begins what --track names.
const Prefix = "mlflow:"

// Most that MLflow takes at once.
const (
	mostMetrics = 1000
	mostParams  = 100
	longest     = 6000 // characters of a parameter's value
	mostFile    = 1 << 26
)

// MLflow is a server.
type MLflow struct {
	base   string
	client *http.Client
}

// Open reads mlflow:URI and asks the server whether it is there.
func Open(ctx context.Context, target string) (*MLflow, error) {
	text, ok := strings.CutPrefix(target, Prefix)
	u, err := url.Parse(text)
	if !ok || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, train.Usage("--track is %q, want mlflow:URI, as in mlflow:http://127.0.0.1:5000", target)
	}
	m := &MLflow{base: strings.TrimRight(text, "/"), client: &http.Client{Timeout: time.Minute}}
	var list any
	if err := m.call(ctx, http.MethodPost, "experiments/search", map[string]any{"max_results": 1}, &list); err != nil {
		return nil, train.Usage("--track %s: no MLflow answers there: %w", target, err)
	}
	return m, nil
}

// apiError is what MLflow says is wrong.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("MLflow says %d %s: %s", e.Status, e.Code, e.Message)
}

// call asks one of the tracking methods.
func (m *MLflow) call(ctx context.Context, method, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return m.send(ctx, method, "/api/2.0/mlflow/"+path, "application/json", b, into)
}

func (m *MLflow) send(ctx context.Context, method, path, kind string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, m.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	if token := os.Getenv("MLFLOW_TRACKING_TOKEN"); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	} else if user := os.Getenv("MLFLOW_TRACKING_USERNAME"); user != "" {
		r.SetBasicAuth(user, os.Getenv("MLFLOW_TRACKING_PASSWORD"))
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostFile))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		e := &apiError{Status: resp.StatusCode}
		if json.Unmarshal(b, e) != nil {
			e.Message = fmt.Sprintf("%.200s", b)
		}
		return e
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

// Run is what is told of a run beside its folder.
type Run struct {
	Dir, Experiment string
	Tags            map[string]string
	// Metrics are told beside those of metrics.jsonl.
	Metrics []Metric
}

// Metric is a value at a step.
type Metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"`
	Step      int64   `json:"step"`
}

// pair is a parameter or a tag.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// known is mlflow.json.
type known struct {
	URI        string `json:"uri"`
	Experiment string `json:"experiment_id"`
	Run        string `json:"run_id"`
	Artifacts  string `json:"artifact_uri"`
}

// told is what run.json says that MLflow is told.
type told struct {
	Name    string         `json:"name"`
	Status  string         `json:"status"`
	Started time.Time      `json:"started"`
	Updated time.Time      `json:"updated"`
	Config  map[string]any `json:"config"`
}

// Log tells MLflow of a run as it stands; told again, the run there gets what is new. Times of metrics are that of the
// run's start, so that a value that was told twice is there once.
func (m *MLflow) Log(ctx context.Context, r Run) error {
	b, err := durable.ReadFile(durable.OS{}, filepath.Join(r.Dir, checkpoints.RunFile), mostFile)
	if err != nil {
		return err
	}
	var t told
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Dir, checkpoints.RunFile), err)
	}
	k, fresh, err := m.run(ctx, r, t)
	if err != nil {
		return err
	}
	all := params("", t.Config)
	if !fresh { // MLflow keeps parameters as they were; of a run's only this one can change, by resume --steps
		at := slices.IndexFunc(all, func(p pair) bool { return p.Key == stepsKey })
		if at >= 0 {
			if err := m.call(ctx, http.MethodPost, "runs/set-tag", map[string]any{"run_id": k.Run, "key": stepsKey, "value": all[at].Value},
				nil); err != nil {
				return err
			}
			all = slices.Delete(all, at, at+1)
		}
	}
	metrics, err := readMetrics(r.Dir, t.Started.UnixMilli())
	if err != nil {
		return err
	}
	for _, x := range r.Metrics {
		x.Timestamp = t.Started.UnixMilli()
		metrics = append(metrics, x)
	}
	for part := range slices.Chunk(all, mostParams) {
		if err := m.call(ctx, http.MethodPost, "runs/log-batch", map[string]any{"run_id": k.Run, "params": part}, nil); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(metrics, mostMetrics) {
		if err := m.call(ctx, http.MethodPost, "runs/log-batch", map[string]any{"run_id": k.Run, "metrics": part}, nil); err != nil {
			return err
		}
	}
	if err := m.artifacts(ctx, k, r.Dir); err != nil {
		return err
	}
	status := "FAILED"
	switch {
	case t.Status == "finished", t.Status == "paused":
		status = "FINISHED"
	case t.Status == "running":
		status = "RUNNING"
	}
	return m.call(ctx, http.MethodPost, "runs/update",
		map[string]any{"run_id": k.Run, "status": status, "end_time": t.Updated.UnixMilli()}, nil)
}

// stepsKey is the parameter with the planned steps, and the tag with those of now.
const stepsKey = "train.steps"

// run finds the run in MLflow that a folder names, or creates one.
func (m *MLflow) run(ctx context.Context, r Run, t told) (k known, fresh bool, err error) {
	path := filepath.Join(r.Dir, File)
	b, err := durable.ReadFile(durable.OS{}, path, mostFile)
	if err == nil {
		if err := json.Unmarshal(b, &k); err != nil {
			return k, false, fmt.Errorf("%s: damaged or edited: %w", path, err)
		}
		if k.URI == m.base {
			return k, false, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return k, false, err
	}
	k = known{URI: m.base}
	var e struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
		ID string `json:"experiment_id"` // of a new one
	}
	err = m.call(ctx, http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(r.Experiment), nil, &e)
	var missing *apiError
	if errors.As(err, &missing) && missing.Code == "RESOURCE_DOES_NOT_EXIST" {
		err = m.call(ctx, http.MethodPost, "experiments/create", map[string]any{"name": r.Experiment}, &e)
	}
	if err != nil {
		return k, false, err
	}
	k.Experiment = cmp.Or(e.Experiment.ID, e.ID)
	var tags []pair
	for key, v := range r.Tags {
		tags = append(tags, pair{key, v})
	}
	var made struct {
		Run struct {
			Info struct {
				ID        string `json:"run_id"`
				Artifacts string `json:"artifact_uri"`
			} `json:"info"`
		} `json:"run"`
	}
	if err := m.call(ctx, http.MethodPost, "runs/create", map[string]any{"experiment_id": k.Experiment, "run_name": t.Name,
		"start_time": t.Started.UnixMilli(), "tags": tags}, &made); err != nil {
		return k, false, err
	}
	k.Run, k.Artifacts = made.Run.Info.ID, made.Run.Info.Artifacts
	if b, err = json.MarshalIndent(k, "", "  "); err != nil {
		return k, false, err
	}
	return k, true, durable.WriteFile(durable.OS{}, path, append(b, '\n'))
}

// artifacts sends the run's small files to a server that takes artifacts itself; another keeps them where only its
// clients reach.
func (m *MLflow) artifacts(ctx context.Context, k known, dir string) error {
	root, ok := strings.CutPrefix(k.Artifacts, "mlflow-artifacts:")
	if !ok {
		return nil
	}
	for _, name := range []string{"config.yaml", checkpoints.RunFile, checkpoints.MetricsFile} {
		b, err := durable.ReadFile(durable.OS{}, filepath.Join(dir, name), mostFile)
		if err != nil {
			return err
		}
		path := "/api/2.0/mlflow-artifacts/artifacts" + root + "/" + name
		if err := m.send(ctx, http.MethodPut, path, "application/octet-stream", b, nil); err != nil {
			return fmt.Errorf("artifact %s: %w", name, err)
		}
	}
	return nil
}

// readMetrics are the lines of metrics.jsonl, a value that is no number left out.
func readMetrics(dir string, at int64) (out []Metric, err error) {
	b, err := durable.ReadFile(durable.OS{}, filepath.Join(dir, checkpoints.MetricsFile), mostFile)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var values map[string]*float64
		if json.Unmarshal(line, &values) != nil || values["step"] == nil {
			continue // a torn last line
		}
		for key, v := range values {
			if key != "step" && v != nil {
				out = append(out, Metric{key, *v, at, int64(*values["step"])})
			}
		}
	}
	slices.SortFunc(out, func(a, b Metric) int { return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Key, b.Key)) })
	return out, nil
}

// params flattens a configuration.
func params(path string, v any) (out []pair) {
	if m, ok := v.(map[string]any); ok {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = append(out, params(strings.TrimPrefix(path+"."+k, "."), m[k])...)
		}
		return out
	}
	text := fmt.Sprint(v)
	if b, err := json.Marshal(v); err == nil {
		text = strings.Trim(string(b), `"`)
	}
	return []pair{{path, text[:min(len(text), longest)]}}
}
