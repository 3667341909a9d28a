package serving_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/serving"
	pb "github.com/stoker-rl/stoker/serving/internal/inference"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // its file
	dir  string
}

func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	a := &authority{dir: dir, pem: filepath.Join(dir, "ca.pem")}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der := must.Get(x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key))(t)
	write(t, a.pem, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign writes a certificate and its key as NAME.crt and NAME.key.
func (a *authority) sign(t testing.TB, name string, serial int64) (cert, key string) {
	t.Helper()
	k := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, a.cert, &k.PublicKey, a.key))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(k))(t)
	cert, key = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	write(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return cert, key
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// get asks over TLS, and returns the status and the serial number of the server's certificate.
func (r *running) get(t testing.TB, path string, c *tls.Config, token string) (int, int64, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.http+path, nil))(t)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Errorf("%s over TLS, want HTTP/2", res.Proto)
	}
	return res.StatusCode, res.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// TLS, certificates of clients, tokens, and changing all of them while the server runs.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	cert, key := ca.sign(t, "server", 2)
	clientCert, clientKey := ca.sign(t, "client", 3)
	tokens := filepath.Join(dir, "tokens")
	write(t, tokens, []byte("# of the scaler\n0123456789abcdef\n"))
	r := start(t, []string{"faasconf"}, nil, serving.Files{Certificate: cert, Key: key, ClientCA: ca.pem, Tokens: tokens})
	pair := must.Get(tls.LoadX509KeyPair(clientCert, clientKey))(t)
	with := &tls.Config{RootCAs: ca.pool(), Certificates: []tls.Certificate{pair}}
	for what, c := range map[string]struct {
		path, token string
		config      *tls.Config
		want        int // 0 is no connection
	}{
		"all that is asked for":         {faasconf, "0123456789abcdef", with, 200},
		"no token":                      {faasconf, "", with, 401},
		"another token":                 {faasconf, "0123456789abcdeg", with, 401},
		"metrics without a token":       {"/metrics", "", with, 401},
		"health needs no token":         {"/v2/health/ready", "", with, 200},
		"no certificate":                {faasconf, "0123456789abcdef", &tls.Config{RootCAs: ca.pool()}, 0},
		"a version of TLS that is over": {faasconf, "0123456789abcdef", &tls.Config{RootCAs: ca.pool(), Certificates: with.Certificates, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, 0}, //nolint:gosec // what must be refused
	} {
		status, _, err := r.get(t, c.path, c.config, c.token)
		if status != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d, %v, want %d", what, status, err, c.want)
		}
	}
	conn := must.Get(grpc.NewClient(r.grpc, grpc.WithTransportCredentials(credentials.NewTLS(with))))(t)
	defer conn.Close()
	c := pb.NewGRPCInferenceServiceClient(conn)
	if _, err := c.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: "faasconf"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without a token: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer 0123456789abcdef")
	if _, err := c.ModelReady(ctx, &pb.ModelReadyRequest{Name: "faasconf"}); err != nil {
		t.Errorf("gRPC with a token: %v", err)
	}
	ca.sign(t, "server", 7)
	write(t, tokens, []byte("fedcba9876543210\n"))
	r.reload <- struct{}{}
	r.reload <- struct{}{}
	if status, serial, err := r.get(t, faasconf, with, "fedcba9876543210"); status != 200 || serial != 7 || err != nil {
		t.Errorf("after a change: %d, certificate %d, %v", status, serial, err)
	}
	if status, _, _ := r.get(t, faasconf, with, "0123456789abcdef"); status != 401 {
		t.Errorf("the old token after a change: %d", status)
	}
	write(t, tokens, nil)
	r.reload <- struct{}{}
	r.reload <- struct{}{}
	if status, _, _ := r.get(t, faasconf, with, "fedcba9876543210"); status != 200 ||
		!strings.Contains(r.log.String(), "holds no token") {
		t.Errorf("after an empty file of tokens: %d", status)
	}
}

// Without security only loopback is bound, and half of it is refused.
func TestOnlyLoopback(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80"} {
		l, err := serving.Listen(address, "", "", nil, false)
		if err == nil || !strings.Contains(err.Error(), "only this machine may ask") {
			t.Errorf("%s: %v", address, err)
		}
		l.Close()
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0"} {
		if l, err := serving.Listen("", address, "", nil, false); err == nil {
			l.Close()
		} else if strings.Contains(err.Error(), "only this machine") {
			t.Errorf("%s: %v", address, err)
		}
	}
	dir := t.TempDir()
	short := filepath.Join(dir, "tokens")
	must.Do(t, os.WriteFile(short, []byte("\nabc\n"), 0o600))
	for want, f := range map[string]serving.Files{
		"give both --tls-cert and --tls-key":                    {Certificate: "a"},
		"it needs --tls-cert and --tls-key too":                 {ClientCA: "a"},
		"no such file":                                          {Tokens: filepath.Join(dir, "none")},
		"tokens:2: the token has 3 characters, want at least":   {Tokens: short},
		"certificate " + short + " with key " + short + ": tls": {Certificate: short, Key: short},
	} {
		if _, err := serving.NewSecurity(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
}
