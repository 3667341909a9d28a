package schema

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
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

// Generate returns the schema of the configuration files that name a catalog's rows. The comments come from the source,
// whose root folder (that of go.mod) is given.
func Generate(root string, c *catalog.Catalog) ([]byte, error) {
	e := configs.Default()
	e.Name = "experiment"
	worlds, learners, rivals := kindsOf(c)
	comments, err := readComments(root, &e, worlds, learners, rivals)
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
	m.choice(at(s, "eval.rivals[]"), "name", rivals)
	if name := at(s, "name"); name.Default != nil {
		name.Default, name.Pattern = nil, configs.NamePattern
	}
	if m.err != nil {
		return nil, m.err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

// kindsOf lists a catalog's rows.
func kindsOf(c *catalog.Catalog) (worlds, learners, rivals []kind) {
	for _, x := range c.Envs {
		worlds = append(worlds, kind{x.ID, x.Doc, x.Config(), x.Source})
	}
	for _, x := range c.Learners {
		learners = append(learners, kind{x.Name, x.Doc, x.Config(), x.Source})
	}
	for _, x := range c.Rivals {
		rivals = append(rivals, kind{x.Name, x.Doc, x.Config(), x.Source})
	}
	return worlds, learners, rivals
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
