package serving_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// stoker is the workbench's binary: what the variable STOKER names, or built now.
func stoker(t *testing.T) string {
	t.Helper()
	if s := os.Getenv("STOKER"); s != "" {
		s := must.Get(filepath.Abs(s))(t)
		return s
	}
	s := filepath.Join(t.TempDir(), "stoker")
	if out, err := exec.Command("go", "build", "-o", s, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// The server beside KServe's, measured by clients/load.py: requests a second, latency, CPU time, time until it is
// ready.
func TestLoad(t *testing.T) {
	if !*long {
		t.Skip("minutes on an idle machine: go test ./serving -run Load -long")
	}
	py := python(t, "kserve, onnxruntime")
	python(t, "tritonclient.grpc") // both in one process are refused by protobuf: they define the same messages
	for _, tool := range []string{"wrk", "h2load"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: apt-get install wrk nghttp2-client", tool)
		}
	}
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		dir = t.TempDir()
	}
	out, err := exec.Command(py, filepath.Join("clients", "load.py"), stoker(t), dir).CombinedOutput()
	t.Logf("%s", out)
	must.Do(t, err)
	f := must.Get(os.Open(filepath.Join(dir, "load.csv")))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	claim := func(model, what, bound, unit string, measured float64, holds bool) {
		proof.Claim(t, proof.Row{Topic: "speed", Claim: fmt.Sprintf("%s: %s", model, what), Bound: bound + unit,
			Measured: fmt.Sprintf("%.3g%s", measured, unit), Holds: holds})
	}
	cost := map[string]map[string]float64{}
	for _, row := range rows[1:] {
		model, what, server := row[0], row[1], row[3]
		x := must.Get(strconv.ParseFloat(row[4], 64))(t)
		switch name, per := strings.CutPrefix(what, "CPU a request, "); {
		case per:
			if cost[model] == nil {
				cost[model] = map[string]float64{}
			}
			cost[model][name] = x
		case what == "requests/s, ratio":
			claim(model, "requests a second as JSON over those of KServe's Python server with onnxruntime", "at least 15", "", x, x >= 15)
		case what == "p99, ratio":
			claim(model, "99th percentile at 1,000 requests a second over KServe's", "at most 0.2", "", x, x <= 0.2)
		case what == "ready" && server == "stoker":
			claim(model, "time until the server is ready", "at most 100", " ms", x, x <= 100)
		}
	}
	for model, c := range cost {
		ratio := c["gRPC"] / c["HTTP/2, JSON"]
		claim(model, "CPU time of a gRPC request over that of an HTTP/2 request in JSON, same client", "at most 1", "", ratio, ratio <= 1)
		ratio = c["gRPC"] / c["HTTP/1.1, JSON"]
		claim(model, "CPU time of a gRPC request over that of an HTTP/1.1 request in JSON, same client", "at most 1", "", ratio, ratio <= 1)
	}
}

// Prometheus finds the metrics well formed, scrapes them and answers a query about them.
func TestPrometheus(t *testing.T) {
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: apt-get install prometheus", tool)
		}
	}
	prometheus(t)
}
