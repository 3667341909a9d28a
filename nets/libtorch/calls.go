package libtorch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
)

// bindingsPackage is the package of gotch whose functions are C functions.
const bindingsPackage = GotchModule + "/libtch"

// calls lists what nets/torch uses of gotch's bindings, its tests included: each name with the first place that
// uses it, such as nets/torch/adam.go:40. The source says so itself, so that no list can be out of date.
func (o Options) calls() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(o.Root, "nets", "torch", "*.go"))
	if err != nil {
		return nil, err
	}
	places := map[string]string{}
	set := token.NewFileSet()
	for _, file := range files { // sorted by name, so that the first place is always the same
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			return nil, fmt.Errorf("reading which bindings nets/torch calls: %w", err)
		}
		name := importName(parsed)
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && name != "" && x.Name == name && places[s.Sel.Name] == "" {
				at := set.Position(s.Pos())
				places[s.Sel.Name] = fmt.Sprintf("%s:%d", path.Join("nets", "torch", filepath.Base(at.Filename)),
					at.Line)
			}
			return true
		})
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no checkout of Stoker in %q: nothing under nets/torch calls %s", o.Root,
			bindingsPackage)
	}
	return places, nil
}

// importName is what a file calls gotch's bindings, empty where it does not import them.
func importName(file *ast.File) string {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != bindingsPackage {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(bindingsPackage)
	}
	return ""
}

// sortedNames lists the keys of a set in order.
func sortedNames[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }
