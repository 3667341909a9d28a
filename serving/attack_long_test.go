package serving_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy/policytest"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/tools/proof"
)

// What stoker serve holds, resident, while a stranger attacks it, and how many of 20 honest requests are answered
// meanwhile. Another build is measured with STOKER=FILE.
func TestAttackMemory(t *testing.T) {
	if !*long {
		t.Skip("a minute: go test ./serving -run AttackMemory -long")
	}
	tool := stoker(t)
	dir := t.TempDir()
	bundle, tokens := dir+"/faasconf.stoker", dir+"/tokens"
	write(t, bundle, bundleOf(t, "faasconf"))
	write(t, tokens, []byte("0123456789abcdef\n"))
	p, all := seen(t, "faasconf")
	body := `{"inputs":[` + vectors(p, all[0]) + `]}`
	const infer = pb.GRPCInferenceService_ModelInfer_FullMethodName
	for _, a := range []struct {
		name   string
		tokens bool
		attack func(t *testing.T, web, rpc string) (end func())
	}{
		{"4,000,000 empty inputs in a message of 8 MB, no token", true, func(t *testing.T, _, rpc string) func() {
			return raw(t, rpc, infer, bytes.Repeat([]byte{5<<3 | 2, 0}, 4_000_000))
		}},
		{"1,000,000 empty inputs in a message of 2 MB", false, func(t *testing.T, _, rpc string) func() {
			return raw(t, rpc, infer, bytes.Repeat([]byte{5<<3 | 2, 0}, 1_000_000))
		}},
		{"60 streams that withhold the end of 8 MB", false, func(t *testing.T, _, rpc string) func() {
			return many(t, 60, rpc, func(c net.Conn) { pour(t, c, infer, 8<<20-20) })
		}},
		{"100 bodies that withhold the end of 8 MiB", false, func(t *testing.T, web, _ string) func() {
			return many(t, 100, web, func(c net.Conn) {
				fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", faasconf, 8<<20)
				_, _ = c.Write(bytes.Repeat([]byte(" "), 8<<20-10)) // the server may end it
			})
		}},
		{"1,060 bodies of one byte", false, func(t *testing.T, web, _ string) func() {
			return many(t, 1060, web, func(c net.Conn) {
				fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", faasconf)
			})
		}},
	} {
		args := []string{"serve", bundle, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--access-log=false"}
		if a.tokens {
			args = append(args, "--tokens", tokens)
		}
		c, web, rpc := begin(t, tool, args)
		idle := rss(t, c.Process.Pid, "VmRSS")
		end := a.attack(t, web, rpc)
		good := 0
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+web+faasconf+"/infer", strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer 0123456789abcdef")
			if res, err := http.DefaultClient.Do(req); err == nil {
				if res.Body.Close(); res.StatusCode == http.StatusOK {
					good++
				}
			}
			cancel()
		}
		most := rss(t, c.Process.Pid, "VmHWM")
		end()
		_ = c.Process.Kill()
		_ = c.Wait()
		t.Logf("%s: %.0f MiB idle, at most %.0f MiB, %d of 20 answered", a.name, idle, most, good)
		const bound = 128 + 64 // --max-memory and 64 MiB
		proof.Claim(t, proof.Row{Topic: "memory", Claim: a.name + ": resident",
			Bound: fmt.Sprintf("at most %d MiB", bound), Measured: fmt.Sprintf("%.0f MiB", most), Holds: most <= bound})
		proof.Claim(t, proof.Row{Topic: "honest requests", Claim: a.name + ": answered of 20", Bound: "20",
			Measured: fmt.Sprint(good), Holds: good == 20})
	}
}

// What a bundle of the largest size takes: its file, and for each core five times its tensors; the one before it stays
// until its requests are done.
func TestBundleMemory(t *testing.T) {
	if !*long {
		t.Skip("seconds: go test ./serving -run BundleMemory -long")
	}
	const limit, units = 16, 99_000 // 15.9 MiB
	path := t.TempDir() + "/faasconf.stoker"
	write(t, path, bundleOf(t, "faasconf"))
	c, web, _ := begin(t, stoker(t), []string{"serve", path, "--http", "127.0.0.1:0", "--grpc", "", "--poll", "0", "--access-log=false"})
	_, body, _, _ := versionsOf(t, "faasconf", 1)
	idle := rss(t, c.Process.Pid, "VmRSS")
	for i := range 5 {
		f := wide(t, units)
		f.Provenance.Steps = int64(i)
		data := policytest.Encode(t, f)
		write(t, path, data)
		must.Do(t, c.Process.Signal(syscall.SIGHUP))
		var all sync.WaitGroup
		for range 16 { // all workers have something to do
			all.Go(func() {
				for text := []byte(nil); !bytes.Contains(text, []byte(bundle.Digest(data))); {
					res, err := http.Post("http://"+web+faasconf+"/infer", "application/json", strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					text, err = io.ReadAll(res.Body)
					if res.Body.Close(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		t.Logf("%.0f MiB, at most %.0f MiB", rss(t, c.Process.Pid, "VmRSS"), rss(t, c.Process.Pid, "VmHWM"))
	}
	most, bound := rss(t, c.Process.Pid, "VmHWM"), 2*(1+5*runtime.GOMAXPROCS(0))*limit
	proof.Claim(t, proof.Row{Topic: "memory", Claim: fmt.Sprintf("five bundles with tensors of 16 MB, each replaced under load, %d cores: over idle",
		runtime.GOMAXPROCS(0)), Bound: fmt.Sprintf("at most %d MiB", bound), Measured: fmt.Sprintf("%.0f MiB", most-idle), Holds: most-idle <= float64(bound)})
}

// begin starts a server, and returns its addresses.
func begin(t *testing.T, tool string, args []string) (c *exec.Cmd, web, rpc string) {
	t.Helper()
	c = exec.Command(tool, args...)
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	var text strings.Builder
	for b := make([]byte, 1024); !strings.Contains(text.String(), "ready"); {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("%v after %s", err, text.String())
		}
		text.Write(b[:n])
		for _, w := range strings.Fields(text.String()) {
			if i := strings.Index(w, "127.0.0.1:"); i >= 0 && strings.HasPrefix(w, "http://") {
				web, _, _ = strings.Cut(w[i:], "/")
			} else if i >= 0 {
				rpc = w[i:]
			}
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return c, web, rpc
}

func raw(t *testing.T, address, method string, message []byte) func() {
	t.Helper()
	c := must.Get(grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Logf("answered with %.120v", sendRaw(t.Context(), c, method, message))
	return func() { _ = c.Close() }
}

// many makes n connections, and attacks on each at once.
func many(t *testing.T, n int, address string, attack func(net.Conn)) func() {
	t.Helper()
	var all []net.Conn
	done := make(chan struct{}, n)
	for range n {
		c := must.Get(net.Dial("tcp", address))(t)
		all = append(all, c)
		_ = c.SetWriteDeadline(time.Now().Add(4 * time.Second)) // what is not read is not sent
		go func() {
			attack(c)
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
	return func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
}
