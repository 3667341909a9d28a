package envs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
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

// ParseMeasured is [ParseJSON] of measurements: a key that is left out is an error that names it, but for those that
// their type lets be (omitempty, omitzero). Otherwise a reading that a platform lost would pass for one that is 0.
func ParseMeasured(data []byte, into any) error {
	if err := ParseJSON(data, into); err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	if key := lacking(plain, reflect.TypeOf(into).Elem()); key != "" {
		return fmt.Errorf("%s is missing", key)
	}
	return nil
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
			x, there := v[name]
			if !there && name != "" && name != "-" && rest == "" {
				return name
			}
			if key := lacking(x, f.Type); key != "" {
				return strings.Replace(name+"."+key, ".[", "[", 1)
			}
		}
	}
	return ""
}
