package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"
)

// Key is a key of a configuration section.
type Key struct {
	// Key is its name, with dots where sections lie within sections and [] for the elements of a list.
	Key string `json:"key"`
	// Type says in words what a value may be: type and bounds, or the words to choose from.
	Type string `json:"type"`
	// Words are the words to choose from, where there are some.
	Words []any `json:"words,omitempty"`
	// Minimum to ExclusiveMaximum are the bounds of a number, empty where there is none.
	Minimum          json.Number `json:"minimum,omitempty"`
	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMinimum json.Number `json:"exclusive_minimum,omitempty"`
	ExclusiveMaximum json.Number `json:"exclusive_maximum,omitempty"`
	// Default is the value where the key is absent; nil where that is empty.
	Default any `json:"default,omitempty"`
	// Doc says what it means.
	Doc string `json:"doc,omitempty"`
}

// Keys lists the keys of what a section of a schema can name, such as the environment stoker/Sizing-v2 of the section
// env: without the key that names it. It is empty where the schema knows no such thing.
func Keys(text []byte, section, name string) ([]Key, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var out []Key
	for _, one := range choices(&s, section) {
		if one.Title != name {
			continue
		}
		walk("", one, func(path, key string, s, section *jsonschema.Schema) {
			if s.Const != nil {
				return // the name itself
			}
			out = append(out, Key{
				Key: path, Type: strings.ReplaceAll(kindOf(s), "`", ""), Words: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum,
				ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum, Default: s.Default,
				Doc: strings.ReplaceAll(meaning(key, s, section), "`", ""),
			})
		})
	}
	return out, nil
}
