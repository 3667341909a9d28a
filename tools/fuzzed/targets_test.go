package fuzzed

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const (
	root   = "../.."
	module = "github.com/stoker-rl/stoker"
)

// target is a fuzz test: its package, as a path from the module's root, its name, and the kind of what it reads.
type target struct{ pkg, name, kind string }

func (t target) String() string { return t.pkg + "." + t.name }

// kinds are what targets read. The first expression that matches a target's String decides.
var kinds = []struct {
	name    string
	matches *regexp.Regexp
}{
	{"configuration", regexp.MustCompile(`^configs\.|^train\.FuzzExperiment$|^envs/workflow\.FuzzGraph$`)},
	{"checkpoints and run folders", regexp.MustCompile(`^(checkpoints|train)[./]`)},
	{"saved states, policies and networks", regexp.MustCompile(`^(agents|nets|catalog|envs/state)[./]|State$`)},
	{"traces and profiles", regexp.MustCompile(`^envs/`)},
	{"other files", regexp.MustCompile(``)},
}

func kindOf(target string) string {
	for _, k := range kinds {
		if k.matches.MatchString(target) {
			return k.name
		}
	}
	return ""
}

// find returns the fuzz tests of the module in the order of their packages. One that go test leaves out because of a
// build condition fails t, since nothing would ever run it.
func find(t *testing.T) []target {
	t.Helper()
	const format = `{{.ImportPath}}|{{.Dir}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}|` +
		`{{join .IgnoredGoFiles " "}}`
	cmd := exec.Command("go", "list", "-f", format, "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []target
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		p := strings.Split(line, "|")
		pkg := strings.TrimPrefix(strings.TrimPrefix(p[0], module), "/")
		for _, file := range strings.Fields(p[2]) {
			for _, name := range fuzzTests(t, filepath.Join(p[1], file)) {
				g := target{pkg: pkg, name: name}
				g.kind = kindOf(g.String())
				found = append(found, g)
			}
		}
		for _, file := range strings.Fields(p[3]) {
			if names := fuzzTests(t, filepath.Join(p[1], file)); strings.HasSuffix(file, "_test.go") && len(names) > 0 {
				t.Errorf("%s/%s has %v under a build condition that go test does not meet: move them out of it", pkg, file,
					names)
			}
		}
	}
	return found
}

// fuzzTests returns the names of the fuzz tests that a file declares.
func fuzzTests(t *testing.T, path string) (names []string) {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))(t)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// The fuzz tests are found: every kind has some, and every kept corpus belongs to one.
func TestTargetsAreFound(t *testing.T) {
	found := map[string]bool{}
	of := map[string]int{}
	for _, g := range find(t) {
		found[g.String()] = true
		of[g.kind]++
	}
	for _, k := range kinds[:len(kinds)-1] {
		if of[k.name] == 0 {
			t.Errorf("no fuzz test reads %s: its expression %q matches none of %v", k.name, k.matches, found)
		}
	}
	corpora := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case filepath.Base(filepath.Dir(path)) != "fuzz":
			return nil
		}
		pkg, ok := strings.CutSuffix(filepath.ToSlash(filepath.Dir(path)), "/testdata/fuzz")
		if !ok {
			return nil
		}
		corpora++
		name := fmt.Sprintf("%s.%s", strings.TrimPrefix(pkg, root+"/"), d.Name())
		if !found[name] {
			t.Errorf("%s is the corpus of no fuzz test: rename or remove it", path)
		}
		return nil
	})
	must.Do(t, err)
	if corpora == 0 {
		t.Error("there is no corpus in any testdata/fuzz")
	}
}
