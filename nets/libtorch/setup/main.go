// Command setup is the first half of `make cuda`: it finds or fetches a
// libtorch and fits gotch to it, so that `go build -tags libtorch` works.
// All that it decides is in package libtorch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stoker-rl/stoker/nets/libtorch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	o := libtorch.FromEnvironment(".")
	set := flag.NewFlagSet("setup", flag.ContinueOnError)
	set.StringVar(&o.Root, "root", o.Root, "checkout of Stoker to set up")
	set.StringVar(&o.Folder, "libtorch", o.Folder, "an unpacked libtorch `folder` to use ($LIBTORCH)")
	set.StringVar(&o.Release, "torch", o.Release,
		"torch `release` to use, such as 2.15.0 ($STOKER_TORCH); any that fits, else "+libtorch.DefaultRelease)
	set.StringVar(&o.Cache, "cache", o.Cache, "`folder` for libtorch and the fitted bindings (the user's cache folder)")
	set.StringVar((*string)(&o.From), "from", "", "look at one origin only: folder, python, pip, debian")
	set.StringVar(&o.CUDA, "cuda", "auto", "fetch the CUDA wheels too: auto (where there is a GPU), yes, no")
	set.BoolVar(&o.Refit, "again", false, "do everything again")
	status := set.Bool("status", false, "say what is set up, and change nothing")
	set.Usage = func() {
		fmt.Fprintf(set.Output(),
			"usage: go run ./nets/libtorch/setup [flags]\n\nSets libtorch up for `go build -tags libtorch`.\n\n")
		set.PrintDefaults()
	}
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if set.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q; see -help\n", set.Arg(0))
		return 2
	}
	if *status {
		fmt.Println(strings.Join(libtorch.Status(ctx, o).Lines(), "\n"))
		return 0
	}
	start := time.Now()
	log := func(line string) {
		fmt.Printf("[%5.0fs] %s\n", time.Since(start).Seconds(), line)
	}
	r, err := libtorch.Ensure(ctx, o, log)
	if err == nil {
		err = libtorch.Prebuild(ctx, o, log)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "stopped; run it again to go on")
		return 130
	case err != nil:
		fmt.Fprintln(os.Stderr, "libtorch is not set up:", err)
		return 1
	}
	log("ready: gotch " + r.Gotch + " in " + r.Dir)
	fmt.Println(strings.Join(r.Report().Lines(), "\n"))
	return 0
}
