package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
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

// joins are the flags of commands that join a coordinator.
type joins struct {
	join, token string
	nats        jetstream.Credentials
	patience    time.Duration
}

func (f *joins) flags() []flag {
	return append(natsFlags(&f.nats),
		option(&f.join, "join", "address of the coordinator, as it prints it: tls://HOST:PORT#FINGERPRINT, or nats://127.0.0.1:PORT; or of "+
			"your own NATS cluster"),
		option(&f.token, "token-file", "file with the coordinator's token (default: farm.token in the user's configuration folder)"),
	)
}

func (f *joins) open(c *call) (farm.Farm, jetstream.Study, error) {
	none := jetstream.Study{}
	if f.join == "" {
		return nil, none, usage("--join is missing: want the address that the coordinator prints (stoker sweep --listen)")
	}
	o, err := f.options(c)
	if err != nil {
		return nil, none, err
	}
	fm, study, err := jetstream.Join(c.ctx, o)
	if errors.Is(err, jetstream.ErrLeftOut) {
		err = usage("--join: %w", err)
	}
	return fm, study, err
}

// options say how the coordinator is found.
func (f *joins) options(c *call) (o jetstream.JoinOptions, err error) {
	o.Patience = f.patience
	if len(f.nats.Files()) > 0 {
		o.Cluster, err = cluster(c, "join", f.join, &f.nats)
		return o, err
	}
	if o.Address, err = farm.ParseAddress(f.join); err != nil {
		return o, usage("--join: %w", err)
	}
	path, err := tokenFile(f.token)
	if err != nil {
		return o, err
	}
	if o.Token, err = farm.Token(path, false); err != nil {
		return o, usage("--%w", err)
	}
	return o, nil
}

func workerCommand() *command {
	f := &joins{patience: 10 * time.Minute}
	w := &train.Worker{FetchLimit: farm.MaxBytes, MaxSteps: 2_000_000_000}
	slots, scratch := 1, ""
	return &command{
		name: "worker", stop: "saving, then handing back",
		flags: append(f.flags(),
			option(whole(&slots, 1), "slots", "runs at a time; they share the cores"),
			option(&w.Data, "data", "folders with traces and other inputs, found there by their hash (repeatable)"),
			option(whole(&w.FetchLimit, 0), "fetch-limit", "bytes of a run's inputs that are fetched from the coordinator at most (0: none)"),
			option(whole(&w.MaxSteps, 1), "max-steps", "environment steps of a run at most"),
			option(&scratch, "scratch", "folder for runs under way (default: the system's for temporary files)"),
			option(&f.patience, "patience", "how long the coordinator may be away"),
			option(&w.Inexact, "inexact", "work for a coordinator of another revision or kernel family, whose results may differ in the last bits"),
		),
		run: func(c *call) (any, error) {
			if f.patience < 0 {
				return nil, usage("--patience is %v, want a time of at least 0, as in 10m", f.patience)
			}
			for _, d := range w.Data {
				if info, err := os.Stat(d); err != nil || !info.IsDir() {
					return nil, usage("--data: %s is no folder", d)
				}
			}
			return nil, work(c, f, w, slots, scratch)
		},
	}
}

// work carries out units until the study ends.
func work(c *call, f *joins, w *train.Worker, slots int, scratch string) (err error) {
	if w.Revision, w.Kernels, err = identity(); err != nil {
		return err
	}
	dir, leave, err := workplace(scratch)
	if err != nil {
		return fmt.Errorf("--scratch: %w", err)
	}
	defer leave()
	fm, study, err := f.open(c)
	if err != nil {
		return err
	}
	defer fm.Close() //nolint:errcheck // the coordinator may be gone
	u := farm.Unit{Revision: study.Revision, Kernels: study.Kernels}
	if err := u.Refuses(w.Revision, w.Kernels); err != nil && !w.Inexact {
		return usage("%w", err)
	}
	w.Farm, w.Scratch, w.Options, w.Evaluate = fm, dir, options(c), eval.Evaluate
	w.Options.Out, w.Options.Threads = io.Discard, max(1, runtime.GOMAXPROCS(0)/slots)
	name := workerName()
	fmt.Fprintf(c.errs, "worker %s: joined %s, %d at a time\n", name, f.join, slots)
	err = farm.Work(c.ctx, fm, farm.Worker{Name: name, Slots: slots, Do: w.Do, Telling: 2 * time.Second})
	if err == nil {
		fmt.Fprintln(c.errs, "the study has ended")
	}
	return err
}

// workerName is unique: machines' names and process numbers come again.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), hex.EncodeToString(b[:]))
}

// workplace makes a folder for runs under way, and removes those of workers that were killed. A folder has a file of the name
// ours once its lock is held: without one, another worker is just making it.
func workplace(scratch string) (dir string, leave func(), err error) {
	const prefix, ours = "stoker-worker-", "ours"
	if scratch == "" {
		scratch = os.TempDir()
	}
	old, err := filepath.Glob(filepath.Join(scratch, prefix+"*", ours))
	if err != nil {
		return "", nil, err
	}
	for _, o := range old {
		d := filepath.Dir(o)
		if l, err := durable.AcquireLock(filepath.Join(d, checkpoints.LockFile)); err == nil {
			_ = errors.Join(os.RemoveAll(d), l.Release()) // what stays is the next worker's to remove
		}
	}
	if dir, err = os.MkdirTemp(scratch, prefix); err != nil {
		return "", nil, err
	}
	l, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	leave = func() { _ = errors.Join(os.RemoveAll(dir), l.Release()) }
	if err := os.WriteFile(filepath.Join(dir, ours), nil, 0o600); err != nil {
		leave()
		return "", nil, err
	}
	return dir, leave, nil
}

// forget removes what is left of a study on the user's own cluster.
func (f *joins) forget(c *call) error {
	if len(f.nats.Files()) == 0 {
		return usage("--forget is for your own NATS cluster, want the --nats-… files too; a coordinator's own server keeps nothing")
	}
	o, err := f.options(c)
	if err != nil {
		return err
	}
	if err = jetstream.Forget(c.ctx, o.Cluster); err == nil {
		fmt.Fprintf(c.errs, "%s: the study is removed\n", f.join)
	}
	return err
}

func workersCommand() *command {
	f, forget := &joins{}, false
	return &command{
		name: "workers", json: "print as JSON",
		flags: append(f.flags(), option(&forget, "forget",
			"of your own NATS cluster: remove what is left of a study whose coordinator does not come back, in place of the list")),
		run: func(c *call) (any, error) {
			if forget {
				return []farm.Standing{}, f.forget(c)
			}
			fm, _, err := f.open(c)
			if err != nil {
				return nil, err
			}
			defer fm.Close() //nolint:errcheck // nothing was written
			told, err := fm.Told(context.WithoutCancel(c.ctx))
			if err != nil {
				return nil, err
			}
			rows := [][]string{{"worker", "slots", "runs done", "steps/s", "under way"}}
			for _, s := range told {
				var now []string
				for _, u := range s.Units {
					now = append(now, fmt.Sprintf("%s at step %d", u.Name, u.Steps))
				}
				rows = append(rows, []string{s.Worker, fmt.Sprint(s.Slots), fmt.Sprint(s.Done), fmt.Sprintf("%.0f", s.Rate), strings.Join(now, ", ")})
			}
			fmt.Fprint(c, report.Columns(rows, true))
			return told, nil
		},
	}
}
