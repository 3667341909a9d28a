package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/jetstream"
	"github.com/stoker-rl/stoker/farm/metrics"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
)

// coordinator are the flags of commands whose runs workers may carry out.
type coordinator struct {
	listen, token, metrics string
	nats                   jetstream.Credentials
	units                  int // that are to come, for the metrics: those submitted so far where it is smaller
}

// farmed are the names of the flags.
var farmed = []string{"listen", "token-file", "metrics", "nats-creds", "nats-nkey", "nats-ca", "nats-cert", "nats-key"}

func (f *coordinator) flags() []flag {
	return append(natsFlags(&f.nats),
		option(&f.listen, "listen", "HOST:PORT on which workers (stoker worker) join and do the work, in place of this process; or "+
			"servers of your own NATS cluster, as in tls://HOST:PORT,HOST:PORT/STUDY"),
		option(&f.metrics, "metrics", "with --listen: HOST:PORT of this machine's own on which Prometheus finds the farm's metrics, at /metrics"),
		option(&f.token, "token-file", "with --listen: file with the workers' token, made where it is not there "+
			"(default: farm.token in the user's configuration folder)"),
	)
}

// rolloutsFlag has workers play the rounds of a run.
func rolloutsFlag(n *int) flag {
	return option(whole(n, 1), "rollouts",
		"with --listen: the run stays here, and workers play its rounds (agent.rounds), each in so many parts")
}

// forRollouts refuses parts of rounds that nobody would play.
func (f *coordinator) forRollouts(parts int, seeds bool) error {
	switch {
	case parts == 0:
		return nil
	case seeds:
		return usage("--rollouts is for one run, --seeds for several: want one of them")
	case f.listen == "":
		return usage("--rollouts is given without --listen, want both")
	}
	return nil
}

// natsFlags name the files for a NATS cluster of the user's own.
func natsFlags(f *jetstream.Credentials) []flag {
	return []flag{
		option(&f.Creds, "nats-creds", "of your own NATS cluster: file with a user's JWT and seed"),
		option(&f.NKey, "nats-nkey", "of your own NATS cluster: file with a user's seed"),
		option(&f.CA, "nats-ca", "of your own NATS cluster: certificates that sign its own (PEM; default: the system's)"),
		option(&f.Cert, "nats-cert", "of your own NATS cluster: the user's certificate (PEM)"),
		option(&f.Key, "nats-key", "of your own NATS cluster: its key (PEM)"),
	}
}

// cluster is the user's own, at an address of a flag.
func cluster(c *call, flag, address string, files *jetstream.Credentials) (*jetstream.Cluster, error) {
	if err := c.without("is for a coordinator's own server, not for --"+flag+" "+address+" with --nats-… files", "token-file"); err != nil {
		return nil, err
	}
	l, err := jetstream.ParseCluster(address)
	if err != nil {
		return nil, usage("--%s: %w", flag, err)
	}
	if err := files.Check(); err != nil {
		return nil, usage("%w", err)
	}
	if l.Open() {
		fmt.Fprintf(c.errs, "warning: --%s %s: without tls:// others on the way can read and change runs and results\n", flag, address)
	}
	l.Credentials = *files
	return l, nil
}

// tokenFile is the file where none is named.
func tokenFile(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "stoker", "farm.token"), err
}

// open starts the farm where --listen asks for one, and says how workers join. Closed ends the study.
func (f *coordinator) open(c *call) (e *train.Elsewhere, closed func() error, err error) {
	if f.listen == "" {
		return nil, func() error { return nil }, c.without("is given without --listen, want both", farmed[1:]...)
	}
	if f.metrics != "" && !farm.Loopback(f.metrics) {
		return nil, nil, usage("--metrics: %q, want HOST:PORT of this machine's own, as in 127.0.0.1:9464: metrics are not encrypted", f.metrics)
	}
	if e, closed, err = f.start(c); err == nil && f.metrics != "" {
		closed, err = f.measure(c, e, closed)
	}
	return e, closed, err
}

