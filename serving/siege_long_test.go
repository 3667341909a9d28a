package serving_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/tools/proof"
)

var siege = flag.Duration("siege", time.Hour, "length of the long test with hostile clients")

// latencies are those of honest requests since they were taken last.
type latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// take returns the 99th percentile in ms of what was added since, and how many these were.
func (l *latencies) take() (p99 float64, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.all)
	if n = len(l.all); n > 0 {
		p99 = l.all[n*99/100].Seconds() * 1e3
	}
	l.all = l.all[:0]
	return p99, n
}

// Honest clients at a fixed rate over HTTP and gRPC lose no request and wait at most three times as long as alone, while
// others withhold bodies and messages, send what decodes to much, reset streams and leave, bundles are replaced every
// ten seconds, and in the end the server is stopped. Resident memory stays below --max-memory and 64 MiB.
func TestSiege(t *testing.T) {
	if !*long {
		t.Skip("an hour on an idle machine: go test ./serving -run Siege -long -timeout 2h")
	}
	all, body, message, want := versionsOf(t, "faasconf", 3)
	path := filepath.Join(t.TempDir(), "faasconf.stoker")
	write(t, path, all[0])
	s := &soak{t: t, body: body, message: message, want: want}
	cmd, web, rpc := begin(t, stoker(t), []string{"serve", path, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--access-log=false",
		"--log", "none"})
	s.http, s.grpc = web, rpc
	stop, gone := make(chan struct{}), make(chan struct{})
	var honest, hostile sync.WaitGroup
	var waits latencies
	// Each honest client sends 20 requests a second, until it is told to stop.
	client := func(ask func()) {
		honest.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				begun := time.Now()
				s.asked.Add(1)
				ask()
				waits.add(time.Since(begun))
			}
		})
	}
	for range 4 {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
		client(func() { s.askHTTP(c) })
		conn := must.Get(grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
		defer conn.Close()
		g := pb.NewGRPCInferenceServiceClient(conn)
		client(func() { s.askGRPC(g) })
	}
	alone := *siege / 20
	time.Sleep(alone)
	quiet, _ := waits.take()

	var attacks atomic.Int64
	attack := func(every time.Duration, do func(c net.Conn) bool, address string) { // do: keep the connection for a while
		hostile.Go(func() {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			for {
				select {
				case <-gone:
					return
				case <-time.After(every):
				}
				c, err := dialer.Dial("tcp", address)
				if err != nil {
					continue // it has as many as it may have
				}
				attacks.Add(1)
				_ = c.SetDeadline(time.Now().Add(5 * time.Second))
				if do(c) {
					time.AfterFunc(20*time.Second, func() { _ = c.Close() })
				} else {
					_ = c.Close()
				}
			}
		})
	}
	const infer = pb.GRPCInferenceService_ModelInfer_FullMethodName
	large := bytes.Repeat([]byte(" "), 8<<20-10)
	attack(200*time.Millisecond, func(c net.Conn) bool {
		fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", faasconf, 8<<20)
		_, _ = c.Write(large)
		return true
	}, web)
	attack(200*time.Millisecond, func(c net.Conn) bool { pour(t, c, infer, 8<<20-20); return true }, rpc)
	attack(10*time.Millisecond, func(c net.Conn) bool {
		fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", faasconf)
		return true
	}, web)
	attack(time.Second, func(c net.Conn) bool { reset(t, c, faasconf, 1000); return false }, web)
	attack(time.Second, func(c net.Conn) bool { reset(t, c, infer, 1000); return false }, rpc)
	attack(20*time.Millisecond, func(c net.Conn) bool {
		fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", faasconf, len(s.body), s.body[:len(s.body)/2])
		return false
	}, web)
	var table bytes.Buffer
	rows := csv.NewWriter(&table)
	_ = rows.Write([]string{"seconds", "p99_ms", "rss_mib", "requests", "attacks"}) // into memory
	begun, most := time.Now(), 0.0
	var minutes, p99s, memories []float64
	for i := 0; time.Since(begun) < *siege; i++ {
		time.Sleep(10 * time.Second)
		write(t, path, all[(i+1)%len(all)])
		p99, _ := waits.take()
		m, took := rss(t, cmd.Process.Pid, "VmRSS"), time.Since(begun)
		most = max(most, m)
		minutes, p99s, memories = append(minutes, took.Minutes()), append(p99s, p99), append(memories, m)
		_ = rows.Write([]string{fmt.Sprintf("%.0f", took.Seconds()), fmt.Sprintf("%.2f", p99), fmt.Sprintf("%.1f", m),
			fmt.Sprint(s.asked.Load()), fmt.Sprint(attacks.Load())})
	}
	rows.Flush()
	close(stop)
	honest.Wait()
	most = max(most, rss(t, cmd.Process.Pid, "VmHWM"))
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	ended := cmd.Wait()
	close(gone)
	hostile.Wait()
	worst := slices.Sorted(slices.Values(p99s))
	p99 := worst[len(worst)/2]
	t.Logf("%d requests, %d attacks, %d lost, %d wrong; p99 %.2f ms alone, %.2f ms under attack (median of ten seconds each, most %.2f); most "+
		"memory %.0f MB; ended with %v\n%s", s.asked.Load(), attacks.Load(), s.lost.Load(), s.wrong.Load(), quiet, p99, worst[len(worst)-1], most,
		ended, table.String())
	for _, r := range []proof.Row{
		{Claim: "honest requests lost or wrong", Bound: "0", Measured: fmt.Sprint(s.lost.Load() + s.wrong.Load()), Holds: s.lost.Load()+s.wrong.Load() == 0},
		{Claim: "their p99 over that without attacks", Bound: "at most 3", Measured: fmt.Sprintf("%.2f", p99/quiet), Holds: p99 <= 3*quiet},
		{Claim: "resident memory", Bound: "at most 192 MiB", Measured: fmt.Sprintf("%.0f MiB", most), Holds: most <= 192},
		{Claim: "the end after SIGTERM", Bound: "exit code 0", Measured: strings.TrimSpace(fmt.Sprint(ended)), Holds: ended == nil},
	} {
		r.Topic = "siege"
		proof.Claim(t, r)
	}
	if dir := os.Getenv(proof.Folder); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "siege.csv"), table.Bytes(), 0o600))
		must.Get(siegeFigure(minutes, p99s, memories, quiet).Save(dir, "siege"))(t)
	}
}

// siegeFigure draws what honest clients wait, and what the server holds, over time, each with its bound.
func siegeFigure(minutes, p99s, memories []float64, quiet float64) *chart.Figure {
	wait, memory := chart.NewPanel("", "minutes", "p99 of honest requests, ms"), chart.NewPanel("", "minutes", "resident memory, MiB")
	seen, bound := chart.Styles(0), chart.Styles(1)
	ends := []float64{0, minutes[len(minutes)-1]}
	wait.Line(seen, minutes, p99s, false)
	wait.Line(bound, ends, []float64{3 * quiet, 3 * quiet}, false)
	memory.Line(seen, minutes, memories, false)
	memory.Line(bound, ends, []float64{192, 192}, false)
	return &chart.Figure{Title: "stoker serve under attack", Columns: 2, Width: 14 * vg.Centimeter, Height: 8 * vg.Centimeter,
		Panels: []*chart.Panel{wait, memory}, Key: []chart.Entry{{Text: "every ten seconds", Style: seen, Line: true},
			{Text: fmt.Sprintf("bound: three times the p99 without attacks (%.1f ms), --max-memory + 64 MiB", quiet), Style: bound, Line: true}}}
}
