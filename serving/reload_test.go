package serving_test

import (
	"errors"
	"fmt"
	"io"
	"net"
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
		for v := ""; v != bundle.Digest(to); time.Sleep(time.Millisecond) {
			_, text, _ := r.send(t, "GET", faasconf, "")
			v = between(text, `"versions":["`, `"`)
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
	if !strings.Contains(r.log.String(), "msg=drained") {
		t.Error("the log does not say that a version was drained")
	}
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
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
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
		{"/v2/repository/models/x/load", `404 {"error":"no model is called \"x\"`},
	} {
		if got := r.post(t, c[0]); !strings.Contains(got, c[1]) {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// Files are found to have changed without being told.
func TestPoll(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.Poll = 5 * time.Millisecond }, serving.Files{})
	next := other(t, "faasconf", 3)
	write(t, filepath.Join(r.dir, "faasconf.stoker"), next)
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, text, _ := r.send(t, "GET", faasconf, ""); strings.Contains(text, bundle.Digest(next)) {
			return
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the changed file is not served")
		}
	}
}

// A server that stops is not ready, ends what is under way, and says where that took too long.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		name   string
		finish bool
	}{{"drained", true}, {"grace", false}} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) {
				o.Linger = 200 * time.Millisecond
				if !c.finish {
					o.Grace = 50 * time.Millisecond
				}
			}, serving.Files{})
			p, all := seen(t, "faasconf")
			body := `{"inputs":[` + vectors(p, all[0]) + `]}`
			conn, err := net.Dial("tcp", r.http)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", faasconf, len(body))
			for !strings.Contains(r.scrape(t), "stoker_in_flight 1") {
				time.Sleep(time.Millisecond)
			}
			r.stop()
			for begin := time.Now(); ; time.Sleep(time.Millisecond) {
				if status, _, _ := r.send(t, "GET", "/v2/health/ready", ""); status == http.StatusServiceUnavailable {
					break
				}
				if time.Since(begin) > 150*time.Millisecond {
					t.Fatal("it is ready while it stops")
				}
			}
			if c.finish {
				time.Sleep(300 * time.Millisecond) // it has stopped to listen
				fmt.Fprint(conn, body[1:])
				line := make([]byte, 64)
				n, err := conn.Read(line)
				if err != nil || !strings.HasPrefix(string(line[:n]), "HTTP/1.1 200 OK") {
					t.Errorf("the request under way got %q, %v", line[:n], err)
				}
			}
			err = <-r.done
			r.done <- nil
			if c.finish && err != nil || !c.finish && !errors.Is(err, serving.ErrGrace) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func (r *running) scrape(t testing.TB) string {
	t.Helper()
	_, text, _ := r.send(t, "GET", "/metrics", "")
	return text
}
