package serving_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
)

// Versions change under load: no request is lost, and each is answered by the version that it names.
func TestReloadUnderLoad(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.Access = nil }, serving.Files{})
	versions, body, _, want := versionsOf(t, "faasconf", 3)
	path := filepath.Join(r.dir, "faasconf.stoker")
	change := func(to []byte) {
		write(t, path, to)
		r.reload <- struct{}{}
		r.reload <- struct{}{} // it is taken when the first is done
		if _, text, _ := r.send(t, "GET", faasconf, ""); between(text, `"versions":["`, `"`) != bundle.Digest(to) {
			t.Errorf("after a reload: %s", text)
		}
	}
	change(versions[0])
	var wrong, answered atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				res, err := http.Post("http://"+r.http+faasconf+"/infer", "application/json", strings.NewReader(body))
				if err != nil {
					wrong.Add(1)
					continue
				}
				text, err := io.ReadAll(res.Body)
				res.Body.Close()
				a := parse(t, string(text))
				if scores := want[a.Version]; scores == nil || err != nil || !slices.Equal(scores, a.output("scores")) {
					wrong.Add(1)
				}
				answered.Add(1)
			}
		})
	}
	for i := range 30 {
		change(versions[(i+1)%len(versions)])
	}
	close(stop)
	clients.Wait()
	if wrong.Load() != 0 || answered.Load() == 0 {
		t.Errorf("%d of %d requests were lost or answered by another version", wrong.Load(), answered.Load())
	}
	t.Logf("%d requests over 30 reloads", answered.Load())
	r.log.wait("msg=drained")
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// A bundle that is damaged, cut or gone leaves the old one serving, and the reason is in log, index and metrics.
func TestBadBundleIsRefused(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	path := filepath.Join(r.dir, "faasconf.stoker")
	good := bundleOf(t, "faasconf")
	damaged := append([]byte(nil), good...)
	damaged[len(damaged)-3] ^= 1
	reload := func() { r.reload <- struct{}{}; r.reload <- struct{}{} } // the second is taken when the first is done
	for i, b := range [][]byte{damaged, good[:len(good)/2], {}, nil} {
		if b == nil {
			must.Do(t, os.Remove(path))
		} else {
			write(t, path, b)
		}
		reload()
		status, text, _ := r.send(t, "GET", faasconf, "")
		if status != 200 || !strings.Contains(text, bundle.Digest(good)) {
			t.Errorf("case %d: %d %s", i, status, text)
		}
		index := r.post(t, "/v2/repository/index")
		if !strings.Contains(index, `"state":"READY"`) || strings.Contains(index, `"reason":""`) {
			t.Errorf("case %d: index %s", i, index)
		}
	}
	write(t, path, other(t, "faasconf", 5))
	reload()
	if _, text, _ := r.send(t, "GET", faasconf, ""); !strings.Contains(text, bundle.Digest(other(t, "faasconf", 5))) {
		t.Errorf("a good bundle after bad ones: %s", text)
	}
	_, text, _ := r.send(t, "GET", "/metrics", "")
	for _, want := range []string{`stoker_reloads_total{model="faasconf",result="refused"} `,
		`stoker_reloads_total{model="faasconf",result="served"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	if !strings.Contains(r.log.String(), "a bundle was refused, what served before serves on") {
		t.Error("the log does not say that a bundle was refused")
	}
}

func (r *running) post(t testing.TB, path string) string {
	t.Helper()
	res, err := http.Post("http://"+r.admin+path, "", nil)
	must.Do(t, err)
	defer res.Body.Close()
	text := must.Get(io.ReadAll(res.Body))(t)
	return fmt.Sprint(res.StatusCode, " ", string(text))
}

// The repository's calls are answered at their own address alone.
func TestAdmin(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	if status, _, _ := r.send(t, "POST", "/v2/repository/models/faasconf/unload", ""); status != 404 {
		t.Errorf("unload at the public address: %d", status)
	}
	for _, c := range [][2]string{
		{"/v2/repository/models/faasconf/unload", "200"}, {"/v2/repository/index", `"state":"UNAVAILABLE","reason":"unloaded"`},
		{"/v2/repository/models/faasconf/load", "200"}, {"/v2/repository/index", `"state":"READY"`},
		{"/v2/repository/models/faasconf/unload", "200"},
		{"/v2/repository/models/x/load", `404 {"error":"no model is called \"x\"`},
	} {
		if got := r.post(t, c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
	if text := r.scrape(t); !strings.Contains(text, `stoker_reloads_total{model="faasconf",result="served"} 1`) {
		t.Error("the metrics do not count one load")
	}
}

// Without a request under way no grace is needed.
func TestNoGrace(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.Grace = 0 }, serving.Files{})
	r.stop()
	err := <-r.done
	r.done <- err
	if err != nil {
		t.Error(err)
	}
}

// Files are found to have changed without being told.
func TestPoll(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.Poll = 5 * time.Millisecond }, serving.Files{})
	next := other(t, "faasconf", 3)
	write(t, filepath.Join(r.dir, "faasconf.stoker"), next)
	r.log.wait("serving another version")
	if _, text, _ := r.send(t, "GET", faasconf, ""); !strings.Contains(text, bundle.Digest(next)) {
		t.Errorf("the changed file is not served: %s", text)
	}
}

func (r *running) scrape(t testing.TB) string {
	t.Helper()
	_, text, _ := r.send(t, "GET", "/metrics", "")
	return text
}
