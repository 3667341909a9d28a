package serving_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
	"github.com/stoker-rl/stoker/serving"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }
func (rawCodec) Name() string                       { return "proto" }

// sendRaw calls a method with a message's bytes.
func sendRaw(ctx context.Context, c *grpc.ClientConn, method string, message []byte) error {
	var out []byte
	return c.Invoke(ctx, method, &message, &out, grpc.ForceCodec(rawCodec{}))
}

// Small messages that would take much memory, large ones and compressed ones are refused, and a request after them is
// answered.
func TestGRPCMessages(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.MaxBody = 1 << 20 }, serving.Files{})
	conn := dial(t, r)
	const infer = pb.GRPCInferenceService_ModelInfer_FullMethodName
	for what, c := range map[string]struct {
		method  string
		message []byte
		want    codes.Code
		text    string
	}{
		"empty inputs":     {infer, bytes.Repeat([]byte{5<<3 | 2, 0}, 400_000), codes.InvalidArgument, "more than 256 inputs"},
		"empty outputs":    {infer, bytes.Repeat([]byte{6<<3 | 2, 0}, 400_000), codes.InvalidArgument, "more than 256 inputs"},
		"parameters":       {infer, bytes.Repeat([]byte{4<<3 | 2, 0}, 400_000), codes.InvalidArgument, "more than 256 inputs"},
		"sizes":            {infer, append([]byte{5<<3 | 2, 0x80, 8}, bytes.Repeat([]byte{3 << 3, 1}, 512)...), codes.InvalidArgument, "shape has more than 8 sizes"},
		"texts":            {infer, []byte{5<<3 | 2, 4, 5<<3 | 2, 2, 8<<3 | 2, 0}, codes.InvalidArgument, "contents has field 8"},
		"no message":       {infer, []byte{0xff}, codes.InvalidArgument, "unexpected EOF"},
		"a large one":      {infer, make([]byte, 1<<20+1), codes.ResourceExhausted, "1048577 bytes, want at most 1048576"},
		"a large question": {pb.GRPCInferenceService_ModelMetadata_FullMethodName, make([]byte, 65<<10), codes.ResourceExhausted, "larger than max"},
	} {
		err := sendRaw(t.Context(), conn, c.method, c.message)
		if status.Code(err) != c.want || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v, want %v with %s", what, err, c.want, c.text)
		}
	}
	c := pb.NewGRPCInferenceServiceClient(conn)
	if _, err := c.ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "faasconf"}, grpc.UseCompressor(gzip.Name)); status.Code(err) != codes.Unimplemented {
		t.Errorf("a compressed message: %v", err)
	}
	large := &pb.ModelInferRequest{ModelName: "faasconf", Id: strings.Repeat("x", 900_000)} // in several pieces
	if _, err := c.ModelInfer(t.Context(), large); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "want observation") {
		t.Errorf("a message in pieces: %v", err)
	}
}

