package farm

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// tokenBytes are 256 bits.
const tokenBytes = 32

// Token reads a token's file. Where there is none and create is set, it makes one that its owner alone can read.
func Token(path string, create bool) (string, error) {
	b, err := Secret(path)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		b = []byte(hex.EncodeToString(random()) + "\n")
		if err := writeSecret(path, b); err != nil {
			return "", fmt.Errorf("token file: %w", err)
		}
	} else if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("token file %s: want %d hexadecimal digits on one line, as stoker sweep --listen writes them", path, 2*tokenBytes)
	}
	return token, nil
}

func random() []byte {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails
	return b
}

// Secret reads a file that nobody but its owner may read.
func Secret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	open := info.Mode().Perm() & 0o077
	if foreign(info) { // in a Kubernetes Secret files are root's, and the pod's group may read them
		open &^= 0o040
	}
	if open != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s: others may use it (mode %04o), want mode 0600: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	if info.Size() > 1<<16 {
		return nil, fmt.Errorf("%s: has %d bytes, which is too many", path, info.Size())
	}
	return os.ReadFile(path)
}

func writeSecret(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// Certificate reads a coordinator's certificate and key, and makes them where there are none. The certificate signs itself:
// workers know it by its fingerprint, and by nothing else.
func Certificate(path string) (tls.Certificate, error) {
	b, err := Secret(path)
	if errors.Is(err, fs.ErrNotExist) {
		if b, err = newCertificate(); err == nil {
			err = writeSecret(path, b)
		}
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate: %w", err)
	}
	c, err := tls.X509KeyPair(b, b)
	if err != nil {
		return c, fmt.Errorf("certificate %s: %w; remove the file to have a new one", path, err)
	}
	return c, nil
}

func newCertificate() ([]byte, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(random()[:16]), Subject: pkix.Name{CommonName: "stoker farm"}, DNSNames: []string{"stoker"},
		NotBefore: time.Now().AddDate(0, 0, -1), NotAfter: time.Now().AddDate(10, 0, 0), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), nil
}

// Fingerprint is the SHA-256 of a certificate.
func Fingerprint(c tls.Certificate) Hash { return HashOf(c.Certificate[0]) }

// Address is where a coordinator listens, as workers are told: tls://HOST:PORT#FINGERPRINT, or nats://HOST:PORT on loopback.
type Address struct {
	Host        string // HOST:PORT
	Fingerprint Hash   // empty without TLS
}

// ParseAddress reads an address.
func ParseAddress(s string) (a Address, err error) {
	const want = "want tls://HOST:PORT#FINGERPRINT, or nats://127.0.0.1:PORT, as the coordinator prints it"
	u, err := url.Parse(s)
	if err != nil || u.Port() == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" {
		return a, fmt.Errorf("%q: %s", s, want)
	}
	a = Address{u.Host, Hash(u.Fragment)}
	switch {
	case u.Scheme == "nats" && a.Fingerprint == "" && Loopback(a.Host):
		return a, nil
	case u.Scheme == "nats" && a.Fingerprint == "":
		return a, fmt.Errorf("%q: without TLS the token would be read by others on the way; %s", s, want)
	case u.Scheme != "tls":
		return a, fmt.Errorf("%q: %s", s, want)
	}
	if err := a.Fingerprint.check(); err != nil {
		return a, fmt.Errorf("%q: the fingerprint %w", s, err)
	}
	return a, nil
}

// String is what ParseAddress reads.
func (a Address) String() string {
	if a.Fingerprint == "" {
		return "nats://" + a.Host
	}
	return "tls://" + a.Host + "#" + string(a.Fingerprint)
}

// TLS is the configuration of a client that knows the coordinator's certificate by its fingerprint; nil without TLS.
func (a Address) TLS() *tls.Config {
	if a.Fingerprint == "" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared, not who signed it
		VerifyConnection: func(c tls.ConnectionState) error {
			if sum := sha256.Sum256(c.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != string(a.Fingerprint) {
				return fmt.Errorf("the certificate of %s has the fingerprint %x, want %s: it is another coordinator, or somebody "+
					"between", a.Host, sum, a.Fingerprint)
			}
			return nil
		},
	}
}

// Loopback reports whether an address HOST:PORT is this machine's own.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
