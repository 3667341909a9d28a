package libtorch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// bindingsPackage is the package of gotch whose functions are C functions.
const bindingsPackage = GotchModule + "/libtch"

// calls lists what nets/torch uses of gotch's bindings, its tests included: each name with the first place that
// uses it, such as nets/torch/loss.go:40. The source says so itself, so that no list can be out of date.
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

// goDecl is one top-level declaration of gotch's Go package.
type goDecl struct {
	text  string
	names []string // what it declares; for a method the name of its type, for init what it assigns
	uses  []string // identifiers in it, those of C left out
	calls []string // identifiers of C in it
}

// goSource is a file of gotch's Go package.
type goSource struct {
	name     string
	preamble string   // the C text before import "C"
	imports  []string // import lines, that of C left out
	decls    []*goDecl
}

// cutGo keeps of gotch's Go files what the wanted names reach. It returns the files left, and for each C identifier
// that they use the Go names that use it.
func cutGo(files map[string][]byte, wanted map[string]string) (map[string][]byte, map[string][]string, error) {
	var sources []*goSource
	byName := map[string][]*goDecl{}
	for _, name := range sortedNames(files) {
		s, err := parseGo(name, files[name])
		if err != nil {
			return nil, nil, fmt.Errorf("gotch's sources: %w", err)
		}
		sources = append(sources, s)
		for _, d := range s.decls {
			for _, n := range d.names {
				byName[n] = append(byName[n], d)
			}
		}
	}
	for _, name := range sortedNames(wanted) {
		if len(byName[name]) == 0 {
			return nil, nil, fmt.Errorf("%s calls %s.%s, which gotch %s does not have",
				wanted[name], path.Base(bindingsPackage), name, GotchVersion)
		}
	}
	kept := reach(sortedNames(wanted), byName, func(d *goDecl) []string { return d.uses })
	callers := map[string][]string{}
	for d := range kept {
		for _, c := range d.calls {
			callers[c] = append(callers[c], d.names...)
		}
	}
	for _, names := range callers {
		slices.Sort(names)
	}
	out := map[string][]byte{}
	for _, s := range sources {
		text, err := s.write(kept)
		if err != nil {
			return nil, nil, err
		}
		if text != nil {
			out[s.name] = text
		}
	}
	return out, callers, nil
}

// reach returns the declarations that the first names lead to.
func reach[D comparable](first []string, byName map[string][]D, uses func(D) []string) map[D]bool {
	kept := map[D]bool{}
	next := slices.Clone(first)
	seen := map[string]bool{}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, d := range byName[name] {
			if !kept[d] {
				kept[d] = true
				next = append(next, uses(d)...)
			}
		}
	}
	return kept
}

// parseGo takes a file apart.
func parseGo(name string, text []byte) (*goSource, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &goSource{name: name}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			for _, spec := range g.Specs {
				i := spec.(*ast.ImportSpec)
				if i.Path.Value != `"C"` {
					s.imports = append(s.imports, i.Path.Value)
					continue
				}
				if g.Doc != nil {
					s.preamble = string(text[set.Position(g.Doc.Pos()).Offset:set.Position(g.Doc.End()).Offset])
				}
			}
			continue
		}
		s.decls = append(s.decls, readDecl(d, func(n ast.Node) string {
			return string(text[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
		}))
	}
	return s, nil
}

// readDecl notes what a declaration declares and uses.
func readDecl(d ast.Decl, source func(ast.Node) string) *goDecl {
	out := &goDecl{text: source(d)}
	switch d := d.(type) {
	case *ast.FuncDecl:
		out.names = funcNames(d)
		if d.Doc != nil {
			if last := d.Doc.List[len(d.Doc.List)-1].Text; strings.HasPrefix(last, "//export ") {
				out.text = last + "\n" + out.text
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				out.names = append(out.names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, x := range spec.Names {
					out.names = append(out.names, x.Name)
				}
			}
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "C" {
				out.calls = append(out.calls, n.Sel.Name)
				return false
			}
		case *ast.Ident:
			out.uses = append(out.uses, n.Name)
		}
		return true
	})
	return out
}

// funcNames is what makes a function needed: its own name, a method's type, the variables that an init function sets.
func funcNames(d *ast.FuncDecl) []string {
	if d.Recv == nil && d.Name.Name != "init" {
		return []string{d.Name.Name}
	}
	var names []string
	if d.Recv != nil {
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if x, ok := n.(*ast.Ident); ok {
				names = append(names, x.Name)
			}
			return true
		})
		return names
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
			for _, left := range a.Lhs {
				if x, ok := left.(*ast.Ident); ok {
					names = append(names, x.Name)
				}
			}
		}
		return true
	})
	return names
}

// write puts the kept declarations of a file together, nil where there are none. Imports that nothing uses are left
// out.
func (s *goSource) write(kept map[*goDecl]bool) ([]byte, error) {
	var body bytes.Buffer
	used := map[string]bool{}
	for _, d := range s.decls {
		if !kept[d] {
			continue
		}
		body.WriteString("\n" + d.text + "\n")
		for _, name := range d.uses {
			used[name] = true
		}
	}
	if body.Len() == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\npackage libtch\n\n%s\nimport \"C\"\n\n", cutNotice, s.preamble)
	for _, quoted := range s.imports {
		p, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("gotch's %s: %w", s.name, err)
		}
		if used[path.Base(p)] {
			fmt.Fprintf(&b, "import %s\n", quoted)
		}
	}
	b.Write(body.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("gotch's %s, cut down: %w", s.name, err)
	}
	return text, nil
}

// cutNotice heads every file of the copy, as gotch's licence asks of changed files.
const cutNotice = "// Part of gotch " + GotchVersion + ", cut down to what Stoker calls. make cuda writes it again."
