package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// clocks are the functions by which a test would depend on how fast or loaded the machine is.
var clocks = map[string]bool{
	"time.Now": true, "time.Since": true, "time.Until": true, "time.Sleep": true, "time.After": true, "time.Tick": true,
	"time.AfterFunc": true, "time.NewTimer": true, "time.NewTicker": true, "context.WithTimeout": true,
	"context.WithTimeoutCause": true, "context.WithDeadline": true, "context.WithDeadlineCause": true,
}

// clocked are the files of tests that may call them, and why.
var clocked = map[string]string{
	"envs/frontier/single_test.go": "a benchmark: what is proven within 20 s",
	"envs/sim/speed_test.go":       "measures for TestSpeed, in a process of its own; without its flag it counts requests",
	"cli/signals_test.go":          "looks at a folder now and then until a checkpoint is there",
	"serving/prometheus_test.go":   "asks Prometheus now and then until it has scraped",
}

// Tests do not read clocks, sleep or set time limits: what they wait for is an event, and one that never comes is ended by
// the time limit of go test. Files named *_long_test.go measure; in a bubble of testing/synctest time is a fake.
func TestNoTestDependsOnTheClock(t *testing.T) {
	unused := maps.Clone(clocked)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "runs") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_long_test.go") {
			return nil
		}
		calls, err := clockCalls(path)
		if err != nil || len(calls) == 0 {
			return err
		}
		file := filepath.ToSlash(path)
		if clocked[file] == "" {
			t.Errorf("wait for an event, use testing/synctest or measure in a *_long_test.go:\n%s", strings.Join(calls, "\n"))
		}
		delete(unused, file)
		return nil
	})
	must.Do(t, err)
	for path, why := range unused {
		t.Errorf("%s does not look at a clock any more (%s): take it from the list", path, why)
	}
}

// clockCalls are the uses of clocks in a file, but for those in the calls of synctest.Test and in functions that those
// are given by name.
func clockCalls(path string) (calls []string, err error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	name := func(n ast.Node) string {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				return x.Name + "." + s.Sel.Name
			}
		}
		return ""
	}
	faked := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && name(c.Fun) == "synctest.Test" && len(c.Args) == 2 {
			if x, ok := c.Args[1].(*ast.Ident); ok {
				faked[x.Name] = true
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Recv != nil || !faked[n.Name.Name]
		case *ast.CallExpr:
			return name(n.Fun) != "synctest.Test"
		case *ast.SelectorExpr:
			if what := name(n); clocks[what] {
				calls = append(calls, fmt.Sprintf("%s: %s", files.Position(n.Pos()), what))
			}
		}
		return true
	})
	return calls, nil
}
