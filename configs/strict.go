package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Problem is one thing wrong with a configuration. Line is its line in the file, 0 where that can't be said, [FromSet]
// for what was set over the file.
type Problem struct {
	Line int
	Text string
}

// FromSet is the line of what is not in the file but was set over it.
const FromSet = -1

// Error is all that is wrong with a configuration.
type Error struct {
	Source   string
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		switch {
		case p.Line > 0:
			lines[i] = fmt.Sprintf("%s:%d: %s", e.Source, p.Line, p.Text)
		case p.Line == FromSet:
			lines[i] = fmt.Sprintf("command line: %s", p.Text)
		default:
			lines[i] = fmt.Sprintf("%s: %s", e.Source, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// examine reports every key of n that t has no field for and every value that its field can't hold, and remembers where
// keys stand. It returns whether all is well. path is n's dotted key with a dot behind, empty for the whole.
func (r *reader) examine(n *yaml.Node, t reflect.Type, path string) bool {
	before := len(r.problems)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	key := strings.TrimSuffix(path, ".")
	_, decodes := reflect.New(t).Interface().(yaml.Unmarshaler)
	switch {
	case decodes || t == reflect.TypeFor[Choice]():
	case t.Kind() == reflect.Struct:
		r.mapping(n, t, path, key)
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, c := range n.Content {
			r.lines[fmt.Sprintf("%s[%d]", key, i)] = c.Line
			r.examine(c, t.Elem(), fmt.Sprintf("%s[%d].", key, i))
		}
	case t.Kind() == reflect.Slice && null(n):
	case n.Kind == yaml.ScalarNode && null(n):
		r.add(n.Line, "%s has no value, want %s", key, want(t))
	default:
		// The decoder's own judgement, in our words.
		if err := n.Load(reflect.New(t).Interface()); err != nil {
			r.add(n.Line, "%s is %s, want %s", key, shown(n), want(t))
		}
	}
	return len(r.problems) == before
}

func (r *reader) mapping(n *yaml.Node, t reflect.Type, path, key string) {
	fields := fieldsOf(t)
	if n.Kind != yaml.MappingNode {
		if !null(n) { // a section whose keys are all left out
			r.add(n.Line, "%s is %s, want keys and values; allowed are %s", key, shown(n), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		ft, ok := fields[k.Value]
		if !ok {
			r.add(k.Line, "unknown key %s%s; %s", path, k.Value, suggest(k.Value, fields))
			continue
		}
		r.lines[path+k.Value] = n.Content[i+1].Line
		r.examine(n.Content[i+1], ft, path+k.Value+".")
	}
}

// want says what a field of type t holds.
func want(t reflect.Type) string {
	if w, ok := reflect.Zero(t).Interface().(interface{ Words() []string }); ok { // a number with words for some values
		return "a number above 0, or " + strings.Join(w.Words(), ", ")
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list, such as [a, b]"
	}
	return "keys and values"
}

// shown is a value as an error shows it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.Value)
}

// fieldsOf maps the YAML names of a struct's fields to their types, inlined structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case strings.Contains(opts, "inline"):
			for k, v := range fieldsOf(f.Type) {
				out[k] = v
			}
		case name == "":
			out[strings.ToLower(f.Name)] = f.Type
		default:
			out[name] = f.Type
		}
	}
	return out
}

func suggest(key string, fields map[string]reflect.Type) string {
	names := slices.Sorted(maps.Keys(fields))
	if near := Nearest(key, names); near != "" {
		return fmt.Sprintf("did you mean %s? Allowed here: %s", near, strings.Join(names, ", "))
	}
	return "allowed here: " + strings.Join(names, ", ")
}
