package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/remote"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving"
	"github.com/stoker-rl/stoker/serving/models"
	"github.com/stoker-rl/stoker/train"
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

func serveCommand() *command {
	o := serving.Defaults()
	f := &serveFlags{http: "127.0.0.1:8080", grpc: "127.0.0.1:8081", body: int(o.MaxBody), memory: int(o.MaxMemory),
		bytes: 16 << 20, policy: policy.Options{Sequences: 1024, Idle: time.Hour}, log: "text", access: true}
	return &command{
		name: "serve", takes: "[NAME=]BUNDLE[@sha256:HEX]… | --models DIR", args: arguments{most: -1},
		stop: "ending the requests under way",
		flags: []flag{
			option(&f.folder, "models", "folder of bundles to serve; new ones are found"),
			option(&f.http, "http", "address for HTTP, with /metrics; empty is none"),
			option(&f.grpc, "grpc", "address for gRPC; empty is none"),
			option(&f.admin, "admin", "address for the repository calls index, load and unload (default: none)"),
			option(&f.files.Certificate, "tls-cert", "certificate of the server (PEM)"),
			option(&f.files.Key, "tls-key", "its key (PEM)"),
			option(&f.files.ClientCA, "client-ca", "certificates that sign those that clients must show (PEM)"),
			option(&f.files.Tokens, "tokens", "file of bearer tokens, one a line, of which requests must carry one"),
			option(&f.insecure, "insecure",
				"beyond loopback without credentials or TLS: something before it must see to both"),
			option(whole(&f.body, 1), "max-body", "most bytes of a request's body"),
			option(whole(&o.MaxBatch, 1), "max-batch", "most rows of a request"),
			option(whole(&o.MaxInFlight, 1), "max-in-flight", "most requests under way that have arrived"),
			option(whole(&f.memory, 1), "max-memory", "most bytes that all requests hold together"),
			option(whole(&o.MaxArriving, 1), "max-arriving", "most bodies of a peer that arrive at once"),
			option(whole(&o.MaxConnections, 1), "max-connections",
				"most connections of a peer; all have four times as many"),
			option(whole(&f.bytes, 1), "max-bundle", "most bytes of a bundle's tensors"),
			option(whole(&f.policy.Sequences, 1), "max-sequences", "most sequences kept for policies with a state"),
			option(&f.policy.Idle, "sequence-idle", "how long a sequence is kept after its last decision"),
			option(&f.policy.MaxAge, "max-age", "how old an observation (observed_at) may be; 0 is any age"),
			option(&o.ReadTimeout, "read-timeout", "how long a request may take to arrive"),
			option(&o.Deadline, "deadline", "how long a decision may take after that"),
			option(&o.Idle, "idle", "how long a connection is kept that says nothing"),
			option(&o.Grace, "grace", "how long requests under way may take to end"),
			option(&o.Linger, "linger", "how long to take requests after SIGTERM, not ready, before ending"),
			option(&o.Poll, "poll", "how often files are looked at; 0 is never"),
			option(&f.policy.Shadow, "shadow", "the policies decide and are counted, their fallbacks act"),
			option(&f.policy.NoGuard, "no-guard", "let policies decide whatever they see"),
			option(&f.log, "log", "log on stderr: text, json or none", "text", "json", "none"),
			option(&f.access, "access-log", "log a line for each request"),
		},
		complete: among(cobra.ShellCompDirectiveFilterFileExt, func(*call) []string { return []string{"stoker"} }),
		run:      func(c *call) (any, error) { return f.run(c, o) },
	}
}

