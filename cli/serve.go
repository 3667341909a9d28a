package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
)

type serveFlags struct {
	folder            string
	http, grpc, admin string
	files             serving.Files
	policy            policy.Options
	bytes, body       int
	memory            int
	log               string
	access, insecure  bool
}

func serveCommand() *cobra.Command {
	o := serving.Defaults()
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [NAME=]BUNDLE[@sha256:HEX]… | --models DIR",
		Short: "Serve exported policies to programs of any language, over HTTP and gRPC",
		Long: `Serve exported policies over the Open Inference Protocol, version 2: HTTP in JSON and with binary tensors, and gRPC. Clients
of KServe and Triton work as they are. A bundle comes from stoker export; its name, without .stoker, is the model's unless
another is given. With @sha256:HEX a file with another digest is refused.

POST /v2/models/M/decide takes what a platform measured, as JSON (docs/platform.md), and answers what to do there.

A bundle that changes on disk is opened beside the one that serves, verified, and tested with the decisions that it
holds; only then does it take over, and requests under way end on the old one. A bundle that fails leaves the old one
serving. SIGHUP loads all files, certificates and tokens again at once.

SIGTERM and Ctrl-C: the server says that it is not ready, ends the requests under way, and exits with 0, or with 143
(130) where --grace ran out.

It listens on this machine's loopback alone, unless clients show certificates (--client-ca) or tokens over TLS (--tokens with
--tls-cert). --insecure lifts this for a server behind a proxy or a mesh; --admin wants a credential even then.`,
		Example: `  stoker serve faasconf.stoker                                   # made by stoker export zoo:faasconf
  stoker serve sizing=faasconf.stoker gnn-placement.stoker       # two models, one under another name
  stoker serve --models policies/ --http :8443 --grpc :8444 --tls-cert tls.crt --tls-key tls.key --tokens tokens.txt
  stoker serve faasconf.stoker --shadow                          # count what it would do, and let its fallback act`,
		Args: args(0, -1, "BUNDLE"),
		RunE: func(c *cobra.Command, a []string) error { return runServe(c, o, a, &f) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"stoker"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.folder, "models", "", "folder of bundles to serve; new ones are found")
	fl.StringVar(&f.http, "http", "127.0.0.1:8080", "address for HTTP, with /metrics; empty is none")
	fl.StringVar(&f.grpc, "grpc", "127.0.0.1:8081", "address for gRPC; empty is none")
	fl.StringVar(&f.admin, "admin", "", "address for the repository calls index, load and unload (default: none)")
	fl.StringVar(&f.files.Certificate, "tls-cert", "", "certificate of the server (PEM)")
	fl.StringVar(&f.files.Key, "tls-key", "", "its key (PEM)")
	fl.StringVar(&f.files.ClientCA, "client-ca", "", "certificates that sign those that clients must show (PEM)")
	fl.StringVar(&f.files.Tokens, "tokens", "", "file of bearer tokens, one a line, of which requests must carry one")
	fl.BoolVar(&f.insecure, "insecure", false, "beyond loopback without credentials or TLS: something before it must see to both")
	countVar(fl, &f.body, "max-body", int(o.MaxBody), 1, "most bytes of a request's body")
	countVar(fl, &o.MaxBatch, "max-batch", o.MaxBatch, 1, "most rows of a request")
	countVar(fl, &o.MaxInFlight, "max-in-flight", o.MaxInFlight, 1, "most requests under way that have arrived")
	countVar(fl, &f.memory, "max-memory", int(o.MaxMemory), 1, "most bytes that all requests hold together")
	countVar(fl, &o.MaxArriving, "max-arriving", o.MaxArriving, 1, "most bodies of a peer that arrive at once")
	countVar(fl, &o.MaxConnections, "max-connections", o.MaxConnections, 1, "most connections of a peer; all have four times as many")
	countVar(fl, &f.bytes, "max-bundle", 16<<20, 1, "most bytes of a bundle's tensors")
	countVar(fl, &f.policy.Sequences, "max-sequences", 1024, 1, "most sequences kept for policies with a state")
	fl.DurationVar(&f.policy.Idle, "sequence-idle", time.Hour, "how long a sequence is kept after its last decision")
	fl.DurationVar(&f.policy.MaxAge, "max-age", 0, "how old an observation (observed_at) may be; 0 is any age")
	fl.DurationVar(&o.ReadTimeout, "read-timeout", o.ReadTimeout, "how long a request may take to arrive")
	fl.DurationVar(&o.Deadline, "deadline", o.Deadline, "how long a decision may take after that")
	fl.DurationVar(&o.Idle, "idle", o.Idle, "how long a connection is kept that says nothing")
	fl.DurationVar(&o.Grace, "grace", o.Grace, "how long requests under way may take to end")
	fl.DurationVar(&o.Linger, "linger", o.Linger, "how long to take requests after SIGTERM, not ready, before ending")
	fl.DurationVar(&o.Poll, "poll", o.Poll, "how often files are looked at; 0 is never")
	fl.BoolVar(&f.policy.Shadow, "shadow", false, "the policies decide and are counted, their fallbacks act")
	fl.BoolVar(&f.policy.NoGuard, "no-guard", false, "let policies decide whatever they see")
	fl.StringVar(&f.log, "log", "text", "log on stderr: text, json or none")
	fl.BoolVar(&f.access, "access-log", true, "log a line for each request")
	completeWords(c, "log", "text", "json", "none")
	return c
}

