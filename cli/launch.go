package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/jetstream"
	"github.com/stoker-rl/stoker/farm/launch"
)

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