// Without a token only health answers, and nothing of a message is read.
func TestGRPCTokens(t *testing.T) {
	path := t.TempDir() + "/tokens"
	write(t, path, []byte("0123456789abcdef\n"))
	r := start(t, []string{"faasconf"}, nil, serving.Files{Tokens: path})
	conn := dial(t, r)
	message := make([]byte, 8<<20)
	for range 20 {
		if err := sendRaw(t.Context(), conn, pb.GRPCInferenceService_ModelInfer_FullMethodName, message); status.Code(err) != codes.Unauthenticated {
			t.Fatalf("without a token: %v", err)
		}
	}
	ask := func(ctx context.Context) error {
		stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	if err := ask(t.Context()); status.Code(err) != codes.Unauthenticated {
		t.Errorf("reflection without a token: %v", err)
	}
	with := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer 0123456789abcdef")
	if m, err := pb.NewGRPCInferenceServiceClient(conn).ModelMetadata(with, &pb.ModelMetadataRequest{Name: "faasconf"}); err != nil || m.Name != "faasconf" {
		t.Errorf("with a token: %v, %v", m, err)
	}
	if h, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || h.Status != 1 {
		t.Errorf("health: %v, %v", h, err)
	}
}

// Messages that stop half-way hold no more than the budget, and give way to one that comes whole.
func TestWithheldMessages(t *testing.T) {
	const budget = 4 << 20
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.MaxMemory = budget }, serving.Files{})
	for range 60 { // each announces 8 MB and sends 64 KB: more than the budget together
		c := must.Get(net.Dial("tcp", r.grpc))(t)
		defer c.Close()
		withhold(t, c, pb.GRPCInferenceService_ModelInfer_FullMethodName, 64<<10-1)
	}
	_, all := seen(t, "faasconf")
	k := all[0].Kinds[0]
	out, err := pb.NewGRPCInferenceServiceClient(dial(t, r)).ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: "faasconf",
		Inputs: []*pb.ModelInferRequest_InferInputTensor{
			{Name: "observation", Datatype: "FP32", Shape: []int64{1, 6, 37}, Contents: &pb.InferTensorContents{Fp32Contents: k.Values}}}})
	if err != nil || len(out.Outputs) == 0 {
		t.Errorf("an honest request: %v", err)
	}
	_, text, _ := r.send(t, "GET", "/metrics", "")
	found := false
	for line := range strings.Lines(text) {
		var bytes float64
		if n, _ := fmt.Sscanf(line, "stoker_request_bytes %g", &bytes); n == 1 {
			found = true
		}
		if bytes > budget {
			t.Errorf("%g bytes are held, want at most %d", bytes, budget)
		}
	}
	if !found {
		t.Error("the metrics have no stoker_request_bytes")
	}
}

// Streams that say nothing of what they watch end when the server stops.
func TestWatchEnds(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	w, err := grpc_health_v1.NewHealthClient(dial(t, r)).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	must.Do(t, err)
	if _, err := w.Recv(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	for err == nil {
		_, err = w.Recv()
	}
	if err := <-r.done; err != nil {
		t.Errorf("it ended with %v, want no error", err)
	}
	r.done <- nil
}

// A page in a browser of this machine does not reach a server without tokens: not by another origin, nor by a name that
// was bound to this machine's address.
func TestPages(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	ask := func(method, address, path, host, origin string) int {
		req := must.Get(http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil))(t)
		req.Host = host
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := http.DefaultClient.Do(req)
		must.Do(t, err)
		res.Body.Close()
		return res.StatusCode
	}
	for _, c := range []struct {
		method, address, path, host, origin string
		want                                int
	}{
		{"POST", r.admin, "/v2/repository/models/faasconf/unload", "localhost:8082", "http://evil.example", 403},
		{"POST", r.admin, "/v2/repository/models/faasconf/unload", "evil.example", "", 403},
		{"POST", r.admin, "/v2/repository/models/faasconf/unload", "evil.example", "http://evil.example", 403},
		{"GET", r.http, faasconf, "evil.example", "", 403},
		{"GET", r.http, faasconf, "localhost:8080", "", 200},
		{"GET", r.http, faasconf, "[::1]:8080", "", 200},
		{"POST", r.http, faasconf + "/infer", "127.0.0.1:8080", "http://127.0.0.1:8080", 400},
	} {
		if got := ask(c.method, c.address, c.path, c.host, c.origin); got != c.want {
			t.Errorf("%s %s with Host %s and Origin %q: %d, want %d", c.method, c.path, c.host, c.origin, got, c.want)
		}
	}
}

