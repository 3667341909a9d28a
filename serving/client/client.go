// Package client asks a server of the Open Inference Protocol, version 2, over HTTP or gRPC: what a model takes and
// gives, and what it answers. Servers are asked in the tensors of package policy/onnx.
//
// Not here: what is done with the answers, and retries.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy/onnx"
	"github.com/stoker-rl/stoker/serving/internal/inference"
	"github.com/stoker-rl/stoker/serving/internal/tensors"
	"github.com/stoker-rl/stoker/serving/internal/wire"
)

// Tensor describes an input or an output. A size of −1 is any.
type Tensor struct {
	Name  string  `json:"name"`
	Type  string  `json:"datatype"`
	Shape []int64 `json:"shape"`
	// Optional says of what a spec describes that a server may do without it.
	Optional bool `json:"-"`
}

func (t Tensor) String() string { return fmt.Sprintf("%s %v", t.Type, t.Shape) }

// Fits reports whether tensors of one shape can be of the other.
func (t Tensor) Fits(o Tensor) bool {
	if len(t.Shape) != len(o.Shape) {
		return false
	}
	for i, n := range t.Shape {
		if n >= 0 && o.Shape[i] >= 0 && n != o.Shape[i] {
			return false
		}
	}
	return true
}

// Inputs are the tensors that show what agents of a spec see.
func Inputs(spec *envs.Spec) ([]Tensor, error) {
	l, err := tensors.New(spec, nil)
	if err != nil {
		return nil, err
	}
	var out []Tensor
	for _, t := range l.Inputs() {
		out = append(out, Tensor{t.Name, t.Type, t.Shape, t.Optional})
	}
	return out, nil
}

// Model is what a server says of a model.
type Model struct {
	Platform string   `json:"platform"`
	Versions []string `json:"versions"`
	Inputs   []Tensor `json:"inputs"`
	Outputs  []Tensor `json:"outputs"`
}

// Bundles is the platform of Stoker's own server. It keeps the state of sequences.
const Bundles = "stoker_bundle"

// Request asks for some outputs. Sequence, where it is not empty, names decisions that follow each other; Start forgets
// what came before, End ends the sequence.
type Request struct {
	Inputs     []onnx.Tensor
	Outputs    []string
	Sequence   string
	Start, End bool
}

// Output is one of an answer.
type Output struct {
	Name  string
	Shape []int64
	Data  []float32
}

// Answer is what a server answers. Params are its parameters: bools, numbers in float64, and texts.
type Answer struct {
	Params  map[string]any
	Outputs []Output
}

// Client asks for one model. It serves many goroutines.
type Client struct {
	url  string // of HTTP
	http http.Client
	name string // of gRPC
	conn *grpc.ClientConn
}

// Open returns a client of a model at http://HOST/v2/models/NAME, https likewise, or grpc://HOST/NAME, and over TLS
// grpcs://HOST/NAME. No connection is made yet.
func Open(address string) (*Client, error) { return open(address, nil) }

// open uses the machine's certificate authorities where t is nil.
func open(address string, t *tls.Config) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	path := strings.Trim(u.Path, "/")
	if u.Scheme != "grpc" && u.Scheme != "grpcs" {
		if _, name, ok := strings.Cut(path, "v2/models/"); u.Host == "" || !ok || name == "" {
			return nil, errors.New("want http://HOST/v2/models/NAME")
		}
		return &Client{url: strings.TrimSuffix(address, "/"), http: http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64}}}, nil
	}
	if u.Host == "" || path == "" || strings.Contains(path, "/") {
		return nil, fmt.Errorf("want %s://HOST/NAME", u.Scheme)
	}
	c, over := &Client{name: path}, insecure.NewCredentials()
	if u.Scheme == "grpcs" {
		over = credentials.NewTLS(t)
	}
	c.conn, err = grpc.NewClient(u.Host, grpc.WithTransportCredentials(over),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostAnswer)))
	return c, err
}

// mostAnswer is the most bytes of an answer.
const mostAnswer = 64 << 20

// Close ends connections.
func (c *Client) Close() error {
	if c.conn != nil {
		return c.conn.Close()
	}
	c.http.CloseIdleConnections()
	return nil
}

