package serving

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Files are where a server's secrets are. They are read again when they change.
type Files struct {
	// Certificate and Key are the server's, in PEM; both or neither.
	Certificate, Key string
	// ClientCA signs the certificates that clients must show; "" asks for none. It needs a certificate of the server's.
	ClientCA string
	// Tokens names a file with a bearer token a line. A request must carry one of them; "" asks for none. Lines that
	// begin with # are comments.
	Tokens string
}

// Security is who may ask, and how connections are encrypted. nil is a server that anybody on this machine may ask.
type Security struct {
	files  Files
	stamps map[string]time.Time
	config *tls.Config // asks for the one of now; nil without a certificate
	now    atomic.Pointer[tls.Config]
	tokens *atomic.Pointer[[][sha256.Size]byte] // nil where none is asked for
}

// NewSecurity reads the files. It returns nil where none is named.
func NewSecurity(f Files) (*Security, error) {
	if f == (Files{}) {
		return nil, nil //nolint:nilnil // no security is not an error: it is bound to loopback alone
	}
	switch {
	case (f.Certificate == "") != (f.Key == ""):
		return nil, errors.New("a certificate needs its key, and a key its certificate: give both --tls-cert and --tls-key")
	case f.ClientCA != "" && f.Certificate == "":
		return nil, errors.New("--client-ca checks the certificates of clients: it needs --tls-cert and --tls-key too")
	}
	s := &Security{files: f, stamps: map[string]time.Time{}}
	if f.Tokens != "" {
		s.tokens = new(atomic.Pointer[[][sha256.Size]byte])
	}
	if f.Certificate != "" {
		s.config = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.now.Load(), nil }}
	}
	s.changed()
	return s, s.load()
}

// load reads all files. Where one is wrong, those read before stay in use.
func (s *Security) load() error {
	var next *tls.Config
	if s.config != nil {
		pair, err := tls.LoadX509KeyPair(s.files.Certificate, s.files.Key)
		if err != nil {
			return fmt.Errorf("certificate %s with key %s: %w", s.files.Certificate, s.files.Key, err)
		}
		next = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: s.config.NextProtos,
			Certificates: []tls.Certificate{pair}}
	}
	if s.files.ClientCA != "" {
		text, err := os.ReadFile(s.files.ClientCA)
		if err != nil {
			return err
		}
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s holds no certificate in PEM", s.files.ClientCA)
		}
	}
	if s.tokens != nil {
		all, err := readTokens(s.files.Tokens)
		if err != nil {
			return err
		}
		s.tokens.Store(&all)
	}
	if next != nil {
		s.now.Store(next)
	}
	return nil
}

// readTokens reads the hashes of tokens: comparing these takes the same time whatever is sent.
func readTokens(path string) ([][sha256.Size]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all [][sha256.Size]byte
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		t := strings.TrimSpace(lines.Text())
		if t == "" || strings.HasPrefix(t, "#") {
			continue
		}
		if len(t) < 16 {
			return nil, fmt.Errorf("%s:%d: the token has %d characters, want at least 16", path, n, len(t))
		}
		all = append(all, sha256.Sum256([]byte(t)))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no token, want one a line", path)
	}
	return all, lines.Err()
}

// changed reports whether a file has another time than at the last look.
func (s *Security) changed() bool {
	some := false
	for _, path := range []string{s.files.Certificate, s.files.Key, s.files.ClientCA, s.files.Tokens} {
		info, err := os.Stat(path)
		if path == "" || err != nil {
			continue
		}
		some = some || !s.stamps[path].Equal(info.ModTime())
		s.stamps[path] = info.ModTime()
	}
	return some
}

// poll reads files again that have changed, or all.
func (s *Security) poll(log *slog.Logger, all bool) {
	if s == nil || !s.changed() && !all {
		return
	}
	if err := s.load(); err != nil {
		log.Error("certificates and tokens were refused, those before stay in use", "error", err)
		return
	}
	log.Info("certificates and tokens were read again")
}

