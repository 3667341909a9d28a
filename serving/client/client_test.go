package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/serving/internal/inference"
)

const good = `{"model_name":"m","parameters":{"decided_by":"fallback","fallbacks":2},"outputs":[{"name":"action","datatype":"FP32",` +
	`"shape":[1,2],"data":[[0.5,1]]}]}`

// Answers of HTTP: lists may be nested, and what is not a number, or not as many as the shape says, is refused.
func TestParse(t *testing.T) {
	a, err := parse([]byte(good))
	if err != nil || len(a.Outputs) != 1 || !slices.Equal(a.Outputs[0].Data, []float32{0.5, 1}) || a.Params["fallbacks"] != 2. {
		t.Errorf("%+v, %v", a, err)
	}
	for _, c := range []struct{ old, now, want string }{
		{`0.5,1`, `0.5`, "has 1 numbers, its shape is [1 2]"}, {`1]]}`, `null]]}`, "not finite"},
		{`[1,2]`, `[-1,2]`, "the shape [-1 2]"}, {`[1,2]`, `[4611686018427387904,4]`, "the shape [4611686018427387904 4]"},
		{`[[0.5,1]]`, `"x"`, `output "action"`},
	} {
		_, err := parse([]byte(strings.Replace(good, c.old, c.now, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.now, err, c.want)
		}
	}
}

// FuzzParse: no answer panics, and one that is taken has as many numbers as its shape says.
func FuzzParse(f *testing.F) {
	for n := range len(good) + 1 {
		f.Add([]byte(good[:n]))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parse(text)
		if err != nil {
			return
		}
		for _, o := range a.Outputs {
			if o.check() != nil {
				t.Errorf("%q gives %+v", text, o)
			}
		}
	})
}

// Answers of gRPC hold numbers of several types, as contents or as bytes.
func TestRead(t *testing.T) {
	for datatype, raw := range map[string][]byte{
		"FP32": {0, 0, 0, 0x40}, "INT32": {2, 0, 0, 0}, "INT64": {2, 0, 0, 0, 0, 0, 0, 0}, "FP64": {0, 0, 0, 0, 0, 0, 0, 0x40},
	} {
		o := &inference.ModelInferResponse_InferOutputTensor{Name: "action", Datatype: datatype, Shape: []int64{1, 1}}
		m := &inference.ModelInferResponse{Outputs: []*inference.ModelInferResponse_InferOutputTensor{o}, RawOutputContents: [][]byte{raw}}
		a, err := read(m)
		if err != nil || !slices.Equal(a.Outputs[0].Data, []float32{2}) {
			t.Errorf("%s: %+v, %v", datatype, a, err)
		}
		m.RawOutputContents[0] = raw[:3]
		if _, err := read(m); err == nil {
			t.Errorf("%s: cut bytes are taken", datatype)
		}
		m.RawOutputContents = nil
		o.Contents = &inference.InferTensorContents{Int64Contents: []int64{2}}
		if a, err := read(m); err != nil || !slices.Equal(a.Outputs[0].Data, []float32{2}) {
			t.Errorf("%s as contents: %+v, %v", datatype, a, err)
		}
	}
}

// named is a server that says which model it was asked for.
type named struct {
	inference.UnimplementedGRPCInferenceServiceServer
}

func (named) ModelMetadata(_ context.Context, r *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	return &inference.ModelMetadataResponse{Platform: r.Name}, nil
}

// A server over TLS is asked where its certificate is of a known authority, and else is not told a thing.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12})))
	inference.RegisterGRPCInferenceServiceServer(s, named{})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	known := x509.NewCertPool()
	known.AddCert(certified.Certificate())
	for _, k := range []struct {
		scheme, want string
		roots        *x509.CertPool
	}{{"grpcs", "", known}, {"grpcs", "certificate", x509.NewCertPool()}, {"grpc", "connection", nil}} {
		c := must.Get(open(k.scheme+"://"+l.Addr().String()+"/m", &tls.Config{RootCAs: k.roots, MinVersion: tls.VersionTLS12}))(t)
		m, err := c.Model(t.Context())
		if (err == nil) != (k.want == "") || err != nil && !strings.Contains(err.Error(), k.want) || err == nil && m.Platform != "m" {
			t.Errorf("%s: %+v, %v, want an error with %q", k.scheme, m, err, k.want)
		}
		must.Do(t, c.Close())
	}
	if _, err := Open("grpcs://host"); err == nil || !strings.Contains(err.Error(), "grpcs://HOST/NAME") {
		t.Errorf("an address without a model: %v", err)
	}
}
