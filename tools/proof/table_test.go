package proof_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"

	"github.com/stoker-rl/stoker/internal/must"
)

const root = "../.."

// Rows are complete, and their names differ.
func TestTableIsComplete(t *testing.T) {
	shorts := map[string]int{}
	for _, s := range proof.Shorts() {
		if _, double := shorts[s.Name]; double {
			t.Errorf("two short runs are named %s", s.Name)
		}
		shorts[s.Name] = 0
	}
	names := map[string]bool{}
	for _, p := range proof.Table() {
		if names[p.Name] || p.Name == "" || p.Claims == "" || len(p.Steps) == 0 || p.Minutes == 0 {
			t.Errorf("the row %q is double or lacks something: %+v", p.Name, p)
		}
		names[p.Name] = true
		if !slices.Contains(proof.Kinds, p.Kind) || !slices.Contains(proof.Subjects, p.Subject) {
			t.Errorf("%s is of kind %q and subject %q, want kinds %q and subjects %q", p.Name, p.Kind, p.Subject, proof.Kinds,
				proof.Subjects)
		}
		digests := 0
		for _, s := range p.Short {
			if _, ok := shorts[s]; !ok {
				t.Errorf("%s has the short run %q, which there is not", p.Name, s)
			}
			shorts[s]++
			if i := slices.IndexFunc(proof.Shorts(), func(x proof.Short) bool { return x.Name == s }); i >= 0 &&
				len(proof.Shorts()[i].Files) > 0 {
				digests++
			}
		}
		if k := p.Kind; (k == proof.Training || k == proof.Evaluation || k == proof.Simulation) && digests < len(p.Short) ||
			len(p.Short) == 0 && k != proof.Speed && !slices.Contains(p.Needs, proof.Libtorch) {
			t.Errorf("%s, a proof of %s, has short runs %q, want some with digests", p.Name, k, p.Short)
		}
	}
	for name, n := range shorts {
		if n == 0 {
			t.Errorf("the short run %s belongs to no proof", name)
		}
	}
}

// Every kept result has a row, and every row a kept result.
func TestResultsAreKept(t *testing.T) {
	dirs := must.Get(os.ReadDir(filepath.Join(root, "docs", "results")))(t)
	kept := map[string]bool{}
	for _, d := range dirs {
		kept[d.Name()] = true
		if _, err := proof.Find(d.Name()); err != nil {
			t.Errorf("docs/results/%s: %v", d.Name(), err)
		}
	}
	for _, p := range proof.Table() {
		if kept[p.Name] == (p.Nothing != "") {
			t.Errorf("%s: a result is kept: %v, although its row says that nothing is kept because %q", p.Name,
				kept[p.Name], p.Nothing)
			continue
		}
		if p.Nothing != "" {
			continue
		}
		r, err := proof.ReadResult(filepath.Join(root, "docs", "results", p.Name))
		if err != nil {
			t.Error(err)
		}
		if r.Revision == "" || r.Date == "" || r.Machine == "" {
			t.Errorf("the result of %s has revision %q, date %q and machine %q, want all", p.Name, r.Revision, r.Date,
				r.Machine)
		}
	}
}

// Everything that commands name exists: packages, tests, flags, configurations, programs.
func TestCommandsExist(t *testing.T) {
	tests := map[string]*testFiles{}
	check := func(name string, s proof.Step) {
		switch {
		case s.Args[0] == "go":
			checkTests(t, name, s.Args, tests)
		case strings.Contains(s.Args[0], "/"):
			if _, err := os.Stat(filepath.Join(root, s.Args[0])); err != nil && s.Args[0] != "bin/stoker" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, a := range s.Args[1:] {
			if strings.HasPrefix(a, "configs/") || strings.HasPrefix(a, "envs/") {
				if _, err := os.Stat(filepath.Join(root, a)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	for _, p := range proof.Table() {
		for _, s := range p.Steps {
			check(p.Name, s)
		}
	}
	for _, s := range proof.Shorts() {
		for _, step := range s.Steps {
			check("short run "+s.Name, step)
		}
	}
}

// checkTests compares a go test command with the sources: each alternative of -run names a test in its packages, and
// the packages define every flag that is not go test's own.
func checkTests(t *testing.T, name string, args []string, known map[string]*testFiles) {
	t.Helper()
	var all testFiles
	run := ""
	for i, a := range args {
		switch {
		case a == "-run":
			run = args[i+1]
		case a == "." || strings.HasPrefix(a, "./"):
			if known[a] == nil {
				known[a] = readTests(t, filepath.Join(root, a))
			}
			if len(known[a].tests) == 0 {
				t.Errorf("%s: %s has no tests", name, a)
			}
			all.tests, all.flags = append(all.tests, known[a].tests...), append(all.flags, known[a].flags...)
		}
	}
	for _, part := range strings.Split(run, "|") {
		re, err := regexp.Compile(part)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(all.tests, re.MatchString) {
			t.Errorf("%s: no test matches %q", name, part)
		}
	}
	for _, a := range args[slices.Index(args, run):] {
		if f, ok := strings.CutPrefix(a, "-"); ok {
			f, _, _ = strings.Cut(f, "=")
			if !slices.Contains([]string{"count", "v", "timeout"}, f) && !slices.Contains(all.flags, f) {
				t.Errorf("%s: no test defines the flag -%s", name, f)
			}
		}
	}
}

// testFiles holds the names of a package's tests and of the flags that they define.
type testFiles struct{ tests, flags []string }

func readTests(t *testing.T, dir string) *testFiles {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	out := &testFiles{}
	for _, path := range files {
		f := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					out.tests = append(out.tests, n.Name.Name)
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 3 {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "flag" {
						if l, ok := n.Args[0].(*ast.BasicLit); ok {
							out.flags = append(out.flags, strings.Trim(l.Value, `"`))
						}
					}
				}
			}
			return true
		})
	}
	return out
}

// An unknown name is refused with the names close to it.
func TestFind(t *testing.T) {
	if p, err := proof.Find("sizing"); err != nil || p.Name != "sizing" {
		t.Errorf("Find(sizing) gives %q, %v", p.Name, err)
	}
	for name, want := range map[string]string{"verify-sizing": "close names: sizing", "gnnfig2": "gnnfig1",
		"zzz": "the names: "} {
		if _, err := proof.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%s) gives %v, want %q", name, err, want)
		}
	}
}

// The Makefile has few targets, no long line, and no recipe that hides a failure.
func TestMakefile(t *testing.T) {
	b := must.Get(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	targets := 0
	for n, line := range strings.Split(string(b), "\n") {
		if len(line) > 120 || strings.Contains(line, "|| true") || strings.HasPrefix(line, "\t-") {
			t.Errorf("Makefile:%d: longer than 120 characters, or its failure is swallowed: %s", n+1, line)
		}
		if regexp.MustCompile(`^[a-z$][^=]*:($|[^=])`).MatchString(line) {
			targets++
		}
	}
	if targets > 15 {
		t.Errorf("the Makefile has %d targets, want at most 15", targets)
	}
}

// make verify prints what verify prints and nothing else, since programs read the list as JSON.
func TestMakeVerifyIsSilent(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	c := exec.Command("make", "-C", root, "--no-print-directory", "verify", "NAME=list --json", "GO=true")
	c.Env = append(os.Environ(), "MAKEFLAGS=")
	out, err := c.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("make verify with GO=true prints %q (error %v), want nothing", out, err)
	}
}
