package serving_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long = flag.Bool("long", false, "run the long tests: stoker serve under load, with reloads and clients that misbehave")
	most = flag.Int64("requests", 1_000_000, "requests of the long test")
)

// versionsOf are n bundles of one policy that decide differently, and what each decides for one observation.
func versionsOf(t testing.TB, name string, n int) (all [][]byte, body string, message *pb.ModelInferRequest, want map[string][]float32) {
	t.Helper()
	f := policytest.Zoo(t, name, 100)
	vector := f.SelfTest[0]
	f.SelfTest = nil
	want = map[string][]float32{}
	for i := range n {
		for key, a := range f.Arrays {
			for j := range a.Data {
				a.Data[j] *= 1 + float32(i+1)*1e-3
			}
			f.Arrays[key] = a
		}
		b := policytest.Encode(t, f)
		p := must.Get(policy.OpenBytes(b, policy.Options{}))(t)
		o, act := p.NewObservation(), p.NewAction()
		must.Do(t, policy.Show(&vector, o))
		if d, err := p.Decide(t.Context(), o, act); err != nil || d.By != policy.ByPolicy {
			t.Fatalf("version %d: %v, %v", i, d, err)
		}
		for digest, other := range want {
			if slices.Equal(other, act.Kinds[0]) {
				t.Fatalf("version %d decides as %s does", i, digest)
			}
		}
		all, want[p.Digest()] = append(all, b), act.Kinds[0]
		if i == 0 {
			k := &o.Kinds[0]
			body = `{"inputs":[` + vectors(p, o) + `]}`
			message = &pb.ModelInferRequest{ModelName: name, Inputs: []*pb.ModelInferRequest_InferInputTensor{
				{Name: "observation", Datatype: "FP32", Shape: []int64{1, 6, 37}, Contents: &pb.InferTensorContents{Fp32Contents: k.Values}},
				{Name: "active", Datatype: "BOOL", Shape: []int64{1, 6}, Contents: &pb.InferTensorContents{BoolContents: k.Active}},
			}}
		}
	}
	return all, body, message, want
}

// soak is a stoker serve under load.
type soak struct {
	t          *testing.T
	http, grpc string
	body       string
	message    *pb.ModelInferRequest
	want       map[string][]float32

	asked, lost, wrong atomic.Int64
	byVersion          sync.Map
}

