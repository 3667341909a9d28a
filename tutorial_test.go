package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// small stands before the program in the tutorial's test: it makes training and evaluation short. What follows a
// command's own flags wins over them.
const small = `#!/bin/bash
case "$1" in
train)
	case " $* " in
	*" --schema "*|*" --print-config "*) ;;
	*) set -- "$@" --set train.steps=400 --set train.copies=4 --set train.log_every=200 --set train.evaluate.every=200 \
		--set train.evaluate.episodes=1 ;;
	esac
	case " $* " in *sizing/attmf*|*mine.yaml*) set -- "$@" --set env.windows=3 ;; esac ;;
eval) set -- "$@" --seeds 1-2 --set eval.resamples=100 ;;
esac
exec "$STOKER" "$@"
`

// preamble is what the tutorial's commands run under: program and source are this checkout's instead of the published
// ones.
const preamble = `set -eu
go() {
	case "$*" in
	"install github.com/stoker-rl/stoker@latest") ;;
	*) command go "$@" ;;
	esac
}
./stoker() { STOKER=./stoker command stoker "$@"; }
git() {
	case "$*" in
	"clone https://github.com/stoker-rl/stoker") ln -s "$CHECKOUT" stoker ;;
	*) command git "$@" ;;
	esac
}
`

// A block is fenced text of a page.
type block struct {
	kind, text string
	line       int
}

// blocks lists a page's fenced blocks.
func blocks(text string) (all []block) {
	var b *block
	for i, line := range strings.Split(text, "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && b == nil:
			b = &block{kind: kind, line: i + 1}
		case fence:
			all, b = append(all, *b), nil
		case b != nil:
			b.text += line + "\n"
		}
	}
	return all
}

// Every command of the tutorial runs, as it is written and in its order, from an empty folder; what it prints has the
// form that the page shows.
func TestTutorial(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tutorial's commands are for a POSIX shell")
	}
	text, err := os.ReadFile("docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	bin, work := t.TempDir(), t.TempDir()
	program := filepath.Join(bin, "real", "stoker")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(bin, "stoker"), []byte(small), 0o777); err != nil {
		t.Fatal(err)
	}
	all := blocks(string(text))
	var script strings.Builder
	script.WriteString(preamble)
	for i, b := range all {
		if b.kind == "sh" {
			fmt.Fprintf(&script, "echo '@@ %d'\n%s", i, b.text)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STOKER="+program, "CHECKOUT="+root)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the tutorial's commands: %v\n%s", err, out)
	}
	printed := map[int]string{}
	for _, part := range strings.Split("\n"+string(out), "\n@@ ")[1:] {
		var i int
		first, rest, _ := strings.Cut(part, "\n")
		if _, err := fmt.Sscan(first, &i); err != nil {
			t.Fatal(err)
		}
		printed[i] = rest
	}
	if len(printed) < 6 {
		t.Errorf("the tutorial has %d blocks of commands, want at least 6", len(printed))
	}
	for i, b := range all[1:] {
		if b.kind == "text" && all[i].kind == "sh" {
			compareForm(t, b, printed[i])
		}
	}
}

var (
	number  = regexp.MustCompile(`[−+-]?<?\d[\d.,]*(e[+-]?\d+)?`)
	verdict = regexp.MustCompile(`\b(better|worse|undecided)\b`)
	rule    = regexp.MustCompile(`[─\s]+`)
)

// form is a line without what differs between the page's runs and the test's: numbers, verdicts and the width of columns.
func form(line string) string {
	line = verdict.ReplaceAllString(number.ReplaceAllString(line, "0"), "decided")
	return strings.TrimSpace(rule.ReplaceAllString(line, " "))
}

// compareForm fails where a page shows a line that nothing printed has the form of. Lines with … are left out.
func compareForm(t *testing.T, b block, printed string) {
	t.Helper()
	forms := map[string]bool{"": true}
	for _, line := range strings.Split(printed, "\n") {
		forms[form(line)] = true
	}
	for i, line := range strings.Split(b.text, "\n") {
		if !strings.Contains(line, "…") && !forms[form(line)] {
			t.Errorf("docs/tutorial.md:%d shows %q, which is not printed any more:\n%s", b.line+1+i, line, printed)
		}
	}
}
