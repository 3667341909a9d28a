package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/jetstream"
	"github.com/stoker-rl/stoker/train"
)

// coordinator are the flags of commands whose runs workers may carry out.
type coordinator struct{ listen, token string }

func (f *coordinator) flags() []flag {
	return []flag{
		option(&f.listen, "listen", "HOST:PORT on which workers (stoker worker) join and do the work, in place of this process"),
		option(&f.token, "token-file", "with --listen: file with the workers' token, made where it is not there "+
			"(default: farm.token in the user's configuration folder)"),
	}
}

// tokenFile is the file where none is named.
func tokenFile(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "stoker", "farm.token"), err
}

// open starts the farm where --listen asks for one, and says how workers join. Close ends the study.
func (f *coordinator) open(c *call) (e *train.Elsewhere, closed func() error, err error) {
	if f.listen == "" {
		return nil, func() error { return nil }, c.without("is given without --listen, want both", "token-file")
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
	if o.Study.Revision, o.Study.Kernels, err = identity(); err != nil {
		return nil, nil, err
	}
	fm, at, err := jetstream.Listen(c.ctx, o)
	if errors.Is(err, jetstream.ErrLeftOut) {
		return nil, nil, usage("--listen: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(c.errs, "workers join with: stoker worker --join '%s' --token-file %s\n", named(at), quote(path))
	return &train.Elsewhere{Farm: fm, Revision: o.Study.Revision, Kernels: o.Study.Kernels}, fm.Close, nil
}

// plain is the command without the flags of a coordinator: the result does not depend on them.
func (f *coordinator) plain(command []string) (out []string) {
	for i := 0; i < len(command); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(command[i], "-"), "=")
		if f.listen != "" && strings.HasPrefix(command[i], "-") && (name == "listen" || name == "token-file") {
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
	patience    time.Duration
}

func (f *joins) flags() []flag {
	return []flag{
		option(&f.join, "join", "address of the coordinator, as it prints it: tls://HOST:PORT#FINGERPRINT, or nats://127.0.0.1:PORT"),
		option(&f.token, "token-file", "file with the coordinator's token (default: farm.token in the user's configuration folder)"),
	}
}

func (f *joins) open(c *call) (farm.Farm, jetstream.Study, error) {
	none := jetstream.Study{}
	if f.join == "" {
		return nil, none, usage("--join is missing: want the address that the coordinator prints (stoker sweep --listen)")
	}
	at, err := farm.ParseAddress(f.join)
	if err != nil {
		return nil, none, usage("--join: %w", err)
	}
	path, err := tokenFile(f.token)
	if err != nil {
		return nil, none, err
	}
	token, err := farm.Token(path, false)
	if err != nil {
		return nil, none, usage("--%w", err)
	}
	fm, study, err := jetstream.Join(c.ctx, jetstream.JoinOptions{Address: at, Token: token, Patience: f.patience})
	if errors.Is(err, jetstream.ErrLeftOut) {
		err = usage("--join: %w", err)
	}
	return fm, study, err
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

// workplace makes a folder for runs under way, and removes those of workers that were killed.
func workplace(scratch string) (dir string, leave func(), err error) {
	const prefix = "stoker-worker-"
	if scratch == "" {
		scratch = os.TempDir()
	}
	old, err := filepath.Glob(filepath.Join(scratch, prefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, d := range old {
		if l, err := durable.AcquireLock(filepath.Join(d, checkpoints.LockFile)); err == nil {
			_ = errors.Join(os.RemoveAll(d), l.Release()) // what stays is the next worker's to remove
		}
	}
	if dir, err = os.MkdirTemp(scratch, prefix); err != nil {
		return "", nil, err
	}
	l, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	return dir, func() { _ = errors.Join(os.RemoveAll(dir), l.Release()) }, err
}

func workersCommand() *command {
	f := &joins{}
	return &command{
		name: "workers", json: "print as JSON",
		flags: f.flags(),
		run: func(c *call) (any, error) {
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
