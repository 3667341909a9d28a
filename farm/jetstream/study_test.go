//go:build farm

package jetstream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// serve starts somebody's NATS server, which knows a user by a seed. It returns the server's address, and the seed's file.
func serve(t *testing.T, o server.Options) (at, seed string) {
	t.Helper()
	user := must.Get(nkeys.CreateUser())(t)
	seed = filepath.Join(t.TempDir(), "seed")
	must.Do(t, os.WriteFile(seed, must.Get(user.Seed())(t), 0o600))
	if !o.TLSVerify {
		o.Nkeys = []*server.NkeyUser{{Nkey: must.Get(user.PublicKey())(t)}}
	}
	o.Host, o.Port, o.NoSigs, o.NoLog, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	s := must.Get(server.NewServer(&o))(t)
	s.Start()
	if !s.ReadyForConnections(startTime) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s.Addr().String(), seed
}

// studied starts a study on a cluster, and a worker of it.
func studied(t *testing.T, l *Cluster) (coordinator, worker farm.Farm) {
	t.Helper()
	c, _, err := Listen(t.Context(), ListenOptions{Cluster: l, Study: study, Lease: 50 * time.Millisecond})
	must.Do(t, err)
	w, s, err := Join(t.Context(), JoinOptions{Cluster: l, Patience: time.Minute})
	must.Do(t, err)
	if s != study {
		t.Errorf("the study is %+v, want %+v", s, study)
	}
	t.Cleanup(func() {
		_ = w.Close()
		_ = c.Close() // the test may have ended it
	})
	return c, w
}

// Studies of several names share a cluster, and each is a farm.
func TestCluster(t *testing.T) {
	at, seed := serve(t, server.Options{JetStream: true})
	var n atomic.Int64
	farmtest.Run(t, func(t *testing.T) (farm.Farm, farm.Farm) {
		return studied(t, &Cluster{[]string{"nats://" + at}, fmt.Sprint("s", n.Add(1)), Credentials{NKey: seed}})
	}, func(*testing.T) {})
}

