package schema

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

const module = "github.com/stoker-rl/stoker"

// packages are the folders whose types stand in configurations.
var packages = []string{
	"configs", "envs/sizing", "envs/classic", "envs/deeprm", "envs/placement", "envs/pricing", "envs/workload", "envs/workflow", "envs/perfmodel", "agents/dqn", "agents/graphs", "agents/maddpg", "agents/reinforce", "agents/spsa", "agents/baselines/deeprm", "agents/baselines/placement", "agents/baselines/pricing", "agents/baselines/sizing",
}

// readComments maps package path, type and field, joined by dots, to the comment there.
func readComments(root string) (map[string]string, error) {
	out := map[string]string{}
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, &fs.PathError{Op: "reading comments", Path: filepath.Join(root, dir), Err: fs.ErrNotExist}
		}
		set := token.NewFileSet()
		for _, name := range files {
			f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if t, ok := n.(*ast.TypeSpec); ok {
					if s, ok := t.Type.(*ast.StructType); ok {
						fieldComments(set, path.Join(module, dir)+"."+t.Name.Name, s, out)
					}
				}
				return true
			})
		}
	}
	return out, nil
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
