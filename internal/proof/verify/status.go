package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/proof"
)

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
