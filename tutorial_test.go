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

	"github.com/stoker-rl/stoker/internal/must"
)

// small is found before the program in the tutorial's test: it makes training and evaluation short. What follows a
// command's own flags wins over them.
const small = `#!/bin/bash
case "$1" in
train)
	case " $* " in
	*" --schema "*|*" --print-config "*) ;;
	*) set -- "$@" --set train.steps=400 --set train.envs=4 --set train.log_every=200 --set train.evaluate.every=200 \
		--set train.evaluate.episodes=1 ;;
	esac
	case " $* " in *sizing/main*|*mine.yaml*) set -- "$@" --set env.windows=3 ;; esac ;;
eval) set -- "$@" --seeds 1 --set eval.resamples=100 ;;
serve) set -- "$@" --http 127.0.0.1:0 --grpc '' ;;
esac
exec "$STOKER" "$@"
`

// shell is what a page's commands find beside the programs: stoker, and curl, which asks the server of serve.log where the
// page asks port 8080.
const shell = `set -eu
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
stoker() {
	export STOKER="$PROGRAM"
	if [ "$1" = serve ]; then exec "$SMALL" "$@"; fi # in the background: killed, it leaves nothing
	"$SMALL" "$@"
}
./stoker() { STOKER=./stoker "$SMALL" "$@"; }
curl() {
	until grep -q '^HTTP' serve.log; do
		kill -0 $!
		sleep 0.1
	done
	command curl "${@/localhost:8080/$(sed -n 's|^HTTP *http://\([^/]*\)/.*|\1|p' serve.log)}"
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

// Every command of the tutorial runs, as it is written and in its order, from the folder of the source; what it prints
// has the form that the page shows.
func TestTutorial(t *testing.T) { runPage(t, "docs/tutorial.md", "bash", "make", "awk") }

// From measurements to a served decision: the page's last command is answered by the policy.
func TestOwn(t *testing.T) {
	printed := runPage(t, "docs/own.md", "bash", "make", "awk", "curl")
	for _, want := range []string{`"decided_by":"policy"`, `"decision":[{"function":"resize","cores":`} {
		if !strings.Contains(printed, want) {
			t.Errorf("the last block prints no %s:\n%s", want, printed)
		}
	}
}

// runPage runs the commands of a page, which begin in the folder of the source with make build, and compares what they
// print with what the page shows. Where they say stoker, small is called; with -long they run as they stand, which takes
// minutes. It returns what the last block printed.
func runPage(t *testing.T, page string, programs ...string) (last string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the page's commands need %s: %v", program, err)
		}
	}
	text := must.Get(os.ReadFile(page))(t)
	root := must.Get(os.Getwd())(t)
	temp := t.TempDir()
	short := filepath.Join(temp, "small")
	must.Do(t, os.WriteFile(short, []byte(small), 0o777))
	all := blocks(string(text))
	script := strings.Builder{}
	if *long {
		script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n") // nothing stands in for a program
	} else {
		script.WriteString(shell)
	}
	for i, b := range all {
		if b.kind == "sh" {
			fmt.Fprintf(&script, "echo '@@ %d'\n%s", i, b.text)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "TMPDIR="+temp, "SMALL="+short, "PROGRAM="+filepath.Join(root, "bin", "stoker"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands of %s: %v\n%s", page, err, out)
	}
	printed := map[int]string{}
	for _, part := range strings.Split("\n"+string(out), "\n@@ ")[1:] {
		var i int
		first, rest, _ := strings.Cut(part, "\n")
		must.Get(fmt.Sscan(first, &i))(t)
		printed[i], last = rest, rest
	}
	if len(printed) < 6 {
		t.Errorf("%s has %d blocks of commands, want at least 6", page, len(printed))
	}
	for i, b := range all[1:] {
		if b.kind == "text" && all[i].kind == "sh" {
			compareForm(t, page, b, printed[i])
		}
	}
	return last
}

var (
	number  = regexp.MustCompile(`[−+-]?<?\d[\d.,]*(e[+-]?\d+)?`)
	verdict = regexp.MustCompile(`\b(better|worse|undecided)\b`)
	rule    = regexp.MustCompile(`[─\s]+`)
	speed   = regexp.MustCompile(`\d+ steps/s +ETA \S+`)
)

// form is a line without what differs between the page's runs and the test's: numbers, verdicts and the width of columns.
// With -long the runs are the page's: only the speed and the width differ, where the kernels are those of the page.
func form(line string) string {
	if exact() {
		line = speed.ReplaceAllString(line, "0 steps/s")
	} else {
		line = verdict.ReplaceAllString(number.ReplaceAllString(line, "0"), "decided")
	}
	return strings.TrimSpace(rule.ReplaceAllString(line, " "))
}

func exact() bool { return *long && runtime.GOARCH == "amd64" }

// compareForm fails where a page shows a line that nothing printed has the form of. Of a line with … the part before it
// begins a printed one; this is compared where numbers are, for a small run may say something else.
func compareForm(t *testing.T, page string, b block, printed string) {
	t.Helper()
	forms := map[string]bool{"": true}
	for _, line := range strings.Split(printed, "\n") {
		forms[form(line)] = true
	}
	for i, line := range strings.Split(b.text, "\n") {
		begin, _, cut := strings.Cut(line, "…")
		is := forms[form(line)]
		for f := range forms {
			is = is || cut && (!exact() || strings.HasPrefix(f, form(begin)))
		}
		if !is {
			t.Errorf("%s:%d shows %q, which is not printed any more:\n%s", page, b.line+1+i, line, printed)
		}
	}
}
