package schema

import (
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
)

var update = flag.Bool("update", false, "write configs/schema.json anew")

const file = "../../configs/schema.json"

// TestFresh: the schema that editors use says what the code says.
func TestFresh(t *testing.T) {
	got := must.Get(Generate("../..", catalog.Default()))(t)
	if *update {
		must.Do(t, os.WriteFile(file, got, 0o666))
	}
	want := must.Get(os.ReadFile(file))(t)
	if string(got) != string(want) {
		t.Error("configs/schema.json is older than the code: go test ./catalog/schema -update")
	}
}

// Generate returns the schema of the configuration files that name a catalog's rows. The comments come from the source,
// whose root folder (that of go.mod) is given.
func Generate(root string, c *catalog.Catalog) ([]byte, error) {
	e := configs.Default()
	e.Name = "experiment"
	worlds, learners, baselines := kindsOf(c)
	comments, err := readComments(root, &e, worlds, learners, baselines)
	if err != nil {
		return nil, err
	}
	m := &maker{comments: comments}
	s := m.of(&e)
	s.Version, s.Title = draft, "Stoker experiment"
	s.Description = "What an environment is, who learns in it, for how long, and how it is evaluated."
	s.Required = []string{"name", "env", "agent"}
	m.choice(at(s, "env"), "id", worlds)
	m.choice(at(s, "agent"), "name", learners)
	m.choice(at(s, "eval.baselines[]"), "name", baselines)
	if name := at(s, "name"); name.Default != nil {
		name.Default, name.Pattern = nil, configs.NamePattern
	}
	if m.err != nil {
		return nil, m.err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

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
