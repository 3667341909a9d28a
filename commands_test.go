package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/workbench"
)

// command is one of stoker's in a page's blocks of shell.
type command struct {
	at   string // page
	args []string
}

// commands lists those of a page: lines that begin with stoker or bin/stoker, in blocks of shell, joined where a
// backslash ends them.
func commands(path, text string) (all []command) {
	for _, b := range blocks(text) {
		if b.kind != "sh" {
			continue
		}
		for _, line := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
			line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
			rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "bin/"), "stoker ")
			if ok {
				rest, _, _ = strings.Cut(rest, " > ")
				all = append(all, command{path, words(variable.ReplaceAllString(rest, "1"))})
			}
		}
	}
	return all
}

var (
	comment  = regexp.MustCompile(`\s+#.*`)
	variable = regexp.MustCompile(`\$[a-z]+\b`) // of a loop over seeds
)

// words splits a line as a shell does, with single and double quotes.
func words(line string) (all []string) {
	word, quote, in := strings.Builder{}, rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, in = r, true
		case quote == 0 && r == ' ':
			if in {
				all = append(all, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	return all
}

// Every stoker command of the pages has a subcommand and flags that exist, and one that trains has a shipped
// configuration and keys that exist.
func TestCommands(t *testing.T) {
	seen, pages := map[string]bool{}, map[string]string{}
	for path := range pagesOf(t, ".") {
		text := must.Get(os.ReadFile(filepath.FromSlash(path)))(t)
		pages[path] = string(text)
	}
	t.Chdir(t.TempDir())
	for path, text := range pages {
		for _, c := range commands(path, text) {
			args := append(c.args, "--help")
			if c.args[0] == "train" && len(c.args) > 1 && strings.HasPrefix(c.args[1], "configs/") {
				args[len(args)-1] = "--print-config"
			}
			line := strings.Join(args, " ")
			if seen[line] {
				continue
			}
			seen[line] = true
			if code, out := stoker(t, args); code != 0 {
				t.Errorf("%s: stoker %s: exit %d\n%s", c.at, strings.Join(c.args, " "), code, firstLines(out, 3))
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("the pages have %d different commands, want dozens: is the pattern right?", len(seen))
	}
}

// stoker runs a command in this process and returns its exit code and what it printed.
func stoker(t *testing.T, args []string) (code int, printed string) {
	t.Helper()
	f := must.Get(os.Create("printed"))(t)
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = f, f
	code = workbench.Run(args)
	os.Stdout, os.Stderr = out, errs
	must.Do(t, f.Close())
	text := must.Get(os.ReadFile("printed"))(t)
	return code, string(text)
}

func firstLines(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// A command is read as a shell reads it.
func TestCommandWords(t *testing.T) {
	text := "```sh\nstoker train a.yaml --set 'eval.baselines=[a, b]'   # why\nbin/stoker eval \\\n  runs/x > out.txt\ngo build\n```\n"
	got := commands("p.md", text)
	if len(got) != 2 || len(got[0].args) != 4 || got[0].args[3] != "eval.baselines=[a, b]" || len(got[1].args) != 2 ||
		got[1].args[1] != "runs/x" {
		t.Errorf("found %q", got)
	}
}

// Every stoker command of the scripts in bench has flags that exist.
func TestScripts(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"bench/*.sh", "bench/peers/*"} {
		for _, path := range must.Get(filepath.Glob(pattern))(t) {
			texts[path] = string(must.Get(os.ReadFile(path))(t))
		}
	}
	t.Chdir(t.TempDir())
	short := regexp.MustCompile(`\brun ([a-z])`) // a function of bench/peers/speed
	called := regexp.MustCompile(`(?:"\$stoker"|\{STOKER\}|/stoker-torch") (bench|train|eval)\b(.*)`)
	quoted := regexp.MustCompile(`"[^"]*"`) // names, and commands of peers
	flags := regexp.MustCompile(` --[a-z-]+`)
	help, checked := map[string]string{}, 0
	for path, text := range texts {
		text = short.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), `"$$stoker" bench $1`)
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			rest, _, _ := strings.Cut(quoted.ReplaceAllString(m[2], ""), "'")
			rest, _, _ = strings.Cut(rest, "|")
			if help[m[1]] == "" {
				_, help[m[1]] = stoker(t, []string{m[1], "--help"})
			}
			for _, flag := range flags.FindAllString(rest, -1) {
				checked++
				if !strings.Contains(help[m[1]], flag+" ") {
					t.Errorf("%s: stoker %s has no flag%s", path, m[1], flag)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("the scripts have %d flags of stoker, want dozens: is the pattern right?", checked)
	}
}
