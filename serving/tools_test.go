package serving_test

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/serving"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
)

// wrk and h2load get an answer to every request: HTTP/1.1, HTTP/2 without TLS, and gRPC.
func TestLoadTools(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	p, all := seen(t, "faasconf")
	dir := t.TempDir()
	body := filepath.Join(dir, "body")
	write(t, body, []byte(`{"inputs":[`+vectors(p, all[0])+`]}`))
	script := filepath.Join(dir, "post.lua")
	write(t, script, []byte(fmt.Sprintf("wrk.method=\"POST\"\nlocal f=io.open(%q,\"rb\")\nwrk.body=f:read(\"*a\")\nf:close()\n", body)))
	k := all[0].Kinds[0]
	m := must.Get(proto.Marshal(&pb.ModelInferRequest{ModelName: "faasconf", Inputs: []*pb.ModelInferRequest_InferInputTensor{
		{Name: "observation", Datatype: "FP32", Shape: []int64{1, 6, 37}, Contents: &pb.InferTensorContents{Fp32Contents: k.Values}},
	}}))(t)
	frame := filepath.Join(dir, "frame")
	write(t, frame, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...))
	infer := "http://" + r.http + faasconf + "/infer"
	for name, c := range map[string]struct {
		args      []string
		want, not string
	}{
		"wrk":             {[]string{"wrk", "-t1", "-c4", "-d1s", "-s", script, infer}, "requests in", "Non-2xx"},
		"h2load HTTP/1.1": {[]string{"h2load", "--h1", "-n200", "-c4", "-d", body, infer}, "status codes: 200 2xx", "errors: 1"},
		"h2load HTTP/2":   {[]string{"h2load", "-n200", "-c2", "-m4", "-d", body, infer}, "status codes: 200 2xx", "errors: 1"},
		"h2load gRPC": {[]string{"h2load", "-n200", "-c2", "-m4", "-d", frame, "-H", "content-type: application/grpc", "-H",
			"te: trailers", "http://" + r.grpc + "/inference.GRPCInferenceService/ModelInfer"}, "status codes: 200 2xx", "errors: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.args[0]); err != nil {
				t.Skipf("there is no %s: apt-get install wrk nghttp2-client", c.args[0])
			}
			out, err := exec.Command(c.args[0], c.args[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), c.not) ||
				strings.Contains(string(out), "Socket errors") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	// gRPC has the status 200 for errors too: what counts is that the server found none. wrk leaves before its last
	// answers.
	text := strings.ReplaceAll(r.scrape(t), `code="499"`, "")
	if strings.Contains(text, `code="`) || !strings.Contains(text, `stoker_requests_total{model="faasconf",protocol="http"}`) {
		t.Errorf("the server counts errors:\n%s", text)
	}
}