func TestClusterRefuses(t *testing.T) {
	at, seed := serve(t, server.Options{JetStream: true})
	poor, poorSeed := serve(t, server.Options{})
	l := &Cluster{[]string{"nats://" + at}, "one", Credentials{NKey: seed}}
	studied(t, l)
	other := secure(t)
	for want, l := range map[string]*Cluster{
		"process " + fmt.Sprint(os.Getpid()) + `" has a study of the name one`: l,
		"does not know --nats-nkey " + poorSeed:                                {l.Servers, "two", Credentials{NKey: poorSeed}},
		"jetstream not enabled":                                                {[]string{"nats://" + poor}, "one", Credentials{NKey: poorSeed}},
		"certificate signed by unknown authority":                              {[]string{"tls://" + other.at}, "one", Credentials{Cert: other.Cert, Key: other.Key}},
	} {
		if _, _, err := Listen(t.Context(), ListenOptions{Cluster: l, Study: study}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, _, err := Join(t.Context(), JoinOptions{Cluster: &Cluster{l.Servers, "other", l.Credentials}}); err == nil || !strings.Contains(err.Error(), "join nats://"+at+"/other") {
		t.Errorf("a study that is not there is joined: %v", err)
	}
}

// A coordinator that was stopped leaves results and a queue. The next one takes the results, and fills the queue anew.
func TestClusterCoordinatorReturns(t *testing.T) {
	at, seed := serve(t, server.Options{JetStream: true})
	l := &Cluster{[]string{"nats://" + at}, "one", Credentials{NKey: seed}}
	ctx, stop := context.WithCancel(t.Context())
	first, _, err := Listen(ctx, ListenOptions{Cluster: l, Study: study})
	must.Do(t, err)
	w, _, err := Join(t.Context(), JoinOptions{Cluster: l, Patience: time.Minute})
	must.Do(t, err)
	defer w.Close()
	put, dir := map[string]farm.File{}, t.TempDir()
	for i, name := range []string{"whole", "taken", "failed", "queued"} {
		u := farmtest.Unit(name, uint64(i))
		must.Do(t, first.Submit(t.Context(), farm.Task{Unit: u}))
		if name == "queued" {
			break
		}
		lease := must.Get(w.Lease(t.Context(), "w"))(t)
		f := farm.File{Name: "a", Hash: farm.HashOf([]byte(name)), Size: int64(len(name))}
		must.Do(t, os.WriteFile(filepath.Join(dir, "a"), []byte(name), 0o600))
		must.Do(t, farm.PutFiles(t.Context(), w, lease.Key, dir, []farm.File{f}))
		r := farm.Result{Key: lease.Key, Name: name, Worker: "w", Files: []farm.File{f}}
		if name == "failed" {
			r.Error = "no memory"
		}
		must.Do(t, w.Done(t.Context(), lease, r))
		put[name] = f
	}
	taken := farmtest.Unit("taken", 1)
	must.Do(t, first.Drop(t.Context(), taken.Key(), []farm.File{put["taken"]}))
	stop()
	must.Do(t, first.Close()) // it says nothing, as one that is killed
	c, _, err := Listen(t.Context(), ListenOptions{Cluster: l, Study: study})
	must.Do(t, err)
	if r := must.Get(c.Result(t.Context()))(t); r.Name != "whole" {
		t.Errorf("%+v", r)
	}
	for i, name := range []string{"whole", "taken", "failed"} {
		must.Do(t, c.Submit(t.Context(), farm.Task{Unit: farmtest.Unit(name, uint64(i))}))
	}
	for _, want := range []string{"taken", "failed"} {
		lease := must.Get(w.Lease(t.Context(), "w"))(t)
		must.Do(t, w.Done(t.Context(), lease, farm.Result{Key: lease.Key, Name: lease.Unit.Name, Worker: "w"}))
		if r := must.Get(c.Result(t.Context()))(t); r.Name != want {
			t.Errorf("the result of %s came, want %s", r.Name, want)
		}
	}
	must.Do(t, c.Close())
	if n := streams(t, l); n > 0 {
		t.Errorf("%d streams are left", n)
	}
}

// streams counts what is on a cluster.
func streams(t *testing.T, l *Cluster) (n int) {
	t.Helper()
	nc := must.Get(l.dial("test"))(t)
	defer nc.Close()
	for range must.Get(nc.JetStream())(t).StreamNames() {
		n++
	}
	return n
}

// What is left of a study is removed once its coordinator is gone.
func TestForget(t *testing.T) {
	at, seed := serve(t, server.Options{JetStream: true})
	l := &Cluster{[]string{"nats://" + at}, "one", Credentials{NKey: seed}}
	ctx, stop := context.WithCancel(t.Context())
	c, _, err := Listen(ctx, ListenOptions{Cluster: l, Study: study})
	must.Do(t, err)
	must.Do(t, c.Submit(ctx, farm.Task{Unit: farmtest.Unit("u", 1)}))
	if err := Forget(t.Context(), l); err == nil || !strings.Contains(err.Error(), "has a study of the name one there: stop it first") || streams(t, l) == 0 {
		t.Errorf("beside its coordinator: %v, %d streams", err, streams(t, l))
	}
	stop()
	must.Do(t, c.Close()) // it says nothing, as one that is killed
	if streams(t, l) == 0 {
		t.Error("nothing is left of a study that was stopped")
	}
	must.Do(t, Forget(t.Context(), l))
	if n := streams(t, l); n > 0 {
		t.Errorf("%d streams are left", n)
	}
}

// secured is a server that asks for a certificate of its clients.
type secured struct {
	at string
	Credentials
}

// secure starts one, with an authority of its own.
func secure(t *testing.T) secured {
	t.Helper()
	dir, key := t.TempDir(), must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := func(name string, ca bool) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: ca, BasicConstraintsValid: true,
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	}
	authority := template("authority", true)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	s := secured{Credentials: Credentials{
		CA:   write("ca", "CERTIFICATE", must.Get(x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key))(t)),
		Cert: write("cert", "CERTIFICATE", must.Get(x509.CreateCertificate(rand.Reader, template("one", false), authority, &key.PublicKey, key))(t)),
		Key:  write("key", "PRIVATE KEY", must.Get(x509.MarshalPKCS8PrivateKey(key))(t)),
	}}
	must.Do(t, s.Check())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must.Get(os.ReadFile(s.CA))(t))
	cert := must.Get(tls.LoadX509KeyPair(s.Cert, s.Key))(t)
	s.at, _ = serve(t, server.Options{JetStream: true, TLS: true, TLSVerify: true, TLSTimeout: 10, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}})
	return s
}

// With certificates of both sides nothing else is needed.
func TestClusterTLS(t *testing.T) {
	s := secure(t)
	l := &Cluster{[]string{"tls://" + s.at}, "one", s.Credentials}
	c, w := studied(t, l)
	must.Do(t, c.Submit(t.Context(), farm.Task{Unit: farmtest.Unit("u", 1)}))
	if lease := must.Get(w.Lease(t.Context(), "w"))(t); lease.Unit.Name != "u" {
		t.Errorf("%+v", lease)
	}
	l.Cert, l.Key = "", ""
	if _, _, err := Join(t.Context(), JoinOptions{Cluster: l}); err == nil {
		t.Error("a worker without a certificate joins")
	}
}
