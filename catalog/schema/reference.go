package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/stoker-rl/stoker/internal/lists"
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

// Keys lists the keys of all that a section of a schema can name, such as the environments of the section env, by its
// name: without the key that names it.
func Keys(text []byte, section string) (map[string][]Key, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	out := map[string][]Key{}
	for _, one := range choices(&s, section) {
		walk("", one, func(path, key string, s, section *jsonschema.Schema) {
			if s.Const != nil {
				return // the name itself
			}
			out[one.Title] = append(out[one.Title], Key{
				Key: path, Type: strings.ReplaceAll(kindOf(s), "`", ""), Words: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum,
				ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum, Default: s.Default,
				Doc: strings.ReplaceAll(meaning(key, s, section), "`", ""),
			})
		})
	}
	return out, nil
}

// sections are the top-level keys that hold further keys, in the order of the reference. Those with a key of choice
// have a table for each thing that can be chosen.
var sections = []struct{ key, at, choice, title string }{
	{"env", "env", "id", "Environments: `env`"},
	{"agent", "agent", "name", "Learners: `agent`"},
	{"eval.baselines[]", "eval.baselines[]", "name", "Baselines: `eval.baselines`"},
}

// choices are what a section can name, those with keys of their own.
func choices(s *jsonschema.Schema, key string) (out []*jsonschema.Schema) {
	for _, one := range at(s, key).OneOf {
		if one.Properties != nil {
			out = append(out, one)
		}
	}
	return out
}

// walk visits each key of a section and of the sections within it: its path from prefix on, its own name, its schema,
// and that of the section in which it stands.
func walk(prefix string, s *jsonschema.Schema, visit func(path, key string, s, section *jsonschema.Schema)) {
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		visit(prefix+p.Key, p.Key, p.Value, s)
		inner, brackets := p.Value, ""
		for inner.Items != nil {
			inner, brackets = inner.Items, brackets+"[]"
		}
		walk(prefix+p.Key+brackets+".", inner, visit)
	}
}

// kindOf says what a value may be, in a few words.
func kindOf(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return strings.Join(lists.From(s.Enum, func(w any) string { return fmt.Sprintf("`%s`", cmp.Or(fmt.Sprint(w), `""`)) }), ", ")
	case len(s.OneOf) == 2 && s.OneOf[0].Type == "number": // a number, or a word for one that follows
		return kindOf(s.OneOf[0]) + ", or " + kindOf(s.OneOf[1])
	case len(s.OneOf) > 0:
		return "a name, or a name with its own keys"
	case s.Type == "array" && s.Items != nil:
		return "list of: " + kindOf(s.Items)
	case s.Type == "object":
		return "section"
	case s.Type == "":
		return "any"
	}
	return s.Type + bound(s)
}

// bound is the range of a number: ", 1 to 10", ", above 0".
func bound(s *jsonschema.Schema) string {
	closed := s.Minimum != "" && s.Maximum != "" && s.ExclusiveMinimum == "" && s.ExclusiveMaximum == ""
	if closed {
		return fmt.Sprintf(", %s to %s", short(s.Minimum), short(s.Maximum))
	}
	var parts []string
	for _, p := range []struct {
		sign  string
		limit json.Number
	}{{"≥", s.Minimum}, {">", s.ExclusiveMinimum}, {"≤", s.Maximum}, {"<", s.ExclusiveMaximum}} {
		if p.limit != "" {
			parts = append(parts, p.sign+" "+short(p.limit))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// short writes a bound as a person would: 2^50, 1e9.
func short(n json.Number) string {
	x, err := n.Float64()
	if err != nil || x < 1e6 {
		return string(n)
	}
	if fraction, exponent := math.Frexp(x); fraction == 0.5 {
		return fmt.Sprintf("2^%d", exponent-1)
	}
	return strings.Replace(strings.Replace(strconv.FormatFloat(x, 'g', -1, 64), "e+0", "e", 1), "e+", "e", 1)
}

// meaning is the description of a key of section s in the words of a configuration. Comments begin with the name of
// their Go field, which says nothing there: "LogEvery is the number of steps" becomes "The number of steps". Elsewhere
// fields are called as their keys are, also in a comment that several of them share.
func meaning(key string, s, section *jsonschema.Schema) string {
	name, rest, _ := strings.Cut(s.Description, " ")
	own, shared := strings.EqualFold(name, strings.ReplaceAll(key, "_", "")), sharing(s, section)
	verb, what, _ := strings.Cut(rest, " ")
	if own && len(shared) == 1 && (verb == "is" || verb == "are") {
		what = fieldNames(what, section, shared)
		first := strings.FieldsFunc(what, func(r rune) bool { return r == ' ' || r == ',' })
		if slices.ContainsFunc(s.Enum, func(word any) bool { return len(first) > 0 && word == first[0] }) {
			return what // a word of the configuration stays as it is
		}
		return capital(what)
	}
	return fieldNames(s.Description, section, shared)
}

// sharing lists the keys of a section whose description is that of s.
func sharing(s, section *jsonschema.Schema) (keys []string) {
	for p := section.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Description == s.Description {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

var camel = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// fieldNames writes the names of Go fields as the keys of their section: names of several words always, a single word
// only where it is that of a key that shares the description.
func fieldNames(text string, section *jsonschema.Schema, shared []string) string {
	return camel.ReplaceAllStringFunc(text, func(word string) string {
		for p := section.Properties.Oldest(); p != nil; p = p.Next() {
			several := strings.Contains(p.Key, "_") || len(shared) > 1 && slices.Contains(shared, p.Key)
			if several && strings.EqualFold(word, strings.ReplaceAll(p.Key, "_", "")) {
				return "`" + p.Key + "`"
			}
		}
		return word
	})
}

func capital(s string) string {
	r := []rune(s)
	if len(r) > 0 && r[0] < unicode.MaxASCII { // λ stays λ
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
