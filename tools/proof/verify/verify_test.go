package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// files writes files below a new folder.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// keep replaces the files that were kept before, leaves files written by hand, and drops links to files that are not
// kept.
func TestKeep(t *testing.T) {
	from := files(t, map[string]string{
		"claims.jsonl": "{}\n", "log.txt": "long", "big.csv": "1", "sub/table.md": "a\n![shown](shown.svg)\n![gone](../big.png)\n",
		"sub/shown.svg": "<svg/>", "table.md": "# Table\n[kept](sub/table.md)\n![not kept](big.png)\n[page](../../page.md)\n",
	})
	to := files(t, map[string]string{"README.md": "by hand", "falls-short.txt": "by hand", "old.svg": "old",
		"sub/old.svg": "old"})
	must.Do(t, keep(proof.Proof{Keep: []string{"table.md", "sub/*"}}, from, to))
	got := must.Get(matching(to, []string{"*", "*/*"}))(t)
	if want := []string{"README.md", "claims.jsonl", "falls-short.txt", "sub/shown.svg", "sub/table.md",
		"table.md"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	page, err := os.ReadFile(filepath.Join(to, "table.md"))
	if want := "# Table\n[kept](sub/table.md)\n[page](../../page.md)\n"; err != nil || string(page) != want {
		t.Errorf("the page became %q (error %v), want %q", page, err, want)
	}
	gone := proof.Proof{Name: "x", Keep: []string{"table.md", "absent.txt"}}
	if err := keep(gone, from, to); err == nil || !strings.Contains(err.Error(), "absent.txt") {
		t.Errorf("a file that no test wrote gives %v, want its name", err)
	}
	if now := must.Get(matching(to, []string{"*", "*/*"}))(t); !slices.Equal(now, got) {
		t.Errorf("where a file is missing %q is left, want %q as before", now, got)
	}
}

// A proof that runs again takes away no file of docs/results but those that it makes anew: each is written by hand or
// matched by a pattern of its row, and each pattern matches one.
func TestResultsAreMadeAgain(t *testing.T) {
	for _, p := range proof.Table() {
		if p.Nothing != "" {
			continue
		}
		dir := filepath.Join("..", "..", "..", results, p.Name)
		unmatched := slices.Clone(p.Keep)
		for _, name := range must.Get(matching(dir, []string{"*", "*/*"}))(t) {
			of := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
			if !slices.Contains(byHand, name) && name != proof.ResultFile && name != proof.ClaimsFile && !slices.ContainsFunc(p.Keep, of) {
				t.Errorf("%s: make verify NAME=%s removes %s, want a pattern of the row that keeps it", dir, p.Name, name)
			}
			unmatched = slices.DeleteFunc(unmatched, of)
		}
		if len(unmatched) > 0 {
			t.Errorf("%s has no file of %q, which the row %s keeps", dir, unmatched, p.Name)
		}
	}
}

// A digest depends on names and bytes of the matching files and on the claims' measurements, not on the claims' wording
// or the test's package.
func TestDigest(t *testing.T) {
	digest := func(all map[string]string) string {
		t.Helper()
		d := must.Get(digestOf(files(t, all), []string{"claims.jsonl", "*/scores.csv"}))(t)
		return d
	}
	row := `{"claim":"a","measured":"3 s","holds":true,"command":"go test ./a"}` + "\n"
	base := digest(map[string]string{"run/scores.csv": "1", "claims.jsonl": row})
	for name, same := range map[string]map[string]string{
		"another command":      {"run/scores.csv": "1", "claims.jsonl": strings.Replace(row, "./a", "./b", 1)},
		"a file beside":        {"run/scores.csv": "1", "claims.jsonl": row, "run/timing.jsonl": "2"},
		"another claim's text": {"run/scores.csv": "1", "claims.jsonl": strings.Replace(row, `"a"`, `"b"`, 1)},
	} {
		if digest(same) != base {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, other := range map[string]map[string]string{
		"other bytes":     {"run/scores.csv": "2", "claims.jsonl": row},
		"another name":    {"ran/scores.csv": "1", "claims.jsonl": row},
		"another figure":  {"run/scores.csv": "1", "claims.jsonl": strings.Replace(row, "3 s", "4 s", 1)},
		"a missed bound":  {"run/scores.csv": "1", "claims.jsonl": strings.Replace(row, "true", "false", 1)},
		"no claims":       {"run/scores.csv": "1"},
		"one more of two": {"run/scores.csv": "1", "sub/scores.csv": "1", "claims.jsonl": row},
	} {
		if digest(other) == base {
			t.Errorf("%s leaves the digest as it was", name)
		}
	}
	if _, err := digestOf(t.TempDir(), []string{"*.csv"}); err == nil {
		t.Error("an empty folder has a digest")
	}
}

// Steps have their variables expanded, write their output where Stdout says without this
// machine's folder, are taken up where their run exists, and
// fail where their command fails.
func TestSteps(t *testing.T) {
	needed := proof.Need{Env: "STOKER_TEST_NEED", Text: "a word"}
	t.Setenv(needed.Env, "")
	if _, err := newFolders(filepath.Join(t.TempDir(), "out"), []proof.Need{needed}); err == nil ||
		!strings.Contains(err.Error(), needed.Env) {
		t.Errorf("a missing need gives %v, want its name", err)
	}
	t.Setenv(needed.Env, "word")
	f := must.Get(newFolders(filepath.Join(t.TempDir(), "out"), []proof.Need{needed}))(t)
	var log bytes.Buffer
	run := func(s proof.Step) error { return f.run(t.Context(), s, &log) }
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	must.Do(t, run(proof.Step{Args: sh(`echo $STOKER_TEST_NEED "$HERE" $1; echo "$STOKER_PROOF" >"$OUT/where"`),
		Env: []string{"HERE=$OUT"}, Stdout: "said"}))
	for name, want := range map[string]string{"said": "word $OUT\n", "where": f.out + "\n"} {
		if got, err := os.ReadFile(filepath.Join(f.out, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (error %v), want %q", name, got, err, want)
		}
	}
	t.Chdir(t.TempDir())
	script(t, "bin/stoker", `echo "$@" >resumed`)
	if err := run(proof.Step{Args: sh("exit 3"), Unless: f.out}); err != nil {
		t.Errorf("a step whose run exists was not taken up: %v", err)
	}
	if got, err := os.ReadFile("resumed"); err != nil || string(got) != "resume "+f.out+"\n" {
		t.Errorf("a run that exists is taken up by stoker %q (error %v), want resume %s", got, err, f.out)
	}
	if err := run(proof.Step{Args: sh("exit 3"), Unless: filepath.Join(f.out, "nothing")}); err == nil ||
		!strings.Contains(err.Error(), "exit 3") {
		t.Errorf("a failing step gives %v, want its command", err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.tmp); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

// script writes a program of sh, by its path in the present folder.
func script(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// make cuda sees go.work, which it writes itself, although verify runs without one.
func TestLibtorchIsBuiltInTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	script(t, "make", `echo "$@ with GOWORK=$GOWORK" >>made`)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p := proof.Proof{Name: "torch", Needs: []proof.Need{proof.Libtorch}, Nothing: "a test"}
	if _, err := run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("made"); err != nil || string(got) != "cuda with GOWORK=\n" {
		t.Errorf("make was called as %q (error %v), want cuda without GOWORK", got, err)
	}
}

// The state of a result follows from its digests, the machine and the current short runs.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	p := proof.Proof{Name: "lqr", Kind: proof.Training, Short: []string{"lqr"}}
	kept := proof.Result{Revision: "0123456789", Arch: "amd64", Kernels: "x86-fma",
		Digests: map[string]string{"lqr": "ab"}}
	today := func(digest string) *shortRuns {
		r := newShortRuns()
		ready := make(chan struct{})
		close(ready)
		r.done["lqr"] = &outcome{ready: ready, digest: digest}
		return r
	}
	check := func(name, want string, p proof.Proof, now proof.Result, runs *shortRuns) {
		t.Helper()
		s, err := check(t.Context(), p, now, runs)
		if err != nil || s.State != want {
			t.Errorf("%s: %q (%s), error %v, want %q", name, s.State, s.Detail, err, want)
		}
	}
	check("no result", missing, p, kept, today("ab"))
	dir := filepath.Join(results, p.Name)
	must.Do(t, os.MkdirAll(dir, 0o755))
	must.Do(t, kept.Write(dir))
	check("the same bytes", fresh, p, kept, today("ab"))
	check("other bytes", stale, p, kept, today("cd"))
	plain := kept
	plain.Kernels = "go"
	check("other kernels", notComparable, p, plain, today("cd"))
	fast := p
	fast.Kind = proof.Speed
	check("a speed", measured, fast, kept, today("cd"))
	alone := p
	alone.Short = nil
	check("no short run", unchecked, alone, kept, today("cd"))
	bare := p
	bare.Nothing = "it passes or fails"
	check("nothing kept", passFail, bare, kept, today("cd"))
	unknown := p
	unknown.Short = []string{"nobody"}
	check("an unknown short run", stale, unknown, kept, newShortRuns())
}

// An unknown name is refused before anything runs, and so is a folder that is not the repository's root.
func TestCommand(t *testing.T) {
	if err := command(t.Context(), []string{"list"}); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("outside the root: %v", err)
	}
	t.Chdir(filepath.Join("..", "..", ".."))
	if err := command(t.Context(), []string{"lqr", "sizings"}); err == nil || !strings.Contains(err.Error(),
		"close names: sizing") {
		t.Errorf("an unknown name gives %v, want the close ones", err)
	}
}