func (f *serveFlags) run(c *call, o serving.Options) (any, error) {
	began := time.Now()
	specs, err := lists.Try(c.args, models.ParseSpec)
	if err != nil {
		return nil, usage("%w", err)
	}
	switch {
	case len(specs) == 0 && f.folder == "":
		return nil, usage("BUNDLE is missing: name an exported policy, or a folder of them with --models\nusage: %s", c.usage())
	case f.http == "" && f.grpc == "":
		return nil, usage("--http and --grpc are both empty, want an address for one of them")
	}
	o.Version, o.MaxBody, o.MaxMemory = Version(), int64(f.body), int64(f.memory)
	f.policy.MaxBytes = int64(f.bytes)
	lines := serving.Buffer(c.errs)
	defer lines.Close()
	logs := map[string]slog.Handler{"text": slog.NewTextHandler(lines, nil), "json": slog.NewJSONHandler(lines, nil),
		"none": slog.DiscardHandler}
	if logs[f.log] == nil {
		return nil, usage("--log %q, want text, json or none", f.log)
	}
	o.Log = slog.New(logs[f.log])
	if f.access {
		o.Access = o.Log
	}
	security, err := serving.NewSecurity(f.files)
	if err != nil {
		return nil, usage("%w", err)
	}
	s, err := serving.Open(specs, f.folder, f.policy, security, o)
	if err != nil {
		return nil, err
	}
	defer limitMemory(o.MaxMemory)()
	l, err := serving.Listen(f.http, f.grpc, f.admin, security, f.insecure)
	if err != nil {
		return nil, usage("%w", err)
	}
	defer l.Close()
	reload, release := onHangup()
	defer release()
	for _, line := range s.Lines(l, time.Since(began)) {
		fmt.Fprintln(c, line)
	}
	err = s.Run(c.ctx, l, reload)
	var sig stopped
	if errors.Is(err, serving.ErrGrace) && errors.As(context.Cause(c.ctx), &sig) {
		fmt.Fprintln(c.errs, "stoker: "+err.Error())
		return nil, sig
	}
	return nil, err
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

// wanted is what a client of stoker step-server asks for.
type wanted struct {
	// Config is a configuration's file or a shipped one's name. Text, where it is given, is read in its place.
	Config string `json:"config"`
	Text   string `json:"text"`
	// Overrides are settings key=value.
	Overrides []string `json:"overrides"`
	// Split is the part of the workload: train, test or all.
	Split   string `json:"split"`
	Copies  int    `json:"copies"`
	Workers int    `json:"workers"` // 0: one per core
	// Memory names what [remote.Memory] maps.
	Memory string `json:"memory"`
	// Illegal says what becomes of a choice that the masks forbid: substitute or raise.
	Illegal string `json:"illegal"`
}

func stepServerCommand() *command {
	return &command{
		name: "step-server",
		run: func(c *call) (any, error) {
			s := remote.Server{Version: versionLine(), Open: c.openRemote}
			return nil, s.Serve(os.Stdin, os.Stdout)
		},
	}
}

// openRemote reads what a client asks for.
func (c *call) openRemote(request []byte) (func() (envs.Env, error), remote.Options, error) {
	w, o := wanted{Split: "train", Copies: 1, Illegal: "substitute"}, remote.Options{}
	if err := json.Unmarshal(request, &w); err != nil {
		return nil, o, fmt.Errorf("the request is no JSON of the expected form: %w", err)
	}
	if w.Illegal != "substitute" && w.Illegal != "raise" {
		return nil, o, fmt.Errorf("illegal is %q, want substitute or raise", w.Illegal)
	}
	if w.Split != "train" && w.Split != "test" && w.Split != "all" {
		return nil, o, fmt.Errorf("split is %q, want train, test or all", w.Split)
	}
	switch {
	case w.Workers < 0:
		return nil, o, fmt.Errorf("workers is %d, want at least 0, where 0 is one per core", w.Workers)
	case w.Workers == 0:
		w.Workers = runtime.GOMAXPROCS(0)
	}
	o = remote.Options{Copies: w.Copies, Workers: w.Workers, Substitute: w.Illegal == "substitute",
		Memory: remote.Memory(w.Memory), Actor: c.actor}
	read := func(sets []string) (*configs.Experiment, error) { return c.wanted(&w, sets) }
	var x *configs.Experiment
	var err error
	if w.Split == "test" { // as stoker eval has it
		x, err = eval.InEvaluation(read, append(w.Overrides, "eval.split=test"))
	} else {
		x, err = read(w.Overrides)
	}
	if err != nil {
		return nil, o, err
	}
	o.Notes = x.Renamed
	return func() (envs.Env, error) { return train.NewEnv(x, w.Split) }, o, nil
}

// wanted reads a client's configuration.
func (c *call) wanted(w *wanted, sets []string) (*configs.Experiment, error) {
	if w.Text == "" {
		return configs.Load(w.Config, sets, c.Catalog)
	}
	return configs.Parse(w.Config, []byte(w.Text), sets, c.Catalog)
}

// actor makes a baseline with its defaults, or the policy of a run, a checkpoint or the zoo, for a copy.
func (c *call) actor(name string, env envs.Env) (remote.Actor, error) {
	r, err := c.Catalog.Baseline(name)
	if _, missing := os.Stat(name); err != nil && missing != nil && !strings.HasPrefix(name, zoo.Prefix) {
		return nil, fmt.Errorf("%w; nor is it the folder of a run or a checkpoint", err)
	}
	if err != nil {
		t, err := eval.OpenTrained(c.Catalog, name, nil)
		if err != nil {
			return nil, err
		}
		t.Threads = 1
		p, err := t.Policy(env.Spec())
		return decider{rollout.Actor{Policy: p}}, err
	}
	if id := env.Spec().ID; !r.In(id) {
		return nil, fmt.Errorf("%s is made for %s, not for %s", name, strings.Join(r.Envs, ", "), id)
	}
	a, err := r.New(r.Config(), env)
	if err == nil && a.Tuner != nil {
		return nil, fmt.Errorf("%s is no policy but a search, which needs outcomes; want a policy such as random", name)
	}
	return decider{a}, err
}

// decider is a policy or a planner, for one copy.
type decider struct{ rollout.Actor }

// Reset implements [remote.Actor].
func (d decider) Reset(seed uint64) error {
	seed = rollout.ActorSeed(seed) // what stoker eval gives, too
	if d.Policy != nil {
		return d.Policy.Reset(seed)
	}
	return d.Planner.Reset(seed)
}

// Act implements [remote.Actor].
func (d decider) Act(env envs.Env, obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if d.Policy != nil {
		return d.Policy.Act(obs, act, deterministic)
	}
	return d.Planner.Plan(env, obs, act)
}
