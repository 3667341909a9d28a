package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/proof"
	"github.com/stoker-rl/stoker/internal/proof/pages"
)

// runAll runs proofs one after another and reports all of them.
func runAll(ctx context.Context, proofs []proof.Proof) error {
	if err := build(ctx); err != nil {
		return err
	}
	var report []string
	failed := 0
	for i, p := range proofs {
		fmt.Printf("== %s (%d of %d, about %d minutes): %s\n", p.Name, i+1, len(proofs), p.Minutes, p.Claims)
		began := time.Now()
		summary, err := run(ctx, p)
		if err != nil {
			failed++
			summary = "error: " + err.Error()
		}
		fmt.Printf("== %s: %s\n", p.Name, summary)
		report = append(report, fmt.Sprintf("%-14s %8s  %s", p.Name, time.Since(began).Round(time.Second), summary))
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Println("\n" + strings.Join(report, "\n"))
	err := pages.Write(results, "docs")
	if errors.Is(err, proof.ErrSentence) { // a missed bound is a result, but its page needs a sentence first
		fmt.Printf("docs/claims.md is unchanged. Write the sentences, then: make verify NAME=pages\n%v\n", err)
		err = nil
	}
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d proofs failed to finish", failed, len(proofs))
	}
	return nil
}

// run runs one proof, and keeps its result if all steps succeed. It returns a summary.
func run(ctx context.Context, p proof.Proof) (summary string, err error) {
	f, err := newFolders(filepath.Join("out", "verify", p.Name), p.Needs)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	log, err := os.Create(f.out + ".log") // beside the folder: a suite refuses one that holds other things
	if err != nil {
		return "", err
	}
	defer log.Close()
	both := io.MultiWriter(os.Stdout, log)
	for _, n := range p.Needs {
		if n == proof.Libtorch {
			if err := f.run(ctx, proof.Step{Args: []string{"make", "cuda"}}, both); err != nil {
				return "", err
			}
		}
	}
	for _, s := range p.Steps {
		if err := f.run(ctx, s, both); err != nil {
			return "", fmt.Errorf("%w (see %s)", err, log.Name())
		}
	}
	rows, err := proof.ReadClaims(filepath.Join(f.out, proof.ClaimsFile))
	if err != nil {
		return "", err
	}
	short := 0
	for _, r := range rows {
		if !r.Holds {
			short++
		}
	}
	summary = fmt.Sprintf("%d claims, %d fall short", len(rows), short)
	if p.Nothing != "" {
		return summary, nil
	}
	r, err := currentResult(ctx)
	if err != nil {
		return "", err
	}
	if r.Digests, err = digests(ctx, p); err != nil {
		return "", err
	}
	dir := filepath.Join(results, p.Name)
	if err := keep(p, f.out, dir); err != nil {
		return "", err
	}
	return summary, r.Write(dir)
}

// currentResult describes this revision and machine.
func currentResult(ctx context.Context) (r proof.Result, err error) {
	rev, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return r, fmt.Errorf("git rev-parse HEAD: %w", err)
	}
	r.Revision, r.Date = strings.TrimSpace(string(rev)), time.Now().UTC().Format(time.DateOnly)
	v, err := version(ctx)
	if err != nil {
		return r, err
	}
	r.Machine, r.Arch, r.Kernels = fmt.Sprintf("%s, %d cores", v.CPU, v.Cores), v.Arch, v.Engines[0].Kernels
	return r, nil
}