// Beyond this machine requests need a credential that cannot be read on the way.
func TestBeyondLoopback(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	cert, key := ca.sign(t, "server", 2)
	tokens := dir + "/tokens"
	write(t, tokens, []byte("0123456789abcdef\n"))
	for _, c := range []struct {
		files    serving.Files
		admin    bool
		insecure bool
		want     string // in the error; "" is none
	}{
		{serving.Files{}, false, false, "only this machine may ask"},
		{serving.Files{Certificate: cert, Key: key}, false, false, "only this machine may ask"},
		{serving.Files{Tokens: tokens}, false, false, "tokens without TLS"},
		{serving.Files{Tokens: tokens, Certificate: cert, Key: key}, true, false, ""},
		{serving.Files{ClientCA: ca.pem, Certificate: cert, Key: key}, true, false, ""},
		{serving.Files{}, false, true, ""},
		{serving.Files{}, true, true, "load and unload need a credential"},
		{serving.Files{Certificate: cert, Key: key}, true, true, "load and unload need a credential"},
		{serving.Files{Tokens: tokens}, true, true, ""},
	} {
		s := must.Get(serving.NewSecurity(c.files))(t)
		web, admin := "0.0.0.0:0", ""
		if c.admin {
			web, admin = admin, web
		}
		l, err := serving.Listen(web, "", admin, s, c.insecure)
		l.Close()
		if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%+v, admin %t, insecure %t: %v, want %q", c.files, c.admin, c.insecure, err, c.want)
		}
	}
}

// answered reads an answer, and reports its status and whether its connection ends with it.
func answered(in *bufio.Reader) (status int, last bool, err error) {
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, false, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Close, err
}

// A peer has no more connections than its bound; one that it closes makes room.
func TestConnections(t *testing.T) {
	r := start(t, []string{"faasconf"}, func(o *serving.Options, _ *policy.Options) { o.MaxConnections = 3 }, serving.Files{})
	ask := func(c net.Conn) error {
		fmt.Fprint(c, "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _, err := answered(bufio.NewReader(c))
		return err
	}
	var all []net.Conn
	for i := range 5 {
		c := must.Get(net.Dial("tcp", r.http))(t)
		defer c.Close()
		if err := ask(c); (err == nil) != (i < 3) {
			t.Errorf("connection %d: %v", i, err)
		}
		all = append(all, c)
	}
	fmt.Fprint(all[0], "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if _, err := io.Copy(io.Discard, all[0]); err != nil { // until the server has closed it
		t.Fatal(err)
	}
	c := must.Get(net.Dial("tcp", r.http))(t)
	defer c.Close()
	if err := ask(c); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
}

// Of a chunked body's connection nothing more is read: a Content-Length may have come with it, which a proxy could have
// followed. The access log holds no long names.
func TestChunkedAndLong(t *testing.T) {
	r := start(t, []string{"faasconf"}, nil, serving.Files{})
	c := must.Get(net.Dial("tcp", r.http))(t)
	defer c.Close()
	fmt.Fprintf(c, "POST %s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+
		"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n", faasconf)
	text, err := io.ReadAll(c)
	if err != nil || strings.Count(string(text), "HTTP/1.1 ") != 1 || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("%v, %s", err, text)
	}
	name := strings.Repeat("\x01", 4<<20)
	_, err = pb.NewGRPCInferenceServiceClient(dial(t, r)).ModelInfer(t.Context(), &pb.ModelInferRequest{ModelName: name})
	if status.Code(err) != codes.NotFound {
		t.Errorf("a long name: %.100v", err)
	}
	if n := len(r.log.String()); n > 10<<10 {
		t.Errorf("the log has %d bytes", n)
	}
}

