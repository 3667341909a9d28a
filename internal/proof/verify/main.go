// Command verify runs the long proofs of the table in internal/proof. From the repository's root:
//
//	verify               runs all proofs; a failure doesn't stop the others
//	verify NAME…         runs the named ones
//	verify list          lists them; with --json for programs
//	verify status        checks by short runs which kept results are fresh; with --json for programs
//	verify pages         generates docs/claims.md and docs/claims/ from the kept claims
//	verify adopt NAME…   records the current code's short runs beside kept results; correct only if the code of
//	                     the result's revision gives the same bytes
//
// A missed bound is recorded as a claim that falls short. A crash, a missing need and a failed test are errors: the
// kept result stays unchanged, and the exit code is 1. A proof's log and files are in out/verify/NAME.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/stoker-rl/stoker/internal/proof"
	"github.com/stoker-rl/stoker/internal/proof/pages"
)

const results = "docs/results"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if _, err := os.Stat("go.mod"); err != nil {
		return errors.New("no go.mod in this folder: run verify in the repository's root")
	}
	asJSON := slices.Contains(args, "--json")
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--json" })
	name, rest := "", args
	if len(args) > 0 {
		name, rest = args[0], args[1:]
	}
	switch name {
	case "list":
		return list(asJSON)
	case "status":
		return status(ctx, asJSON)
	case "pages":
		return pages.Write(results, "docs")
	case "adopt":
		return adopt(ctx, rest)
	}
	proofs := proof.Table()
	if len(args) > 0 {
		var err error
		if proofs, err = find(args); err != nil {
			return err
		}
	}
	return runAll(ctx, proofs)
}

// find looks up all names before anything runs.
func find(names []string) (all []proof.Proof, err error) {
	for _, n := range names {
		p, err := proof.Find(n)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