func runServe(c *cobra.Command, o serving.Options, bundles []string, f *serveFlags) error {
	began := time.Now()
	var specs []models.Spec
	for _, b := range bundles {
		s, err := models.ParseSpec(b)
		if err != nil {
			return usage("%w", err)
		}
		specs = append(specs, s)
	}
	switch {
	case len(specs) == 0 && f.folder == "":
		return usage("BUNDLE is missing: name an exported policy, or a folder of them with --models\nusage: %s", c.UseLine())
	case f.http == "" && f.grpc == "":
		return usage("--http and --grpc are both empty, want an address for one of them")
	}
	o.Version, o.MaxBody, o.MaxMemory = Version(), int64(f.body), int64(f.memory)
	f.policy.MaxBytes = int64(f.bytes)
	logs, err := serveLog(c.ErrOrStderr(), f.log)
	if err != nil {
		return err
	}
	defer logs.Close()
	o.Log = slog.New(logs.handler)
	if f.access {
		o.Access = o.Log
	}
	security, err := serving.NewSecurity(f.files)
	if err != nil {
		return usage("%w", err)
	}
	s, err := serving.Open(specs, f.folder, f.policy, security, o)
	if err != nil {
		return err
	}
	defer limitMemory(o.MaxMemory)()
	l, err := serving.Listen(f.http, f.grpc, f.admin, security, f.insecure)
	if err != nil {
		return usage("%w", err)
	}
	defer l.Close()
	reload, release := onHangup()
	defer release()
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "ending the requests under way")
	defer release()
	for _, line := range s.Lines(l, time.Since(began)) {
		fmt.Fprintln(c.OutOrStdout(), line)
	}
	err = s.Run(ctx, l, reload)
	var sig stopped
	if errors.Is(err, serving.ErrGrace) && errors.As(context.Cause(ctx), &sig) {
		fmt.Fprintln(c.ErrOrStderr(), "stoker: "+err.Error())
		return sig
	}
	return err
}

// limitMemory lets the garbage collector keep the process near what it takes now and what requests may hold: otherwise
// buffers that were given back could take as much again. GOMEMLIMIT is another limit. The function
// that it returns takes the limit back.
func limitMemory(requests int64) (release func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	const spare = 8 << 20
	before := debug.SetMemoryLimit(int64(m.Sys) + requests + spare)
	return func() { debug.SetMemoryLimit(before) }
}

// onHangup tells of each SIGHUP.
func onHangup() (reload <-chan struct{}, release func()) {
	signals, out := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			out <- struct{}{}
		}
	}()
	return out, func() { signal.Stop(signals) }
}

// logTo is a log that is written in pieces.
type logTo struct {
	handler slog.Handler
	io.Closer
}

func serveLog(w io.Writer, format string) (*logTo, error) {
	b := serving.Buffer(w)
	switch format {
	case "text":
		return &logTo{slog.NewTextHandler(b, nil), b}, nil
	case "json":
		return &logTo{slog.NewJSONHandler(b, nil), b}, nil
	case "none":
		return &logTo{slog.DiscardHandler, b}, nil
	}
	return nil, usage("--log %q, want text, json or none", format)
}
