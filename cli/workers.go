package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/jetstream"
	"github.com/stoker-rl/stoker/farm/launch"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

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
			option(whole(&w.MaxMemory, 1), "max-memory", "bytes of memory that a run may need, with --slots 1 (default: no bound)"),
			option(&scratch, "scratch", "folder for runs under way (default: the system's for temporary files)"),
			option(&f.patience, "patience", "how long the coordinator may be away"),
			option(&w.Inexact, "inexact", "work for a coordinator of another revision or kernel family, whose results may differ in the last bits"),
		),
		run: func(c *call) (any, error) {
			if f.patience < 0 {
				return nil, usage("--patience is %v, want a time of at least 0, as in 10m", f.patience)
			}
			if w.MaxMemory > 0 && slots > 1 {
				return nil, usage("--max-memory is for --slots 1, since runs of one process share its memory: start %d workers", slots)
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
	dir, leave, err := durable.Scratch(scratch, "stoker-worker-")
	if err != nil {
		return fmt.Errorf("--scratch: %w", err)
	}
	defer func() { _ = leave() }() // what stays is the next worker's to remove
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
				now := lists.From(s.Units, func(u farm.Working) string { return fmt.Sprintf("%s at step %d", u.Name, u.Steps) })
				rows = append(rows, []string{s.Worker, fmt.Sprint(s.Slots), fmt.Sprint(s.Done), fmt.Sprintf("%.0f", s.Rate), strings.Join(now, ", ")})
			}
			fmt.Fprint(c, report.Columns(rows, true))
			return told, nil
		},
	}
}

// launched has the flags of launch that belong to some of what starts workers alone.
var launched = map[string][]string{
	"slurm":      {"workers", "cores", "memory", "time", "partition", "program"},
	"kubernetes": {"workers", "cores", "memory", "time", "image", "secret"},
	"ssh":        {"host", "program"},
}

func launchCommand() *command {
	o := launch.Options{Name: "stoker-workers", Program: "stoker", Secret: "stoker-farm", Workers: 1, Slots: 1}
	token, files := "", jetstream.Credentials{}
	where := strings.Join(launch.Wheres, "|")
	return &command{
		name: "launch", takes: where, args: arguments{1, 1, where},
		out: "folder for the file", outIs: ".",
		flags: append(natsFlags(&files),
			option(&o.Join, "join", "address of the coordinator, as it prints it: tls://HOST:PORT#FINGERPRINT; or of your own NATS cluster"),
			option(&token, "token-file", "the token's file on the workers' machines (default there: farm.token in the user's configuration "+
				"folder; on kubernetes /secrets/token)"),
			option(whole(&o.Workers, 1), "workers", "of slurm and kubernetes: number of workers"),
			option(whole(&o.Slots, 1), "slots", "runs at a time of each worker"),
			option(whole(&o.Cores, 1), "cores", "of slurm and kubernetes: cores of each worker (default: --slots)"),
			option(whole(&o.Memory, 1), "memory", "of slurm and kubernetes: MiB of memory of each worker (default: 1024 for each slot)"),
			option(repeated{&o.Data}, "data", "folder with traces on the workers' machines, on kubernetes a PersistentVolumeClaim (repeatable)"),
			option(&o.Time, "time", "of slurm and kubernetes: how long workers may run, as in 12h (default: as long as the study)"),
			option(&o.Partition, "partition", "of slurm: the partition"),
			option(repeated{&o.Hosts}, "host", "of ssh: machine on which a worker is started, as in user@node1 (repeatable)"),
			option(&o.Image, "image", "of kubernetes: container image with the program at /stoker"),
			option(&o.Secret, "secret", "of kubernetes: Secret with the token, mounted at /secrets"),
			option(&o.Program, "program", "of slurm and ssh: the program on the workers' machines"),
			option(&o.Name, "name", "name of the job and of its logs"),
		),
		complete: first(words(launch.Wheres...)),
		run: func(c *call) (any, error) {
			if token != "" {
				o.Secrets = append(o.Secrets, launch.Secret{Flag: "token-file", Path: token})
			}
			own := len(files.Files()) > 0
			if own {
				if err := errors.Join(files.Complete(), c.without("is for a coordinator's own server, not for one of --nats-… files",
					"token-file")); err != nil {
					return nil, usage("%w", err)
				}
			}
			for _, f := range files.Files() {
				o.Secrets = append(o.Secrets, launch.Secret(f))
			}
			return nil, writeLaunch(c, o, own)
		},
	}
}

// writeLaunch writes the file that starts workers, of a coordinator with its own server or on the user's own cluster.
func writeLaunch(c *call, o launch.Options, own bool) error {
	where := c.args[0]
	fits, ok := launched[where]
	if !ok {
		return usage("no launch %q%s; there are: %s", where, didYouMean(where, launch.Wheres, ""), strings.Join(launch.Wheres, ", "))
	}
	for other, list := range launched {
		for _, f := range list {
			if !slices.Contains(fits, f) && c.given(f) {
				return usage("--%s is for %s, not for %s", f, other, where)
			}
		}
	}
	if o.Join == "" {
		return usage("--join is missing: want the address that the coordinator prints (stoker sweep --listen)")
	}
	host := ""
	if own {
		l, err := jetstream.ParseCluster(o.Join)
		if err != nil {
			return usage("--join: %w", err)
		}
		_, host, _ = strings.Cut(l.Servers[0], "://")
	} else {
		at, err := farm.ParseAddress(o.Join)
		if err != nil {
			return usage("--join: %w", err)
		}
		host = at.Host
	}
	if farm.Loopback(host) {
		fmt.Fprintf(c.errs, "warning: --join %s is each worker's own machine\n", o.Join)
	}
	if o.Cores == 0 {
		o.Cores = o.Slots
	}
	if o.Memory == 0 {
		o.Memory = 1024 * o.Slots
	}
	if where == "kubernetes" {
		o.Program = "/stoker"
		if len(o.Secrets) == 0 {
			o.Secrets = []launch.Secret{{Flag: "token-file", Path: "/secrets/token"}}
		}
	}
	name, text, err := launch.Write(where, o)
	if err != nil {
		return usage("%w", err)
	}
	if err := makeFolder(c.folder); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(c.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s is there and stays as it is: remove it, or give another --out", filepath.Join(c.folder, name))
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	c.wrote = []string{name}
	return errors.Join(err, f.Close())
}