// Model asks what the model takes and gives.
func (c *Client) Model(ctx context.Context) (m Model, err error) {
	if c.conn == nil {
		text, err := c.send(ctx, http.MethodGet, c.url, nil)
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		return m, err
	}
	a, err := inference.NewGRPCInferenceServiceClient(c.conn).ModelMetadata(ctx,
		&inference.ModelMetadataRequest{Name: c.name})
	if err != nil {
		return m, plain(err)
	}
	m = Model{Platform: a.Platform, Versions: a.Versions}
	for _, l := range []struct {
		to   *[]Tensor
		from []*inference.ModelMetadataResponse_TensorMetadata
	}{{&m.Inputs, a.Inputs}, {&m.Outputs, a.Outputs}} {
		for _, t := range l.from {
			*l.to = append(*l.to, Tensor{Name: t.GetName(), Type: t.GetDatatype(), Shape: t.GetShape()})
		}
	}
	return m, nil
}

// Infer asks for outputs.
func (c *Client) Infer(ctx context.Context, r *Request) (*Answer, error) {
	if c.conn != nil {
		return c.inferRPC(ctx, r)
	}
	var inputs, outputs []any
	for _, t := range r.Inputs {
		d, data := describe(t)
		inputs = append(inputs, map[string]any{"name": d.Name, "datatype": d.Type, "shape": d.Shape, "data": data})
	}
	for _, name := range r.Outputs {
		outputs = append(outputs, map[string]string{"name": name})
	}
	body := map[string]any{"inputs": inputs, "outputs": outputs}
	if r.Sequence != "" {
		body["parameters"] = r.params()
	}
	text, err := json.Marshal(body)
	if err == nil {
		text, err = c.send(ctx, http.MethodPost, c.url+"/infer", text)
	}
	if err != nil {
		return nil, err
	}
	return parse(text)
}

func (r *Request) params() map[string]any {
	if r.Sequence == "" {
		return nil
	}
	return map[string]any{"sequence_id": r.Sequence, "sequence_start": r.Start, "sequence_end": r.End}
}

// describe is a tensor's name, type and shape, and its numbers.
func describe(t onnx.Tensor) (d Tensor, data any) {
	d, data = Tensor{Name: t.Name, Type: wire.Bool}, t.Bools
	switch {
	case t.Floats != nil:
		d.Type, data = wire.Float32, t.Floats
	case t.Ints != nil:
		d.Type, data = wire.Int64, t.Ints
	}
	for _, n := range t.Shape {
		d.Shape = append(d.Shape, int64(n))
	}
	return d, data
}

// send makes a call of HTTP and returns the body of its answer.
func (c *Client) send(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its answer is cut after %d bytes: %w", len(text), err)
	case len(text) > mostAnswer:
		return nil, fmt.Errorf("its answer has more than %d bytes", mostAnswer)
	case a.StatusCode != http.StatusOK:
		var said struct{ Error string }
		if json.Unmarshal(text, &said) != nil || said.Error == "" {
			said.Error = string(text[:min(len(text), 200)])
		}
		return nil, fmt.Errorf("the server answers %s: %s", a.Status, said.Error)
	}
	return text, nil
}