// With certificates of clients, each of many that ask at once over HTTP/1.1, HTTP/2 and gRPC is answered, while others
// begin TLS and stop, have no certificate, or one of another authority.
func TestClientCertificatesUnderLoad(t *testing.T) {
	const clients, requests, hostile, stalled = 8, 25, 100, 10
	dir := t.TempDir()
	ca, foreign := newAuthority(t, dir), newAuthority(t, t.TempDir())
	cert, key := ca.sign(t, "server", 2)
	r := start(t, []string{"faasconf"}, nil, serving.Files{Certificate: cert, Key: key, ClientCA: ca.pem})
	with := func(a *authority) *tls.Config {
		cert, key := a.sign(t, "client", 3)
		pair := must.Get(tls.LoadX509KeyPair(cert, key))(t)
		return &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	_, body, message, _ := versionsOf(t, "faasconf", 1)
	good, bad := with(ca), with(foreign)
	var all sync.WaitGroup
	for _, config := range []*tls.Config{bad, {RootCAs: ca.pool(), MinVersion: tls.VersionTLS12}, nil} {
		all.Go(func() {
			for i := range hostile {
				address := []string{r.http, r.grpc}[i%2]
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				if config == nil { // a handshake that does not end
					defer c.Close()
					if fmt.Fprint(c, "\x16\x03\x01\x02\x00\x01"); i == stalled {
						return
					}
					continue
				}
				mine := config.Clone()
				mine.ServerName, mine.NextProtos = "localhost", []string{"h2"}
				if n, err := io.Copy(io.Discard, tls.Client(c, mine)); err == nil && n > 0 {
					t.Errorf("%d bytes for a client that must not ask", n)
				}
				c.Close()
			}
		})
	}
	for i := range clients {
		all.Go(func() {
			transport := &http.Transport{TLSClientConfig: good.Clone(), ForceAttemptHTTP2: i%2 == 0}
			defer transport.CloseIdleConnections()
			c := http.Client{Transport: transport}
			conn, err := grpc.NewClient(r.grpc, grpc.WithTransportCredentials(credentials.NewTLS(good.Clone())))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for range requests {
				res, err := c.Post("https://"+r.http+faasconf+"/infer", "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || res.ProtoMajor != 2-i%2 {
					t.Errorf("%s over %s, %v", res.Status, res.Proto, err)
				}
				res.Body.Close()
				if _, err := pb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), message); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// A bundle whose tensors are as large as the limit serves; with one byte less it is refused, and the one before stays.
func TestLargeBundles(t *testing.T) {
	large := wide(t, 30_000)
	var size int64
	for _, a := range large.Arrays {
		size += 4 * int64(len(a.Data))
	}
	data := policytest.Encode(t, large)
	for _, limit := range []int64{size, size - 1} {
		r := start(t, []string{"faasconf"}, func(_ *serving.Options, p *policy.Options) { p.MaxBytes = limit }, serving.Files{})
		write(t, filepath.Join(r.dir, "faasconf"+bundle.Extension), data)
		r.reload <- struct{}{}
		r.reload <- struct{}{} // taken after the first is done
		_, text, _ := r.send(t, http.MethodGet, faasconf, "")
		if fits := limit == size; strings.Contains(text, bundle.Digest(data)) != fits ||
			strings.Contains(r.log.String(), fmt.Sprintf("want at most %d", limit)) == fits {
			t.Errorf("limit %d of %d: %s\n%s", limit, size, text, r.log)
		}
	}
}

// wide is a policy of some bytes with a layer of n units.
func wide(t testing.TB, n int) *bundle.File {
	t.Helper()
	f := policytest.Zoo(t, "faasconf", 2)
	f.SelfTest = nil
	f.Agent.Description = []byte(strings.Replace(string(f.Agent.Description), "[128,128]", fmt.Sprintf("[%d]", n), 1))
	weights := f.Arrays["function.network"]
	weights.Shape = []int{1, 37*n + n + n*4 + 4}
	weights.Data = make([]float32, weights.Shape[1])
	f.Arrays["function.network"] = weights
	return f
}

// A client that opens streams and ends them at once, over TLS, does not keep others from answers.
func TestRapidReset(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	cert, key := ca.sign(t, "server", 2)
	r := start(t, []string{"faasconf"}, nil, serving.Files{Certificate: cert, Key: key})
	config := &tls.Config{RootCAs: ca.pool(), NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	for _, address := range []string{r.http, r.grpc} {
		c := must.Get(tls.Dial("tcp", address, config))(t)
		defer c.Close()
		reset(t, c, faasconf, 20_000)
	}
	if code, _, err := r.get(t, faasconf, &tls.Config{RootCAs: ca.pool()}, ""); err != nil || code != http.StatusOK {
		t.Errorf("another client: %d, %v", code, err)
	}
}
