package bounds

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Error says which value of a configuration is wrong and what would be right. Its message begins with the key.
type Error struct {
	// Key is the value's place in a file: train.steps, tiers[0].sla.
	Key string
	// Text follows the key: "is 0, want 1 to 16".
	Text string
}

func (e *Error) Error() string { return e.Key + " " + e.Text }

// Errorf returns an error about a key: Errorf("batch", "is %d, want at most the %d of replay", 64, 32).
func Errorf(key, format string, args ...any) error {
	return &Error{key, fmt.Sprintf(format, args...)}
}

// Between returns an error about a key whose value lies outside of a range, both ends included, or is NaN.
func Between(key string, x, least, most float64) error {
	if x >= least && x <= most { // neither holds for NaN
		return nil
	}
	return Errorf(key, "is %g, want %g to %g", x, least, most)
}

// Check returns the first value of a struct, or of what a pointer points to, that its field's tags do not allow, as an
// [Error]; nil where there is none.
func Check(config any) error {
	if all := Wrong(config); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Wrong returns every value that its field's tags do not allow.
func Wrong(config any) []*Error {
	var out []*Error
	visit(reflect.ValueOf(config), "", Rule{}, func(e *Error) { out = append(out, e) })
	return out
}

// visit checks a value and all that it holds.
func visit(v reflect.Value, key string, r Rule, report func(*Error)) {
	switch k := v.Kind(); {
	case k == reflect.Pointer:
		if !v.IsNil() {
			visit(v.Elem(), key, r, report)
		}
	case k == reflect.Struct:
		fields, err := fieldsOf(v.Type())
		if err != nil {
			report(&Error{key, "has a wrong tag: " + err.Error()})
			return
		}
		for _, f := range fields {
			visit(v.Field(f.index), join(key, f.name), f.rule.or(r), report)
		}
	case k == reflect.Slice || k == reflect.Array:
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s[%d]", key, i), r, report)
		}
	case k == reflect.String && len(r.Words) > 0:
		if s := v.String(); !slices.Contains(r.Words, s) {
			report(&Error{key, fmt.Sprintf("is %q, want %s", s, r)})
		}
	case r.Range && numeric(k):
		if x := v.Convert(reflect.TypeFor[float64]()).Float(); !r.holds(x) {
			report(&Error{key, fmt.Sprintf("is %v, want %s", v.Interface(), r)})
		}
	}
}

// structField is a field that a file can set.
type structField struct {
	index int
	name  string // empty for an inlined struct
	rule  Rule
}

// parsed holds the fields of each struct type met so far: []structField or an error.
var parsed sync.Map

func fieldsOf(t reflect.Type) ([]structField, error) {
	if known, ok := parsed.Load(t); ok {
		if err, bad := known.(error); bad {
			return nil, err
		}
		return known.([]structField), nil
	}
	var out []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" && !strings.Contains(options, "inline") {
			name = strings.ToLower(f.Name) // as YAML names it
		}
		r, err := RuleOf(f)
		if err != nil {
			err = fmt.Errorf("%s: %w", t, err)
			parsed.Store(t, err)
			return nil, err
		}
		out = append(out, structField{i, name, r})
	}
	parsed.Store(t, out)
	return out, nil
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// Field is a key of a configuration, as [Fields] lists them.
type Field struct {
	// Key is the dotted key; a list's elements are key[].
	Key  string
	Type reflect.Type
	Rule Rule
}

// Fields lists the keys of a struct type that hold numbers, texts or truth values, those of structs and lists within it
// included, in the order of the fields. A tag that cannot be read is an error.
func Fields(t reflect.Type) ([]Field, error) {
	var out []Field
	err := list(t, "", Rule{}, &out)
	return out, err
}

func list(t reflect.Type, key string, r Rule, out *[]Field) error {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return list(t.Elem(), key, r, out)
	case k == reflect.Slice || k == reflect.Array:
		return list(t.Elem(), key+"[]", r, out)
	case k == reflect.Struct:
		fields, err := fieldsOf(t)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := list(t.Field(f.index).Type, join(key, f.name), f.rule.or(r), out); err != nil {
				return err
			}
		}
	case k == reflect.Bool || k == reflect.String || numeric(k):
		if !numeric(k) {
			r.Range = false // a range of the struct around is for the numbers in it
		}
		*out = append(*out, Field{key, t, r})
	}
	return nil
}