// parse reads an answer of HTTP.
func parse(text []byte) (*Answer, error) {
	var in struct {
		Params  map[string]any `json:"parameters"`
		Outputs []struct {
			Tensor
			Data json.RawMessage `json:"data"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("its answer is not the JSON that is wanted: %w", err)
	}
	a := &Answer{Params: in.Params}
	for _, o := range in.Outputs {
		out := Output{Name: o.Name, Shape: o.Shape}
		if bytes.Contains(o.Data, []byte("null")) { // what is not finite has no word in JSON
			return nil, fmt.Errorf("output %q has a number that is not finite", o.Name)
		}
		// Lists may be nested as the shape is.
		if err := json.Unmarshal(append(append([]byte{'['}, bytes.Map(unnested, o.Data)...), ']'), &out.Data); err != nil {
			return nil, fmt.Errorf("output %q: %w", o.Name, err)
		}
		if err := out.check(); err != nil {
			return nil, err
		}
		a.Outputs = append(a.Outputs, out)
	}
	return a, nil
}

// unnested drops brackets.
func unnested(r rune) rune {
	if r == '[' || r == ']' {
		return -1
	}
	return r
}

// check compares shape and numbers.
func (o *Output) check() error {
	n := int64(1)
	for _, d := range o.Shape {
		if d < 0 || n > 0 && d > mostAnswer/n {
			return fmt.Errorf("output %q has the shape %v", o.Name, o.Shape)
		}
		n *= d
	}
	if n != int64(len(o.Data)) {
		return fmt.Errorf("output %q has %d numbers, its shape is %v", o.Name, len(o.Data), o.Shape)
	}
	return nil
}

// plain is an error of gRPC without the words around it.
func plain(err error) error {
	return fmt.Errorf("the server answers %s: %s", status.Code(err), status.Convert(err).Message())
}

func (c *Client) inferRPC(ctx context.Context, r *Request) (*Answer, error) {
	in := &inference.ModelInferRequest{ModelName: c.name}
	for name, v := range r.params() {
		p := &inference.InferParameter{}
		switch v := v.(type) {
		case bool:
			p.ParameterChoice = &inference.InferParameter_BoolParam{BoolParam: v}
		case string:
			p.ParameterChoice = &inference.InferParameter_StringParam{StringParam: v}
		}
		if in.Parameters == nil {
			in.Parameters = map[string]*inference.InferParameter{}
		}
		in.Parameters[name] = p
	}
	for _, t := range r.Inputs {
		d, _ := describe(t)
		in.Inputs = append(in.Inputs, &inference.ModelInferRequest_InferInputTensor{
			Name: d.Name, Datatype: d.Type, Shape: d.Shape,
			Contents: &inference.InferTensorContents{Fp32Contents: t.Floats, Int64Contents: t.Ints, BoolContents: t.Bools}})
	}
	for _, o := range r.Outputs {
		in.Outputs = append(in.Outputs, &inference.ModelInferRequest_InferRequestedOutputTensor{Name: o})
	}
	m, err := inference.NewGRPCInferenceServiceClient(c.conn).ModelInfer(ctx, in)
	if err != nil {
		return nil, plain(err)
	}
	return read(m)
}

// read reads an answer of gRPC.
func read(m *inference.ModelInferResponse) (*Answer, error) {
	a := &Answer{Params: map[string]any{}}
	for name, p := range m.Parameters {
		switch v := p.GetParameterChoice().(type) {
		case *inference.InferParameter_BoolParam:
			a.Params[name] = v.BoolParam
		case *inference.InferParameter_Int64Param:
			a.Params[name] = float64(v.Int64Param)
		case *inference.InferParameter_StringParam:
			a.Params[name] = v.StringParam
		}
	}
	for i, o := range m.Outputs {
		out := Output{Name: o.GetName(), Shape: o.GetShape()}
		var err error
		if i < len(m.RawOutputContents) {
			out.Data, err = fromBytes(o.GetDatatype(), m.RawOutputContents[i])
		} else {
			out.Data = fromContents(o.GetContents())
		}
		if err == nil {
			err = out.check()
		}
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", out.Name, err)
		}
		a.Outputs = append(a.Outputs, out)
	}
	return a, nil
}

func fromContents(c *inference.InferTensorContents) []float32 {
	return slices.Concat(c.GetFp32Contents(), floats(c.GetFp64Contents()), floats(c.GetInt64Contents()),
		floats(c.GetIntContents()))
}

func floats[T float32 | float64 | int32 | int64](numbers []T) []float32 {
	out := make([]float32, len(numbers))
	for i, x := range numbers {
		out[i] = float32(x)
	}
	return out
}

// fromBytes reads numbers of a type, little-endian.
func fromBytes(datatype string, b []byte) ([]float32, error) {
	switch datatype {
	case "FP32":
		return decode[float32](b)
	case "FP64":
		return decode[float64](b)
	case "INT32":
		return decode[int32](b)
	case "INT64":
		return decode[int64](b)
	}
	return nil, fmt.Errorf("is of type %s, want FP32, FP64, INT32 or INT64", datatype)
}

func decode[T float32 | float64 | int32 | int64](b []byte) ([]float32, error) {
	size := binary.Size(T(0))
	if len(b)%size != 0 {
		return nil, fmt.Errorf("has %d bytes, want numbers of %d", len(b), size)
	}
	numbers := make([]T, len(b)/size)
	_, err := binary.Decode(b, binary.LittleEndian, numbers)
	return floats(numbers), err
}