// allow checks an Authorization header.
func (s *Security) allow(header string) error {
	scheme, token, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for _, t := range *s.tokens.Load() {
		found |= subtle.ConstantTimeCompare(t[:], sum[:])
	}
	if !strings.EqualFold(scheme, "Bearer") || found == 0 {
		return failed(http.StatusUnauthorized, "want the header Authorization: Bearer TOKEN with a token of this server")
	}
	return nil
}

// allow lets requests pass that carry a token, where tokens are asked for.
func (s *Server) allow(next http.HandlerFunc) http.HandlerFunc {
	if s.security == nil || s.security.tokens == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.security.allow(r.Header.Get("Authorization")); err != nil {
			sendError(w, err)
			return
		}
		next(w, r)
	}
}

// tlsConfig is nil where connections are not encrypted.
func (s *Security) tlsConfig() *tls.Config {
	if s == nil {
		return nil
	}
	return s.config
}

// listener encrypts what l accepts, where that is wanted.
func (s *Security) listener(l net.Listener) net.Listener {
	if c := s.tlsConfig(); c != nil {
		return tls.NewListener(l, c)
	}
	return l
}

// Listen opens the addresses; "" opens none. Beyond this machine's loopback clients must show a certificate, or a token
// over TLS. insecure lifts this but for admin, which then wants tokens or certificates at least.
func Listen(http, grpc, admin string, security *Security, insecure bool) (l Listeners, err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	for _, a := range []struct {
		flag, address string
		to            *net.Listener
	}{{"--http", http, &l.HTTP}, {"--grpc", grpc, &l.GRPC}, {"--admin", admin, &l.Admin}} {
		if a.address == "" {
			continue
		}
		local, err := loopback(a.address)
		if err == nil && !local {
			err = security.beyond(insecure, a.to == &l.Admin)
		}
		if err != nil {
			return l, fmt.Errorf("%s %s: %w", a.flag, a.address, err)
		}
		if *a.to, err = net.Listen("tcp", a.address); err != nil {
			return l, fmt.Errorf("%s: %w", a.flag, err)
		}
	}
	return l, nil
}

// asks reports whether requests need a token or a certificate.
func (s *Security) asks() bool { return s != nil && (s.tokens != nil || s.files.ClientCA != "") }

// beyond is an error where others than this machine's own must not ask.
func (s *Security) beyond(insecure, admin bool) error {
	switch {
	case admin && !s.asks():
		return errors.New("beyond this machine load and unload need a credential: give --tokens or --client-ca")
	case insecure:
		return nil
	case !s.asks():
		return errors.New("only this machine may ask, since requests need no credential: want an address as 127.0.0.1:8080, " +
			"--client-ca, --tokens with --tls-cert, or --insecure")
	case s.config == nil:
		return errors.New("tokens without TLS can be read on the way: give --tls-cert and --tls-key, or --insecure where " +
			"something else encrypts, such as a proxy or a mesh")
	}
	return nil
}

// loopback reports whether an address is this machine's own.
func loopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return false, err
	}
	ips, err := net.LookupIP(host)
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return false, err
		}
	}
	return len(ips) > 0, err
}

// guarded is a handler behind what is checked of every request. Where no credential is asked for, a page in a browser of
// this machine must not ask: its Origin is another one, or its Host, where its name was bound to this machine's address.
// On a server that stops, answers end their connection.
func (s *Server) guarded(l net.Listener, next http.Handler) http.Handler {
	local, _ := loopback(l.Addr().String())
	named := local && !s.security.asks()
	if !s.security.asks() {
		origins := http.NewCrossOriginProtection()
		origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sendError(w, failed(http.StatusForbidden, "Origin: %q is another one than Host: %q", cut(r.Header.Get("Origin"), 128),
				cut(r.Host, 128)))
		}))
		next = origins.Handler(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Of a chunked body net/http does not tell whether a Content-Length came too: RFC 9112, 6.1 ends such connections.
		if s.stopping.Load() || len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		if named && !ownName(r.Host) {
			sendError(w, failed(http.StatusForbidden, "Host: %q is not this machine's, want localhost or 127.0.0.1 (or give "+
				"--tokens)", cut(r.Host, 128)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownName reports whether a Host is of this machine alone: a name but localhost may be anybody's.
func ownName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
