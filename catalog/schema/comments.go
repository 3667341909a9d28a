package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
)

const module = "github.com/stoker-rl/stoker"

// readComments maps package path, type and field, joined by dots, to the comment there, for every package whose types
// stand in the experiment or in the configuration of a row.
func readComments(root string, e *configs.Experiment, kinds ...[]kind) (map[string]string, error) {
	packages := map[string]bool{}
	collect(reflect.TypeOf(e), packages)
	for _, k := range slices.Concat(kinds...) {
		collect(reflect.TypeOf(k.config), packages)
	}
	out := map[string]string{}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		dir, ours := strings.CutPrefix(pkg, module+"/")
		if !ours {
			continue // its source is not under root
		}
		source := os.DirFS(filepath.Join(root, filepath.FromSlash(dir)))
		files, err := fs.Glob(source, "*.go")
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, &fs.PathError{Op: "read comments", Path: filepath.Join(root, dir), Err: fs.ErrNotExist}
		}
		if err := fileComments(source, files, pkg, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fileComments adds the comments of the structs in the files of a package.
func fileComments(source fs.FS, files []string, pkg string, out map[string]string) error {
	set := token.NewFileSet()
	for _, name := range files {
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok {
					fieldComments(set, pkg+"."+t.Name.Name, s, out)
				}
			}
			return true
		})
	}
	return nil
}

// collect adds the packages of a type and of all that it holds.
func collect(t reflect.Type, packages map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		collect(t.Elem(), packages)
	case reflect.Struct:
		packages[t.PkgPath()] = true
		for f := range t.Fields() {
			if f.IsExported() {
				collect(f.Type, packages)
			}
		}
	}
}

// fieldComments reads a struct's. A field right below one that has a comment shares it: "Low and High are…".
func fieldComments(set *token.FileSet, name string, s *ast.StructType, out map[string]string) {
	shared, end := "", 0
	for _, f := range s.Fields.List {
		line := set.Position(f.Pos()).Line
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		if text == "" && line == end+1 {
			text = shared
		}
		shared, end = text, set.Position(f.End()).Line
		for _, n := range f.Names {
			if text != "" {
				out[name+"."+n.Name] = text
			}
		}
	}
}
