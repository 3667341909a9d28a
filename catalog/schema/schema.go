// Package schema makes the JSON Schema of configuration files, by which editors complete and check them:
// configs/schema.json, embedded in package configs and printed by `stoker train --schema`. It is made from the code:
// keys from the structs, descriptions from their comments, bounds from their tags (package bounds), choices and
// defaults from the catalog. After a change of a configuration:
//
//	go test ./catalog/schema -update
//
// [Of] adds the rows of a program's own catalog to it as the program runs. Nothing that serves or trains imports this
// package.
package schema

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/lists"
)

// draft is the version that editors know best; nothing here needs a later one.
const draft = "http://json-schema.org/draft-07/schema#"

// kind is one of several that a section can name.
type kind struct {
	name, doc string
	config    any
	source    fs.FS // of the configuration's package, where it does not come with Stoker
}

// maker makes schemas of structs.
type maker struct {
	comments map[string]string
	err      error
}

// kindsOf lists a catalog's rows.
func kindsOf(c *catalog.Catalog) (worlds, learners, baselines []kind) {
	worlds = lists.From(c.Envs, func(x catalog.Env) kind { return kind{x.ID, x.Doc, x.Config(), x.Source} })
	learners = lists.From(c.Learners, func(x catalog.Learner) kind { return kind{x.Name, x.Doc, x.Config(), x.Source} })
	baselines = lists.From(c.Baselines, func(x catalog.Baseline) kind { return kind{x.Name, x.Doc, x.Config(), x.Source} })
	return worlds, learners, baselines
}

// at is the property under a dotted key, where key[] stands for the elements of a list.
func at(s *jsonschema.Schema, key string) *jsonschema.Schema {
	for part := range strings.SplitSeq(key, ".") {
		name := strings.TrimRight(part, "[]")
		if s.Properties == nil {
			return &jsonschema.Schema{} // what reads itself from YAML can be anything
		}
		p, ok := s.Properties.Get(name)
		for range strings.Count(part, "[]") {
			if ok = ok && p.Items != nil; ok {
				p = p.Items
			}
		}
		if !ok {
			return &jsonschema.Schema{}
		}
		s = p
	}
	return s
}

// allow writes what a field may be into its schema.
func allow(f bounds.Field, s *jsonschema.Schema) {
	r := f.Rule
	for _, w := range r.Words {
		s.Enum = append(s.Enum, w)
	}
	if !r.Range && f.Type.Kind() >= reflect.Uint && f.Type.Kind() <= reflect.Uint64 {
		r = bounds.Rule{Range: true, Low: 0, High: math.Inf(1)}
	}
	if !r.Range {
		return
	}
	low, high := &s.Minimum, &s.Maximum
	if r.OpenLow {
		low = &s.ExclusiveMinimum
	}
	if r.OpenHigh {
		high = &s.ExclusiveMaximum
	}
	if !math.IsInf(r.Low, 0) {
		*low = number(r.Low)
	}
	if !math.IsInf(r.High, 0) {
		*high = number(r.High)
	}
}

// choice makes s a section that names one of several: a bare name, or the name with its own keys.
func (m *maker) choice(s *jsonschema.Schema, key string, kinds []kind) {
	names := &jsonschema.Schema{Type: "string"}
	s.Type, s.Properties, s.AdditionalProperties = "", nil, nil
	s.OneOf = []*jsonschema.Schema{names}
	for _, k := range kinds {
		names.Enum = append(names.Enum, k.name)
		one := m.of(k.config)
		one.Title, one.Description, one.Required = k.name, k.doc, []string{key}
		one.Properties.Set(key, &jsonschema.Schema{Const: k.name, Description: k.doc})
		// So that an editor offers it first.
		if err := one.Properties.MoveToFront(key); err != nil {
			m.err = err
		}
		s.OneOf = append(s.OneOf, one)
	}
}