// took counts a response.
func (s *soak) took(version string, scores []float32, err error) {
	if err != nil {
		if s.lost.Add(1) < 5 {
			s.t.Errorf("lost: %v", err)
		}
		return
	}
	if want, ok := s.want[version]; !ok || !slices.Equal(want, scores) {
		if s.wrong.Add(1) < 5 {
			s.t.Errorf("version %s decided %v", version, scores)
		}
	}
	n, _ := s.byVersion.LoadOrStore(version, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (s *soak) askHTTP(c *http.Client) {
	res, err := c.Post("http://"+s.http+faasconf+"/infer", "application/json", strings.NewReader(s.body))
	if err != nil {
		s.took("", nil, err)
		return
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	var a answer
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("%s: %.200s", res.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	s.took(a.Version, a.output("scores"), err)
}

func (s *soak) askGRPC(c pb.GRPCInferenceServiceClient) {
	out, err := c.ModelInfer(s.t.Context(), s.message)
	var scores []float32
	if err == nil {
		scores = out.Outputs[1].Contents.Fp32Contents
	}
	s.took(out.GetModelVersion(), scores, err)
}

// rude clients leave in the middle of a request, in the middle of a response, and send slowly.
func (s *soak) rude(i int) error {
	c, err := net.Dial("tcp", s.http)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetLinger(0) // leave with a reset
	fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", faasconf, len(s.body))
	switch i % 3 {
	case 0:
		fmt.Fprint(c, s.body[:len(s.body)/2])
	case 1:
		fmt.Fprint(c, s.body)
		_, _ = c.Read(make([]byte, 10))
	case 2:
		for _, b := range s.body[:20] {
			fmt.Fprint(c, string(b))
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// rss is a figure of a process's memory in MiB: VmRSS is what it takes now, VmHWM the most so far.
func rss(t testing.TB, pid int, field string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("there is no /proc")
	}
	kb := must.Get(strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(between(string(text), field+":", "\n")), "kB")), 64))(t)
	return kb / 1024
}

// Under load over HTTP and gRPC with 50 reloads, clients that leave, slow bodies and ten thousand idle connections no
// request is lost, none is answered by a version that it does not name, and memory does not grow.
func TestSoak(t *testing.T) {
	if !*long {
		t.Skip("a long test: go test ./serving -run Soak -long")
	}
	const reloads = 50
	all, body, message, want := versionsOf(t, "faasconf", 6)
	path := filepath.Join(t.TempDir(), "faasconf.stoker")
	write(t, path, all[0])
	s := &soak{t: t, body: body, message: message, want: want}
	cmd := exec.Command(stoker(t), "serve", path, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--access-log=false", "--poll", "0",
		"--max-in-flight", "8192", "--max-connections", "20000")
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must.Do(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for !strings.Contains(out.String(), "ready after") {
		time.Sleep(time.Millisecond)
	}
	s.http, s.grpc = between(out.String(), "HTTP   http://", "/"), between(out.String(), "gRPC   ", "\n")

	var idle []net.Conn
	for range 10_000 {
		c, err := net.Dial("tcp", s.http)
		if err != nil {
			t.Fatalf("idle connection %d: %v", len(idle), err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	until := func(do func(i int)) {
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					do(i)
				}
			}
		})
	}
	for range 4 {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
		until(func(int) { s.asked.Add(1); s.askHTTP(c) })
		conn := must.Get(grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
		defer conn.Close()
		g := pb.NewGRPCInferenceServiceClient(conn)
		until(func(int) { s.asked.Add(1); s.askGRPC(g) })
	}
	var rudely atomic.Int64
	until(func(i int) {
		if err := s.rude(i); err != nil {
			t.Errorf("a client could not connect: %v", err)
		}
		rudely.Add(1)
		time.Sleep(5 * time.Millisecond)
	})
	var table bytes.Buffer
	fmt.Fprintln(&table, "requests,reloads,rss_mb")
	began, first := time.Now(), 0.0
	for i := range reloads {
		for s.asked.Load() < *most*int64(i+1)/reloads {
			time.Sleep(5 * time.Millisecond)
		}
		write(t, path, all[(i+1)%len(all)])
		must.Do(t, cmd.Process.Signal(syscall.SIGHUP))
		for strings.Count(out.String(), "serving another version") <= i {
			if time.Sleep(time.Millisecond); time.Since(began) > 3*time.Hour {
				t.Fatalf("reload %d was not done: %s", i, out.String())
			}
		}
		m := rss(t, cmd.Process.Pid, "VmRSS")
		if i == reloads/5 {
			first = m
		}
		fmt.Fprintf(&table, "%d,%d,%.1f\n", s.asked.Load(), i+1, m)
	}
	took := time.Since(began)
	close(stop)
	clients.Wait()
	last := rss(t, cmd.Process.Pid, "VmRSS")
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit code 0\n%s", err, out.String())
	}
	n := s.asked.Load()
	proof.Claim(t, proof.Row{Topic: "speed", Claim: fmt.Sprintf("stoker serve: requests lost or of a wrong version, of %d with %d "+
		"reloads, clients that leave, slow bodies and %d idle connections", n, reloads, len(idle)), Bound: "0",
		Measured: fmt.Sprintf("%d lost, %d of a wrong version", s.lost.Load(), s.wrong.Load()),
		Holds:    n >= *most && s.lost.Load() == 0 && s.wrong.Load() == 0})
	proof.Claim(t, proof.Row{Topic: "speed", Claim: "stoker serve: memory at the end, over that after a fifth of the requests",
		Bound: "1.25", Measured: fmt.Sprintf("%.2f (%.0f and %.0f MB)", last/first, last, first), Holds: last <= 1.25*first})
	summary := fmt.Sprintf("%d requests in %.0f s over HTTP and gRPC, %d reloads, %d clients that left or were slow, %d idle "+
		"connections: %d lost, %d of a wrong version, memory %.1f MB after a fifth and %.1f MB at the end\n", s.asked.Load(),
		took.Seconds(), reloads, rudely.Load(), len(idle), s.lost.Load(), s.wrong.Load(), first, last)
	s.byVersion.Range(func(version, n any) bool {
		summary += fmt.Sprintf("  %.12s  %d requests\n", version, n.(*atomic.Int64).Load())
		return true
	})
	t.Log(summary)
	if dir := os.Getenv(proof.Folder); dir != "" {
		for name, text := range map[string]string{"soak.txt": summary, "soak.csv": table.String()} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
}
