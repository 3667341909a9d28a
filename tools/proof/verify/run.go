package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/tools/proof/pages"
)

// folders holds the folders of one proof or short run, and the values of the variables in its steps.
type folders struct {
	out, tmp string
	values   map[string]string
}

// newFolders makes an empty folder for files, and a temporary one.
func newFolders(out string, needed []proof.Need) (*folders, error) {
	values := map[string]string{}
	var missing []string
	for _, n := range needed {
		if n.Env == "" {
			continue
		}
		if values[n.Env] = os.Getenv(n.Env); values[n.Env] == "" {
			missing = append(missing, fmt.Sprintf("%s is not set: %s", n.Env, n.Text))
		}
	}
	if missing != nil {
		return nil, errors.New(strings.Join(missing, "; "))
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "stoker-verify-")
	if err != nil {
		return nil, err
	}
	values["OUT"], values["TMP"] = out, tmp
	return &folders{out, tmp, values}, nil
}

func (f *folders) close() error { return os.RemoveAll(f.tmp) }

// replace expands the variables of steps.
func (f *folders) replace(text string) string {
	return os.Expand(text, func(name string) string {
		if v, ok := f.values[name]; ok {
			return v
		}
		return "$" + name // not a variable of steps
	})
}

// run runs one step; its output goes to a log.
func (f *folders) run(ctx context.Context, s proof.Step, log io.Writer) (err error) {
	args := lists.From(s.Args, f.replace)
	if s.Unless != "" {
		if _, err := os.Stat(s.Unless); err == nil {
			fmt.Fprintf(log, "%s exists: stoker resume finishes it, in place of %s\n", s.Unless, strings.Join(args, " "))
			args = []string{"bin/stoker", "resume", s.Unless} // of a finished run it writes nothing
		}
	}
	env := []string{"CGO_ENABLED=0", "GOWORK=off", proof.Folder + "=" + f.out}
	for _, e := range s.Env {
		env = append(env, f.replace(e))
	}
	fmt.Fprintf(log, "$ %s\n", strings.Join(slices.Concat(s.Env, args), " "))
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), log, log
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // runs save before they stop
	c.WaitDelay = time.Minute
	var said bytes.Buffer
	if s.Stdout != "" {
		c.Stdout = &said
		defer func() { // results name no folder of this machine
			text := bytes.ReplaceAll(said.Bytes(), []byte(f.out), []byte("$OUT"))
			err = errors.Join(err, os.WriteFile(filepath.Join(f.out, s.Stdout), text, 0o666))
		}()
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// build builds bin/stoker, which steps run.
func build(ctx context.Context) error {
	c := exec.CommandContext(ctx, "make", "build")
	c.Stdout, c.Stderr = io.Discard, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("make build: %w", err)
	}
	return nil
}

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
			if err := f.run(ctx, proof.Step{Args: []string{"make", "cuda"}, Env: []string{"GOWORK="}}, both); err != nil {
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

// byHand are the files of results' folders that people write; the last three are of lqr, ppo and spsa.
var byHand = []string{"README.md", proof.ShortFile, "settings.md", "environments.md", "theory.md"}

// keep copies the files that a proof's row keeps from one folder to another, and removes those kept there before. Nothing
// changes where a pattern of the row matches no file: a test skips what its machine lacks.
func keep(p proof.Proof, from, to string) error {
	files, err := matching(from, append([]string{proof.ClaimsFile}, p.Keep...))
	if err != nil {
		return err
	}
	for _, pattern := range p.Keep {
		if !slices.ContainsFunc(files, func(name string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			return fmt.Errorf("%s has no %s, want what the row %s keeps: the log says which test was skipped", from, pattern, p.Name)
		}
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	old, err := matching(to, []string{"*", "*/*"})
	if err != nil {
		return err
	}
	for _, name := range old {
		if !slices.Contains(byHand, name) {
			if err := os.Remove(filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		switch path.Ext(name) {
		case ".md":
			b = dropLinks(b, path.Dir(name), files)
		case ".png":
			if b, err = chart.CompactPNG(b); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(from, name), err)
			}
		}
		if err := os.MkdirAll(filepath.Join(to, path.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// matching lists the files below a folder that match one of the patterns, sorted, with slashes.
func matching(dir string, patterns []string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		for _, p := range patterns {
			ok, err := path.Match(p, name)
			if err != nil {
				return err
			}
			if ok {
				names = append(names, name)
				break
			}
		}
		return nil
	})
	return names, err
}

var link = regexp.MustCompile(`\]\(([^):#]+)\)`)

// dropLinks removes the lines of a page that show or link files beside it which are not kept.
func dropLinks(page []byte, dir string, kept []string) []byte {
	var out []string
	for _, line := range strings.SplitAfter(string(page), "\n") {
		ok := true
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			ok = ok && (strings.HasPrefix(m[1], "..") || slices.Contains(kept, path.Join(dir, m[1])))
		}
		if ok {
			out = append(out, line)
		}
	}
	return []byte(strings.Join(out, ""))
}
