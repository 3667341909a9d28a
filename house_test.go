package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const module = "github.com/stoker-rl/stoker"

// ranks orders the folders at the module's root. A package, its tests included, imports packages of lower ranks and of
// its own folder only. Folders of one rank stand beside each other and do not import each other. The package at the
// root is "main".
var ranks = map[string]int{
	"internal": 0, "rng": 0, "bounds": 0, // what everybody may use
	"tools": 1, // proofs and their tool: tests use it
	"nets":  2, "envs": 2, "checkpoints": 2,
	"configs": 3, "farm": 3,
	"agents":  4,
	"policy":  5,
	"catalog": 6,
	"train":   7, "serving": 7,
	"bench":     8,
	"eval":      9,
	"cli":       10,
	"workbench": 11,
	"main":      12, "examples": 12,
}

// budgets are the most lines of product code by folder: without tests, generated files and testdata. goals are what they
// are to come down to; a folder without one is there.
var (
	budgets = map[string]int{
		"envs": 55_440, "nets": 24_090, "agents": 25_440, "eval": 30_600, "cli": 6_125, "policy and serving": 10_660, "train": 8_550,
		"checkpoints": 4_975, "farm": 2_970, "all else": 11_870,
	}
	goals = map[string]int{
		"envs": 48_000, "nets": 20_000, "agents": 22_000, "eval": 23_000, "cli": 4_500, "policy and serving": 8_500, "train": 5_200,
		"checkpoints": 4_500, "all else": 9_000,
	}
)

// No folder grows beyond its budget of lines.
func TestBudgets(t *testing.T) {
	lines := map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "runs") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text, []byte("\n// Code generated ")) || bytes.HasPrefix(text, []byte("// Code generated ")) {
			return err
		}
		top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		if top == "policy" || top == "serving" {
			top = "policy and serving"
		}
		if budgets[top] == 0 {
			top = "all else"
		}
		lines[top] += bytes.Count(text, []byte("\n"))
		return nil
	})
	must.Do(t, err)
	for top, most := range budgets {
		if n := lines[top]; n > most {
			t.Errorf("%s has %d lines, and its budget is %d: take out what the change makes useless, or raise the budget and say why "+
				"in the commit", top, n, most)
		} else if n < most-most/50 && most > goals[top] {
			t.Errorf("%s has %d lines: lower its budget of %d to what it has now (it is to come down to %d)", top, n, most, goals[top])
		}
	}
}

// listed is a package as go list tells of it.
type listed struct {
	path, name     string
	imports, tests []string // of the package, and of its tests
}

// folder is the folder at the root in which a package of this module lies.
func folder(path string) string {
	if path == module {
		return "main"
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
	return top
}

// Arrows point down: every package of the module is ranked by its folder.
func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		own, ok := ranks[folder(p.path)]
		if !ok {
			t.Errorf("package %s lies in a folder without a rank: give %s a rank in house_test.go", p.path, folder(p.path))
			continue
		}
		for what, imports := range map[string][]string{"imports": p.imports, "has tests that import": p.tests} {
			for _, i := range imports {
				to := folder(i)
				if !strings.HasPrefix(i, module) || to == folder(p.path) {
					continue
				}
				if rank, ok := ranks[to]; ok && rank >= own {
					t.Errorf("%s %s %s, of rank %d; its own rank is %d, and arrows point down", p.path, what, i, rank, own)
				}
			}
		}
	}
}

// own says what each folder's packages may depend on in the end: what serving programs and learners stand on needs the
// standard library, golang.org/x/sys and gonum alone. Helpers of tests, whose names end in test, are not meant.
var own = []struct {
	under  []string // packages at and below these folders
	except []string // but not these
	never  []string // folders of this module that they do not depend on either
}{
	// Applications' formulas are compiled by expr, what a state machine's file does not say is YAML; nothing that serves
	// needs either.
	{under: []string{"rng", "bounds", "envs", "checkpoints"}, except: []string{"envs/variants", "envs/workflow/asl"}},
	{under: []string{"nets"}, except: []string{"nets/torch", "nets/gorgonia", "nets/engines", "nets/libtorch"}},
	// No learner knows an engine, nor how anything is stored.
	{under: []string{"agents"}, except: []string{"agents/baselines/variants"},
		never: []string{"nets/native", "nets/torch", "nets/gorgonia", "nets/engines", "checkpoints"}},
	// What serving programs import.
	{under: []string{"policy"}, except: []string{"policy/onnx"}, never: []string{"configs", "catalog", "train", "eval"}},
}

// dependencies are the modules that they may use.
var dependencies = []string{"golang.org/x/sys/", "gonum.org/v1/gonum/"}

func TestDependencies(t *testing.T) {
	all := packages(t)
	for _, rule := range own {
		var from []string
		for _, p := range all {
			rel := strings.TrimPrefix(p.path, module+"/")
			if within(rel, rule.under) && !within(rel, rule.except) && !strings.HasSuffix(p.name, "test") && p.name != "main" {
				from = append(from, p.path)
			}
		}
		if len(from) == 0 {
			t.Errorf("there are no packages under %v", rule.under)
			continue
		}
		for _, d := range deps(t, from...) {
			rel, ours := strings.CutPrefix(d, module+"/")
			foreign := strings.Contains(strings.SplitN(d, "/", 2)[0], ".") && !ours
			switch {
			case ours && within(rel, rule.never):
				t.Errorf("%v depend on %s, want nothing of %v", rule.under, d, rule.never)
			case foreign && !prefixed(d, dependencies):
				t.Errorf("%v depend on %s, want only %v beside the standard library", rule.under, d, dependencies)
			}
		}
	}
}

// The program links gorgonia, which is large and slow to build, only with gorgonia's build tag.
func TestGorgoniaIsOptional(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "gorgonia": true} {
		got := slices.ContainsFunc(deps(t, "-tags="+tags, "."), func(p string) bool {
			return strings.HasPrefix(p, "gorgonia.org/")
		})
		if got != want {
			t.Errorf("built with tags %q, the program links gorgonia: %v, want %v", tags, got, want)
		}
	}
}

// within reports whether a path is one of some folders, or below one.
func within(path string, folders []string) bool {
	for _, f := range folders {
		if path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}

func prefixed(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// packages lists the packages of this module.
func packages(t *testing.T) []listed {
	t.Helper()
	const format = `{{.ImportPath}}|{{.Name}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}`
	var out []listed
	for _, line := range strings.Split(strings.TrimSpace(golist(t, "-f", format, "./...")), "\n") {
		part := strings.Split(line, "|")
		out = append(out, listed{part[0], part[1], strings.Fields(part[2]), strings.Fields(part[3])})
	}
	if len(out) < 10 {
		t.Fatalf("go list finds %d packages, want all of the module", len(out))
	}
	return out
}

// deps lists the packages that the given ones depend on.
func deps(t *testing.T, packages ...string) []string {
	t.Helper()
	return strings.Fields(golist(t, append([]string{"-deps"}, packages...)...))
}

func golist(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return string(out)
}
