package serving_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
)

const faasconf = "/v2/models/faasconf"

// What is served is what package policy decides, row by row.
func TestRESTDecidesAsPolicy(t *testing.T) {
	for _, name := range []string{"faasconf", "hops-pricer"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, []string{name}, nil, serving.Files{})
			p, all := seen(t, name)
			status, body, _ := r.send(t, "POST", "/v2/models/"+name+"/infer", `{"id":"7","inputs":[`+vectors(p, all...)+`]}`)
			if status != http.StatusOK {
				t.Fatalf("%d: %s", status, body)
			}
			a := parse(t, body)
			if a.ID != "7" || a.Model != name || a.Version != p.Digest() || a.Params["decided_by"] != "policy" {
				t.Errorf("answered %+v", a)
			}
			var want []float32
			for _, o := range all {
				act := p.NewAction()
				must.Get(p.Decide(t.Context(), o, act))(t)
				want = append(want, act.Kinds[0]...)
			}
			if got := a.output("scores"); !slices.Equal(got, want) {
				t.Errorf("scores %v, want %v", got, want)
			}
			if p.Spec().ID != "stoker/Sizing-v3" {
				return
			}
			if got := a.output("action"); len(got) == 0 || got[0] < 0.05 || got[1] < 64 ||
				got[2] != float32(math.Trunc(float64(got[2]))) {
				t.Errorf("actions %v are not cores, MB, replicas and concurrency", got)
			}
		})
	}
}