// of is the schema of what config points to, with its values as defaults and its tags as bounds.
func (m *maker) of(config any) *jsonschema.Schema {
	r := jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		CommentMap: m.comments,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			// A choice is filled in by Generate; what reads itself from YAML can be anything.
			if t == reflect.TypeFor[configs.Choice]() || reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
				return &jsonschema.Schema{}
			}
			if w, ok := reflect.Zero(t).Interface().(interface{ Words() []string }); ok {
				return numberOr(w.Words())
			}
			return nil
		},
	}
	s := r.Reflect(config)
	s.Version = ""
	rules, err := bounds.Fields(reflect.TypeOf(config))
	if err != nil {
		m.err = fmt.Errorf("schema: %T: %w", config, err)
		return s
	}
	for _, f := range rules {
		allow(f, at(s, f.Key))
	}
	defaults(reflect.ValueOf(config).Elem(), s)
	return s
}

// numberOr is a number above 0, or one of some words.
func numberOr(words []string) *jsonschema.Schema {
	list := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		list.Enum = append(list.Enum, w)
	}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number", ExclusiveMinimum: "0"}, list}}
}

// defaults writes the values of a configuration into the schema of its struct, those of structs within it included.
func defaults(v reflect.Value, s *jsonschema.Schema) {
	for f := range v.Type().Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		x := v.FieldByIndex(f.Index)
		switch {
		case !f.IsExported() || name == "-" || f.Type == reflect.TypeFor[configs.Choice]():
		case strings.Contains(options, "inline"):
			defaults(x, s)
		case f.Type.Kind() == reflect.Struct:
			defaults(x, at(s, name))
		case f.Type.Kind() == reflect.Slice && !plain(f.Type.Elem().Kind()):
		default:
			if b, err := json.Marshal(x.Interface()); err == nil && string(b) != "null" && string(b) != `""` {
				at(s, name).Default = json.RawMessage(b)
			}
		}
	}
}

// plain reports whether a kind is one of numbers.
func plain(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// number writes a bound as a person would.
func number(x float64) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return json.Number(strconv.FormatFloat(x, 'f', -1, 64))
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}

// Of returns the schema of the configuration files that name a catalog's rows: that of configs/schema.json, without the
// rows that c lacks and with those that it adds. The descriptions of an added row's keys are the comments in its
// Source.
func Of(c *catalog.Catalog) ([]byte, error) {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(configs.Schema(), s); err != nil {
		return nil, fmt.Errorf("configs/schema.json: %w", err)
	}
	worlds, learners, baselines := kindsOf(c)
	for _, section := range []struct {
		key, name string
		kinds     []kind
	}{{"env", "id", worlds}, {"agent", "name", learners}, {"eval.baselines[]", "name", baselines}} {
		if err := rewrite(at(s, section.key), section.name, section.kinds); err != nil {
			return nil, err
		}
	}
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

// rewrite makes s, a section that names one of several, one of kinds: as it is where the row is Stoker's own, anew for
// others.
func rewrite(s *jsonschema.Schema, key string, kinds []kind) error {
	have := map[string]*jsonschema.Schema{}
	for _, one := range s.OneOf {
		have[one.Title] = one
	}
	fresh := &jsonschema.Schema{}
	m := &maker{comments: map[string]string{}}
	for _, k := range kinds {
		if err := sourceComments(k, m.comments); err != nil {
			return fmt.Errorf("%s: Source: %w", k.name, err)
		}
	}
	m.choice(fresh, key, kinds)
	if m.err != nil {
		return m.err
	}
	for i, k := range kinds {
		if one, ok := have[k.name]; ok && shipped(reflect.TypeOf(k.config)) {
			fresh.OneOf[1+i] = one
		}
	}
	s.OneOf = fresh.OneOf
	return nil
}

// shipped reports whether a configuration's type comes with Stoker.
func shipped(config reflect.Type) bool {
	return strings.HasPrefix(packageOf(config), module+"/")
}

func packageOf(config reflect.Type) string {
	for config.Kind() == reflect.Pointer {
		config = config.Elem()
	}
	return config.PkgPath()
}

// sourceComments adds the comments in the source of a row's package.
func sourceComments(k kind, out map[string]string) error {
	if k.source == nil {
		return nil
	}
	files, err := fs.Glob(k.source, "*.go")
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(files) == 0 {
		return fmt.Errorf("it has no Go files; want those of package %s, as in //go:embed *.go",
			packageOf(reflect.TypeOf(k.config)))
	}
	return fileComments(k.source, files, packageOf(reflect.TypeOf(k.config)), out)
}

const module = "github.com/stoker-rl/stoker"

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