// measure answers Prometheus until the farm is closed.
func (f *coordinator) measure(c *call, e *train.Elsewhere, closed func() error) (func() error, error) {
	l, err := net.Listen("tcp", f.metrics)
	if err != nil {
		return nil, errors.Join(usage("--metrics: %w", err), closed())
	}
	w := metrics.Watch(e.Farm, f.units)
	e.Farm = w
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.Handler())
	s := &http.Server{Handler: mux, ReadTimeout: time.Second, MaxHeaderBytes: 1 << 14}
	go s.Serve(l) //nolint:errcheck // until it is closed
	fmt.Fprintf(c.errs, "metrics: http://%s/metrics\n", l.Addr())
	return func() error { return errors.Join(s.Close(), closed()) }, nil
}

// start starts the farm.
func (f *coordinator) start(c *call) (e *train.Elsewhere, closed func() error, err error) {
	if strings.Contains(f.listen, "://") {
		return f.join(c)
	}
	if len(f.nats.Files()) > 0 {
		return nil, nil, usage("--%s is for your own NATS cluster, but --listen is %s; want its address, as in tls://%s",
			f.nats.Files()[0].Flag, f.listen, f.listen)
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return nil, nil, usage("--listen: %q, want HOST:PORT, as in 127.0.0.1:4222", f.listen)
	}
	path, err := tokenFile(f.token)
	if err != nil {
		return nil, nil, err
	}
	o := jetstream.ListenOptions{Address: f.listen}
	if o.Token, err = farm.Token(path, true); err != nil {
		return nil, nil, usage("--%w", err)
	}
	if !farm.Loopback(f.listen) {
		cert, err := farm.Certificate(path + ".pem")
		if err != nil {
			return nil, nil, usage("--listen: %w", err)
		}
		o.Certificate = &cert
	}
	e, at, err := listen(c, o)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(c.errs, "workers join with: stoker worker --join '%s' --token-file %s\n", named(at), shell.Quote(path))
	return e, e.Farm.Close, nil
}

// join makes the farm on the user's own cluster.
func (f *coordinator) join(c *call) (*train.Elsewhere, func() error, error) {
	l, err := cluster(c, "listen", f.listen, &f.nats)
	if err != nil {
		return nil, nil, err
	}
	e, _, err := listen(c, jetstream.ListenOptions{Cluster: l})
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(c.errs, "workers join with: stoker worker --join %s", l)
	for _, file := range l.Files() {
		fmt.Fprintf(c.errs, " --%s %s", file.Flag, shell.Quote(file.Path))
	}
	fmt.Fprintln(c.errs)
	return e, e.Farm.Close, nil
}

// listen starts a farm for this program's runs.
func listen(c *call, o jetstream.ListenOptions) (e *train.Elsewhere, at farm.Address, err error) {
	if o.Study.Revision, o.Study.Kernels, err = identity(); err != nil {
		return nil, at, err
	}
	fm, at, err := jetstream.Listen(c.ctx, o)
	if errors.Is(err, jetstream.ErrLeftOut) {
		err = usage("--listen: %w", err)
	}
	return &train.Elsewhere{Farm: fm, Revision: o.Study.Revision, Kernels: o.Study.Kernels}, at, err
}

// plain is the command without the flags of a coordinator: the result does not depend on them.
func (f *coordinator) plain(command []string) (out []string) {
	for i := 0; i < len(command); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(command[i], "-"), "=")
		if f.listen != "" && strings.HasPrefix(command[i], "-") && slices.Contains(farmed, name) {
			if !joined {
				i++
			}
			continue
		}
		out = append(out, command[i])
	}
	return out
}

// named is an address with this machine's name, where the coordinator listens on all of its addresses.
func named(a farm.Address) farm.Address {
	host, port, err := net.SplitHostPort(a.Host)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			a.Host = net.JoinHostPort(name, port)
		}
	}
	return a
}

var unsure = regexp.MustCompile("dirty|devel|unknown")

// identity is what results depend on beside units: the program's revision, and the family of its inner loops. A program
// whose source has no revision is known by its own bytes.
func identity() (revised, kernels string, err error) {
	if revised = Version() + " " + revision(); unsure.MatchString(revised) {
		path, err := os.Executable()
		if err != nil {
			return "", "", err
		}
		f, err := farm.ReadFile(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			return "", "", err
		}
		revised = "program " + string(f.Hash[:16])
	}
	kernels, err = train.Kernels()
	return revised, kernels, err
}
