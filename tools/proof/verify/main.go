// Command verify runs the long proofs of the table in tools/proof. From the repository's root:
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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/tools/proof/pages"
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
func find(names []string) ([]proof.Proof, error) { return lists.Try(names, proof.Find) }

// list prints the table.
func list(asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(proof.Table())
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tMINUTES\tCLAIMS")
	for _, p := range proof.Table() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s", p.Name, p.Kind, p.Minutes, p.Claims)
		if len(p.Needs) > 0 {
			fmt.Fprintf(w, " Needs %s.", needs(p.Needs))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Println("\nmake verify NAME=… runs one of them, make verify all of them.")
	return nil
}

func needs(all []proof.Need) string {
	var text []string
	for _, n := range all {
		if n.Env != "" {
			text = append(text, n.Env+" ("+n.Text+")")
		} else {
			text = append(text, n.Text)
		}
	}
	return strings.Join(text, ", ")
}

// States of a kept result.
const (
	fresh         = "fresh"          // the short runs give the recorded digests, or pass
	stale         = "stale"          // a short run gives another digest, or fails
	notComparable = "not comparable" // recorded on another family of kernels or architecture
	measured      = "measured"       // a speed: it holds for its revision, date and machine
	unchecked     = "unchecked"      // there is no short run that needs only Go
	missing       = "missing"        // no result is kept
	passFail      = "nothing kept"   // the proof keeps no result: it passes or fails
)

// state is one line of the status.
type state struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// status prints the state of every kept result; the error gives the number of stale and missing ones.
func status(ctx context.Context, asJSON bool) error {
	if err := build(ctx); err != nil {
		return err
	}
	now, err := currentResult(ctx)
	if err != nil {
		return err
	}
	began, runs, bad := time.Now(), newShortRuns(), 0
	for _, p := range proof.Table() {
		if p.Kind != proof.Speed {
			runs.start(ctx, p.Short...)
		}
	}
	var all []state
	for _, p := range proof.Table() {
		s, err := check(ctx, p, now, runs)
		if err != nil {
			return err
		}
		if s.State == stale || s.State == missing {
			bad++
		}
		all = append(all, s)
		if !asJSON {
			fmt.Printf("%-14s %-14s %s\n", s.Name, s.State, s.Detail)
		}
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return err
		}
	} else {
		fmt.Printf("%d short runs in %s\n", len(runs.done), time.Since(began).Round(time.Second))
	}
	if bad > 0 {
		return fmt.Errorf("%d results are stale or missing: run make verify NAME=… for each", bad)
	}
	return nil
}

// check compares a kept result with short runs of the current code.
func check(ctx context.Context, p proof.Proof, now proof.Result, runs *shortRuns) (state, error) {
	s := state{Name: p.Name, Kind: string(p.Kind)}
	if p.Nothing != "" {
		s.State, s.Detail = passFail, p.Nothing
		return s, nil
	}
	r, err := proof.ReadResult(filepath.Join(results, p.Name))
	if errors.Is(err, fs.ErrNotExist) {
		s.State, s.Detail = missing, "docs/results has no result of it"
		return s, nil
	}
	if err != nil {
		return s, err
	}
	at := fmt.Sprintf("revision %.9s of %s", r.Revision, r.Date)
	switch {
	case p.Kind == proof.Speed:
		s.State, s.Detail = measured, at+" on "+r.Machine
		return s, nil
	case len(p.Short) == 0:
		s.State, s.Detail = unchecked, at+"; needs "+needs(p.Needs)
		return s, nil
	case len(r.Digests) > 0 && (r.Arch != now.Arch || r.Kernels != now.Kernels):
		s.State = notComparable
		s.Detail = fmt.Sprintf("%s; recorded on %s with %s kernels, this is %s with %s", at, r.Arch, r.Kernels,
			now.Arch, now.Kernels)
		return s, nil
	}
	var differ []string
	for _, name := range p.Short {
		d, err := runs.run(ctx, name)
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		switch want := r.Digests[name]; {
		case err != nil:
			differ = append(differ, err.Error())
		case d != want:
			differ = append(differ, fmt.Sprintf("short run %s gives %s, recorded is %q", name, d, want))
		}
	}
	s.State, s.Detail = fresh, at
	if differ != nil {
		s.State, s.Detail = stale, at+"; "+strings.Join(differ, "; ")
	}
	return s, nil
}

// adopt records the current code's digests beside kept results.
func adopt(ctx context.Context, names []string) error {
	proofs, err := find(names)
	if err != nil {
		return err
	}
	if err := build(ctx); err != nil {
		return err
	}
	now, err := currentResult(ctx)
	if err != nil {
		return err
	}
	for _, p := range proofs {
		dir := filepath.Join(results, p.Name)
		r, err := proof.ReadResult(dir)
		if err != nil {
			return err
		}
		r.Arch, r.Kernels = now.Arch, now.Kernels
		if r.Digests, err = digests(ctx, p); err != nil {
			return err
		}
		if err := r.Write(dir); err != nil {
			return err
		}
	}
	return nil
}