// A request with binary tensors, and one for binary outputs, is answered with the same numbers.
func TestBinary(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	p, all := seen(t, "faasconf")
	_, plain, _ := r.send(t, "POST", faasconf+"/infer", `{"inputs":[`+vectors(p, all[0])+`]}`)
	k := all[0].Kinds[0]
	var raw []byte
	for _, x := range k.Values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	for _, x := range k.Active {
		raw = append(raw, map[bool]byte{true: 1}[x])
	}
	header := fmt.Sprintf(`{"inputs":[{"name":"observation","datatype":"FP32","shape":[1,6,37],"parameters":{"binary_data_size":%d}},`+
		`{"name":"active","datatype":"BOOL","shape":[1,6],"parameters":{"binary_data_size":6}}],`+
		`"outputs":[{"name":"scores","parameters":{"binary_data":true}},{"name":"action"}]}`, 4*len(k.Values))
	status, body, h := r.send(t, "POST", faasconf+"/infer", header+string(raw), "Inference-Header-Content-Length",
		fmt.Sprint(len(header)))
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	var n int
	must.Get(fmt.Sscan(h.Get("Inference-Header-Content-Length"), &n))(t)
	a, want := parse(t, body[:n]), parse(t, plain)
	var scores []float32
	for b := []byte(body[n:]); len(b) > 0; b = b[4:] {
		scores = append(scores, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	if !slices.Equal(scores, want.output("scores")) || !slices.Equal(a.output("action"), want.output("action")) {
		t.Errorf("%s\nwant %s", body[:n], plain)
	}
	if a.Outputs[1].Params["binary_data_size"] != float64(4*len(scores)) {
		t.Errorf("outputs are %+v", a.Outputs)
	}
}

// Wrong requests are refused with the status and the field.
func TestBadRequests(t *testing.T) {
	r := start(t, []string{"faasconf", "gnn-placement"}, func(o *serving.Options, _ *policy.Options) {
		o.MaxBody, o.MaxBatch = 64<<10, 8
	}, serving.Files{})
	p, all := seen(t, "faasconf")
	good := vectors(p, all[0])
	in := func(s string) string { return `{"inputs":[` + s + `]}` }
	zeros := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	observation := func(shape, datatype, data string) string {
		return in(`{"name":"observation","shape":` + shape + `,"datatype":"` + datatype + `","data":` + data + `}`)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
		headers    []string
	}{
		{path: "/infer", body: "", status: 400, want: "the end, want"},
		{path: "/infer", body: "[]", status: 400, want: `want "{"`},
		{path: "/versions/" + p.Digest() + "/infer", body: strings.Replace(in(good), "{", `{"model_version":"1",`, 1), status: 400,
			want: `model_version: is "1", the path names "` + p.Digest()},
		{path: "/infer", body: in(good) + "x", status: 400, want: "follows the request"},
		{path: "/infer", body: `{"input":[]}`, status: 400, want: `unknown key "input", want id, parameters, inputs, outputs`},
		{path: "/infer", body: `{"inputs":[],"inputs":[]}`, status: 400, want: `key "inputs" comes twice`},
		{path: "/infer", body: `{"inputs":[]}`, status: 400, want: "inputs: there is none, want observation, active"},
		{path: "/infer", body: in(strings.Replace(good, "observation", "obs", 1)), status: 400,
			want: `inputs[0].name: unknown input "obs", want observation, active`},
		{path: "/infer", body: in(good + "," + good), status: 400, want: `inputs[2] "observation": is given twice`},
		{path: "/infer", body: in(good[strings.Index(good, "},")+2:]), status: 400, want: `"observation" is missing, want FP32 [-1, 6, 37]`},
		{path: "/infer", body: observation("[1,6,37]", "FP64", zeros(222)), status: 400, want: `datatype is "FP64", want "FP32"`},
		{path: "/infer", body: observation("[1,6,36]", "FP32", zeros(216)), status: 400, want: `shape is [1 6 36], want [-1 6 37]`},
		{path: "/infer", body: observation("[1,-6,37]", "FP32", zeros(222)), status: 400, want: `inputs[0].shape: size 1 is -6`},
		{path: "/infer", body: observation("[0,6,37]", "FP32", "[]"), status: 400, want: `want at least one row`},
		{path: "/infer", body: observation("[9223372036854775807,6,37]", "FP32", "[]"), status: 413, want: "want at most 8"},
		{path: "/infer", body: observation("[9,6,37]", "FP32", "[]"), status: 413, want: "the batch has 9 rows, want at most 8"},
		{path: "/infer", body: observation("[1,6,37]", "FP32", zeros(221)), status: 400, want: "data has 221 values, shape [1 6 37] has 222"},
		{path: "/infer", body: observation("[1,6,37]", "FP32", zeros(223)), status: 400, want: "data has more than 222 values"},
		{path: "/infer", body: observation("[1,6,37]", "FP32", strings.Replace(zeros(222), "0", "NaN", 1)), status: 400,
			want: `data[0]: "NaN`},
		{path: "/infer", body: observation("[1,6,37]", "FP32", strings.Replace(zeros(222), "0", "1e99", 1)), status: 400,
			want: `data[0]: 1e99 is beyond FP32`},
		{path: "/infer", body: observation("[1,6,37]", "FP32", `["a"]`), status: 400, want: `inputs[0].data`},
		{path: "/infer", body: observation("[1,6,37]", "FP32", "[["+zeros(222)+"]]"), status: 400, want: "at depth 2, shape [1 6 37] has 37"},
		{path: "/infer", body: in(good[:len(good)-3] + "1]}"), status: 400, want: `inputs[1] "active": data[5]: "tru1]`},
		{path: "/infer", body: in(`{"name":"observation","shape":[1,6,37],"datatype":"FP32"}`), status: 400,
			want: "inputs[0]: want either data or the parameter binary_data_size"},
		{path: "/infer", body: in(`{"name":"observation","shape":[1,6,37],"datatype":"FP32","parameters":{"binary_data_size":888}}`),
			status: 400, want: "888 bytes are announced, 0 are left"},
		{path: "/infer", body: in(good), headers: []string{"Inference-Header-Content-Length", "x"}, status: 400,
			want: `Inference-Header-Content-Length: "x"`},
		{path: "/infer", body: in(good), headers: []string{"Content-Encoding", "gzip"}, status: 415, want: "Content-Encoding"},
		{path: "/infer", body: strings.Repeat(" ", 64<<10) + in(good), status: 413, want: "the body is larger than 65536 bytes"},
		{path: "/infer", body: `{"parameters":{"sequence":1},"inputs":[` + good + `]}`, status: 400, want: `unknown parameter "sequence"`},
		{path: "/infer", body: `{"parameters":{"sequence_end":1},"inputs":[` + good + `]}`, status: 400,
			want: "parameters.sequence_end: is 1, want true or false"},
		{path: "/infer", body: `{"parameters":{"sequence_id":1},"inputs":[` + vectors(p, all[0], all[1]) + `]}`, status: 400,
			want: "parameters.sequence_id: the batch has 2 rows"},
		{path: "/infer", body: `{"outputs":[{"name":"value"}],"inputs":[` + good + `]}`, status: 400,
			want: `outputs[0].name: unknown output "value", want action, scores`},
		{path: "/infer", body: in(strings.Replace(good, "observation", strings.Repeat("o", 5000), 1)), status: 400, want: "o…"},
		{path: "/versions/1/infer", body: in(good), status: 404, want: `model "faasconf" has no version "1", it serves ` + p.Digest()},
		{path: "2/infer", body: in(good), status: 404, want: `no model is called "faasconf2", the models are faasconf, gnn-placement`},
		{path: "/infers", body: in(good), status: 404, want: "there is no POST"},
	} {
		status, body, _ := r.send(t, "POST", faasconf+c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(unescape(body), c.want) {
			t.Errorf("%.80s gave %d %s\nwant %d with %s", c.body, status, body, c.status, c.want)
		}
	}
	status, body, _ := r.send(t, "POST", faasconf+"/infer", in(good))
	if status != http.StatusOK {
		t.Errorf("a good request after bad ones gave %d %s", status, body)
	}
}

func unescape(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }

// A decision that ends after its deadline is refused. Every reading of this server's clock is 10 ms after the last.
func TestDeadline(t *testing.T) {
	var readings atomic.Int64
	begun := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) // no timer runs until then
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) {
		o.Now = func() time.Time { return begun.Add(time.Duration(readings.Add(1)) * 10 * time.Millisecond) }
		o.Deadline = time.Hour
	}, serving.Files{})
	p, all := seen(t, "faasconf")
	for timeout, want := range map[string]int{"1": 408, "15000": 408, "3600000000": 200} {
		body := `{"parameters":{"timeout":` + timeout + `},"inputs":[` + vectors(p, all[0]) + `]}`
		status, answer, _ := r.send(t, "POST", faasconf+"/infer", body)
		if status != want || want == 408 && !strings.Contains(answer, "deadline") {
			t.Errorf("a timeout of %s µs gave %d %s, want %d", timeout, status, answer, want)
		}
	}
}

