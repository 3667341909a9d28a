package serving

import (
	"fmt"
	"net"
	"time"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/models"
)

// Open returns a server of bundles, and of those in a folder ("" is none). All must pass.
func Open(specs []models.Spec, folder string, p policy.Options, security *Security, o Options) (*Server, error) {
	var s *Server
	set, err := models.NewSet(specs, models.Options{
		Folder: folder, MaxBytes: bundleBytes(p.MaxBytes),
		Open: func(data []byte) (models.Policy, error) {
			q, err := policy.OpenBytes(data, p)
			if err != nil {
				return nil, err // not q: an interface around a nil pointer would not be nil
			}
			return q, nil
		},
		Tell: func(e models.Event) {
			if s != nil { // at the start there is nobody to tell: errors are returned
				s.Told(e)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if len(set.Names()) == 0 {
		return nil, fmt.Errorf("%s has no bundle (*%s): make one with stoker export", folder, models.Extension)
	}
	s, err = New(set, security, o)
	return s, err
}

// bundleBytes is the most bytes of a file whose tensors have at most n: the header and a little more.
func bundleBytes(n int64) int64 {
	const header = 2 << 20
	if n == 0 {
		n = 256 << 20
	}
	return n + header
}

// Lines say what is served and where, for people.
func (s *Server) Lines(l Listeners, took time.Duration) []string {
	var out []string
	for _, name := range s.set.Names() {
		v, err := s.set.Acquire(name, "")
		if err != nil {
			continue // unloaded meanwhile
		}
		a := v.Bundle().Agent
		out = append(out, fmt.Sprintf("model  %s  %s for %s  sha256:%s", name, a.Name, a.Env, v.Digest))
		v.Release()
	}
	scheme := "http"
	if s.security.tlsConfig() != nil {
		scheme = "https"
	}
	for _, at := range []struct {
		what string
		l    net.Listener
		url  string
	}{
		{"HTTP", l.HTTP, scheme + "://%s/v2"}, {"gRPC", l.GRPC, "%s"}, {"admin", l.Admin, scheme +
			"://%s/v2/repository/index"},
	} {
		if at.l != nil {
			out = append(out, fmt.Sprintf("%-5s  "+at.url, at.what, at.l.Addr()))
		}
	}
	return append(out, fmt.Sprintf("ready after %.0f ms", float64(took.Microseconds())/1000))
}
