package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Problem is one thing wrong with a file: Line is 0 for a value given by --set.
type Problem struct {
	Line int
	Text string
}

// Error is all that is wrong with a configuration.
type Error struct {
	Source   string
	Problems []Problem
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		if p.Line > 0 {
			lines[i] = fmt.Sprintf("%s:%d: %s", e.Source, p.Line, p.Text)
		} else {
			lines[i] = fmt.Sprintf("%s: %s", e.Source, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// unknownKeys appends a problem for every key of the mapping n that the struct type t has no field for.
func unknownKeys(n *yaml.Node, t reflect.Type, path string, out []Problem) []Problem {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return unknownKeys(n.Alias, t, path, out)
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, c := range n.Content {
			out = unknownKeys(c, t.Elem(), fmt.Sprintf("%s[%d]", strings.TrimSuffix(path, "."), i)+".", out)
		}
		return out
	case n.Kind != yaml.MappingNode || t.Kind() != reflect.Struct || t == reflect.TypeFor[Choice]():
		return out
	}
	fields := fieldsOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		ft, ok := fields[key.Value]
		if !ok {
			out = append(out, Problem{key.Line, fmt.Sprintf("unknown key %s%s; %s", path, key.Value, suggest(key.Value, fields))})
			continue
		}
		out = unknownKeys(n.Content[i+1], ft, path+key.Value+".", out)
	}
	return out
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
	var names []string
	for k := range fields {
		names = append(names, k)
	}
	slices.Sort(names)
	if near := Nearest(key, names); near != "" {
		return fmt.Sprintf("did you mean %s? Allowed here: %s", near, strings.Join(names, ", "))
	}
	return "allowed here: " + strings.Join(names, ", ")
}

// Nearest returns the name that differs from key by the fewest edits, where that is at most a third of its length, else "".
func Nearest(key string, names []string) string {
	best, least := "", len(key)/3+1
	for _, n := range names {
		if d := edits(key, n); d < least || (d == least && best == "") {
			best, least = n, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			prev, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, prev+cost)
		}
	}
	return row[len(b)]
}
