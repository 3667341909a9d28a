package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// startServer starts a server of one model with more flags, and returns what it prints, its URL and its exit code to come.
func startServer(t *testing.T, flags ...string) (out, errs *shared, url string, done chan int) {
	t.Helper()
	noSignals(t)
	path := filepath.Join(t.TempDir(), "faasconf.stoker")
	must.Do(t, os.WriteFile(path, policytest.Encode(t, policytest.Zoo(t, "faasconf", 30)), 0o600))
	out, errs, done = &shared{}, &shared{}, make(chan int, 1)
	root := newRoot(shipped)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetArgs(append([]string{"serve", "sizing=" + path, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--poll", "10ms"},
		flags...))
	go func() {
		done <- exitCode(root, root.ExecuteContext(context.Background()))
	}()
	if !out.wait("ready after", done) {
		t.Fatalf("it ended before it was ready: %s%s", out.String(), errs.String())
	}
	_, after, _ := strings.Cut(out.String(), "HTTP   ")
	url, _, _ = strings.Cut(after, "\n")
	return out, errs, url, done
}

// itself is this process, to be sent signals.
func itself(t *testing.T) *os.Process { return must.Get(os.FindProcess(os.Getpid()))(t) }

// A server says where it listens, answers, and ends with 0 after SIGTERM.
func TestServe(t *testing.T) {
	out, errs, url, done := startServer(t)
	contains(t, "start", out.String(), "model  sizing  ppo for stoker/Sizing-v3  sha256:", "gRPC   127.0.0.1:")
	res, err := http.Get(url + "/models/sizing/ready")
	must.Do(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("ready: %s", res.Status)
	}
	must.Do(t, itself(t).Signal(syscall.SIGHUP))
	if !errs.wait("loading all bundles again", done) {
		t.Fatalf("SIGHUP ends it: %s", errs.String())
	}
	must.Do(t, itself(t).Signal(syscall.SIGTERM))
	if code := <-done; code != exitDone {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	contains(t, "end", errs.String(), "msg=stopped")
}

// A request whose body never comes is still under way when the grace time has run out: the exit code is 143.
func TestServeGrace(t *testing.T) {
	out, errs, url, done := startServer(t, "--grace", "50ms", "--read-timeout", "1h")
	c := must.Get(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v2")))(t)
	defer c.Close()
	const head = "POST /v2/models/sizing/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
	must.Get(io.WriteString(c, head))(t)
	if _, err := c.Read(make([]byte, 64)); err != nil { // it asks for the body: the request is under way
		t.Fatal(err)
	}
	must.Do(t, itself(t).Signal(syscall.SIGTERM))
	if code := <-done; code != exitTerminated {
		t.Errorf("exit %d, want %d: %s%s", code, exitTerminated, out.String(), errs.String())
	}
}

// shared is a buffer that goroutines write and wait for.
type shared struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // closed with the next write
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written != nil {
		close(s.written)
		s.written = nil
	}
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// wait waits until a word is written, and reports it; false where whoever writes has ended before.
func (s *shared) wait(word string, ended chan int) bool {
	for {
		s.mu.Lock()
		there := strings.Contains(s.b.String(), word)
		if s.written == nil {
			s.written = make(chan struct{})
		}
		written := s.written
		s.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-written:
		case code := <-ended:
			ended <- code
			return strings.Contains(s.String(), word)
		}
	}
}

// Wrong arguments say what would be right.
func TestServeRefuses(t *testing.T) {
	good := filepath.Join(t.TempDir(), "faasconf.stoker")
	must.Do(t, os.WriteFile(good, policytest.Encode(t, policytest.Zoo(t, "faasconf", 30)), 0o600))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "BUNDLE is missing"},
		{"none.stoker", exitFailed, `model "none": stat none.stoker: no such file`},
		{"my file.stoker", exitUsage, "give one as NAME="},
		{good + "@sha256:12", exitUsage, `the digest is "12", want 64 hexadecimal digits`},
		{good + "@sha256:" + strings.Repeat("0", 64), exitFailed, "want sha256:0000"},
		{good + " " + good, exitFailed, `two models are called "faasconf"`},
		{good + " --http :0", exitUsage, "--http :0: only this machine may ask"},
		{good + " --tls-cert x", exitUsage, "give both --tls-cert and --tls-key"},
		{good + " --log xml", exitUsage, `--log "xml", want text, json or none`},
		{"--models " + t.TempDir(), exitFailed, "has no bundle (*.stoker): make one with stoker export"},
	} {
		args := fields(c.args)
		if strings.HasPrefix(c.args, "my") {
			args = []string{c.args}
		}
		code, _, errs := stoker(append([]string{"serve"}, args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("serve %s: exit %d, %s; want %d and %s", c.args, code, errs, c.code, c.want)
		}
	}
}

// What is deployed names flags that there are.
func TestDeployed(t *testing.T) {
	for file, flag := range map[string]*regexp.Regexp{
		"Dockerfile": regexp.MustCompile(`"(--[a-z-]+)"`), "kserve.yaml": regexp.MustCompile(`- (--[a-z-]+)=`),
	} {
		text := must.Get(os.ReadFile(filepath.Join("..", "deploy", file)))(t)
		found := flag.FindAllStringSubmatch(string(text), -1)
		if len(found) < 4 {
			t.Errorf("%s names %v, want the flags of a server", file, found)
		}
		for _, f := range found {
			if serveCommand().build(Default()).Flags().Lookup(strings.TrimPrefix(f[1], "--")) == nil {
				t.Errorf("%s: stoker serve has no flag %s", file, f[1])
			}
		}
	}
}
