package serving_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
)

// bundles are made once for all tests: their bytes by the policy's name.
var bundles = sync.OnceValue(func() map[string][]byte { return map[string][]byte{} })

var making sync.Mutex

func bundleOf(t testing.TB, name string) []byte {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	if b := bundles()[name]; b != nil {
		return b
	}
	b := policytest.Encode(t, policytest.Zoo(t, name, 100))
	bundles()[name] = b
	return b
}

// other is a bundle of the same policy with another digest, which decides the same.
func other(t testing.TB, name string, steps int) []byte {
	t.Helper()
	f := policytest.Zoo(t, name, 100)
	f.Provenance.Steps = int64(steps)
	return policytest.Encode(t, f)
}

// running is a server under test.
type running struct {
	*serving.Server
	dir        string
	http, grpc string
	admin      string
	reload     chan struct{}
	stop       func()
	done       chan error
	log        *lockedBuffer
}

// lockedBuffer is a log that goroutines write and wait for.
type lockedBuffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed with the next write
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		close(b.written)
		b.written = nil
	}
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// wait waits until a text is written.
func (b *lockedBuffer) wait(text string) {
	for {
		b.mu.Lock()
		there := strings.Contains(b.b.String(), text)
		if b.written == nil {
			b.written = make(chan struct{})
		}
		written := b.written
		b.mu.Unlock()
		if there {
			return
		}
		<-written
	}
}

// start serves policies from files in a new folder, with the defaults as change leaves them.
func start(t testing.TB, names []string, change func(*serving.Options, *policy.Options), files serving.Files) *running {
	t.Helper()
	return startBehind(t, names, change, files, nil)
}

// startBehind is start with policies behind another.
func startBehind(t testing.TB, names []string, change func(*serving.Options, *policy.Options), files serving.Files,
	behind func(models.Policy) models.Policy) *running {
	t.Helper()
	r := &running{dir: t.TempDir(), reload: make(chan struct{}), done: make(chan error, 1), log: &lockedBuffer{}}
	var specs []models.Spec
	for _, name := range names {
		path := filepath.Join(r.dir, name+models.Extension)
		write(t, path, bundleOf(t, name))
		specs = append(specs, models.Spec{Name: name, Path: path})
	}
	o, p := serving.Defaults(), policy.Options{}
	o.Poll, o.Linger = 0, 0
	o.Deadline, o.ReadTimeout = time.Hour, time.Hour // of tests alone: a machine may stand still
	o.Log = slog.New(slog.NewTextHandler(r.log, nil))
	o.Access = o.Log
	if change != nil {
		change(&o, &p)
	}
	security, err := serving.NewSecurity(files)
	must.Do(t, err)
	if behind == nil {
		r.Server, err = serving.Open(specs, "", p, security, o)
	} else {
		var set *models.Set
		if set, err = models.NewSet(specs, models.Options{MaxBytes: 1 << 30, Open: func(data []byte) (models.Policy, error) {
			q, err := policy.OpenBytes(data, p)
			return behind(q), err
		}}); err == nil {
			r.Server, err = serving.New(set, security, o)
		}
	}
	must.Do(t, err)
	l, err := serving.Listen("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", security, false)
	must.Do(t, err)
	r.http, r.grpc, r.admin = l.HTTP.Addr().String(), l.GRPC.Addr().String(), l.Admin.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- r.Run(ctx, l, r.reload) }()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path+".new", data, 0o600))
	must.Do(t, os.Rename(path+".new", path))
}

// send sends a request and returns the status and the body.
func (r *running) send(t testing.TB, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), method, "http://"+r.http+path, strings.NewReader(body)))(t)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer res.Body.Close()
	text := must.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text), res.Header
}

// answer is an inference response in JSON.
type answer struct {
	Model   string         `json:"model_name"`
	Version string         `json:"model_version"`
	ID      string         `json:"id"`
	Params  map[string]any `json:"parameters"`
	Outputs []struct {
		Name     string         `json:"name"`
		Datatype string         `json:"datatype"`
		Shape    []int          `json:"shape"`
		Params   map[string]any `json:"parameters"`
		Data     []float32      `json:"data"`
	} `json:"outputs"`
}

func (a *answer) output(name string) []float32 {
	for _, o := range a.Outputs {
		if o.Name == name {
			return o.Data
		}
	}
	return nil
}

func parse(t testing.TB, text string) *answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return &a
}

// seen are observations of a bundle's self-test.
func seen(t testing.TB, name string) (*policy.Policy, []*envs.Observation) {
	t.Helper()
	p := must.Get(policy.OpenBytes(bundleOf(t, name), policy.Options{}))(t)
	var out []*envs.Observation
	for i := range p.Bundle().SelfTest {
		o := p.NewObservation()
		must.Do(t, policy.Show(&p.Bundle().SelfTest[i], o))
		out = append(out, o)
	}
	return p, out
}

// vectors is the inputs of a policy with one kind of agents that see vectors, as JSON.
func vectors(p *policy.Policy, all ...*envs.Observation) string {
	k := &p.Spec().Kinds[0]
	var values []float32
	var active []bool
	for _, o := range all {
		values, active = append(values, o.Kinds[0].Values...), append(active, o.Kinds[0].Active...)
	}
	return fmt.Sprintf(`{"name":"observation","datatype":"FP32","shape":[%d,%d,%d],"data":%s},`+
		`{"name":"active","datatype":"BOOL","shape":[%d,%d],"data":%s}`, len(all), k.Agents, k.Observation.Width(),
		text(values), len(all), k.Agents, text(active))
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers, all finite
	}
	return string(b)
}