// More requests than there is room for get 429; those under way are answered.
func TestInFlight(t *testing.T) {
	h := &holding{deciding: make(chan struct{}), release: make(chan struct{})}
	r := startBehind(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) {
		o.MaxInFlight, o.Deadline = 1, time.Hour
	}, serving.Files{}, func(p models.Policy) models.Policy {
		h.Policy = p
		return h
	})
	p, all := seen(t, "faasconf")
	body := `{"inputs":[` + vectors(p, all[0]) + `]}`
	first := make(chan int)
	go func() {
		res, err := http.Post("http://"+r.http+faasconf+"/infer", "", strings.NewReader(body))
		if err != nil {
			first <- 0
			return
		}
		res.Body.Close()
		first <- res.StatusCode
	}()
	<-h.deciding
	status, text, header := r.send(t, "POST", faasconf+"/infer", body)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" ||
		!strings.Contains(text, "1 requests are under way") {
		t.Errorf("%d %v %s", status, header, text)
	}
	close(h.release)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the request under way got %d", status)
	}
}

// holding is a policy whose decisions wait.
type holding struct {
	models.Policy
	deciding, release chan struct{}
}

func (h *holding) DecideFor(ctx context.Context, r policy.Request) (policy.Decision, error) {
	h.deciding <- struct{}{}
	<-h.release
	return h.Policy.DecideFor(ctx, r)
}

func TestMetadataAndHealth(t *testing.T) {
	r := start(t, []string{"faasconf", "gnn-placement"}, nil, serving.Files{})
	for path, want := range map[string]string{
		"/v2": `"name":"stoker"`, "/v2/": `"binary_tensor_data"`, "/v2/health/live": `{"live":true}`,
		"/v2/health/ready": `{"ready":true}`, faasconf: `{"name":"observation","datatype":"FP32","shape":[-1,6,37]}`,
		faasconf + "/ready": `"ready":true`, "/v2/models/gnn-placement": `{"name":"legal.node","datatype":"BOOL","shape":[-1,4,-1]}`,
		"/metrics": `stoker_model_info{agent="ppo",environment="stoker/Sizing-v3",model="faasconf"`,
	} {
		if status, body, _ := r.send(t, "GET", path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}
