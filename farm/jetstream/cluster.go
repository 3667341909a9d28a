package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"

	"github.com/stoker-rl/stoker/farm"
)

// Cluster is the user's own NATS, in place of a server in the coordinator.
type Cluster struct {
	// Servers are URLs: nats://HOST:PORT, or tls://HOST:PORT.
	Servers []string
	// Name keeps studies on one cluster apart.
	Name string
	Credentials
}

// Credentials are files by which the coordinator and workers prove themselves to a cluster, and know it.
type Credentials struct {
	Creds     string // the user's JWT and seed
	NKey      string // the user's seed
	CA        string // who signed the cluster's certificate
	Cert, Key string // the user's certificate and its key
}

// Files are the files that are given, by the flags that name them.
func (c *Credentials) Files() (out []struct{ Flag, Path string }) {
	for _, f := range []struct{ Flag, Path string }{
		{"nats-creds", c.Creds}, {"nats-nkey", c.NKey}, {"nats-ca", c.CA}, {"nats-cert", c.Cert}, {"nats-key", c.Key}} {
		if f.Path != "" {
			out = append(out, f)
		}
	}
	return out
}

// Complete reports what is missing, by flags.
func (c *Credentials) Complete() error {
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("--nats-cert and --nats-key: one is given without the other, want both")
	}
	if c.Creds == "" && c.NKey == "" && c.Cert == "" {
		return errors.New("--nats-creds, --nats-nkey, and --nats-cert with --nats-key are missing, want one of them: a cluster that " +
			"lets anybody in takes results from anybody")
	}
	if c.Creds != "" && c.NKey != "" {
		return errors.New("--nats-creds and --nats-nkey are both given, want one of them")
	}
	return nil
}

// Check reads the files, and reports what is wrong with flag and file.
func (c *Credentials) Check() error {
	if err := c.Complete(); err != nil {
		return err
	}
	for _, f := range c.Files() {
		var b []byte
		var err error
		if open := f.Flag == "nats-ca" || f.Flag == "nats-cert"; open {
			b, err = os.ReadFile(f.Path)
		} else {
			b, err = farm.Secret(f.Path)
		}
		text := string(b)
		switch {
		case err != nil:
		case f.Flag == "nats-creds" && !(strings.Contains(text, "BEGIN NATS USER JWT") && strings.Contains(text, "BEGIN USER NKEY SEED")):
			err = fmt.Errorf("%s: want a user's JWT and seed, as nsc generate creds writes them", f.Path)
		case f.Flag == "nats-nkey" && !seed.MatchString(text):
			err = fmt.Errorf("%s: want a user's seed, which begins with SU, as nk -gen user writes it", f.Path)
		case f.Flag == "nats-ca" && !x509.NewCertPool().AppendCertsFromPEM(b):
			err = fmt.Errorf("%s: want certificates as PEM", f.Path)
		case f.Flag == "nats-key":
			if _, err = tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
				err = fmt.Errorf("%s and --nats-cert %s: %w", f.Path, c.Cert, err)
			}
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", f.Flag, err)
		}
	}
	return nil
}

var (
	seed  = regexp.MustCompile(`(?m)^SU[A-Z2-7]{56}\s*$`)
	named = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
)

// plain is the name of a study that has none.
const plain = "stoker"

// ParseCluster reads the address of a cluster: nats:// or tls://, HOST:PORT of some of its servers with commas between,
// and /STUDY where several studies share it.
func ParseCluster(s string) (*Cluster, error) {
	const want = "want nats://HOST:PORT or tls://HOST:PORT, of several servers HOST:PORT,HOST:PORT, and /STUDY where several studies " +
		"share the cluster"
	scheme, rest, ok := strings.Cut(s, "://")
	hosts, name, has := strings.Cut(rest, "/")
	c := &Cluster{Name: name}
	if !has {
		c.Name = plain
	}
	if !ok || scheme != "nats" && scheme != "tls" || !named.MatchString(c.Name) {
		return nil, fmt.Errorf("%q: %s", s, want)
	}
	for h := range strings.SplitSeq(hosts, ",") {
		if host, port, err := net.SplitHostPort(h); err != nil || host == "" || port == "" || strings.ContainsAny(h, "@?# ") {
			return nil, fmt.Errorf("%q: %s", s, want)
		}
		c.Servers = append(c.Servers, scheme+"://"+h)
	}
	return c, nil
}

// String is what ParseCluster reads.
func (c *Cluster) String() string {
	list := make([]string, len(c.Servers))
	scheme := ""
	for i, s := range c.Servers {
		scheme, list[i], _ = strings.Cut(s, "://")
	}
	out := scheme + "://" + strings.Join(list, ",")
	if c.Name != plain {
		out += "/" + c.Name
	}
	return out
}

// Open reports whether others on the way can read and change what goes there.
func (c *Cluster) Open() bool {
	for _, s := range c.Servers {
		if host, ok := strings.CutPrefix(s, "nats://"); ok && !farm.Loopback(host) {
			return true
		}
	}
	return false
}
