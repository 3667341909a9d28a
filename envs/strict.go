package envs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseJSON reads one JSON value that a client sent into a value of Go. An unknown key, and anything after the value, is
// an error, so that a misspelt measurement does not pass for one that is 0.
func ParseJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the text is empty, want a JSON value")
		}
		return fmt.Errorf("not the JSON that is expected: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is more after the JSON value, at byte %d", d.InputOffset())
	}
	return nil
}

// A KeyError says what is wrong with a key of measurements, as in functions[1].p95 is missing.
type KeyError struct {
	Key, Problem string
}

func (e *KeyError) Error() string { return e.Key + " " + e.Problem }

// keyAt is the key of the value of valid JSON that ends at an offset, or of the list or object that begins there.
func keyAt(data []byte, offset int64) string {
	d := json.NewDecoder(bytes.NewReader(data))
	var walk func(key string) string
	walk = func(key string) (found string) {
		t, err := d.Token()
		if err != nil || d.InputOffset() >= offset {
			return key
		}
		for i := 0; (t == json.Delim('[') || t == json.Delim('{')) && found == ""; i++ {
			switch {
			case !d.More():
				_, _ = d.Token() // the end of the list or object
				return ""
			case t == json.Delim('['):
				found = walk(fmt.Sprintf("%s[%d]", key, i))
			default:
				name, _ := d.Token() // valid JSON has one
				found = walk(strings.TrimPrefix(fmt.Sprint(key, ".", name), "."))
			}
		}
		return found
	}
	return cmp.Or(walk(""), "the text")
}

// valueWords is a value as [json.UnmarshalTypeError] describes it, in plain words.
func valueWords(value string) string {
	switch number, ok := strings.CutPrefix(value, "number "); {
	case ok:
		return number
	case value == "array":
		return "a list"
	case value == "object":
		return "an object"
	}
	return "a " + value
}

// typeWords says what JSON a type of Go takes.
func typeWords(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Struct || k == reflect.Map:
		return "an object"
	case k == reflect.Slice:
		return "a list"
	case k >= reflect.Int && k <= reflect.Uintptr:
		return "a whole number without a point"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	}
	return "a " + t.String()
}

// ParseMeasured is [ParseJSON] of measurements: a key that is left out is an error that names it, but for those that
// their type lets be (omitempty, omitzero); null is no number. Otherwise a reading that a platform lost would pass
// for one that is 0. So is a key that comes twice, of which the last would count.
func ParseMeasured(data []byte, into any) error {
	if err := ParseJSON(data, into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return &KeyError{keyAt(data, wrong.Offset), "is " + valueWords(wrong.Value) + ", want " + typeWords(wrong.Type)}
		}
		return err
	}
	if key := twice(data); key != "" {
		return fmt.Errorf("key %q comes twice", key)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	if key := lacking(plain, reflect.TypeOf(into).Elem()); key != "" {
		return &KeyError{key, "is missing"}
	}
	return nil
}

// twice is a key that an object of valid JSON has twice, "" where none has. To encoding/json keys that differ by capitals are
// the same. It looks through the text: with json.Decoder.Token reading a body took 2.4 times as long, with this 1.15 times.
func twice(data []byte) string {
	var open [][]string // the keys of each object around
	folds := false      // a string has more than small letters
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			open = append(open, make([]string, 0, 32))
		case '}':
			open = open[:len(open)-1]
		case '"':
			from := i
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
				folds = folds || data[i] >= 'A' && data[i] <= 'Z' || data[i] >= utf8.RuneSelf || data[i-1] == '\\'
			}
			next := i + 1
			for next < len(data) && data[next] <= ' ' {
				next++
			}
			if next == len(data) || data[next] != ':' {
				continue // no key
			}
			key := string(data[from+1 : i])
			if folds && json.Unmarshal(data[from:i+1], &key) != nil {
				continue // never: it was decoded before
			}
			keys := &open[len(open)-1]
			if slices.ContainsFunc(*keys, func(k string) bool { return k == key || folds && strings.EqualFold(k, key) }) {
				return key
			}
			*keys = append(*keys, key)
		}
	}
	return ""
}

// lacking is the path of the first key of a type that a JSON value of it lacks, "" where none does.
func lacking(v any, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return ""
		}
		for i, x := range v {
			if x == nil {
				return fmt.Sprintf("[%d]", i)
			}
			if key := lacking(x, t.Elem()); key != "" {
				return strings.TrimSuffix(fmt.Sprintf("[%d].%s", i, key), ".")
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return ""
		}
		for f := range t.Fields() {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" { // its keys are this object's
				if key := lacking(v, f.Type); key != "" {
					return key
				}
				continue
			}
			x, there := v[name]
			if (!there || x == nil && f.Type.Kind() != reflect.Slice) && name != "" && name != "-" && rest == "" {
				return name
			}
			if key := lacking(x, f.Type); key != "" {
				return strings.Replace(name+"."+key, ".[", "[", 1)
			}
		}
	}
	return ""
}

// Unit is the unit of a key of measurements; a key of a list has [] behind it, as in functions[].p95.
type Unit struct {
	Key  string `json:"key"`
	Unit string `json:"unit"`
	// Optional says that the key may be left out.
	Optional bool `json:"optional,omitempty"`
}

// Units lists the keys of a type of measurements, and the units that its fields' tags "unit" name.
func Units(t reflect.Type) []Unit { return unitsOf(nil, "", false, t) }

func unitsOf(out []Unit, at string, optional bool, t reflect.Type) []Unit {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			at += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return out
	}
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" && !f.Anonymous {
			continue
		}
		key := strings.TrimPrefix(at+"."+name, ".")
		if f.Anonymous {
			key = at
		}
		may := optional || rest != ""
		if unit, ok := f.Tag.Lookup("unit"); ok {
			if f.Type.Kind() == reflect.Slice {
				key += "[]"
			}
			out = append(out, Unit{key, unit, may})
		} else {
			out = unitsOf(out, key, may, f.Type)
		}
	}
	return out
}
